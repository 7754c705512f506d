"""Joins of many tensors in several steps, for devices whose kernels take few arguments."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Tuple
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import map_functions, rewrite_calls
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True)
class SplitArgs(Pass[IRModule]):
    """Write ``concatenate`` of more tensors than ``max_function_args`` as several, each kept from
    being fused with the next.

    A tensor of unknown extents counts more: these and its strides are arguments, too. 0 is no
    limit.
    """

    max_function_args: int
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with long joins split; infers types where ``mod`` has none."""
        if self.max_function_args == 0:
            return mod
        after = rewrite_calls(mod, self._split)
        if not mod.attrs:
            return after
        # TVM gives functions the attributes of the module.
        return map_functions(after, lambda one: replace(one, attrs={**one.attrs, **mod.attrs}))

    def _split(self, call: Call, types: TypeTable) -> Expr:
        if not is_call(call, "concatenate") or not isinstance(call.args[0], Tuple):
            return call
        fields = call.args[0].fields
        limit = self.max_function_args - 1 - _extra(call, types, result=True)
        weights = [1 + _extra(field, types) for field in fields]
        if limit <= 0 or sum(weights) < limit:
            return call
        part: list[Expr] = []
        used = 0
        for field, weight in zip(fields, weights, strict=True):
            if used + weight > limit and part:
                part, used = [_joined(part, call)], weight
            used += weight
            part.append(field)
        return _joined(part, call)


def _joined(part: list[Expr], call: Call) -> Expr:
    stopped = op.annotation.stop_fusion(Tuple(tuple(part)))
    return replace(call, args=(stopped,), span=None)


def _extra(expr: Expr, types: TypeTable, result: bool = False) -> int:
    """Return how many numbers beside its data a tensor is passed with: unknown extents, and
    strides; only the strides of a result.
    """
    ty = types.tensor(expr)
    unknown = 0 if ty is None else sum(static(extent) is None for extent in ty.shape)
    if ty is None or unknown == 0:
        return 0
    return len(ty.shape) if result else unknown + len(ty.shape)
