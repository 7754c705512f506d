"""Operators in the form that other passes look for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.parts import along, is_call


@dataclass(frozen=True, slots=True)
class CanonicalizeOps(Pass[IRModule]):
    """Write ``nn.bias_add`` as ``expand_dims`` and ``add``."""

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without ``nn.bias_add``; infers types where ``mod`` has none."""
        return rewrite_calls(mod, _canonical)


def _canonical(call: Call, types: TypeTable) -> Expr:
    if not is_call(call, "nn.bias_add"):
        return call
    data, bias = call.args
    ty = types.tensor(data)
    if ty is None:
        return call
    result: Expr = op.add(data, along(bias, len(ty.shape), [call.attrs.axis % len(ty.shape)]))
    return result
