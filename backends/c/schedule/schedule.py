"""How loops run on a CPU: decided by rule, stage by stage, as a transformation of tensor programs.

``stages.py`` reads the program, the rules of ``fusion/pipeline.py`` make its stages fewer, and each
kind of stage has a schedule: ``contraction.py`` for sums of products, ``reduction.py`` for other
reductions, ``elementwise.py`` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.fusion.bytes.spans import Span
from relay2relax.backends.c.fusion.cost import effort
from relay2relax.backends.c.fusion.pipeline import RULES as FUSION_RULES
from relay2relax.backends.c.fusion.pipeline import fuse
from relay2relax.backends.c.fusion.rule import Fusion, Rule
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.contraction import schedule_contraction
from relay2relax.backends.c.schedule.elementwise import collapse, schedule_elementwise
from relay2relax.backends.c.schedule.guards import guard_accesses
from relay2relax.backends.c.schedule.half import widened
from relay2relax.backends.c.schedule.in_place import write_over
from relay2relax.backends.c.schedule.loops import FlatViews, parallel
from relay2relax.backends.c.schedule.reduction import schedule_reduction
from relay2relax.backends.c.schedule.vectors import fit_registers
from relay2relax.backends.c.schedule.windows import with_windows
from relay2relax.backends.c.schedule.winograd import with_winograd
from relay2relax.backends.c.stage_printer import StagePrinter
from relay2relax.backends.c.stages import (
    Axis,
    Blocks,
    Opaque,
    Part,
    Program,
    Rows,
    Stage,
    owners_of,
    points,
    settled_of,
    stages_of,
)
from relay2relax.core.dtype import bits, is_float
from relay2relax.tir.analysis.relations import extent_relations
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, Call, IntImm, PrimExpr, binary
from relay2relax.tir.ir.stmt import Allocate, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import shape_variables, subexpressions


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The loops of a stage: what they are called, and what one run comes to.

    ``operations`` counts arithmetic on floats, ``bytes`` each tensor that is read or written once.
    What runs ``anew`` is not worth keeping, even where it depends on constants alone.
    """

    stmt: Stmt
    label: str
    operations: PrimExpr
    bytes: PrimExpr
    anew: bool = False


@dataclass(frozen=True, slots=True)
class Schedule:
    """Loops without blocks, in order; ``views`` are buffers that are another buffer's memory.

    ``begin`` says with which element of that memory a buffer begins.
    """

    stages: tuple[Scheduled, ...]
    views: Mapping[Buffer, Buffer]
    begin: Callable[[Buffer], int]

    def memory(self, buffer: Buffer) -> Buffer:
        """Return the buffer whose memory ``buffer`` is."""
        while buffer in self.views:
            buffer = self.views[buffer]
        return buffer

    def __str__(self) -> str:
        printer = StagePrinter()
        lines: list[str] = []
        for stage in self.stages:
            lines += [f"# {stage.label}", *printer.statement(stage.stmt)]
        for view, buffer in self.views.items():
            if self.begin(view):
                lines.append(f"# {printer.buffer(view)} begins with element {self.begin(view)} of {buffer.name}")
        return "".join(f"{line}\n" for line in lines)


# The rules in order: guards, those of fusion, then two that know how loops will run.
RULES: tuple[Rule, ...] = (
    Rule(
        "c.GuardAccesses",
        "What is not proved to lie inside its tensor is guarded; first, while every index is as it was written "
        "(guards.py). apache-tvm's code has no such guards.",
        guard_accesses,
        required=True,
        native=True,
    ),
    *FUSION_RULES,
    Rule(
        "c.Winograd",
        "Convolutions of 3x3 multiply less often where that pays; apache-tvm's rewriting of storage gives their "
        "temporaries away too early (winograd.py).",
        lambda f: replace(f, program=with_winograd(f.program, f.machine)),
        native=True,
    ),
    Rule(
        "c.FuseWindows",
        "Depthwise convolutions and what makes their images become one stage that runs by blocks of rows; when it is "
        "known which convolutions multiply less often (windows.py).",
        lambda f: replace(f, program=with_windows(f.program, f.given, f.machine)),
        native=True,
    ),
    Rule(
        "c.WriteInPlace",
        "A stage writes over an operand that nobody reads after it; last, when all readers are known (in_place.py).",
        lambda f: replace(f, program=write_over(f.program, f.params, f.constants)),
        native=True,
    ),
)


