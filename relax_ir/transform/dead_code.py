"""DeadCodeElimination: what nothing uses is left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.walk import post_order
from relay2relax.relax_ir.inference.infer import Inference
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
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, callees, sequences, variables
from relay2relax.relax_ir.transform.rewriting.mutator import RelaxPass, joined_blocks


@dataclass(frozen=True, slots=True)
class DeadCodeElimination(RelaxPass):
    """Remove bindings without effect that nothing uses, and private functions that nothing calls.

    ``entry_functions`` names private functions that stay as well, with what they call. A
    ``match_cast`` stays: it is a check. Raises Relay2RelaxError for a name that the module does not
    have.
    """

    entry_functions: Sequence[str] | None = None
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without dead code."""
        entries = [var for var, func in mod.functions.items() if not func.private]
        entries += [mod.get_global_var(name) for name in self.entry_functions or ()]
        mod = without_unused(mod, entries)
        inference = Inference(mod)
        kept = {
            var: without_dead_bindings(func, inference) if isinstance(func, Function) else func
            for var, func in mod.functions.items()
        }
        if any(kept[var] is not func for var, func in mod.functions.items()):
            mod = without_unused(replace(mod, functions=kept), entries)
        return mod


def without_dead_bindings(func: Function, inference: Inference) -> Function:
    """Return ``func`` without bindings that have no effect and that nothing uses."""
    order = list(all_sequences([func.body]))
    uses = Counter(var for seq in order for var in _used(seq))
    by_var = {binding.var: binding for seq in order for binding in bindings(seq)}
    dead: set[Var] = set()
    waiting = [var for var in by_var if not uses[var]]
    while waiting:
        var = waiting.pop()
        binding = by_var[var]
        if var in dead or isinstance(binding, MatchCast) or not _removable(binding.value, inference):
            continue
        dead.add(var)
        gone = list(all_sequences(sequences(binding.value)))
        # What is inside goes with it; its uses end, and its own variables need no look any more.
        dead |= {inner.var for seq in gone for inner in bindings(seq)}
        for used in (*variables(binding.value), *(one for seq in gone for one in _used(seq))):
            uses[used] -= 1
            if not uses[used] and used in by_var:
                waiting.append(used)
    if not dead:
        return func
    made: dict[SeqExpr, SeqExpr] = {}
    for seq in reversed(order):
        blocks = (BindingBlock(tuple(_kept(block, dead, made)), block.dataflow) for block in seq.blocks)
        made[seq] = SeqExpr(joined_blocks(tuple(blocks)), seq.body)
    return replace(func, body=made[func.body])


def _used(seq: SeqExpr) -> Iterator[Var]:
    for binding in bindings(seq):
        yield from variables(binding.value)
    yield from variables(seq.body)


def _removable(value: Expr, inference: Inference) -> bool:
    inner = (binding for seq in all_sequences(sequences(value)) for binding in bindings(seq))
    return inference.is_pure(value) and all(
        not isinstance(binding, MatchCast) and inference.is_pure(binding.value) for binding in inner
    )


def _kept(block: BindingBlock, dead: set[Var], made: dict[SeqExpr, SeqExpr]) -> Iterator[Binding | MatchCast]:
    for binding in block.bindings:
        if binding.var in dead:
            continue
        match binding:
            case Binding(var, If(condition, then, otherwise)):
                yield Binding(var, If(condition, made[then], made[otherwise]))
            case Binding(var, Function() as local):
                yield Binding(var, replace(local, body=made[local.body]))
            case _:
                yield binding


def without_unused(mod: IRModule, entries: Iterable[GlobalVar]) -> IRModule:
    """Return ``mod`` without the functions that ``entries`` do not call, directly or not."""
    live = set(post_order(entries, lambda var: callees(mod, mod.functions[var])))
    if len(live) == len(mod.functions):
        return mod
    return replace(mod, functions={var: func for var, func in mod.functions.items() if var in live})
