"""Functions that are computed faster and less exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls

_FAST: Mapping[str, str] = {"exp": "fast_exp", "erf": "fast_erf", "tanh": "fast_tanh", "nn.softmax": "nn.fast_softmax"}


@dataclass(frozen=True, slots=True)
class FastMath(Pass[IRModule]):
    """Call ``fast_exp``, ``fast_erf``, ``fast_tanh`` and ``nn.fast_softmax`` in place of the exact
    operators.
    """

    opt_level: ClassVar[int] = 4

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the fast operators; infers types where ``mod`` has none."""
        return rewrite_calls(mod, _fast)


def _fast(call: Call, types: TypeTable) -> Expr:
    assert isinstance(call.op, Op)
    fast = _FAST.get(call.op.name)
    return call if fast is None else replace(call, op=Op(fast))
