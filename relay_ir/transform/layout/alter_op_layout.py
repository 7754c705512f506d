"""Calls changed by users' functions, with what is around them following in layout."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import ALTER, checked, registered
from relay2relax.relay_ir.transform.layout.rewriter import rewrite_layouts


@dataclass(frozen=True, slots=True)
class AlterOpLayout(Pass[IRModule]):
    """Replace calls by what the functions of ``register_alter_op_layout`` make of them.

    The new call has as many arguments as the old one, in layouts that its attributes say.
    """

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` altered; infers types where ``mod`` has none."""
        mod = typed_module(mod)
        types = mod.types

        def change(call: Call, attrs: Any, args: tuple[Expr, ...]) -> Call:
            assert isinstance(call.op, Op)
            alter = registered(call.op.name, ALTER)
            if alter is None:
                return replace(call, args=args, attrs=attrs)
            known = [types[arg] for arg in call.args]
            made = alter.replacement(attrs, args, known, types[call], mod=mod, node=call)
            return checked(alter, made, call, mod) or replace(call, args=args, attrs=attrs)

        return map_functions(mod, lambda one: one if left_alone(one) else rewrite_layouts(one, types, change))
