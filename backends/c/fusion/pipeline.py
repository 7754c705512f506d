"""Fewer stages: what only moves or transforms elements is done where the elements are read or made.

The rules, in this order. Of equal stages one is kept (``common.py``). A stage that copies a
temporary in the order of memory becomes a view. Products that a recurrence repeats are done at once
as far as they can be (``steps.py``). Narrow integers that are multiplied often are widened once
(``widening.py``). An element-wise stage is computed where its result is read, if that repeats no
work that matters. A stage that interleaves several results takes each of them apart
(``phases.py``). An element-wise stage over the result of a reduction is done when the result is
stored. Products of one input by several constant matrices become one (``shared_inputs.py``). A
tensor that is only padded or joined to others is made inside of the result (``placement.py``). Then
images get their channels innermost (``layout.py``), those within groups, too (``groups.py``).
Stages over the same rows become one that runs row by row (``rows.py``), and products around such
rows one that runs by blocks of them (``blocks.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Optional, TypeAlias

from relay2relax.backends.c.fusion.attention import by_blocks
from relay2relax.backends.c.fusion.cse import eliminate_common
from relay2relax.backends.c.fusion.groups import split_groups
from relay2relax.backends.c.fusion.interleave import split_phases
from relay2relax.backends.c.fusion.layout import channels_last
from relay2relax.backends.c.fusion.placement import place
from relay2relax.backends.c.fusion.recurrence import batch_steps
from relay2relax.backends.c.fusion.rows import by_rows
from relay2relax.backends.c.fusion.shared_inputs import share_inputs
from relay2relax.backends.c.fusion.widening import widen_factors
from relay2relax.backends.c.stages import (
    AnyStage,
    Axis,
    Opaque,
    Program,
    Reduction,
    Stage,
    flat_index,
    mapped,
    points,
    tidy,
    unflatten,
    with_digits,
)
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, Cast, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.reshape import size as size_of
from relay2relax.tir.ir.visit import loads, map_expr, subexpressions, substitute

_Rewrite: TypeAlias = Callable[[PrimExpr], Optional[PrimExpr]]
# A fused expression does not grow beyond this many nodes.
_MOST_NODES = 400
# What one evaluation of these costs, in additions.
_COSTS = {"exp": 10, "tanh": 20, "erf": 25, "sigmoid": 12, "pow": 40, "power": 40, "log": 20, "sqrt": 5, "rsqrt": 6}
_CALL_COST = 30
_CHEAP = 4


def fuse(
    stages: Sequence[AnyStage],
    results: Sequence[Buffer],
    params: Sequence[Buffer],
    constants: frozenset[Buffer] = frozenset(),
    batch: bool = False,
) -> Program:
    """Return the program with fewer stages.

    ``results``, ``params`` and ``constants`` keep their memory.

    What depends on constants alone stays apart: it is computed once, ahead. With ``batch``, what
    recurrences repeat is done for all steps at once.
    """
    given = frozenset(params) | constants
    found, views = _make_views(eliminate_common(stages, given), set(results), set(params) | constants)
    memory = Program((), views).memory
    found = [_through_views(stage, views) for stage in (batch_steps(found, memory) if batch else found)]
    found = widen_factors(found)
    apart = made_of(found, constants, frozenset(params)) - constants
    fixed = set(params) | constants | _seen_through_views(found, views) | _not_spread(found, apart)
    found = _inline(found, fixed, given)
    found = split_phases(found, fixed)
    found = _fuse_epilogues(found, fixed)
    found = share_inputs(found, made_of(found, constants, frozenset(params)), fixed)
    found = place(found, fixed)
    found = split_groups(found)
    found = channels_last(found, fixed, given | apart)
    program = Program(tuple(found), views, made_of(found, constants, frozenset(params)))
    return by_blocks(by_rows(program, given), given)


def made_of(stages: Sequence[AnyStage], constants: frozenset[Buffer], params: frozenset[Buffer]) -> frozenset[Buffer]:
    """Return ``constants`` and the buffers that are computed from nothing else."""
    written: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.writes():
            written[buffer] = written.get(buffer, 0) + 1
    known = set(constants)
    for stage in stages:
        targets = stage.writes()
        read = stage.reads() - targets
        if read and read <= known and all(written[b] == 1 and b not in params for b in targets):
            known |= targets
    return frozenset(known)


def _not_spread(stages: Sequence[AnyStage], apart: frozenset[Buffer]) -> set[Buffer]:
    """Return those of ``apart`` that are worth their memory: not a few numbers written to many
    places.
    """
    found: set[Buffer] = set()
    for stage in stages:
        if isinstance(stage, Stage) and stage.target in apart:
            size, sources = static_size(stage.target), [static_size(buffer) for buffer in stage.reads()]
            if size <= sum(sources) or cost(stage.value) > _CHEAP or stage.reduction is not None:
                found.add(stage.target)
        else:
            found |= stage.writes() & apart
    return found


def static_size(buffer: Buffer) -> int:
    """Return the number of elements of ``buffer``, 0 where it is symbolic."""
    size = size_of(buffer)
    return size.value if isinstance(size, IntImm) else 0


# Views


def _make_views(
    stages: list[AnyStage], results: set[Buffer], params: set[Buffer]
) -> tuple[list[AnyStage], dict[Buffer, Buffer]]:
    views: dict[Buffer, Buffer] = {}
    written: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.writes():
            written[buffer] = written.get(buffer, 0) + 1
    kept: list[AnyStage] = []
    for stage in stages:
        pair = _ordered_copy(stage)
        if pair is not None:
            source, target = pair
            root = source
            while root in views:
                root = views[root]
            if target not in params and written[target] == 1 and written.get(source, 1) == 1:
                views[target] = source
                continue
            # A result that is a copy of a temporary: the temporary is made in the result's memory.
            if target in results and root not in params and written.get(root) == 1:
                views[root] = target
                continue
        kept.append(stage)
    return kept, views


def _ordered_copy(stage: AnyStage) -> tuple[Buffer, Buffer] | None:
    if isinstance(stage, Opaque) or stage.reduction is not None or not isinstance(stage.value, BufferLoad):
        return None
    source, target = stage.value.buffer, stage.target
    if source.dtype != target.dtype:
        return None
    whole = points(stage.axes)
    if size_of(source) != whole or size_of(target) != whole:
        return None
    bounds = stage.bounds
    same = flat_index(source, stage.value.indices, bounds) == flat_index(target, stage.indices, bounds)
    return (source, target) if same else None


def _through_views(stage: AnyStage, views: dict[Buffer, Buffer]) -> AnyStage:
    """Return the stage with loads from views as loads from their source, where that takes no
    division.
    """
    if isinstance(stage, Opaque) or not any(buffer in views for buffer in stage.reads()):
        return stage
    bounds = stage.bounds

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad) or node.buffer not in views:
            return None
        buffer, indices = node.buffer, tuple(map_expr(i, rewrite) for i in node.indices)
        while buffer in views:
            source = views[buffer]
            moved = unflatten(source, flat_index(buffer, indices, bounds), bounds)
            if any(_divides(index) for index in moved):
                break
            buffer, indices = source, moved
        return BufferLoad(buffer, indices)

    return mapped(stage, rewrite)


def _seen_through_views(stages: Sequence[AnyStage], views: dict[Buffer, Buffer]) -> set[Buffer]:
    """Return the buffers that some stage reads or writes in another shape: they must exist in
    memory.
    """
    used = {buffer for stage in stages for buffer in (*stage.reads(), *stage.writes())}
    found: set[Buffer] = set()
    for view in views:
        buffer = view
        while view in used and buffer in views:
            found |= {buffer, views[buffer]}
            buffer = views[buffer]
    return found


def _divides(expr: PrimExpr) -> bool:
    return any(isinstance(node, Binary) and node.op in ("//", "%") for node in subexpressions(expr))


# Computing element-wise stages where they are read


@dataclass(slots=True)
class _Use:
    """Where a buffer is read: by which stages, and how often in all."""

    stages: list[int] = field(default_factory=list)
    loads: int = 0


def _uses(stages: Sequence[AnyStage | None]) -> dict[Buffer, _Use]:
    uses: dict[Buffer, _Use] = {}
    for number, stage in enumerate(stages):
        if stage is None:
            continue
        if isinstance(stage, Opaque):
            for buffer in stage.reads():
                uses.setdefault(buffer, _Use()).stages.append(number)
            continue
        found = [load.buffer for expr in stage.expressions() for load in loads(expr)]
        for buffer in dict.fromkeys(found):
            uses.setdefault(buffer, _Use()).stages.append(number)
        for buffer in found:
            uses[buffer].loads += 1
    return uses


def _inline(stages: list[AnyStage], fixed: set[Buffer], given: frozenset[Buffer]) -> list[AnyStage]:
    work: list[AnyStage | None] = list(stages)
    uses = _uses(work)
    for number in range(len(work)):
        stage = work[number]
        if not isinstance(stage, Stage) or stage.reduction is not None:
            continue
        target = stage.target
        if target in fixed or stage.indices != tuple(axis.var for axis in stage.axes):
            continue
        use = uses.get(target)
        if use is None or not all(_may_inline(stage, work[reader], use) for reader in use.stages):
            continue
        # What is computed of temporaries may be done where those are made, and its copies placed
        # (placement.py).
        plain = isinstance(stage.value, BufferLoad) and not any(map(_divides, stage.value.indices))
        computed = not plain and not stage.reads() <= given
        if computed and any(_chooses_copies(work[reader]) for reader in use.stages):
            continue
        # The operands of the stage must still be what they were where it is read: nothing is
        # written twice.
        for reader in use.stages:
            consumer = work[reader]
            assert isinstance(consumer, Stage)
            work[reader] = inlined = _substituted(stage, consumer)
            _move_uses(uses, consumer, inlined, reader)
        for load in {load.buffer for expr in stage.expressions() for load in loads(expr)}:
            uses[load].stages.remove(number)
        work[number] = None
    return [stage for stage in work if stage is not None]


def _chooses_copies(stage: AnyStage | None) -> bool:
    """Whether a stage only copies, here from one tensor, there from another, as padding does."""
    if not isinstance(stage, Stage) or not _is_guarded(stage.value):
        return False
    stack = [stage.value]
    while stack:
        match stack.pop():
            case Call("if_then_else", (_, then, otherwise), _):
                stack += [then, otherwise]
            case BufferLoad() | FloatImm() | IntImm():
                pass
            case _:
                return False
    return True


def _move_uses(uses: dict[Buffer, _Use], before: Stage, after: Stage, number: int) -> None:
    old = [load.buffer for expr in before.expressions() for load in loads(expr)]
    new = [load.buffer for expr in after.expressions() for load in loads(expr)]
    for buffer in set(new) - set(old):
        uses.setdefault(buffer, _Use()).stages.append(number)
    for buffer in old:
        uses[buffer].loads -= 1
    for buffer in new:
        uses[buffer].loads += 1


def _may_inline(stage: Stage, reader: AnyStage | None, use: _Use) -> bool:
    if not isinstance(reader, Stage) or any(load.buffer is stage.target for i in reader.indices for load in loads(i)):
        return False
    nodes = sum(1 for _ in subexpressions(stage.value))
    size = sum(1 for expr in reader.expressions() for _ in subexpressions(expr))
    if size + nodes * use.loads > _MOST_NODES:
        return False
    price = cost(stage.value)
    produced = points(stage.axes)
    if reader.reduction is not None:
        in_source = any(load.buffer is stage.target for load in loads(reader.reduction.source))
        if in_source:
            if isinstance(stage.value, BufferLoad):
                return all(not _divides(index) for index in stage.value.indices)
            everything = points([*reader.axes, *reader.reduction.axes])
            # A product of two loads is what the tiled schedule knows; it reads each element many
            # times.
            return everything == produced and (price <= _CHEAP or len(use.stages) == 1) and not _is_guarded(stage.value)
    if price <= _CHEAP and not _is_guarded(stage.value):
        whole = [
            load for load in loads(stage.value) if points([Axis(Var(""), e) for e in load.buffer.shape]) == produced
        ]
        return use.loads == 1 or len(whole) <= 1
    return len(use.stages) == 1 and use.loads == 1 and points(reader.axes) == produced


def cost(expr: PrimExpr) -> int:
    """Return roughly what evaluating ``expr`` once costs, in additions."""
    total = 0
    for node in subexpressions(expr):
        match node:
            case Call("if_then_else" | "likely"):
                total += 1
            case Call(name, _, _):
                total += _COSTS.get(name, _CALL_COST)
            case Binary("/", _, _):
                total += 4
            case Binary() if node.dtype not in ("int64", "bool"):
                total += 1
    return total


def effort(stage: Stage) -> PrimExpr:
    """Return roughly what all of a stage costs, in operations on memory."""
    reduction = stage.reduction
    if reduction is None:
        return simplify(binary("*", points(stage.axes), IntImm(1 + cost(stage.value))))
    return simplify(binary("*", points([*stage.axes, *reduction.axes]), IntImm(1 + cost(reduction.source))))


def _is_guarded(expr: PrimExpr) -> bool:
    return any(isinstance(node, Call) and node.name == "if_then_else" for node in subexpressions(expr))


def _substituted(producer: Stage, consumer: Stage) -> Stage:
    bounds = consumer.bounds

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad) or node.buffer is not producer.target:
            return None
        indices = [map_expr(index, rewrite) for index in node.indices]
        values = {axis.var: index for axis, index in zip(producer.axes, indices, strict=True)}
        return tidy(substitute(producer.value, values), bounds)

    return mapped(consumer, rewrite)


# Finishing reductions


def _fuse_epilogues(stages: list[AnyStage], fixed: set[Buffer]) -> list[AnyStage]:
    work: list[AnyStage | None] = list(stages)
    uses = _uses(work)
    for number in range(len(work)):
        stage = work[number]
        at = number
        while isinstance(stage, Stage) and stage.reduction is not None:
            use = uses.get(stage.target)
            if stage.target in fixed or use is None or len(use.stages) != 1:
                break
            reader = use.stages[0]
            consumer = work[reader]
            if not isinstance(consumer, Stage) or consumer.reduction is not None:
                break
            merged = _finished(stage, consumer)
            if merged is None:
                break
            # The reduction moves down to its reader; its operands stay alive that long.
            work[at], work[reader] = None, merged
            for buffer in stage.reads():
                uses[buffer].stages[:] = [reader if n == at else n for n in uses[buffer].stages]
            stage, at = merged, reader
    return [stage for stage in work if stage is not None]


def _finished(stage: Stage, consumer: Stage) -> Stage | None:
    """Return ``stage`` storing what ``consumer`` makes of its result, or None where that is not
    element by element.
    """
    reads = [load for load in loads(consumer.value) if load.buffer is stage.target]
    if not reads or any(load != reads[0] for load in reads):
        return None
    consumer = with_digits(consumer, reads[0].indices)
    reads = [load for load in loads(consumer.value) if load.buffer is stage.target]
    if points(stage.axes) != points(consumer.axes) or stage.indices != tuple(axis.var for axis in stage.axes):
        return None
    values = _inverse(stage.axes, reads[0].indices, consumer.axes)
    if values is None:
        return None
    reduction = stage.reduction
    assert isinstance(reduction, Reduction)
    bounds = stage.bounds
    own = reads[0]

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        return stage.value if node == own else None

    value = tidy(substitute(map_expr(consumer.value, rewrite), values), bounds)
    indices = tuple(simplify(substitute(index, values), bounds) for index in consumer.indices)
    return Stage(stage.axes, consumer.target, indices, value, reduction)


def _inverse(axes: Sequence[Axis], indices: Sequence[PrimExpr], readers: Sequence[Axis]) -> dict[Var, PrimExpr] | None:
    """Return the reader's axes in terms of ``axes``, given that the reader loads at ``indices``, or
    None.

    Each index must be made of whole reader's axes, as digits of one number are; each axis must
    occur once.
    """
    extents = {axis.var: axis.extent for axis in readers}
    values: dict[Var, PrimExpr] = {}
    for axis, index in zip(axes, indices, strict=True):
        digits = _digits(index, extents)
        if digits is None:
            return None
        rest: PrimExpr = axis.var
        covered: PrimExpr = IntImm(1)
        for var in digits:
            if var in values:
                return None
            values[var] = binary("%", rest, extents[var]) if len(digits) > 1 else rest
            rest = binary("//", rest, extents[var])
            covered = simplify(binary("*", covered, extents[var]))
        if covered != simplify(axis.extent):
            return None
    for axis in readers:
        if axis.var not in values:
            if axis.extent != IntImm(1):
                return None
            values[axis.var] = IntImm(0)
    return values


def _digits(index: PrimExpr, extents: dict[Var, PrimExpr]) -> list[Var] | None:
    """Return the variables of a mixed-radix number, lowest first, or None where ``index`` is
    none.
    """
    terms: list[tuple[int, Var]] = []
    stack = [index]
    while stack:
        match stack.pop():
            case Binary("+", a, b):
                stack += [a, b]
            case Binary("*", Var() as var, IntImm(factor)) | Binary("*", IntImm(factor), Var() as var):
                terms.append((factor, var))
            case Var() as var:
                terms.append((1, var))
            case IntImm(0):
                pass
            case Cast("int64", value):
                stack.append(value)
            case _:
                return None
    terms.sort(key=lambda term: term[0])
    place = 1
    for number, (factor, var) in enumerate(terms):
        if var not in extents or factor != place:
            return None
        extent = extents[var]
        if isinstance(extent, IntImm):
            place *= extent.value
        elif number != len(terms) - 1:
            return None
    return [var for _, var in terms]
