"""New values put in place of those that match, until nothing changes any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, Union, cast, overload

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.constraints import PatternContext
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.core.matching.view import PatternError
from relay2relax.core.passes import PassInfo
from relay2relax.core.walk import post_order
from relay2relax.relax_ir.analysis.structural_equal import structural_equal
from relay2relax.relax_ir.build.builder import BlockBuilder
from relay2relax.relax_ir.build.expr_mutator import ExprMutator
from relay2relax.relax_ir.dpl.from_module import rule_of_module
from relay2relax.relax_ir.dpl.rewriters import FirstOf, OneValue, Replace, ReplaceAll, Rule, WholeContext, rule_of
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.expr import (
    Binding,
    BindingBlock,
    Call,
    CallTIR,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    MatchCast,
    SeqExpr,
    Tuple,
    Var,
)
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import ObjectStructInfo
from relay2relax.relax_ir.ir.visit import (
    all_sequences,
    callees,
    free_variables,
    operands,
    sequences,
    variables,
    with_operands,
    with_sequences,
)
from relay2relax.relax_ir.transform.canonicalize_bindings import CanonicalizeBindings
from relay2relax.relax_ir.transform.common_subexpr import EliminateCommonSubexpr
from relay2relax.relax_ir.transform.dead_code import without_dead_bindings
from relay2relax.relax_ir.transform.rewriting.mutator import RelaxPass
from relay2relax.tir.ir.stmt import PrimFunc

AnyBinding: TypeAlias = Union[Binding, MatchCast]
AnyFunction: TypeAlias = Union[Function, PrimFunc]

# Rewriting that has not ended by then never does, nor does one by which a program has grown to so
# many times its size, and by so many bindings besides.
ROUNDS = 100
GROWTH = 20
BINDINGS = 5_000
_CLEANING = (CanonicalizeBindings(), EliminateCommonSubexpr())


class PatternMatchingRewriter(RelaxPass):
    """A rule that functions and modules are rewritten by, until it changes nothing.

    Between two rounds names of names go, equal values are joined, and what nothing uses goes.
    Semantics: TVM's ``PatternMatchingRewriter``.
    """

    __slots__ = ("rule",)

    def __init__(self, rule: Rule) -> None:
        self.rule = rule

    @staticmethod
    def from_pattern(pattern: DFPattern, func: Replace) -> PatternMatchingRewriter:
        """Return the rewriter that puts what ``func`` returns in place of what matches.

        ``func`` is given the value that matched, and what each part of the pattern did. It returns
        the value itself, or None, where it shall stay; another alternative of the pattern may then
        match.
        """
        return PatternMatchingRewriter(rule_of(pattern, func))

    @staticmethod
    def from_module(mod: IRModule) -> PatternMatchingRewriter:
        """Return the rewriter that puts the function ``replacement`` of ``mod`` in the place of
        its function ``pattern``; see :func:`rule_of_module`.
        """
        return PatternMatchingRewriter(rule_of_module(mod))

    @property
    def info(self) -> PassInfo:
        """The name, and level 0."""
        return PassInfo("PatternMatchingRewriter", 0)

    def __or__(self, other: PatternMatchingRewriter) -> PatternMatchingRewriter:
        """Return the rewriter by this rule, and by that of ``other`` for what it leaves."""
        return PatternMatchingRewriter(FirstOf(self.rule, other.rule))

    @overload
    def __call__(self, mod: IRModule) -> IRModule: ...
    @overload
    def __call__(self, mod: Function) -> Function: ...
    def __call__(self, mod: Any) -> Any:
        """Return the module or function rewritten.

        Raises PatternError where that does not come to an end, or a function alone would have to
        call others.
        """
        if not isinstance(mod, Function):
            return super().__call__(mod)
        alone = GlobalVar("rewritten")
        made = self.transform(IRModule({alone: mod}))
        if len(made.functions) > 1:
            found = "a function alone, to call " + ", ".join(var.name for var in made.functions if var is not alone)
            raise PatternError(mistake(kinds.PATTERN, what="what is rewritten", expected="a module", found=found))
        return made[alone]

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its functions rewritten."""
        names = _fresh_names(mod, self.rule.functions())
        added = _renamed(self.rule.functions(), names)
        given, bound = mod, GROWTH * _size(mod) + BINDINGS
        for rounds in range(ROUNDS):
            if _size(mod) > bound:
                raise PatternError(mistake(kinds.ENDLESS, passes=rounds))
            whole = replace(mod, functions={**mod.functions, **added})
            inference = Inference(whole)
            changed: dict[GlobalVar, Function] = {}
            for var, func in mod.functions.items():
                new = _rewritten(func, self.rule, whole, names, inference) if isinstance(func, Function) else func
                if isinstance(new, Function) and new is not func:
                    changed[var] = new
            changed = _cleaned(whole, changed)
            changed = {var: func for var, func in changed.items() if not structural_equal(func, mod[var])}
            if not changed:
                return given if mod is given else _with_called(mod, added)
            mod = replace(mod, functions={**mod.functions, **changed})
        raise PatternError(mistake(kinds.ENDLESS, passes=ROUNDS))


