"""In which order nodes of a TorchScript graph run, and which read a tensor after one of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from relay2relax.relay_ir.frontend.pytorch.torchscript import BRANCH, LOOP, Block, Node

# What is asked of a tensor but its elements, which a write does not change.
_QUESTIONS = frozenset({
    "aten::size", "aten::dim", "aten::len", "aten::numel", "aten::is_floating_point", "prim::dtype", "prim::device",
    "prim::shape", "prim::layout", "prim::is_cuda", "prim::requires_grad", "aten::__is__", "aten::__isnot__",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Where:
    """Where a node stands: its number, the first numbers of the loops around it, and the numbers
    of arms that do not run where it does.
    """

    number: int = 0
    loops: tuple[int, ...] = ()
    apart: tuple[tuple[int, int], ...] = ()


@dataclass(eq=False)
class Order:
    """The numbers of nodes in the order in which they run, and of the reads of values."""

    _places: dict[int, _Where] = field(default_factory=dict)
    _made: dict[str, int] = field(default_factory=dict)
    _reads: dict[str, list[int]] = field(default_factory=dict)
    _count: int = 0

    @classmethod
    def of(cls, nodes: Iterable[Node], results: Iterable[str]) -> Order:
        """Return the order of a graph."""
        found = cls()
        found._block(Block((), tuple(nodes), tuple(results)), _Where())
        return found

    def is_read_after(self, name: str, node: Node) -> bool:
        """Whether the elements of a value are read after ``node`` began, in the next turn of a loop
        around it too.
        """
        where = self._places[id(node)]
        first = min([where.number, *(one for one in where.loops if self._made.get(name, -1) < one)])
        return any(
            place > first and not any(low <= place <= high for low, high in where.apart)
            for place in self._reads.get(name, ())
        )

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _block(self, block: Block, where: _Where) -> None:
        """Number a block; blocks lie within each other no deeper than they are read."""
        for name in block.inputs:
            self._made[name] = where.number
        for node in block.nodes:
            here = self._places[id(node)] = replace(where, number=self._next())
            self._made.update(dict.fromkeys(node.outputs, here.number))
            if node.kind not in _QUESTIONS:
                self._read(node.inputs)
            if node.kind == LOOP:
                here = replace(here, loops=(*here.loops, here.number))
            spans: list[tuple[int, int]] = []
            for one in node.blocks:
                begin = self._next()
                self._block(one, here)
                spans.append((begin, self._count))
            if node.kind == BRANCH and len(spans) > 1:
                for one, other in zip(node.blocks, reversed(spans), strict=True):
                    self._keep_apart(one, other)
        self._next()
        self._read(block.results)

    def _read(self, names: Iterable[str]) -> None:
        for name in names:
            self._reads.setdefault(name, []).append(self._count)

    def _keep_apart(self, block: Block, other: tuple[int, int]) -> None:
        for node in block.inner():
            place = self._places[id(node)]
            self._places[id(node)] = replace(place, apart=(*place.apart, other))
