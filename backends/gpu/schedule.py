"""Which kernel each stage of a program becomes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from relay2relax.backends.c.fusion.pipeline import RULES, fuse
from relay2relax.backends.c.fusion.rule import Fusion
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.half import widened
from relay2relax.backends.c.schedule.loops import FlatViews
from relay2relax.backends.c.schedule.schedule import Schedule, Scheduled, stage_name
from relay2relax.backends.c.stages import Blocks, Opaque, Part, Program, Rows, Stage, owners_of, settled_of, stages_of
from relay2relax.backends.gpu.attention import attention
from relay2relax.backends.gpu.attention_fusion import FUSE_ATTENTION
from relay2relax.backends.gpu.borders import INLINE_BORDERS
from relay2relax.backends.gpu.copies import SMALL, with_copies
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.division import divided
from relay2relax.backends.gpu.elementwise import elementwise
from relay2relax.backends.gpu.kernel import count
from relay2relax.backends.gpu.powers import with_safe_powers
from relay2relax.backends.gpu.product import product
from relay2relax.backends.gpu.reduction import reduction
from relay2relax.backends.gpu.rows import by_rows
from relay2relax.backends.gpu.runs import JOIN_SMALL
from relay2relax.backends.gpu.statements.serial import serial_kernels
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, IntImm
from relay2relax.tir.ir.stmt import PrimFunc, Stmt

# Rules for vectors, caches and packed matrices of processors.
_FOR_PROCESSORS = frozenset({"c.WidenFactors", "c.ShareInputs", "c.SplitGroups", "c.ChannelsLast", "c.FuseAttention"})


def gpu_schedule(func: PrimFunc, device: Device, constants: frozenset[Buffer] = frozenset()) -> Schedule:
    """Return the stages of ``func`` as kernels for ``device``, fused as for processors; the content
    of ``constants`` is known ahead.
    """
    params = func.buffers
    results = frozenset(params[len(params) - func.num_outputs :])
    rules = [rule for rule in RULES if not rule.native and rule.name not in _FOR_PROCESSORS]
    rules.insert([rule.name for rule in rules].index("c.PlaceParts"), INLINE_BORDERS)
    rules += [FUSE_ATTENTION, JOIN_SMALL]
    program = fuse(
        Fusion(
            Program(tuple(stages_of(func)), {}),
            Machine(parallel_work=None),
            results,
            frozenset(params),
            constants,
            owners=owners_of(func),
            settled=settled_of(func),
        ),
        rules,
    )
    flat = FlatViews(program.memory)

    def known(buffer: Buffer) -> bool:
        return flat.views.get(buffer, buffer) in program.known

    made = [kernel for stage in program.stages for kernel in _kernels(stage, flat, device, known)]
    # What is made of weights comes first: between writers of one tensor it would run with them.
    ordered = sorted(made, key=lambda kernel: not kernel.ahead)
    stages = tuple(Scheduled(with_safe_powers(kernel.stmt), kernel.name, IntImm(0), IntImm(0)) for kernel in ordered)
    return Schedule(stages, {**program.views, **flat.views}, flat.begin)


class _Kernel(NamedTuple):
    """A kernel with its name, and whether it depends on weights alone."""

    name: str
    stmt: Stmt
    ahead: bool = False


def _kernels(stage: Part, flat: FlatViews, device: Device, known: Callable[[Buffer], bool]) -> Iterator[_Kernel]:
    """Yield the kernels of a stage."""
    match stage:
        case Opaque(stmt):
            yield _Kernel(
                stage_name(stage), serial_kernels(stmt), bool(stage.writes()) and all(map(known, stage.writes()))
            )
        case Rows():
            members = flat.flatten(stage.stages)
            yield _Kernel(stage_name(stage), by_rows(stage, members if stage.axes else with_copies(members)))
        case Blocks():
            yield _Kernel(stage_name(stage), attention(stage, flat))
        case Stage():
            (single,) = widened(flat.flatten([stage])[0], ahead=False)
            *before, plain = divided(single, known, device)
            for one in (*before, plain):
                yield _Kernel(
                    stage_name(one),
                    _kernel(one, device),
                    known(one.target) or (one is not plain and one.reduction is None),
                )


def _kernel(stage: Stage, device: Device) -> Stmt:
    """Return the kernel of a flattened stage."""
    if stage.reduction is None:
        return elementwise(stage)
    own = product(stage, device)
    if own is not None:
        return own
    work = static(count((*stage.axes, *stage.reduction.axes)))
    copied = with_copies([stage]) if work is not None and work <= SMALL else [stage]
    return reduction(stage) if len(copied) == 1 else by_rows(Rows((), tuple(copied)), copied)
