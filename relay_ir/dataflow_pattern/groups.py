"""The parts of a program that match a pattern and may be taken out of it, none within another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from relay2relax.core.matching.matcher import Found, Matcher
from relay2relax.core.matching.patterns import (
    AltPattern,
    CallPattern,
    ConstantPattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    TuplePattern,
    parts,
)
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

    ``function`` computes the one from the others. ``found`` holds what each part of the pattern
    matched.
    """

    root: Expr
    inputs: tuple[Expr, ...]
    function: Function
    found: Mapping[DFPattern, Sequence[Expr]]


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

    def groups(self, pattern: DFPattern) -> dict[Expr, Group]:
        """Return the groups by their roots; of those that overlap, the one nearest the result."""
        found: dict[Expr, Group] = {}
        taken: set[Expr] = set()
        for node in self._candidates(pattern):
            if node in taken or node in self._partitioned:
                continue
            matched = self.matcher.match(pattern, node)
            if matched is None:
                continue
            group, inside = self._group(pattern, node, matched, len(found))
            if self._may_leave(group, inside, taken):
                taken |= inside
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

    def _group(self, pattern: DFPattern, root: Expr, matched: Found, number: int) -> tuple[Group, set[Expr]]:
        found: dict[DFPattern, list[Expr]] = {one: list(at) for one, at in matched.items()}  # type: ignore[arg-type]
        inputs: dict[Expr, Expr] = {}
        for one in self._inputs(pattern, found):
            if one not in inputs:
                inputs[one] = Var(f"FunctionVar_{number}_{len(inputs)}")
        body = substitute(root, inputs)
        params = tuple(var for var in inputs.values() if isinstance(var, Var))
        inside = list(post_order((root,), lambda node: () if node in inputs else _all_parts(node)))
        own = [node for node in inside if node not in inputs]
        function = Function(params, body, attrs={PARTITIONED: "".join(map(_label, own))})
        return Group(root, tuple(inputs), function, found), set(own)

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

    def _may_leave(self, group: Group, inside: set[Expr], taken: set[Expr]) -> bool:
        """Whether the group is apart from others, and what leaves it comes back to its root.

        Operators, functions and constants may be in several.
        """
        for node in inside:
            if isinstance(node, (Op, Function, Constant)):
                continue
            if node in taken:
                return False
            if node is group.root:
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
