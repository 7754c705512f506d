"""Passes of the user's own, over functions and over dataflow blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.passes import PassContext, PassInfo, pass_decorator
from relay2relax.relax_ir.ir.expr import BindingBlock, Function, If, IRModule, SeqExpr, Var
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, RelaxPass


@dataclass(frozen=True, slots=True)
class FunctionPass(RelaxPass):
    """``change(function, mod, context)`` returns what every Relax function of the module
    becomes.
    """

    change: Callable[[Function, IRModule, PassContext], Function]
    name: str = "function_pass"
    level: int = 0

    @property
    def info(self) -> PassInfo:
        """The name and level given."""
        return PassInfo(self.name, self.level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with every Relax function changed, itself where none differs."""
        context = PassContext.current()

        def changed(func: Function) -> Function:
            made: object = ask(self.change, func, mod, context, what=f"the pass {self.name}")
            if not isinstance(made, Function):
                raise returned(f"the pass {self.name}", "a function", made)
            return made

        made = {var: changed(func) if isinstance(func, Function) else func for var, func in mod.functions.items()}
        if all(made[var] is func for var, func in mod.functions.items()):
            return mod
        return replace(mod, functions=made)


@dataclass(frozen=True, slots=True)
class DataflowBlockPass(RelaxPass):
    """``change(block, mod, context)`` returns what every dataflow block becomes, inner ones before
    outer ones.

    A block binds the same variables for others as before; raises Relay2RelaxError where it does
    not.
    """

    change: Callable[[BindingBlock, IRModule, PassContext], BindingBlock]
    name: str = "dataflowblock_pass"
    level: int = 0

    @property
    def info(self) -> PassInfo:
        """The name and level given."""
        return PassInfo(self.name, self.level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with every dataflow block changed."""
        return _Blocks(mod, self).module()


class _Blocks(Mutator):
    def __init__(self, mod: IRModule, own: DataflowBlockPass) -> None:
        super().__init__(mod)
        self.own = own

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        blocks = tuple(self.changed(block) if block.dataflow else block for block in seq.blocks)
        same = all(a is b for a, b in zip(blocks, seq.blocks, strict=True))
        return seq if same else replace(seq, blocks=blocks)

    def changed(self, block: BindingBlock) -> BindingBlock:
        what = f"the pass {self.own.name}"
        made: object = ask(self.own.change, block, self.mod, PassContext.current(), what=what)
        if not isinstance(made, BindingBlock):
            raise returned(what, "a dataflow block", made)
        if not made.dataflow or _shown(made) != _shown(block):
            wanted = ", ".join(sorted(var.name for var in _shown(block))) or "nothing"
            raise Relay2RelaxError(f"{self.own.name} has to return a dataflow block that outputs {wanted}")
        return made


def _shown(block: BindingBlock) -> set[Var]:
    return {binding.var for binding in block.bindings if not binding.var.dataflow}


def function_pass(*, opt_level: int, name: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Make a pass of ``(function, mod, context) -> function``, or of a class with a method
    ``transform_function``.
    """
    return pass_decorator(FunctionPass, "transform_function", opt_level, name)


def dataflowblock_pass(*, opt_level: int, name: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Make a pass of ``(block, mod, context) -> block``, or of a class with a method
    ``transform_dataflowblock``.
    """
    return pass_decorator(DataflowBlockPass, "transform_dataflowblock", opt_level, name)
