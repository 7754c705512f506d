"""The matcher: whether a node is built as a pattern says, and what each part of it matched.

It follows TVM's ``DFPatternMatcher`` where that decides between several matches: alternatives from
left to right, the arguments of ``add`` and ``multiply`` in both orders, products and quotients
regrouped once, and a part of a pattern that matched keeps its node, but along the path of a
dominator. Patterns may contain themselves, so that they are as deep as programs: what is still to
be matched waits on a stack of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from typing import Any, TypeAlias

from relay2relax.core.limits import active
from relay2relax.core.matching.flow import Flow
from relay2relax.core.matching.patterns import (
    AltPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    FunctionPattern,
    IfPattern,
    LetPattern,
    OperatorPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    VarPattern,
    WildcardPattern,
)
from relay2relax.core.matching.view import ABSENT, View

# The nodes that a part of a pattern matched: one, but along the path of a dominator.
Found: TypeAlias = "dict[DFPattern, list[Hashable]]"
# A question that may ask others, and is told their answers.
Question: TypeAlias = "Generator[Question, bool, bool]"

# The operators whose operands may stand in either order.
COMMUTATIVE = ("add", "multiply")


class Matcher:
    """Matches patterns against the nodes of one program."""

    def __init__(self, program: View) -> None:
        self.program = program
        self.flow = Flow(program)
        self.found: Found = {}
        self._trail: list[DFPattern] = []
        # Whether a part of a pattern that matched stands for that node from then on.
        self._keeps = True
        self._budget = active()

    def match(self, pattern: DFPattern, node: Hashable) -> Found | None:
        """Return the nodes that the parts of ``pattern`` matched; None where it does not match."""
        if self._budget is not None:
            self._budget.check()
        self.found, self._trail, self._keeps = {}, [], True
        return self.found if _answer(self._ask(pattern, node)) else None

    def roots(self, pattern: DFPattern) -> frozenset[str] | None:
        """Return the operators of which a node must be a call to match; None where it may be
        anything.

        An alternative that contains itself may be anything.
        """
        names: set[str] = set()
        stack, seen = [pattern], set[DFPattern]()
        while stack:
            one = stack.pop()
            if one in seen:
                return None
            seen.add(one)
            match one:
                case AltPattern(left, right):
                    stack += (left, right)
                case DominatorPattern(child=inner):
                    stack.append(inner)
                case TypePattern(inner) | DataTypePattern(inner) | ShapePattern(inner) | AttrPattern(inner):
                    stack.append(inner)
                case WildcardPattern() if one.pattern is not None:
                    stack.append(one.pattern)
                case CallPattern(op) if (name := self._operator(op)) is not None:
                    names |= {"multiply", "divide"} if name in ("multiply", "divide") else {name}
                case _:
                    return None
        return frozenset(names)

    def _operator(self, pattern: DFPattern) -> str | None:
        """Return the operator that ``pattern`` names."""
        match pattern:
            case OperatorPattern(name):
                return name
            case ExprPattern(expr) if isinstance(expr, Hashable):
                return self.program.operator(expr)
            case AttrPattern(inner):
                return self._operator(inner)
        return None

    def _forget(self, mark: int) -> None:
        for pattern in self._trail[mark:]:
            self.found.pop(pattern, None)
        del self._trail[mark:]

    def _ask(self, pattern: DFPattern, node: Hashable) -> Question:
        if self._keeps and pattern in self.found:
            return self.found[pattern][0] == node
        mark = len(self._trail)
        matches = yield self._built_as(pattern, node)
        if matches:
            self.found.setdefault(pattern, []).append(node)
            self._trail.append(pattern)
        else:
            self._forget(mark)
        return matches

    def _built_as(self, pattern: DFPattern, node: Hashable) -> Question:
        program = self.program
        match pattern:
            case WildcardPattern():
                return pattern.pattern is None or (yield self._ask(pattern.pattern, node))
            case OperatorPattern(name):
                return program.operator(node) == name
            case ExprPattern(expr):
                return expr is node or program.alike(expr, node)
            case VarPattern(name):
                found = program.variable(node)
                return found is not None and name in ("", found)
            case ConstantPattern():
                return program.is_constant(node)
            case AltPattern(left, right):
                return (yield self._ask(left, node)) or (yield self._ask(right, node))
            case CallPattern():
                return (yield self._call(pattern, node))
            case TuplePattern(patterns):
                fields = program.fields(node)
                return fields is not None and (yield self._all(patterns, fields))
            case TupleGetItemPattern(value, index):
                field = program.projection(node)
                return field is not None and index in (None, -1, field[1]) and (yield self._ask(value, field[0]))
            case FunctionPattern(params, body):
                function = program.function(node)
                if function is None or not (yield self._all(params, function[0])):
                    return False
                return (yield self._ask(body, function[1]))
            case IfPattern(condition, then, otherwise):
                branches = program.branches(node)
                return branches is not None and (yield self._all((condition, then, otherwise), branches))
            case LetPattern(var, value, body):
                binding = program.binding(node)
                return binding is not None and (yield self._all((var, value, body), binding))
            case DominatorPattern():
                return (yield self._dominator(pattern, node))
            case AttrPattern(inner, attrs):
                return (yield self._ask(inner, node)) and self._has(node, attrs)
            case TypePattern(inner, wanted):
                return program.alike(wanted, program.type_of(node)) and (yield self._ask(inner, node))
            case ShapePattern(inner, shape):
                tensor = program.shape_and_dtype(node)
                return tensor is not None and program.alike(shape, tensor[0]) and (yield self._ask(inner, node))
            case DataTypePattern(inner, dtype):
                tensor = program.shape_and_dtype(node)
                return tensor is not None and dtype == tensor[1] and (yield self._ask(inner, node))
        raise AssertionError(f"no kind of pattern: {pattern!r}")

    def _all(self, patterns: Sequence[DFPattern] | None, nodes: Sequence[Hashable]) -> Question:
        """Ask whether the nodes match one by one; None stands for any nodes."""
        if patterns is None:
            return True
        if len(patterns) != len(nodes):
            return False
        mark = len(self._trail)
        for pattern, node in zip(patterns, nodes, strict=True):
            if not (yield self._ask(pattern, node)):
                self._forget(mark)
                return False
        return True

    def _has(self, node: Hashable, attrs: Mapping[str, object]) -> bool:
        found = ((wanted, self.program.attribute(node, name)) for name, wanted in attrs.items())
        return all(value is not ABSENT and self._equal(wanted, value) for wanted, value in found)

    def _equal(self, wanted: object, value: object) -> bool:
        """Whether an attribute has the value; numbers are compared as numbers, lists as tuples."""
        if isinstance(wanted, (list, tuple)) and isinstance(value, (list, tuple)):
            return len(wanted) == len(value) and all(map(self._equal, wanted, value))
        if isinstance(wanted, (bool, int)) and isinstance(value, (bool, int)):
            return int(wanted) == int(value)
        return type(wanted) is type(value) and (wanted == value or self.program.alike(wanted, value))

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, pattern: CallPattern, node: Hashable) -> Question:
        call = self.program.call(node)
        if call is None:
            return False
        callee, args = call
        name = self._operator(pattern.op)
        if not (yield self._ask(pattern.op, callee)):
            return name is not None and (yield self._regrouped(name, pattern, node, args))
        if (yield self._all(pattern.args, args)):
            return True
        if name in COMMUTATIVE and pattern.args is not None:
            return (yield self._all(pattern.args[::-1], args))
        return False

    def _regrouped(self, name: str, pattern: CallPattern, node: Hashable, args: Sequence[Hashable]) -> Question:
        """Ask whether ``a * b / c`` is there as ``a * (b / c)``, or the other way round."""
        operands = pattern.args or ()
        if len(operands) != 2:
            return False
        if name == "divide" and isinstance(product := operands[0], CallPattern) and self._is(product, "multiply"):
            if not (self._calls(node, "multiply") and any(self._calls(arg, "divide") for arg in args)):
                return False
            factors = product.args or ()
            for one, other in (factors, factors[::-1]) if len(factors) == 2 else ():
                quotient = CallPattern(pattern.op, (one, operands[1]))
                if (yield self._ask(CallPattern(product.op, (other, quotient)), node)):
                    return True
        if name == "multiply":
            for quotient_, other in (operands, operands[::-1]):
                if not (isinstance(quotient_, CallPattern) and self._is(quotient_, "divide")):
                    continue
                if not (self._calls(node, "divide") and any(self._calls(arg, "multiply") for arg in args)):
                    continue
                numerator, denominator = quotient_.args or (None, None)
                if numerator is None or denominator is None:
                    continue
                regrouped = CallPattern(pattern.op, (numerator, other))
                return (yield self._ask(CallPattern(quotient_.op, (regrouped, denominator)), node))
        return False

    def _is(self, pattern: CallPattern, name: str) -> bool:
        return self._operator(pattern.op) == name

    def _calls(self, node: Hashable, name: str) -> bool:
        call = self.program.call(node)
        return call is not None and self.program.operator(call[0]) == name

    # --- dominators -------------------------------------------------------------------------------

    def _dominator(self, pattern: DominatorPattern, node: Hashable) -> Question:
        if not (yield self._ask(pattern.child, node)):
            return False
        reaches = yield self._paths(pattern, node, set())
        self._keeps = True
        return reaches and pattern.parent in self.found and self.flow.dominates(node, self.found[pattern.parent][0])

    def _paths(self, pattern: DominatorPattern, node: Hashable, on_path: set[Hashable]) -> Question:
        """Ask whether every way from ``node`` up its inputs leads along the path to the one
        parent.

        Variables and constants that a call has besides do not count. ``on_path`` holds the nodes
        from which every way was followed.
        """
        call = self.program.call(node)
        on_the_way = [one for one in self.program.inputs(node) if call is None or not self._is_side_input(call[0], one)]
        for one in on_the_way:
            if one in on_path:
                continue
            self._keeps = True
            if (yield self._ask(pattern.parent, one)):
                continue
            self._keeps = False
            if not (yield self._ask(pattern.path, one)) or not (yield self._paths(pattern, one, on_path)):
                return False
            on_path.add(one)
        return bool(on_the_way)

    def _is_side_input(self, callee: Hashable, node: Hashable) -> bool:
        return node == callee or self.program.is_constant(node) or self.program.variable(node) is not None


def _answer(question: Question) -> bool:
    """Return the answer to a question, and to those that it asks, on a stack of its own."""
    stack: list[Question] = [question]
    told: Any = None
    while stack:
        try:
            asked = stack[-1].send(told)
        except StopIteration as answer:  # noqa: PERF203
            stack.pop()
            told = answer.value
        else:
            stack.append(asked)
            told = None
    return bool(told)
