"""The matcher: whether a node is built as a pattern says, and what each part of it matched.

It follows TVM's ``DFPatternMatcher`` where that decides between several matches: alternatives from
left to right, the arguments of ``add`` and ``multiply`` in both orders, products and quotients
regrouped once, and a part of a pattern that matched keeps its node, but along the path of a
dominator. Patterns may contain themselves, so that they are as deep as programs: what is still to
be matched waits on a stack of its own.
"""

from __future__ import annotations

from collections.abc import Generator, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from relay2relax.core.limits import active
from relay2relax.core.matching.flow import Flow
from relay2relax.core.matching.patterns import (
    AltPattern,
    AndPattern,
    AttrPattern,
    CallPattern,
    ConstantPattern,
    DataflowVarPattern,
    DataTypePattern,
    DFPattern,
    DominatorPattern,
    ExprPattern,
    ExternFuncPattern,
    FunctionPattern,
    GlobalVarPattern,
    IfPattern,
    LetPattern,
    NotPattern,
    OperatorPattern,
    PrimArrPattern,
    ShapePattern,
    TupleGetItemPattern,
    TuplePattern,
    TypePattern,
    UnorderedTuplePattern,
    VarPattern,
    WildcardPattern,
    parts,
)
from relay2relax.core.matching.view import ABSENT, Found, View
from relay2relax.core.walk import answer

# A question that may ask others, and is told their answers.
Question: TypeAlias = "Generator[Question, bool, bool]"

# The operators whose operands may stand in either order.
COMMUTATIVE = ("add", "multiply")


class Matcher:
    """Matches patterns against the nodes of one program."""

    def __init__(self, program: View) -> None:
        self.program = program
        self.found: Found = {}
        # What variables of the types in the pattern stand for.
        self._known: Mapping[Any, Any] = {}
        self._trail: list[DFPattern] = []
        # Whether a part of a pattern that matched stands for that node from then on.
        self._keeps = True
        self._budget = active()

    @cached_property
    def flow(self) -> Flow:
        """The uses of the nodes."""
        return Flow(self.program)

    def match(self, pattern: DFPattern, node: Hashable) -> Found | None:
        """Return the nodes that the parts of ``pattern`` matched; None where it does not match."""
        if self._budget is not None:
            self._budget.check()
        self.found, self._trail, self._keeps, self._known = {}, [], True, {}
        return self.found if answer(self._ask(pattern, node)) else None

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
                case DominatorPattern(child=inner) | AndPattern(inner):
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
        node = self.program.value(node)
        if self._keeps and pattern in self.found:
            return bool(self.found[pattern][0] == node)
        mark, known = len(self._trail), self._known
        matches = yield self._built_as(pattern, node)
        if matches:
            self.found.setdefault(pattern, []).append(node)
            self._trail.append(pattern)
        else:
            self._forget(mark)
            self._known = known
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
            case VarPattern() | GlobalVarPattern() | ExternFuncPattern():
                return self._is_named(pattern, node)
            case ConstantPattern():
                return program.is_constant(node)
            case AltPattern(left, right):
                return (yield self._ask(left, node)) or (yield self._ask(right, node))
            case AndPattern(left, right):
                return (yield self._ask(left, node)) and (yield self._ask(right, node))
            case NotPattern(rejected):
                return not (yield self._ask(rejected, node))
            case CallPattern():
                return (yield self._call(pattern, node))
            case TuplePattern(patterns):
                fields = program.fields(node)
                return fields is not None and (yield self._all(patterns, fields))
            case UnorderedTuplePattern(patterns):
                fields = program.fields(node)
                return fields is not None and len(fields) == len(patterns) and (yield self._unordered(patterns, fields))
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
            case TypePattern() | ShapePattern() | DataTypePattern() | PrimArrPattern():
                return self._is_typed(pattern, node) and (yield self._all(parts(pattern), [node] * len(parts(pattern))))
        raise AssertionError(f"no kind of pattern: {pattern!r}")

    def _is_named(self, pattern: VarPattern | GlobalVarPattern | ExternFuncPattern, node: Hashable) -> bool:
        match pattern:
            case VarPattern(name):
                found = self.program.variable(node)
                local = not isinstance(pattern, DataflowVarPattern) or self.program.is_dataflow(node)
                return local and found is not None and name in ("", found)
            case GlobalVarPattern(name):
                found = self.program.global_name(node)
                return found is not None and name in found
            case ExternFuncPattern(name):
                found = self.program.external_name(node)
                return found is not None and name in ("", found)

    def _is_typed(self, pattern: DFPattern, node: Hashable) -> bool:
        """Whether a node is of the type, shape or dtype, or is the shape, that a pattern names."""
        program = self.program
        match pattern:
            case TypePattern(_, wanted):
                known = program.admits(wanted, node, self._known)
                self._known = self._known if known is None else known
                return known is not None
            case ShapePattern(_, shape):
                tensor = program.shape_and_dtype(node)
                return tensor is not None and program.alike(shape, tensor[0])
            case DataTypePattern(_, dtype):
                tensor = program.shape_and_dtype(node)
                return tensor is not None and dtype == tensor[1]
            case PrimArrPattern(fields):
                values = program.shape_value(node)
                return values is not None and program.alike(fields, values)
        return False

    def _unordered(
        self, patterns: Sequence[DFPattern], fields: Sequence[Hashable], taken: tuple[int, ...] = ()
    ) -> Question:
        """Ask whether the patterns match the fields in some order; ``taken`` are those of the
        first ones.
        """
        if len(taken) == len(patterns):
            return True
        for place, node in enumerate(fields):
            if place in taken:
                continue
            mark, known = len(self._trail), self._known
            if (yield self._ask(patterns[len(taken)], node)) and (
                yield self._unordered(patterns, fields, (*taken, place))
            ):
                return True
            self._forget(mark)
            self._known = known
        return False

    def _all(self, patterns: Sequence[DFPattern] | None, nodes: Sequence[Hashable]) -> Question:
        """Ask whether the nodes match one by one; None stands for any nodes."""
        if patterns is None:
            return True
        if len(patterns) != len(nodes):
            return False
        mark, known = len(self._trail), self._known
        for pattern, node in zip(patterns, nodes, strict=True):
            if not (yield self._ask(pattern, node)):
                self._forget(mark)
                self._known = known
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
        operands = pattern.args
        if pattern.varg_default_wildcard and operands is not None:
            if len(args) < len(operands):
                return False
            first, last = args[: len(operands)], args[::-1][: len(operands)]
        else:
            first, last = args, args[::-1]
        if (yield self._all(operands, first)):
            return True
        if self.program.any_pattern_commutes:
            name = self.program.operator(callee)
        if operands is not None and name in COMMUTATIVE:
            return (yield self._all(operands, last))
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
