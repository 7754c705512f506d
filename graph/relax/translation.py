"""The state of one translation to Relax: what nodes are so far, and values as Relax has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.walk import post_order
from relay2relax.graph.errors import used_too_early
from relay2relax.graph.model import NO_TENSORS, MSCGraph, MSCJoint, MSCTensor, weight_data
from relay2relax.graph.relax.frames import Frame, Waiting
from relay2relax.graph.relax.functions import (
    called_functions,
    has_branches,
    is_first_order,
    recursive_functions,
)
from relay2relax.graph.relax.partitions import Mark, mark_of
from relay2relax.graph.relax.problems import Problems
from relay2relax.graph.relax.signatures import type_of_tensors
from relay2relax.graph.relax.trace import Trace, TracedBuilder
from relay2relax.graph.relax.values import (
    Cell,
    Closure,
    Data,
    Fields,
    Lifted,
    Maker,
    Value,
    is_known,
    item,
    what,
)
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir import BlockBuilder, Constant, Tuple, Var
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.visit import Steps

# Larger tensors are data, not counters.
_SMALL = 16
# The parts that a result of a data type may have.
_LARGEST_RESULT = 10_000


@dataclass(slots=True)
class Translation:
    """One translation: what it is asked for, what it has made so far, and the builder.

    ``walk`` emits the nodes of a frame: calls and branches hold graphs that are walks of their own.
    """

    main: MSCGraph
    weights: Mapping[str, Array]
    lowered: bool
    partitions: bool
    problems: Problems
    trace: Trace | None = None
    qdq: bool = False
    calls: type[OpEmitter] = OpEmitter
    composites: bool = False  # whether fused nodes become functions
    constants: dict[str, Constant] = field(default_factory=dict)
    globals: dict[str, Closure] = field(default_factory=dict)
    lifted: dict[Closure, Lifted] = field(default_factory=dict)
    waiting: list[Waiting] = field(default_factory=list)
    arrays: dict[RelaxExpr, Array] = field(default_factory=dict)
    walk: Callable[[Frame], Steps] = field(init=False)
    builder: BlockBuilder = field(init=False)
    emitter: OpEmitter = field(init=False)
    inputs: Sequence[Var] = ()  # the parameters of the entry functions
    effects: bool = False  # whether the program may end before it has a result
    recursive: frozenset[str] = field(init=False)
    branches: bool = field(init=False)

    def __post_init__(self) -> None:
        self.builder = BlockBuilder() if self.trace is None else TracedBuilder(self.trace)
        self.emitter = self.calls(self.builder, qdq=self.qdq)
        called = {name: called_functions(graph) for name, graph in self.graphs.items()}
        self.recursive = recursive_functions(called)
        reached = post_order((self.main.name, *self.main.entries), lambda name: called.get(name, ()))
        self.branches = any(has_branches(self.graphs[name]) for name in reached if name in self.graphs)

    @property
    def graphs(self) -> dict[str, MSCGraph]:
        """The functions of the module, by name."""
        return {self.main.name: self.main, **self.main.functions}

    def mark(self, callee: Closure, args: Sequence[Value]) -> Mark | None:
        """Return what a function for an external compiler is marked with, None where it is to be
        inlined: that is asked for, or Relax has no such values as it takes or gives.
        """
        if not self.partitions or any(map(is_known, (*args, *callee.captured))) or not is_first_order(callee.graph):
            return None
        return mark_of(callee.graph)

    def function_of_module(self, node: MSCJoint, name: str) -> Closure:
        """Return the function ``name`` of the module; raises UnsupportedError where it has none."""
        if name not in self.globals:
            if name not in self.graphs:
                raise UnsupportedError(
                    f"node {node.name!r}: the module has no function @{name}", kind=translating.NO_RELAX_FORM
                )
            self.globals[name] = Closure(self.graphs[name], name=name, recursive=name in self.recursive)
        return self.globals[name]

    def operand(self, frame: Frame, node: MSCJoint, name: str) -> Value:
        """Return the value of an operand; raises GraphError where it is not there yet."""
        try:
            return frame.values[name]
        except KeyError:
            raise used_too_early(node, name) from None

    def project(self, value: Value, index: int) -> Value:
        """Return a field of a tuple."""
        known = item(value, index)
        return self.emitter.item(self.as_relax(None, value), index) if known is None else known

    def settled(self, frame: Frame, node: MSCJoint, value: Value) -> Value:
        """Return the value of a call or a branch with its extents named, unless it only is the
        graph's result.
        """
        if is_known(value) or (node.name == frame.graph.result and not _is_used(frame.graph, node.name)):
            return value
        relax = self.as_relax(node, value)
        if any(one.dtype in NO_TENSORS for one in node.outputs):
            # A value of a data type, whose fields the node does not tell.
            return self.emitter.known(relax)
        return self.emitter.known(relax, type_of_tensors(self.builder.struct_info(relax), iter(node.outputs)))

    def plain(self, frame: Frame, name: str) -> RelaxExpr:
        """Return the value of a node as Relax has it."""
        return self.as_relax(frame.graph.find_node(name), frame.values[name])

    def as_relax(self, node: MSCJoint | None, value: Value) -> RelaxExpr:
        """Return ``value`` as Relax has it; raises UnsupportedError where it has not."""
        if isinstance(value, (Closure, Lifted, Maker, Data, Fields, Cell)):
            where = f"node {node.name!r}" if node is not None else "a node"
            raise UnsupportedError(
                mistake(translating.NO_RELAX_FORM, owner=where, problem=f"needs {what(value)} when the program runs")
            )
        return value

    def as_tuples(self, value: Value) -> Value:
        """Return a value of a data type, or a tuple with such values, as tuples of fields.

        The program says which constructors made it, so the fields are all that a caller lacks.
        What holds anything else that is no Relax value is returned as it is, and so is what has too
        many parts, each counted as often as it stands: types of tuples share none.
        """
        made: dict[Value, Value] = {}
        size: dict[Value, int] = {}
        for one in post_order((value,), lambda one: one.fields if isinstance(one, (Data, Fields)) else ()):
            size[one] = 1
            if isinstance(one, (Data, Fields)):
                size[one] += sum(size[part] for part in one.fields)
                if size[one] > _LARGEST_RESULT:
                    return value
                parts = tuple(self.as_relax(None, made[part]) for part in one.fields)
                made[one] = self.builder.emit(Tuple(parts))
            elif is_known(one):
                return value
            else:
                made[one] = one
        return made[value]

    def weight(self, graph: MSCGraph, tensor: MSCTensor) -> Constant:
        """Return the constant of a weight; one weight is one constant, whoever uses it."""
        name = tensor.name
        if name not in self.constants:
            self.constants[name] = Constant(weight_data(self.weights, tensor), graph.weight_spans.get(name))
            if self.trace is not None:
                self.trace.constants[name] = self.constants[name]
        return self.constants[name]

    def array(self, value: RelaxExpr) -> Array | None:
        """Return the data of ``value`` where they are known beforehand."""
        if isinstance(value, Constant):
            return value.data
        return self.arrays[value] if value in self.arrays else self.emitter.integers_of(value)

    def compute(self, op: OpDef, attrs: Any, args: Sequence[RelaxExpr], result: RelaxExpr) -> None:
        """Remember the value of a call of small constants: a recursion may count down by it."""
        arrays = [self.array(arg) for arg in args]
        if all(one is not None and one.size <= _SMALL for one in arrays):
            value = kernel_value(op, attrs, arrays)
            if isinstance(value, np.ndarray):
                self.arrays[result] = value

    def bodies(self, frame: Frame, node: MSCJoint) -> list[Frame]:
        """Return frames for the graphs that ``node`` holds, with what they capture."""
        rest: Iterator[str] = iter(node.captured)
        return [
            frame.inside(graph, {name: self.operand(frame, node, next(rest)) for name in graph.captured})
            for graph in node.bodies
        ]

    def fails(self, frame: Frame, node: MSCJoint, why: str) -> None:
        """Note that a program that evaluates ``node`` ends there; refuse one that always does."""
        if not frame.arm:
            raise UnsupportedError(why, kind=translating.NO_RELAX_FORM)
        place = self.problems.place(node.name)
        frame.failure = f"{why} ({place})" if place is not None else why


def _is_used(graph: MSCGraph, name: str) -> bool:
    """Whether a node is an operand of another one."""
    return any(name in node.operands for node in graph.nodes)
