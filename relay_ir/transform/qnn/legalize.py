"""Quantised operators in forms that suit the hardware."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.layout.op_attrs import registered
from relay2relax.relay_ir.transform.qnn.legalizations import GENERIC, PRODUCTS, Hardware
from relay2relax.relay_ir.transform.qnn.relay_values import RelayValues

LEGALIZE = "FTVMQnnLegalize"


@dataclass(frozen=True, slots=True)
class QnnLegalize(Pass[IRModule]):
    """Give quantised operators the forms that TVM gives them; ``relay.qnn.transform.Legalize``.

    Functions of bytes become tables of their values, transposed convolutions plain ones of int16.
    ``target``, such as ``llvm -mcpu=cascadelake``, ``cuda`` or ``hexagon``, says which dtypes
    convolutions and dense layers want; without it they stay. What users registered
    (``register_qnn_legalize``) comes before that. Every result is the same to the bit.
    """

    target: str = ""
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in those forms; infers types where ``mod`` has none."""
        hardware = Hardware.of(self.target)

        def change(call: Call, types: TypeTable) -> Expr:
            assert isinstance(call.op, Op)
            own = registered(call.op.name, LEGALIZE)
            if own is not None:
                known = [*map(types.of, call.args), types.of(call)]
                return own.replacement(call.attrs, call.args, known, mod=mod, node=call) or call
            form = hardware.product(call) if call.op.name in PRODUCTS else GENERIC.get(call.op.name)
            return call if form is None else form(RelayValues(types), call)

        return rewrite_calls(mod, change)
