"""The parts of a program that match a pattern and may be taken out of it, none within another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    TuplePattern,
    as_pattern,
    parts,
)
from relay2relax.core.matching.view import Found
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.dataflow_pattern.view import RelayView
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, If, Let, Match, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.ir.expr import children as children_of
from relay2relax.relay_ir.ir.rewrite import nodes, substitute

# The attribute of a function that was taken out: the operators in it.
PARTITIONED = "PartitionedFromPattern"


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A match: ``root`` is its result, ``inputs`` what it is computed from.

    ``inside`` are the nodes between, in their order, and ``found`` what each part of the pattern
    matched. ``arguments`` are the inputs by the parts of the pattern that matched them, so that one
    may stand twice. ``number`` tells the groups of a program apart.
    """

    root: Expr
    inputs: tuple[Expr, ...]
    inside: tuple[Expr, ...]
    arguments: tuple[Expr, ...]
    found: Mapping[DFPattern, Sequence[Expr]]
    number: int

    def function(self, attrs: Mapping[str, object]) -> Function:
        """Return a function from the inputs to the root, with ``attrs``."""
        params = {one: Var(f"FunctionVar_{self.number}_{place}") for place, one in enumerate(self.inputs)}
        body = substitute(self.root, dict(params))
        named = {PARTITIONED: "".join(map(_label, self.inside)), **attrs}
        return Function(tuple(params.values()), body, attrs=named)


class Grouper:
    """Finds the groups of one program, for any number of patterns."""

    def __init__(self, view: RelayView) -> None:
        self.view = view
        self.matcher = Matcher(view)
        self.flow = self.matcher.flow
        self._partitioned = self._inside_partitions()
        self._calls: dict[str, list[Expr]] = {}
        for node in reversed(self.flow.order):
            if isinstance(node, Call) and isinstance(node.op, Op):
                self._calls.setdefault(node.op.name, []).append(node)

    def _inside_partitions(self) -> set[Expr]:
        """Return what earlier partitions hold: patterns do not look into them."""
        found: set[Expr] = set()
        for node in self.view.order():
            if isinstance(node, Function) and PARTITIONED in node.attrs:
                found.add(node)
                found.update(nodes(node.body))
        return found

    def groups(self, pattern: DFPattern, also: Sequence[DFPattern] = ()) -> dict[Expr, Group]:
        """Return the groups by their roots; of those that overlap, the one nearest the result.

        What the parts ``also`` of the pattern match may be used outside of the group.
        """
        as_pattern(pattern)
        found: dict[Expr, Group] = {}
        taken: set[Expr] = set()
        for node in self._candidates(pattern):
            if node in taken or node in self._partitioned:
                continue
            matched = self.matcher.match(pattern, node)
            if matched is None:
                continue
            group = self._group(pattern, node, matched, len(found))
            results = {one for part in also for one in group.found.get(part, ())}
            if self._may_leave(group, taken, results):
                taken.update(group.inside)
                found[node] = group
        return found

    def _candidates(self, pattern: DFPattern) -> Sequence[Expr]:
        """Return the nodes that may match, those near the result first."""
        roots = self.matcher.roots(pattern)
        if roots is None:
            return self.view.order()[::-1]
        if len(roots) == 1:
            return self._calls.get(next(iter(roots)), ())
        calls = [node for name in roots for node in self._calls.get(name, ())]
        return sorted(calls, key=lambda node: -self.flow.index[node])

    def _group(self, pattern: DFPattern, root: Expr, matched: Found, number: int) -> Group:
        found: dict[DFPattern, list[Expr]] = {one: list(at) for one, at in matched.items()}  # type: ignore[arg-type]
        arguments = tuple(self._inputs(pattern, found))
        inputs = dict.fromkeys(arguments)
        reached = post_order((root,), lambda node: () if node in inputs else _all_parts(node))
        inside = tuple(node for node in reached if node not in inputs)
        return Group(root, tuple(inputs), inside, arguments, found, number)

    def _inputs(self, pattern: DFPattern, found: Mapping[DFPattern, Sequence[Expr]]) -> list[Expr]:
        """Return what the parts of the pattern without parts of their own matched, in their order.

        Constants that the pattern asks for stay where they are; so does what lies on the path of a
        dominator or within a function.
        """
        patterns = list(post_order((pattern,), parts))
        within: set[Expr] = set()
        for one in patterns:
            if isinstance(one, DominatorPattern):
                within.update(*(found.get(part, ()) for part in (one.parent, one.path)))
            elif isinstance(one, FunctionPattern):
                bodies = [node.body for node in found.get(one, ()) if isinstance(node, Function)]
                within.update(*(RelayView(body).order() for body in bodies))
        return [
            node
            for one in patterns
            for node in _leaves(one, found.get(one, ()))
            if node not in within and not isinstance(node, (Op, Function)) and not self._embedded(node, one)
        ]

    def _embedded(self, node: Expr, pattern: DFPattern) -> bool:
        while isinstance(node, Constant):
            match pattern:
                case ConstantPattern():
                    return True
                case ExprPattern(expr):
                    return isinstance(expr, Constant)
                case AltPattern(left, right):
                    pattern = left if self.matcher.match(left, node) is not None else right
                case _:
                    return False
        return False

    def _may_leave(self, group: Group, taken: set[Expr], results: set[Expr]) -> bool:
        """Whether the group is apart from others, and what leaves it comes back to its root, but
        for its other results.

        Operators, functions and constants may be in several.
        """
        inside = set(group.inside)
        for node in group.inside:
            if isinstance(node, (Op, Function, Constant)):
                continue
            if node in taken:
                return False
            if node is group.root or node in results:
                continue
            outside = [user for user in self.flow.users[node] if user not in inside]
            if not all(self.flow.dominates(group.root, user) for user in outside):
                return False
        return True


def _leaves(pattern: DFPattern, found: Sequence[Expr]) -> Sequence[Expr]:
    """Return what a pattern without parts matched; the parts of that, where it leaves them open."""
    match pattern:
        case TuplePattern(None):
            return [field for node in found if isinstance(node, Tuple) for field in node.fields]
        case CallPattern(_, None):
            return [arg for node in found if isinstance(node, Call) for arg in node.args]
    return () if parts(pattern) else found


def _all_parts(node: Expr) -> Sequence[Expr]:
    return (*node.params, node.body) if isinstance(node, Function) else children_of(node)


def _label(node: Expr) -> str:
    """Return what a node adds to the name of the group that it is in."""
    match node:
        case Call(op=Op(name)):
            return f"{name}_"
        case Call():
            return "Call_"
        case TupleGetItem(index=index):
            return f"TupleGetItem{index}_"
        case Function():
            return "Function"
        case Tuple() | Let() | If() | Match():
            return f"{type(node).__name__}_"
    return ""
