"""What operators are computed together, as functions of their own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.fusion.fuse_ops import FuseOps
from relay2relax.relay_ir.transform.simplify_inference import SimplifyInference


@dataclass(frozen=True, slots=True)
class ExtractFusedFunctions(Pass[IRModule]):
    """Fuse ``@main``, and leave a module of the functions that FuseOps made, each of them once.

    Their names are those of their operators. Semantics: TVM's pass, which names them by hashes.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return the module of fused functions."""
        fused = FuseOps(3).transform(typed_module(SimplifyInference().transform(typed_module(mod))))
        functions = {GlobalVar(name): function for name, function in _fused(fused["main"]).items()}
        return replace(mod, functions=functions, types={})


def extract_fused_functions(mod: IRModule) -> dict[str, Function]:
    """Return the functions that :class:`ExtractFusedFunctions` finds, by name."""
    return {var.name: function for var, function in ExtractFusedFunctions()(mod).functions.items()}


def _fused(main: Function) -> dict[str, Function]:
    found: dict[str, Function] = {}
    # Functions of the same operators, in which an equal one is looked for.
    alike: dict[str, list[Function]] = {}
    roots: tuple[Expr, ...] = (main,)
    for node in post_order(roots, children):
        if not isinstance(node, Function) or not node.attrs.get("Primitive"):
            continue
        inside: tuple[Expr, ...] = (node.body,)
        calls = (one for one in post_order(inside, children) if isinstance(one, Call))
        label = "_".join(one.op.name.replace(".", "_") for one in calls if isinstance(one.op, Op))
        others = alike.setdefault(label, [])
        if not any(structural_equal(node, other) for other in others):
            found[f"fused_{label}_{len(others)}" if others else f"fused_{label}"] = node
            others.append(node)
    return found