class ExprPatternRewriter(PatternMatchingRewriter):
    """The rewriter of one pattern, whose alternatives are not tried one by one."""

    def __init__(self, pattern: DFPattern, func: Replace) -> None:
        super().__init__(OneValue(pattern, func))


class OrRewriter(PatternMatchingRewriter):
    """The rewriter by one rule, and by another for what that leaves."""

    def __init__(self, lhs: PatternMatchingRewriter, rhs: PatternMatchingRewriter) -> None:
        super().__init__(FirstOf(lhs.rule, rhs.rule))


def rewrite_call(pattern: DFPattern, rewriter: Replace, func: Function) -> Function:
    """Return ``func`` with what ``rewriter`` makes of each value that matches.

    See ``PatternMatchingRewriter.from_pattern``.
    """
    return PatternMatchingRewriter.from_pattern(pattern, rewriter)(func)


def rewrite_bindings(ctx: PatternContext, rewriter: ReplaceAll, func: Function) -> Function:
    """Return ``func`` with the new values that ``rewriter`` gives for what the context matches.

    ``rewriter`` is given the variable of each pattern, and the values of all variables; it returns
    new values by variable.
    """
    return PatternMatchingRewriter(WholeContext(ctx, rewriter))(func)


def _size(mod: IRModule) -> int:
    bodies = (func.body for func in mod.functions.values() if isinstance(func, Function))
    return sum(len(block.bindings) for seq in all_sequences(bodies) for block in seq.blocks)


def _fresh_names(mod: IRModule, added: Mapping[GlobalVar, AnyFunction]) -> dict[GlobalVar, GlobalVar]:
    """Return functions of free names for those that are added."""
    supply = NameSupply()
    for var in mod.functions:
        supply.reserve(var.name)
    return {var: GlobalVar(supply.fresh(var.name, "_")) for var in added}


def _renamed(
    added: Mapping[GlobalVar, AnyFunction], names: Mapping[GlobalVar, GlobalVar]
) -> dict[GlobalVar, AnyFunction]:
    """Return functions by their new names, which call each other by these."""
    whole = IRModule({names[var]: func for var, func in added.items()})
    renaming = _Renaming(names, whole)
    made = {var: renaming.visit(func) if isinstance(func, Function) else func for var, func in whole.functions.items()}
    return cast("dict[GlobalVar, AnyFunction]", made)


class _Renaming(ExprMutator):
    def __init__(self, names: Mapping[GlobalVar, GlobalVar], mod: IRModule) -> None:
        super().__init__(mod)
        self.names = names

    def visit_global_var(self, var: GlobalVar) -> Expr:
        return self.names.get(var, var)


def _with_called(mod: IRModule, added: Mapping[GlobalVar, AnyFunction]) -> IRModule:
    """Return ``mod`` with those of the added functions that it calls."""
    whole = replace(mod, functions={**mod.functions, **added})
    called: dict[GlobalVar, AnyFunction] = {}
    waiting = list(mod.functions.values())
    while waiting:
        for var in callees(whole, waiting.pop()):
            if var in added and var not in called:
                called[var] = added[var]
                waiting.append(added[var])
    kept = {var: func for var, func in added.items() if var in called}
    return replace(mod, functions={**mod.functions, **kept})


def _cleaned(mod: IRModule, changed: Mapping[GlobalVar, Function]) -> dict[GlobalVar, Function]:
    """Return the changed functions of ``mod`` without names of names, equal values, and what
    nothing uses.
    """
    made = dict(changed)
    while made:
        whole = replace(mod, functions={**mod.functions, **made})
        for one in _CLEANING:
            whole = one.transform(whole)
        inference = Inference(whole)
        after: dict[GlobalVar, Function] = {}
        for var in made:
            func = whole[var]
            assert isinstance(func, Function)
            after[var] = without_dead_bindings(func, inference)
        if all(after[var] is func or structural_equal(after[var], func) for var, func in made.items()):
            break
        made = after
    return made


def _rewritten(
    func: Function, rule: Rule, mod: IRModule, names: Mapping[GlobalVar, GlobalVar], inference: Inference
) -> Function:
    """Return ``func`` with new values in every sequence, in normal form; itself where there are
    none.

    ``names`` are those of the functions that the rule brings along.
    """
    made: dict[SeqExpr, SeqExpr] = {}
    for seq in reversed(list(all_sequences([func.body]))):
        made[seq] = _sequence(_with_inner(seq, made), rule, names, inference)
    body = made[func.body]
    if body is func.body:
        return func
    builder = BlockBuilder(mod)
    builder.begin_sequence()
    return replace(func, body=builder.end_sequence(builder.normalize(body)))


def _with_inner(seq: SeqExpr, made: Mapping[SeqExpr, SeqExpr]) -> SeqExpr:
    """Return ``seq`` with what the sequences in its values have become."""
    blocks = tuple(
        _block(block, [_with_value(one, _inner(one.value, made)) for one in block.bindings]) for block in seq.blocks
    )
    return seq if _same(blocks, seq.blocks) else replace(seq, blocks=blocks)


