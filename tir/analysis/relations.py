"""What the accesses of a PrimFunc need of its extents.

Every load and store has to stay within its buffer, every divisor that extents make has to be other
than zero, and no buffer has a negative extent. What is proved for all extents needs nothing. The
rest becomes conditions over extents and scalars, which a call has to satisfy before anything runs.
They are found from the accesses alone, so no operator can forget one. Places that data decide are
guarded where they are read; here they need no more than that there is something to be read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from relay2relax.core import dtype as dt
from relay2relax.tir.analysis.reach import Ends, Reach
from relay2relax.tir.arith.algebra import Limit
from relay2relax.tir.arith.evaluate import is_computed
from relay2relax.tir.arith.linear import Claim
from relay2relax.tir.arith.numbers import is_inside_by_numbers
from relay2relax.tir.arith.questions import Questions
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    LetIn,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Var,
    binary,
    children,
)
from relay2relax.tir.ir.stmt import (
    Allocate,
    Attribute,
    BlockRealize,
    BufferStore,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
    ThreadAxis,
    While,
)
from relay2relax.tir.ir.visit import (
    expressions,
    map_expr,
    shape_variables,
    statements,
    sub_statements,
    subexpressions,
    substitute,
)

_OPPOSITE: dict[str, BinaryOp] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_DIVISIONS = ("//", "%", "truncdiv", "truncmod")
_NO_OWNERS: Mapping[Buffer, str] = {}
# An index with more choices in it is not taken apart.
_MOST_CHOICES = 6


@dataclass(frozen=True, slots=True)
class Relation:
    """A condition over extents and scalars, and what it is for.

    ``buffer`` and ``dimension`` are where an access goes as far as the place ``reach``, or which
    has the extent ``reach`` where it is ``declared``; without a buffer ``reach`` is a divisor.
    ``function`` is the one that asks, "" where the program is a single one.
    """

    condition: PrimExpr
    buffer: str
    dimension: int
    reach: PrimExpr
    declared: bool = False
    function: str = ""


def negative_extent(buffer: str, dimension: int, extent: int) -> str:
    """Return what is said of a buffer with an extent below 0."""
    return f"dimension {dimension} of {buffer!r} has extent {extent}, which is negative"


def extent_relations(
    func: PrimFunc, owners: Mapping[Buffer, str] = _NO_OWNERS, settled: Collection[Buffer] = ()
) -> tuple[Relation, ...]:
    """Return what a call of ``func`` has to satisfy, each condition once.

    ``owners`` are the functions that write buffers, where ``func`` was made of several. What writes
    a buffer of ``settled`` is known to access nothing outside.

    A function without symbolic extents and scalars has none that a call could decide: what it would
    need is then a condition without variables, which is false.
    """
    found = _Relations(func, owners, settled)
    found.walk()
    return tuple(found.relations.values())


@dataclass(slots=True)
class _Relations:
    """What surrounds a place of the program, and the relations so far."""

    func: PrimFunc
    owners: Mapping[Buffer, str]
    settled: Collection[Buffer] = ()
    owner: str = ""
    fixed: frozenset[Var] = frozenset()
    domains: dict[Var, Ends] = field(default_factory=dict)
    bounds: dict[Var, tuple[Limit, Limit]] = field(default_factory=dict)
    # What stands for axes and names of values.
    values: dict[Var, PrimExpr] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    # Loops around, by how often they run.
    counts: list[PrimExpr] = field(default_factory=list)
    # Loops that data decide how often to run.
    uncertain: set[Var] = field(default_factory=set)
    # How many conditions around data decide: nothing within may ever be reached.
    perhaps: int = 0
    relations: dict[PrimExpr, Relation] = field(default_factory=dict)
    seen: set[tuple[object, ...]] = field(default_factory=set)
    # Questions under the bounds of this place, None where these have changed.
    asked: Questions | None = None

    def walk(self) -> None:
        """Look at all of the function."""
        func = self.func
        extents = shape_variables(func.buffers)
        scalars = [p for p in func.params if p not in func.buffer_map and dt.is_int(p.dtype)]
        self.fixed = frozenset((*extents, *scalars))
        self.bounds.update((var, (0, None)) for var in extents)
        for buffer in (*func.buffers, *func.root_buffers):
            self.declared(buffer)
        for part in func.body.stmts if self.owners and isinstance(func.body, Seq) else (func.body,):
            written = (node.buffer for node in statements(part) if isinstance(node, BufferStore))
            first = next((one for one in written if one in self.owners), None)
            if first is None or first not in self.settled:
                self.owner = "" if first is None else self.owners[first]
                self.stmt(part)

    @property
    def questions(self) -> Questions:
        if self.asked is None:
            self.asked = Questions(self.bounds)
        return self.asked

    # Statements.

    def stmt(self, stmt: Stmt) -> None:
        """Look at a statement and those within it."""
        match stmt:
            case For(var, extent, body, begin=begin, step=step):
                self.expressions(stmt)
                if begin is None and step is None:
                    with self.loop(var, self.place(extent)):
                        self.stmt(body)
                else:
                    self.stmt(body)
            case BlockRealize(values, block, predicate):
                self.expressions(stmt)
                self.values.update((axis.var, self.place(v)) for axis, v in zip(block.iter_vars, values, strict=True))
                for buffer in block.alloc_buffers:
                    self.declared(buffer)
                with self.given(predicate, True):
                    for match in block.matches:
                        for dimension, one in enumerate(match.region.region):
                            last = binary("-", binary("+", one.begin, one.extent), 1)
                            for index in (one.begin, last):
                                self.access(match.region.buffer, dimension, index)
                    for part in sub_statements(stmt):
                        self.stmt(part)
            case If(condition, then, otherwise):
                self.expr(condition)
                with self.given(condition, True):
                    self.stmt(then)
                if otherwise is not None:
                    with self.given(condition, False):
                        self.stmt(otherwise)
            case Let(var, value, body):
                self.expr(value)
                self.values[var] = self.place(value)
                self.stmt(body)
            case While(condition, body):
                self.expr(condition)
                self.stmt(body)
            case Attribute(ThreadAxis(var), _, PrimExpr() as extent, body):
                with self.loop(var, self.place(extent)):
                    self.stmt(body)
            case Allocate(buffer, body):
                self.declared(buffer)
                self.stmt(body)
            case BufferStore(buffer, indices, predicate=None):
                self.expressions(stmt)
                for dimension, index in enumerate(indices):
                    self.access(buffer, dimension, index)
            case _:
                self.expressions(stmt)
                for part in sub_statements(stmt):
                    self.stmt(part)

    def expressions(self, stmt: Stmt) -> None:
        for expr in expressions(stmt):
            self.expr(expr)

    @contextmanager
    def loop(self, var: Var, extent: PrimExpr) -> Iterator[None]:
        """Let ``var`` count to ``extent`` within."""
        last = self.questions.simplify(binary("-", extent, 1))
        high = Reach(self.fixed, self.domains, self.bounds).of(last)[1]
        self.domains[var] = (IntImm(0, var.dtype), high)
        self.bounds[var] = (0, last)
        if not isinstance(last, IntImm) and self.is_of_data(last):
            self.uncertain.add(var)
            self.bounds[var] = (0, None)
        self.asked = None
        self.counts.append(extent)
        yield
        self.counts.pop()

    @contextmanager
    def given(self, condition: PrimExpr | None, holds: bool) -> Iterator[None]:
        """Let ``condition`` hold, or not, within; what is read from memory may change."""
        place = None if condition is None else self.place(condition)
        known = place is not None and not any(isinstance(one, BufferLoad) for one in subexpressions(place))
        before = len(self.claims)
        if known and place is not None:
            self.claims += _parts(place, holds)
        by_data = place is not None and not known
        self.perhaps += by_data
        yield
        self.perhaps -= by_data
        del self.claims[before:]

    # Expressions.

    def place(self, expr: PrimExpr) -> PrimExpr:
        """Return ``expr`` over loops, extents and scalars."""
        if isinstance(expr, Var):
            return self.values.get(expr, expr)
        return expr if isinstance(expr, IntImm) else substitute(expr, self.values)

    def expr(self, expr: PrimExpr) -> None:
        """Look at an expression and those within it, each where its condition holds."""
        parts = children(expr)
        if not parts:
            return
        match expr:
            case Select(condition, a, b) | Call("if_then_else", (condition, a, b)):
                self.expr(condition)
                for part, holds in ((a, True), (b, False)):
                    with self.given(condition, holds):
                        self.expr(part)
                return
            case Binary(("and" | "or") as op, a, b):
                self.expr(a)
                with self.given(a, op == "and"):
                    self.expr(b)
                return
            case LetIn(var, value, body):
                self.expr(value)
                self.values[var] = self.place(value)
                self.expr(body)
                return
            case BufferLoad(buffer, indices, None):
                for dimension, index in enumerate(indices):
                    self.access(buffer, dimension, index)
            case Binary(op, _, b) if op in _DIVISIONS and dt.is_int(b.dtype):
                self.divisor(self.place(b))
        for part in parts:
            self.expr(part)

    # Relations.

    def declared(self, buffer: Buffer) -> None:
        """See that no extent of ``buffer`` is negative."""
        for dimension, extent in enumerate(buffer.shape):
            if not isinstance(extent, Var) and not (isinstance(extent, IntImm) and extent.value >= 0):
                self.need(binary(">=", extent, 0), buffer.name, dimension, extent, always=True)

    def divisor(self, expr: PrimExpr) -> None:
        """See that ``expr`` is not zero, unless data or loops decide it."""
        if not isinstance(expr, IntImm):
            self.need(binary("!=", expr, 0), "", 0, expr)

    def access(self, buffer: Buffer, dimension: int, index: PrimExpr) -> None:
        """See that ``index`` lies within the dimension."""
        extent, place = self.place(buffer.shape[dimension]), self.place(index)
        if is_inside_by_numbers(place, extent, self.bounds):
            return
        key = (place, extent, tuple(self.claims), tuple(self.counts), self.perhaps > 0)
        if key in self.seen:
            return
        self.seen.add(key)
        for one, claims in _choices(place, _MOST_CHOICES):
            if isinstance(one, Var) and self.bounds.get(one, (None, None))[1] == self.questions.simplify(
                binary("-", extent, 1)
            ):
                continue
            self.claims += claims
            if self.is_of_data(one):
                if not self.perhaps and not any(
                    map(self.is_of_data, (*self.counts, *(claim for claim, _ in self.claims)))
                ):
                    self.need(binary(">", extent, 0), buffer.name, dimension, IntImm(0, extent.dtype))
                del self.claims[len(self.claims) - len(claims) :]
                continue
            below, natural = self.holds(binary("<", one, extent)), self.holds(binary(">=", one, 0))
            low, high = (None, None) if below and natural else self.ends(one)
            if not below and high is not None:
                self.need(binary("<", high, extent), buffer.name, dimension, high)
            if not natural and low is not None:
                self.need(binary(">=", low, 0), buffer.name, dimension, low)
            del self.claims[len(self.claims) - len(claims) :]

    def ends(self, index: PrimExpr) -> Ends:
        """Return how far ``index`` goes where the conditions around hold."""
        reach = Reach(self.fixed, self.domains, self.bounds)
        # What cancels out is gone from the simpler form; sometimes only the other one has ends.
        low, high = reach.of(self.questions.simplify(index))
        first, last = reach.of(index)
        low, high = first if low is None else low, last if high is None else high
        loops = self.loops_of(index)
        for condition, holds in self.claims:
            for gap in _gaps(condition, holds, index.dtype):
                # Of a gap that is not negative, index - gap <= index <= index + gap.
                above = self.questions.simplify(binary("+", index, gap))
                if not loops <= self.loops_of(above) and (last := reach.of(above)[1]) is not None:
                    high = last if high is None else binary("min", high, last)
                below = self.questions.simplify(binary("-", index, gap))
                if not loops <= self.loops_of(below) and (first := reach.of(below)[0]) is not None:
                    low = first if low is None else binary("max", low, first)
        return low, high

    def loops_of(self, expr: PrimExpr) -> set[Var]:
        """Return the loops that decide ``expr``."""
        return {one for one in subexpressions(expr) if isinstance(one, Var) and one in self.domains}

    def is_of_data(self, expr: PrimExpr) -> bool:
        """Whether more than extents, scalars and loops over these decide ``expr``."""
        return any(
            (one not in self.bounds and one not in self.fixed) or one in self.uncertain
            if isinstance(one, Var)
            else not isinstance(one, (IntImm, Binary, Cast, Not, Select, Ramp, Broadcast))
            for one in subexpressions(expr)
            if not _is_choice(one)
        )

    def holds(self, condition: PrimExpr) -> bool:
        """Whether ``condition`` is proved here, for whatever the extents are."""
        if isinstance(condition, IntImm):
            return bool(condition.value)
        if self.questions.prove(condition):
            return True
        ran = [(binary(">", count, 0), True) for count in self.counts if not isinstance(count, IntImm)]
        return self.questions.contradictory([*self.claims, *ran, (condition, False)])

    def need(self, condition: PrimExpr, buffer: str, dimension: int, reach: PrimExpr, always: bool = False) -> None:
        """Add a relation: ``condition`` where the place is reached at all."""
        if not is_computed(condition, self.fixed) or self.holds(condition):
            return
        parts = [self.questions.simplify(condition)]
        if not always:
            excuses = [binary("<=", count, 0) for count in self.counts]
            excuses += [one if not holds else _negated(one) for one, holds in self.claims]
            parts += [one for one in excuses if is_computed(one, self.fixed)]
        whole = parts[0]
        for part in parts[1:]:
            whole = binary("or", whole, part)
        if not (isinstance(whole, IntImm) and whole.value):
            self.relations.setdefault(whole, Relation(whole, buffer, dimension, reach, always, self.owner))


def _choices(index: PrimExpr, most: int) -> Iterator[tuple[PrimExpr, list[Claim]]]:
    """Yield the cases of an index, each with the conditions that it is for."""
    choice = next((one for one in subexpressions(index) if _is_choice(one)), None)
    if choice is None or most == 0:
        yield index, []
        return
    condition, *branches = children(choice)
    for branch, holds in zip(branches, (True, False), strict=True):
        chosen = map_expr(index, lambda one, branch=branch: branch if one is choice else None)  # type: ignore[misc]
        for one, claims in _choices(chosen, most - 1):
            yield one, [(condition, holds), *claims]


def _is_choice(expr: PrimExpr) -> bool:
    return isinstance(expr, Select) or (isinstance(expr, Call) and expr.name == "if_then_else")


def _gaps(condition: PrimExpr, holds: bool, dtype: str) -> list[PrimExpr]:
    """Return what is not negative where the comparison of ``dtype`` holds, or not."""
    if not isinstance(condition, Binary) or condition.op not in _OPPOSITE or condition.a.dtype != dtype:
        return []
    more, less = binary("-", condition.a, condition.b), binary("-", condition.b, condition.a)
    match condition.op if holds else _OPPOSITE[condition.op]:
        case "<":
            return [binary("-", less, 1)]
        case "<=":
            return [less]
        case ">":
            return [binary("-", more, 1)]
        case ">=":
            return [more]
        case "==":
            return [less, more]
    return []


def _parts(condition: PrimExpr, holds: bool) -> list[Claim]:
    """Return the conditions that all have to hold, or not, where ``condition`` does."""
    found: list[Claim] = []
    pending = [(condition, holds)]
    while pending:
        match pending.pop():
            case (Binary("and", a, b), True) | (Binary("or", a, b), False) as both:
                pending += [(b, both[1]), (a, both[1])]
            case Not(inner), held:
                pending.append((inner, not held))
            case one:
                found.append(one)
    return found


def _negated(condition: PrimExpr) -> PrimExpr:
    match condition:
        case Binary(op, a, b) if op in _OPPOSITE:
            return binary(_OPPOSITE[op], a, b)
        case Binary("and", a, b):
            return binary("or", _negated(a), _negated(b))
        case Binary("or", a, b):
            return binary("and", _negated(a), _negated(b))
        case Not(inner):
            return inner
    return Not(condition)
