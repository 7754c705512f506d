"""Rewriting the functions of a module where they stand: variables and their struct info stay what
they are.

A pass overrides :meth:`Mutator.bind`, which gets every binding with the operands that have replaced
the old ones, and says what becomes of it. What no pass touches is returned as the same objects. In
a sequence that changes, blocks of one kind that follow each other become one block, as TVM's
normaliser has it. A pass after which shapes differ builds its functions anew instead
(``rewriter.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.core.progress import each
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    SeqExpr,
    Var,
)
from relay2relax.relax_ir.ir.visit import Steps, operands, run, sequences, values, with_operands

RelaxPass = Pass[IRModule]


class Mutator:
    """Rewrites the Relax functions of ``mod``; one mutator is used once.

    ``values`` say what stands for a variable from its binding on. ``dataflow`` tells whether the
    block that is being rewritten is a dataflow block, ``informed`` whether operands of the binding
    at hand have other struct info than before.
    """

    def __init__(self, mod: IRModule) -> None:
        self.mod = mod
        self.inference = Inference(mod)
        self.values: dict[Var, Expr] = {}
        self.dataflow = False
        self.informed = False
        self._pending: list[Binding | MatchCast] = []
        self._made: dict[SeqExpr, SeqExpr] = {}

    def module(self) -> IRModule:
        """Return the new module, ``mod`` itself where nothing changed."""
        functions = {
            var: self.function(var, func) if isinstance(func, Function) else func
            for var, func in self.mod.functions.items()
        }
        note_rewritten(self.values)
        if all(functions[var] is func for var, func in self.mod.functions.items()):
            return self.mod
        return replace(self.mod, functions=functions)

    # What a pass overrides.

    def function(self, var: GlobalVar, func: Function) -> Function:
        """Return what the function ``var`` of the module becomes."""
        run(self._sequence(func.body, func))
        made = self.local(func)
        if made.body is not func.body:
            found = self.inference.of(made.body)
            known = symbols.defined(param.info for param in func.params)
            if symbols.is_narrower(found, func.ret) and symbols.used(found) <= known:
                made = replace(made, ret=found)
        return made

    def local(self, func: Function) -> Function:
        """Return a function whose body has been rewritten."""
        body = self._made[func.body]
        return func if body is func.body else replace(func, body=body)

    def bind(self, binding: Binding | MatchCast) -> None:
        """Say what becomes of a binding: by default it is kept."""
        self.keep(binding)

    def block(self, block: BindingBlock) -> None:
        """A block begins."""

    def end_block(self, block: BindingBlock) -> None:
        """A block ends."""

    def begin(self, seq: SeqExpr, owner: If | Function) -> None:
        """A sequence begins: a branch of ``owner``, or its body."""

    def finish(self, seq: SeqExpr, owner: If | Function) -> SeqExpr:
        """Return a sequence of ``owner``, rewritten already, as it shall be.

        Nothing of it is visible any more.
        """
        return seq

    # What a pass calls.

    def keep(self, binding: Binding | MatchCast, infer: bool = False) -> None:
        """Put a binding into the block that is being made.

        ``infer`` asks whether more is known of the value than its variable says, where more is
        known of its operands.
        """
        if (infer or self.informed) and isinstance(binding, Binding):
            var = binding.var
            info = self.inference.of(binding.value)
            if symbols.is_narrower(info, var.info):
                self.values[var] = known = replace(var, info=info)
                binding = replace(binding, var=known)
        self._pending.append(binding)

    def expr(self, expr: Expr) -> Expr:
        """Return ``expr`` with what stands for its variables."""
        if not self.values:
            return expr
        if isinstance(expr, Var):
            found: Expr = expr
            while isinstance(found, Var) and found in self.values:
                found = self.values[found]
            return found
        new = [self.expr(one) for one in operands(expr)]
        return with_operands(expr, new) if new else expr

    # Walking.

    def _sequence(self, seq: SeqExpr, owner: If | Function) -> Steps:
        self.begin(seq, owner)
        outer = self._pending, self.dataflow
        blocks: list[BindingBlock] = []
        for block in seq.blocks:
            self._pending, self.dataflow = [], block.dataflow
            self.block(block)
            with each("bindings of Relax", block.bindings) as rest:
                for binding in rest:
                    yield from self._binding(binding)
            self.end_block(block)
            made = self._pending
            if len(made) == len(block.bindings) and all(a is b for a, b in zip(made, block.bindings, strict=True)):
                blocks.append(block)
            elif made:
                blocks.append(replace(block, bindings=tuple(made)))
        self._pending, self.dataflow = outer
        body = self.expr(seq.body)
        same = body is seq.body and len(blocks) == len(seq.blocks)
        same = same and all(a is b for a, b in zip(blocks, seq.blocks, strict=True))
        self._made[seq] = self.finish(seq if same else SeqExpr(joined_blocks(blocks), body), owner)

    def _binding(self, binding: Binding | MatchCast) -> Steps:
        match binding.value:
            case If(condition, then, otherwise) as branch:
                yield self._sequence(then, branch)
                yield self._sequence(otherwise, branch)
                parts = self.expr(condition), self._made[then], self._made[otherwise]
                same = all(a is b for a, b in zip(parts, (condition, then, otherwise), strict=True))
                value: Expr = branch if same else If(*parts)
            case Function() as func:
                yield self._sequence(func.body, func)
                value = self.local(func)
            case other:
                value = self.expr(other)
        if value is binding.value:
            self.informed = False
            self.bind(binding)
        else:
            self.informed = self._is_informed(binding.value, value)
            self.bind(rebound(binding, binding.var, value))

    def _is_informed(self, old: Expr, new: Expr) -> bool:
        """Whether something else is known of what ``new`` is made of than of what ``old`` was made
        of.
        """
        inner = zip(sequences(old), sequences(new), strict=True)
        if any(self.inference.of(before) != self.inference.of(after) for before, after in inner):
            return True
        parts = zip(values(old), values(new), strict=False)
        return any(a.info is not b.info and a.info != b.info for a, b in parts if a is not b)


def rebound(binding: Binding | MatchCast, var: Var, value: Expr) -> Binding | MatchCast:
    """Return ``binding`` with another variable and another value."""
    return Binding(var, value) if isinstance(binding, Binding) else MatchCast(var, value, binding.info)


def joined_blocks(blocks: Sequence[BindingBlock]) -> tuple[BindingBlock, ...]:
    """Return ``blocks`` with those of one kind that follow each other in one, and without empty
    ones.
    """
    found: list[BindingBlock] = []
    for dataflow, group in groupby((block for block in blocks if block.bindings), lambda block: block.dataflow):
        first, *rest = group
        bindings = tuple(binding for block in (first, *rest) for binding in block.bindings)
        found.append(BindingBlock(bindings, dataflow) if rest else first)
    return tuple(found)
