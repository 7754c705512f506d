"""What is under way while a graph is translated: graphs in evaluation, functions that wait."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.graph.model import MSCGraph, MSCJoint
from relay2relax.graph.relax.partitions import Mark
from relay2relax.graph.relax.values import Closure, Lifted, Value
from relay2relax.ops.registry.symbolic import Symbols
from relay2relax.relax_ir import Expr as RelaxExpr
from relay2relax.relax_ir import Var
from relay2relax.relax_ir.ir.struct_info import StructInfo


@dataclass(slots=True, eq=False)
class Frame:
    """A graph that is being translated: its values so far, where it is evaluated, how deep in calls
    of functions.

    ``unrolled`` graphs are part of a recursion over data that are known beforehand, ``codegen``
    ones of a function for an external compiler, ``arm`` ones of a branch of which only the running
    program knows whether it is taken. ``failure`` says why the graph has no result: a program that
    evaluates it ends there. ``choice`` is what decides whether an unrolled recursion goes on: the
    condition of its first branch, and the node that gives it.
    """

    graph: MSCGraph
    values: dict[str, Value]
    region: object
    depth: int = 0
    unrolled: bool = False
    codegen: bool = False
    arm: bool = False
    failure: str = ""
    choice: tuple[str, RelaxExpr] | None = None

    @property
    def result(self) -> Value:
        """What the graph gives."""
        return self.values[self.graph.result]

    def inside(self, graph: MSCGraph, values: dict[str, Value]) -> Frame:
        """Return the frame of a graph that is evaluated as part of this one."""
        return Frame(graph, values, self.region, self.depth, self.unrolled, self.codegen, self.arm, choice=self.choice)


@dataclass(slots=True)
class Waiting:
    """A function of the module that is still to be built."""

    target: Lifted
    params: Sequence[Var]
    closure: Closure
    values: dict[str, Value]
    ret: StructInfo
    mark: Mark | None


@dataclass(slots=True)
class Entry:
    """A function that is called from outside.

    ``ret`` is what a recursive one gives, ``mark`` that of one for an external compiler.
    """

    closure: Closure
    params: Sequence[Var]
    symbols: Symbols
    ret: StructInfo | None
    mark: Mark | None


def ended(
    frame: Frame,
    node: MSCJoint,
    inner: Frame,
    settled: Callable[[Frame, MSCJoint, Value], Value] = lambda _frame, _node, value: value,
) -> None:
    """Let ``node`` be what ``inner`` gives, or end where that ends."""
    if inner.failure:
        frame.failure = inner.failure
    else:
        frame.values[node.name] = settled(frame, node, inner.result)
