"""What each operator is: one record per operator, one file per family.

``table.py`` names the families; ``record.py`` says what a record holds; ``lower.py`` makes
PrimFuncs of calls. Whoever adds an operator edits one family file and its test.
"""

from relay2relax.ops.registry.attributes import NoAttrs, attr_fields
from relay2relax.ops.registry.handlers import handlers
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.table import all_ops, register, relax_op, relay_names, relay_op
from relay2relax.ops.registry.types import TensorType, TupleType, Type

__all__ = [
    "Emit",
    "Expanded",
    "NoAttrs",
    "OpDef",
    "OpError",
    "SameOp",
    "Script",
    "TensorType",
    "TupleType",
    "Type",
    "all_ops",
    "attr_fields",
    "handlers",
    "register",
    "relax_op",
    "relay_names",
    "relay_op",
]
