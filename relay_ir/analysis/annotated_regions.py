"""Regions of a program between annotations, such as those around what external compilers get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Call, Expr, Let, Op, Tuple, TupleGetItem, children


@dataclass(eq=False)
class AnnotatedRegion:
    """What begins at ``args`` and ends at ``rets``, which are among its ``nodes``."""

    id: int
    target: str
    args: list[Expr] = field(default_factory=list)
    nodes: dict[Expr, None] = field(default_factory=dict)
    rets: list[Expr] = field(default_factory=list)


class AnnotatedRegionSet:
    """The regions of ``expr`` between calls of two annotations, in the order in which they begin.

    Each beginning has a number, and a region that of the first of those it is made of. Annotations
    for ``ignored`` are taken for other calls.

    Annotations name a compiler, the region's ``target``. What is computed from a region that is not
    ended belongs to it; regions that come together so become one, which ends where both do. Raises
    UnsupportedError for an end without a beginning, or one that names another target.
    Semantics: TVM's ``AnnotatedRegionSet``.
    """

    def __init__(self, expr: Expr, region_begin_op: Op, region_end_op: Op, ignored: str = "") -> None:
        self._begun = 0
        self._of: dict[Expr, AnnotatedRegion] = {}
        self._regions: dict[int, AnnotatedRegion] = {}
        for node in post_order((expr,), children):
            match node:
                case Call(op, (inner,)) if op == region_begin_op and (not ignored or _target(node) != ignored):
                    self._begin(node)
                case Call(op, (inner,)) if op == region_end_op and (not ignored or _target(node) != ignored):
                    self._end(node, inner)
                case Call(_, args):
                    self._join(node, self._open(args, region_end_op))
                case Tuple() | TupleGetItem() | Let():
                    self._join(node, self._open(children(node), region_end_op))

    def __len__(self) -> int:
        return len(self._regions)

    def __iter__(self) -> Iterator[AnnotatedRegion]:
        return iter(self._regions.values())

    def get_region(self, expr: Expr) -> AnnotatedRegion | None:
        """Return the region that ``expr`` belongs to, None where it belongs to none."""
        return self._of.get(expr)

    def _begin(self, node: Expr) -> None:
        region = AnnotatedRegion(self._begun, _target(node), [node])
        self._regions[self._begun] = region
        self._begun += 1
        self._add(region, node)

    def _end(self, node: Expr, inner: Expr) -> None:
        region = self._of.get(inner)
        if region is None:
            raise UnsupportedError(f"the end of a region of {_target(node)!r} has no beginning")
        if region.target != _target(node):
            raise UnsupportedError(f"a region of {region.target!r} ends as one of {_target(node)!r}")
        self._add(region, node)
        region.rets.append(node)

    def _open(self, args: Sequence[Expr], end: Op) -> list[AnnotatedRegion]:
        """Return the regions of those that are no ends."""
        going_on = (arg for arg in args if not (isinstance(arg, Call) and arg.op == end))
        return list(dict.fromkeys(self._of[arg] for arg in going_on if arg in self._of))

    def _join(self, node: Expr, regions: Sequence[AnnotatedRegion]) -> None:
        if not regions:
            return
        into = regions[0]
        for other in regions[1:]:
            for one in other.nodes:
                self._add(into, one)
            into.args += other.args
            into.rets += other.rets
            del self._regions[other.id]
        self._add(into, node)

    def _add(self, region: AnnotatedRegion, node: Expr) -> None:
        region.nodes[node] = None
        self._of[node] = region


def _target(node: Expr) -> str:
    return str(getattr(node.attrs, "compiler", "")) if isinstance(node, Call) else ""
