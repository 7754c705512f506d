"""Simplification of expressions by rules, which ``rules/`` has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.parts import is_call
from relay2relax.relay_ir.transform.simplify.rules import arithmetic, casts, layouts, likes
from relay2relax.relay_ir.transform.simplify.rules.rule import Rule, apply_rules


def _of_quantised(call: Call, types: TypeTable) -> Expr:
    """The place of an extreme is the same before dequantisation by one scale."""
    data = call.args[0]
    if not isinstance(data, Call) or not is_call(data, "qnn.dequantize"):
        return call
    scale = types.tensor(data.args[1])
    return replace(call, args=(data.args[0],)) if scale is not None and not scale.shape else call


# In the order in which TVM applies them.
_RULES = (
    *likes.RULES,
    arithmetic.DOUBLED,
    arithmetic.RECIPROCAL_ROOT,
    arithmetic.IDENTITY,
    layouts.RESHAPES,
    layouts.TRANSPOSES,
    layouts.NOTHING,
    casts.SAME,
    casts.CONSECUTIVE,
    arithmetic.FILLED,
    arithmetic.PRODUCT_FIRST,
    arithmetic.ONE_CONSTANT,
    Rule(("argmax", "argmin", "argsort"), _of_quantised),
    casts.AFTER_CLIP,
    casts.CLIP,
    arithmetic.BINOMIAL,
)
_AFTER_LAYOUTS = (
    arithmetic.IDENTITY,
    layouts.RESHAPES,
    casts.SAME,
    casts.CONSECUTIVE,
    casts.AFTER_CLIP,
    casts.CLIP,
)


@dataclass(frozen=True, slots=True)
class SimplifyExpr(Pass[IRModule]):
    """Replace calls by simpler ones of the same value, until there are none.

    Operators that take shapes from tensors are told them; sums, products and quotients with neutral
    elements or constants, transpositions, reshapes, casts and clips in a row become fewer.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` simplified; infers types where ``mod`` has none."""
        return apply_rules(mod, _RULES)


@dataclass(frozen=True, slots=True)
class SimplifyExprPostAlterOp(Pass[IRModule]):
    """The part of :class:`SimplifyExpr` that cleans up behind changes of layouts."""

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` simplified; infers types where ``mod`` has none."""
        return apply_rules(mod, _AFTER_LAYOUTS)
