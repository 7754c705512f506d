"""Programs of quantised operators as programs of plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.layout.op_attrs import registered
from relay2relax.relay_ir.transform.qnn.canonicalizations import CANONICAL
from relay2relax.relay_ir.transform.qnn.relay_values import RelayValues, UnknownScalesError

CANONICALIZE = "FTVMQnnCanonicalize"


@dataclass(frozen=True, slots=True)
class QnnCanonicalize(Pass[IRModule]):
    """Let integers be computed by plain operators; TVM's ``relay.qnn.transform.CanonicalizeOps``.

    Every result is the same to the bit. What users registered (``register_qnn_canonicalize``) comes
    before the project's own forms. Requantisations whose scales are not constants stay.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without quantised operators; infers types where ``mod`` has none."""
        return rewrite_calls(mod, _canonical)


def _canonical(call: Call, types: TypeTable) -> Expr:
    assert isinstance(call.op, Op)
    own = registered(call.op.name, CANONICALIZE)
    if own is not None:
        return own.replacement(call.attrs, call.args, [*map(types.of, call.args), types.of(call)]) or call
    rule = CANONICAL.get(call.op.name)
    if rule is None:
        return call
    try:
        return rule(RelayValues(types), call)
    except UnknownScalesError:
        return call