def _inner(value: Expr, made: Mapping[SeqExpr, SeqExpr]) -> Expr:
    found = sequences(value)
    return with_sequences(value, [made[one] for one in found]) if found else value


def _with_value(binding: AnyBinding, value: Expr) -> AnyBinding:
    return binding if value is binding.value else replace(binding, value=value)


def _block(block: BindingBlock, bindings: Sequence[AnyBinding]) -> BindingBlock:
    return block if _same(bindings, block.bindings) else replace(block, bindings=tuple(bindings))


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(map(lambda a, b: a is b, one, other))


def _sequence(seq: SeqExpr, rule: Rule, names: Mapping[GlobalVar, GlobalVar], inference: Inference) -> SeqExpr:
    """Return ``seq`` with new values; its result counts as one more binding."""
    blocks = list(seq.blocks) or [BindingBlock(())]
    result: Var | None = None
    if isinstance(seq.body, Tuple):
        result = Var("result", ObjectStructInfo(), blocks[-1].dataflow)
        blocks[-1] = replace(blocks[-1], bindings=(*blocks[-1].bindings, Binding(result, seq.body)))
    new = [_block(block, list(_rewritten_block(block, rule, names, inference))) for block in blocks]
    if _same(new, blocks):
        return seq
    if result is None:
        return replace(seq, blocks=tuple(new))
    last = [one for one in new[-1].bindings if one.var is not result]
    body = next(one.value for one in new[-1].bindings if one.var is result)
    return SeqExpr((*new[:-1], replace(new[-1], bindings=tuple(last))), body)


def _rewritten_block(
    block: BindingBlock, rule: Rule, names: Mapping[GlobalVar, GlobalVar], inference: Inference
) -> Iterator[AnyBinding]:
    for run in _without_effects(block, inference):
        values = rule.values(run, inference) if len(run) > 1 or not _has_effect(run[0], inference) else {}
        if not values:
            yield from run
            continue
        known: dict[Expr, Expr] = {one.value: one.var for one in run if one.var not in values and operands(one.value)}
        known.update(cast("Mapping[Expr, Expr]", names))
        yield from _in_order(
            [_with_value(one, _named(values[one.var], known) if one.var in values else one.value) for one in run]
        )


def _without_effects(block: BindingBlock, inference: Inference) -> Iterator[list[AnyBinding]]:
    """Yield the bindings of a block in rows without effects, those with effects by themselves."""
    row: list[AnyBinding] = []
    for binding in block.bindings:
        if block.dataflow or not _has_effect(binding, inference):
            row.append(binding)
            continue
        if row:
            yield row
        yield [binding]
        row = []
    if row:
        yield row


def _has_effect(binding: AnyBinding, inference: Inference) -> bool:
    return isinstance(binding.value, If) or not inference.is_pure(binding.value)


def _named(value: Expr, names: Mapping[Expr, Expr]) -> Expr:
    """Return a new value with variables for what has one, and functions by their new names."""
    made: dict[Expr, Expr] = {}
    for node in post_order((value,), lambda one: () if one in names else operands(one)):
        new = names.get(node) or with_operands(node, [made[one] for one in operands(node)])
        match new:
            case Call(GlobalVar() as callee) if callee in names:
                new = replace(new, op=cast(GlobalVar, names[callee]))
            case CallTIR(callee) if callee in names:
                new = replace(new, func=cast(GlobalVar, names[callee]))
        made[node] = new
    return made[value]


def _in_order(bindings: Sequence[AnyBinding]) -> Iterator[AnyBinding]:
    """Yield bindings each behind those that it uses, and otherwise in their order.

    Raises PatternError where values need each other.
    """
    waiting_for: dict[Var, set[Var]] = {}
    own = {one.var: one for one in bindings}
    done: set[Var] = set()
    users: dict[Var, list[Var]] = {}
    for binding in bindings:
        uses = {var for var in _uses(binding.value) if var in own and var not in done and var is not binding.var}
        if uses:
            waiting_for[binding.var] = uses
            for var in uses:
                users.setdefault(var, []).append(binding.var)
            continue
        ready = [binding.var]
        while ready:
            var = ready.pop(0)
            done.add(var)
            yield own[var]
            for user in users.pop(var, ()):
                waiting_for[user].discard(var)
                if not waiting_for[user]:
                    ready.append(user)
    if len(done) < len(own):
        found = ", ".join(var.name for var in own if var not in done)
        raise PatternError(
            mistake(kinds.PATTERN, what="what a rewriter returns", expected="values without a circle", found=found)
        )


def _uses(value: Expr) -> Iterator[Var]:
    """Yield the variables in a value that is not in normal form."""
    for node in post_order((value,), operands):
        yield from variables(node) if isinstance(node, Var) else ()
        if sequences(node) or isinstance(node, SeqExpr):
            yield from free_variables(node if not isinstance(node, SeqExpr) else Function((), node, ObjectStructInfo()))
