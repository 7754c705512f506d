"""What apache-tvm 0.25 to 0.27 cannot build of Relax's operators, or computes otherwise than is
said of them.

The facts are those of the operators' records. The translators ask for every operator that they
emit, ``backends/tvm`` for modules that come from elsewhere. A call that has a limit becomes
``call_tir`` of the operator's own PrimFunc, which says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.script import Types


def limit_of(op: OpDef, attrs: Any, types: Callable[[], Types], gpu: bool = False) -> str:
    """Return why apache-tvm is not given this call, for processors or for a ``gpu``, "" where it
    can be.

    ``types`` are asked for where they matter.
    """
    limits = () if op.script is None else op.script.limits + (op.script.gpu_limits if gpu else ())
    if not limits:
        return ""
    given = types()
    return next((one.why for one in limits if one.applies(attrs, given)), "")
