"""A pass over Relay that is wrong: it calls another operator."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax import relay_ir
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.rewrite import rewrite
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class Renamed(Pass[relay_ir.IRModule]):
    """Call another operator in place of ``old``."""

    old: str
    new: str
    opt_level: ClassVar[int] = 0

    def transform(self, mod: relay_ir.IRModule) -> relay_ir.IRModule:
        def visit(node: Expr) -> Expr:
            return replace(node, op=Op(self.new)) if isinstance(node, Call) and node.op == Op(self.old) else node

        changed = map_functions(mod, lambda one: replace(one, body=rewrite(one.body, visit)))
        return relay_ir.infer_type(replace(changed, types={}))