def fused(
    func: PrimFunc,
    machine: Machine,
    constants: frozenset[Buffer] = frozenset(),
    native: bool = False,
    spans: Mapping[Buffer, Span] | None = None,
) -> Program:
    """Return the stages of ``func`` after all rules; the content of ``constants`` is known ahead,
    and ``spans`` says between which integers it lies.

    ``native`` rules are for the C backend alone. Recurrences that multiply the inputs of all time
    steps at once leave a stage of its own for every step: little work saved, and twice the
    PrimFuncs for apache-tvm to read and build.
    """
    params = func.buffers
    results = frozenset(params[len(params) - func.num_outputs :])
    program = Program(tuple(stages_of(func)), {})
    rules = [rule for rule in RULES if native or not rule.native]
    # Nothing else holds for all calls.
    relations = tuple(one.condition for one in extent_relations(func)) if native and shape_variables(params) else ()
    owners, settled = owners_of(func), settled_of(func)
    return fuse(
        Fusion(
            program,
            machine,
            results,
            frozenset(params),
            constants,
            relations=relations,
            owners=owners,
            settled=settled,
            spans=spans or {},
        ),
        rules,
    )


def schedule(
    func: PrimFunc, machine: Machine, constants: frozenset[Buffer] = frozenset(), native: bool = False
) -> Schedule:
    """Return the stages of ``func`` as loops for ``machine``, fused as :func:`fused` says."""
    return scheduled(fused(func, machine, constants, native), machine)


def scheduled(program: Program, machine: Machine) -> Schedule:
    """Return the stages of a fused program as loops for ``machine``."""
    flat = FlatViews(program.memory)
    known = {program.memory(buffer) for buffer in program.known}
    stages = [one for stage in program.stages for one in _scheduled(stage, flat, machine, known)]
    stages = [replace(one, stmt=fit_registers(one.stmt, machine)) for one in stages]
    return Schedule(tuple(stages), {**program.views, **flat.views}, flat.begin)


def _scheduled(stage: Part, flat: FlatViews, machine: Machine, known: set[Buffer]) -> list[Scheduled]:

    def is_constant(buffer: Buffer) -> bool:
        return flat.views.get(buffer) in known

    match stage:
        case Opaque():
            return [Scheduled(stage.stmt, stage_name(stage), IntImm(0), _bytes(stage), stage.anew)]
        case Rows():
            loops = _rows(stage, stage.axes, flat.flatten(stage.stages), machine)
            return [Scheduled(loops, stage_name(stage), _operations(stage), _bytes(stage))]
        case Blocks():
            *before, (what, main) = _blocks(stage, flat, machine, is_constant)
        case Stage():
            (plain,) = flat.flatten([stage])
            *before, (what, main) = _loops(plain, machine, is_constant)
    named = stage_name(stage)
    ahead = [Scheduled(one, f"{named}, {earlier}", IntImm(0), IntImm(0)) for earlier, one in before]
    return [*ahead, Scheduled(main, f"{named}, {what}" if what else named, _operations(stage), _bytes(stage))]


def _loops(
    stage: Stage, machine: Machine, is_constant: Callable[[Buffer], bool] = lambda buffer: False
) -> list[tuple[str, Stmt]]:
    """Return the loops of a flattened stage, behind those that prepare its operands, each with what
    it does.
    """
    if stage.reduction is None:
        return [("", schedule_elementwise(stage, machine))]
    *conversions, stage = widened(collapse(stage))
    before = [("conversion", schedule_elementwise(one, machine)) for one in conversions]
    tiled = schedule_contraction(stage, machine, is_constant)
    if tiled is None:
        return [*before, ("", schedule_reduction(stage, machine))]
    *packing, main = tiled
    return [*before, *(("packing", one) for one in packing), ("product", main)]


def _rows(
    rows: Rows,
    axes: Sequence[Axis],
    stages: Sequence[Stage],
    machine: Machine,
    shared: frozenset[Buffer] = frozenset(),
) -> Stmt:
    """Return the loops over rows, in each of which the flattened stages run one after the other.

    The loops are those over ``axes``: the others of the rows are the caller's, and so is the memory
    ``shared``.
    """
    own = {axis.var for axis in rows.axes}
    within = replace(machine, parallel_work=None)
    parts: list[Stmt] = []
    work: PrimExpr = IntImm(0)
    for stage in stages:
        work = binary("+", work, effort(stage))
        inner = replace(stage, axes=tuple(axis for axis in stage.axes if axis.var not in own))
        parts += (one for _, one in _loops(inner, within))
    body: Stmt = Seq(tuple(parts))
    for stage in rows.stages:
        if stage.target.scope == "local" and stage.target not in shared:
            body = Allocate(stage.target, body)
    return parallel(axes, body, simplify(work), machine.parallel_work)


