"""Relax modules whose PrimFuncs carry the schedules of the C backend: fused groups, tiles, vectors,
threads.

Runs of ``call_tir`` are put together and fused, every stage is scheduled
(``c/schedule/schedule.py``), and each stage becomes a PrimFunc again, called by ``call_tir``.
Stages that write one tensor together stay together; equal PrimFuncs are shared. What depends on
constants alone is computed here, once; what depends on weights that are parameters becomes a
function of its own. What is printed is plain TVMScript, which apache-tvm builds with its default
pipeline.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from relay2relax.backends.c.codegen.plan import plan_memory
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import Merged, merge_blocks
from relay2relax.backends.c.schedule.schedule import Schedule, Scheduled, schedule
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.left import SCHEDULED, left_of
from relay2relax.backends.gpu.schedule import gpu_schedule
from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.backends.scheduled.functions import written_out
from relay2relax.backends.scheduled.plain_loops import plain_loops
from relay2relax.core.dtype import bits
from relay2relax.core.errors import CompilerError
from relay2relax.core.passes import Rewrites, Sequential, note_rewritten, rewrites_noted
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir.names import NameSupply
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo
from relay2relax.relax_ir.transform import (
    DeadCodeElimination,
    EliminateCommonSubexpr,
    FoldConstant,
    LegalizeOps,
    LiftTransformParams,
)
from relay2relax.relax_ir.transform.lift_transform_params import transform_functions
from relay2relax.relax_ir.transform.rewriting.mutator import Mutator, rebound
from relay2relax.relax_ir.transform.rewriting.rewriter import Rewriter
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, Var, binary
from relay2relax.tir.ir.stmt import (
    Allocate,
    BufferStore,
    PrimFunc,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import expressions, free_variables, loads, shape_variables, statements


def schedule_module(module: rx.IRModule, machine: Machine | None = None, device: Device | None = None) -> rx.IRModule:
    """Return ``module`` with every operator as scheduled PrimFuncs for ``machine``, or as kernels
    of a GPU where there is a ``device``.

    Without a ``machine`` it is this one, as the C compiler describes it; where there is no
    compiler, one with vectors of 32 bytes. The program is right on any machine. Results may differ
    in the last bits from those of the unscheduled module: sums are taken in another order. Raises
    UnsupportedError for an operator that no PrimFunc can compute.

    Of a function with the attribute ``num_input``, parameters behind so many are weights: what
    depends on them alone, packed matrices above all, is computed by ``main_transform_params``, and
    ``main`` takes its results in their place (``LiftTransformParams``; ``transform_params``
    computes them).
    """
    fold = FoldConstant(evaluate=evaluate_prim_func)
    legal = Sequential([LegalizeOps(), fold, EliminateCommonSubexpr()])(module)
    parted = LiftTransformParams()(_Namer(legal).module())
    merged = merge_blocks(parted, apart=transform_functions(parted))
    plan = partial(gpu_schedule, device=device) if device else partial(schedule, machine=machine or _this_machine())
    scheduler = _Scheduler(merged, plan, {} if device is None else {SCHEDULED: True})
    shared = Sequential([EliminateCommonSubexpr(), fold, DeadCodeElimination()])(scheduler.module())
    return LiftTransformParams()(shared)


def with_kernels(module: rx.IRModule, device: Device) -> rx.IRModule:
    """Return ``module`` with kernels for ``device`` in the place of those PrimFuncs of which
    apache-tvm's default pipeline makes none (``gpu/left.py``); all else stays as it is.
    """
    merged = merge_blocks(module, only=lambda func: bool(left_of(func)))
    if not merged.made:
        return module
    # Of loops without blocks apache-tvm would take some for element-wise, and fuse them.
    attrs = {SCHEDULED: True, "op_pattern": int(OpPattern.OPAQUE)}
    made = _Scheduler(merged, partial(gpu_schedule, device=device), attrs, merged.made).module()
    gone = {var for var in merged.module.functions if var.name in merged.made}
    return replace(made, functions={var: func for var, func in made.functions.items() if var not in gone})


def _this_machine() -> Machine:
    try:
        return find_compiler().machine
    except CompilerError:
        return Machine()


@dataclass(slots=True, eq=False)
class _Group:
    """Statements that become one PrimFunc, by the memory they read and write; what runs ``anew`` is
    not computed ahead.
    """

    labels: list[str]
    stmts: list[Stmt]
    used: dict[Buffer, None]
    written: dict[Buffer, None]
    anew: bool


class _Namer(Mutator):
    """Calls what is made of one weight alone after it."""

    def __init__(self, mod: rx.IRModule) -> None:
        super().__init__(mod)
        self.names = NameSupply()
        self.weights: set[rx.Var] = set()

    def function(self, var: rx.GlobalVar, func: rx.Function) -> rx.Function:
        count = func.attrs.get("num_input")
        if not isinstance(count, int):
            return func
        self.names, self.weights = NameSupply(), set(func.params[count:])
        for param in func.params:
            self.names.reserve(param.name)
        return super().function(var, func)

    def bind(self, binding: rx.Binding | rx.MatchCast) -> None:
        match binding.value:
            case rx.CallTIR(callee, (rx.Var() as weight,)) if weight in self.weights:
                func = self.mod.functions[callee]
                assert isinstance(func, PrimFunc)
                made = replace(binding.var, name=self.names.fresh(f"{weight.name}_{func.buffers[-1].name}", "_"))
                self.values[binding.var] = made
                self.weights.add(made)
                self.keep(rebound(binding, made, binding.value))
            case _:
                self.keep(binding)


class _Scheduler(Rewriter):
    """Replaces the call of a run of stages by calls of its scheduled groups.

    What makes weights of weights stays as it is, and with ``only`` whatever is called otherwise.
    """

    def __init__(
        self,
        merged: Merged,
        plan: Callable[..., Schedule],
        attrs: Mapping[str, Any],
        only: Collection[str] | None = None,
    ) -> None:
        super().__init__(merged.module)
        self.constants = merged.constants
        self.plan = plan
        self.attrs = attrs
        self.only = only
        self.weights: set[rx.Expr] = set()
        self.apart = () if only is not None else transform_functions(merged.module)
        self.as_it_is = False

    def params(self, name: str, func: rx.Function) -> tuple[Sequence[rx.Var], dict[str, Any]]:
        self.as_it_is = name in self.apart
        params, attrs = super().params(name, func)
        count = attrs.get("num_input")
        self.weights.update(params[count:] if isinstance(count, int) else ())
        return params, attrs

    def value(self, value: rx.Expr) -> rx.Expr:
        if self.as_it_is or not isinstance(value, rx.CallTIR):
            return value
        if self.only is not None and value.func.name not in self.only:
            return value
        func = self.mod.functions[value.func]
        assert isinstance(func, PrimFunc)
        held: dict[Buffer, rx.Expr] = dict(zip(func.buffers, value.args, strict=False))
        weights = (buffer for buffer, arg in held.items() if arg in self.weights and not shape_variables([buffer]))
        with rewrites_noted() as turned:
            plan = self.plan(func, constants=frozenset(self.constants).union(weights))
        results = [plan.memory(buffer) for buffer in func.buffers[len(value.args) :]]
        given = frozenset(self.constants).union(
            b for b, arg in held.items() if isinstance(arg, rx.Constant) or arg in self.weights
        )
        groups = _groups(plan, given)
        last = {buffer: number for number, group in enumerate(groups) for buffer in group.used}
        wholes: dict[int, rx.Expr] = {}
        for number, group in enumerate(groups):
            outputs = [buffer for buffer in group.written if last.get(buffer, 0) > number or buffer in results]
            if not outputs:
                continue
            inputs = [buffer for buffer in group.used if buffer not in group.written]
            args = [self.operand(buffer, held) for buffer in inputs]
            # What reads nothing is run on every call.
            once = bool(args) and all(isinstance(arg, rx.Constant) or arg in self.weights for arg in args)
            made = replace(_prim_func(group, inputs, outputs, plan, once), attrs=self.attrs)
            if not once and SCHEDULED not in self.attrs:
                made = made.with_body(written_out(made.body))
            callee = self.builder.add_func(made, _name(group.labels[-1]))
            infos = tuple(TensorStructInfo(buffer.shape, buffer.dtype) for buffer in outputs)
            scalars = tuple(param for param in made.params if param not in made.buffer_map)
            ahead = bool(args) and self.weights.issuperset(args)
            name = outputs[0].name
            if ahead and len(args) == 1 and isinstance(args[0], rx.Var):
                # What is kept of a weight is called after it.
                name = f"{args[0].name}_{name}"
            whole = wholes[number] = self.builder.emit(rx.CallTIR(callee, tuple(args), infos, scalars), name)
            if ahead:
                self.weights.add(whole)
            if len(outputs) == 1:
                held[outputs[0]] = whole
            else:
                held |= {buffer: rx.TupleGetItem(whole, place) for place, buffer in enumerate(outputs)}
        note_rewritten(
            {buffer: wholes[number] for buffer, number in _homes(func, plan, turned, groups, wholes).items()}
        )
        found = [held[buffer] for buffer in results]
        return found[0] if len(found) == 1 else rx.Tuple(tuple(found))

    def operand(self, buffer: Buffer, held: Mapping[Buffer, rx.Expr]) -> rx.Expr:
        data = self.constants.get(buffer)
        return held[buffer] if data is None else rx.Constant(data)


def _groups(plan: Schedule, given: frozenset[Buffer]) -> list[_Group]:
    """Return the stages of ``plan`` in groups, so that no memory is written by two of them.

    What depends on what is ``given`` ahead alone comes first: between stages that stay together it
    would be computed on every call.
    """
    single = _ahead_first([_group(stage, plan) for stage in plan.stages], given)
    last: dict[Buffer, int] = {}
    for number, group in enumerate(single):
        for buffer in group.written:
            last[buffer] = number
    found: list[_Group] = []
    end = -1
    for number, group in enumerate(single):
        if number > end:
            found.append(group)
        else:
            current = found[-1]
            current.labels += group.labels
            current.stmts += group.stmts
            current.used |= group.used
            current.written |= group.written
        # What is made anew on every call is not called apart: it would be computed ahead.
        end = max((end, number + group.anew, *(last[buffer] for buffer in group.written)))
    return found


def _ahead_first(single: Sequence[_Group], given: frozenset[Buffer]) -> list[_Group]:
    writers = Counter(buffer for group in single for buffer in group.written)
    known = set(given)
    ahead: list[_Group] = []
    for group in single:
        read = [buffer for buffer in group.used if buffer not in group.written]
        alone = all(writers[buffer] == 1 for buffer in group.written)
        if read and alone and not group.anew and known.issuperset(read):
            known |= group.written.keys()
            ahead.append(group)
    return ahead + [group for group in single if group not in ahead]


def _homes(
    func: PrimFunc, plan: Schedule, turned: Rewrites, groups: Sequence[_Group], called: Container[int]
) -> dict[Buffer, int]:
    """Return which of the groups that are ``called`` computes each tensor of ``func``.

    That is the one that writes it; a tensor that nothing writes any more is computed where what is
    made of it is. Some tensors are ``turned`` into ones of another layout.
    """
    now = {old: new for new in turned.made_of for old in turned.origins(new)}
    writers: dict[Buffer, list[int]] = {}
    for number, group in enumerate(groups):
        for buffer in group.written if number in called else ():
            writers.setdefault(buffer, []).append(number)
    made: dict[Buffer, dict[Buffer, None]] = {}
    for stage in func.body.stmts if isinstance(func.body, Seq) else (func.body,):
        stored = [node.buffer for node in statements(stage) if isinstance(node, BufferStore)]
        for node in statements(stage):
            for buffer in _accessed(node):
                made.setdefault(buffer, {}).update(dict.fromkeys(stored))
    homes: dict[Buffer, int] = {}
    given = func.buffers[: len(func.buffers) - func.num_outputs]
    for buffer in made:
        turn = [] if buffer in given else [buffer]
        for one in turn:  # which grows: what is nearest comes first
            laid_out = now.get(one, one)
            assert isinstance(laid_out, Buffer)
            memory = plan.memory(laid_out)
            if memory in writers:
                # Who writes into another tensor's memory does so after that is written.
                homes[buffer] = writers[memory][0 if one is memory or memory not in made else -1]
                break
            turn += [other for other in made.get(one, ()) if other not in turn]
    return homes


def _group(stage: Scheduled, plan: Schedule) -> _Group:
    own: set[Buffer] = set()
    used: dict[Buffer, None] = {}
    written: dict[Buffer, None] = {}
    for node in statements(stage.stmt):
        match node:
            case Allocate(buffer):
                own.add(buffer)
            case BufferStore(buffer):
                written[buffer] = None
        used |= dict.fromkeys(_accessed(node))
    roots = [dict.fromkeys(map(plan.memory, buffers)) for buffers in (used, written)]
    used, written = ({buffer: None for buffer in found if buffer not in own} for found in roots)
    return _Group([stage.label], [stage.stmt], used, written, stage.anew)


def _prim_func(
    group: _Group, inputs: Sequence[Buffer], outputs: Sequence[Buffer], plan: Schedule, once: bool
) -> PrimFunc:
    """Return the PrimFunc of a group; what is neither input nor output is memory of its own.

    ``once``: it is run ahead, and not on every call.
    """
    own = [buffer for buffer in group.written if buffer not in outputs]
    placed, memory = _placed(group, own, plan)
    body = plain_loops(group.stmts, placed, [*group.used, *group.written, *memory], once)
    for buffer in memory:
        body = Allocate(buffer, body)
    handles = {Var(buffer.name, "handle"): buffer for buffer in (*inputs, *outputs)}
    order = tuple(handles)
    func = PrimFunc(_name(group.labels[-1]), order, handles, body, num_outputs=len(outputs), private=True)
    free = tuple(free_variables(func))
    return replace(func, params=(*order[: len(inputs)], *free, *order[len(inputs) :]))


def _placed(group: _Group, own: Sequence[Buffer], plan: Schedule) -> tuple[Schedule, list[Buffer]]:
    """Return ``plan`` with a group's ``own`` tensors in as few buffers as there are dtypes, and
    those.

    Tensors share places where one is read for the last time before the other is written. apache-tvm
    would place them too, and gives some away before they are read. Tensors of symbolic size stay.
    """
    lifetimes: dict[str, dict[Buffer, tuple[int, int]]] = {}
    apart = [buffer for buffer in own if buffer.scope != "global" or static(size_of(buffer)) is None]
    for number, stmt in enumerate(group.stmts):
        for node in statements(stmt):
            for buffer in map(plan.memory, _accessed(node)):
                if buffer in own and buffer not in apart:
                    lives = lifetimes.setdefault(buffer.dtype, {})
                    lives[buffer] = lives.get(buffer, (number, number))[0], number
    views, begins = dict(plan.views), dict[Buffer, int]()
    for dtype, lives in lifetimes.items():
        if len(lives) == 1:
            apart += lives
            continue
        arena = plan_memory(lives)
        width = (bits(dtype) + 7) // 8
        memory = Buffer("memory", (simplify(binary("//", arena.size, width)),), dtype)
        views |= dict.fromkeys(lives, memory)
        begins |= {buffer: (static(place) or 0) // width for buffer, place in arena.offsets.items()}
        apart.append(memory)

    def begin(buffer: Buffer) -> int:
        return plan.begin(buffer) + begins.get(plan.memory(buffer), 0)

    return replace(plan, views=views, begin=begin), apart


def _accessed(node: Stmt) -> list[Buffer]:
    own = [node.buffer] if isinstance(node, BufferStore) else []
    return own + [load.buffer for expr in expressions(node) for load in loads(expr)]


def _name(label: str) -> str:
    """Return an identifier for what a stage is called: its result and what was done to it."""
    return re.sub(r"\W+", "_", label.split(" ")[0]).strip("_") or "stage"