def _blocks(
    blocks: Blocks, flat: FlatViews, machine: Machine, is_constant: Callable[[Buffer], bool]
) -> list[tuple[str, Stmt]]:
    """Return the loops over blocks of rows, behind those that pack for all of them."""
    flattened = iter(flat.flatten(blocks.stages()))
    own = frozenset(axis.var for axis in blocks.axes)
    shared = blocks.shared()
    within = replace(machine, parallel_work=None)
    before: list[tuple[str, Stmt]] = []
    parts: list[Stmt] = []
    work: PrimExpr = IntImm(0)
    for member in blocks.members:
        stages = [next(flattened) for _ in (member.stages if isinstance(member, Rows) else (member,))]
        for stage in stages:
            work = binary("+", work, effort(stage))
        if isinstance(member, Rows):
            axes = [axis for axis in member.axes if axis.var not in own]
            parts.append(_rows(member, axes, stages, within, shared))
        else:
            (stage,) = stages
            inner = replace(stage, axes=tuple(axis for axis in stage.axes if axis.var not in own))
            tiled = schedule_contraction(stage, machine, is_constant, own)
            plain = schedule_elementwise if stage.reduction is None else schedule_reduction
            *packing, main = tiled or [plain(inner, within)]
            before += (("packing", one) for one in packing)
            parts.append(main)
    body: Stmt = Seq(tuple(parts))
    for buffer in shared:
        body = Allocate(buffer, body)
    return [*before, ("", parallel(blocks.axes, body, simplify(work), machine.parallel_work))]


def stage_name(stage: Part) -> str:
    """Return what a stage is called: what it writes, and how."""
    if isinstance(stage, Opaque):
        return " ".join(sorted({buffer.name for buffer in stage.writes()}))
    if isinstance(stage, Rows):
        return f"{stage_name(stage.stages[-1])}, {len(stage.stages)} stages by rows of {_shape(stage.axes)}"
    if isinstance(stage, Blocks):
        return f"{stage_name(stage.members[-1])}, {len(stage.stages())} stages by blocks of {_shape(stage.axes)}"
    reduced = "" if stage.reduction is None else f" over {_shape(stage.reduction.axes)}"
    return f"{stage.target.name} {_shape(stage.axes)}{reduced}"


def _shape(axes: Sequence[Axis]) -> str:
    return "x".join(str(static(axis.extent) or "?") for axis in axes)


def _operations(stage: Stage | Rows | Blocks) -> PrimExpr:
    if not isinstance(stage, Stage):
        total: PrimExpr = IntImm(0)
        for one in stage.stages() if isinstance(stage, Blocks) else stage.stages:
            total = binary("+", total, _operations(one))
        return simplify(total)
    reduction = stage.reduction
    total = binary("*", points(stage.axes), IntImm(_arithmetic(stage.value)))
    if reduction is not None:
        everything = points([*stage.axes, *reduction.axes])
        total = binary("+", total, binary("*", everything, IntImm(1 + _arithmetic(reduction.source))))
    return simplify(total)


def _arithmetic(expr: PrimExpr) -> int:
    nodes = (node for node in subexpressions(expr) if isinstance(node, (Binary, Call)))
    return sum(is_float(node.dtype) and getattr(node, "name", "") != "if_then_else" for node in nodes)


def _bytes(stage: Part) -> PrimExpr:
    """Return the memory that a stage touches at most: of each tensor all, or as much as it has
    points.
    """
    most = None
    if isinstance(stage, Stage):
        most = points([*stage.axes, *(stage.reduction.axes if stage.reduction is not None else ())])
    total: PrimExpr = IntImm(0)
    for buffer in stage.reads() | stage.writes():
        size = size_of(buffer)
        if isinstance(stage, Stage) and buffer is stage.target:
            size = points(stage.axes)
        elif isinstance(most, IntImm) and isinstance(size, IntImm):
            size = IntImm(min(most.value, size.value))
        total = binary("+", total, binary("*", size, IntImm((bits(buffer.dtype) + 7) // 8)))
    return simplify(total)
