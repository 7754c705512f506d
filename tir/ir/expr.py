"""Scalar expressions of tensor programs.

    expr ::= IntImm | FloatImm | StringImm | Var | AnyExtent
           | Binary(op, expr, expr) | Not(expr) | Cast(dtype, expr) | Select(expr, expr, expr)
           | Call(intrinsic, expr*) | FunctionCall(name, expr*)
           | BufferLoad(buffer, expr*) | BufferData(buffer)
           | LetIn(var, expr, expr)
           | Ramp(expr, expr, lanes) | Broadcast(expr, lanes) | Shuffle(expr*, expr*)

A dtype such as ``float32x4`` is that of a vector of as many lanes; operators work lane by lane.

Expressions are values: two are equal when they are built alike; a ``Var`` is equal to itself only.
Python operators build them and fold constants; ``//`` and ``%`` round towards minus infinity, as
TVM's floordiv and floormod do, and ``truncdiv`` and ``truncmod`` are intrinsics of their own.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from relay2relax.core.dtype import CHECKED, check_dtype, element_dtype, lanes_of
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.core.limits import active
from relay2relax.core.words import check_scope

BinaryOp: TypeAlias = Literal[
    "+", "-", "*", "/", "//", "%", "truncdiv", "truncmod", "min", "max",
    "<", "<=", ">", ">=", "==", "!=", "and", "or", "&", "|", "^", "<<", ">>",
]  # fmt: skip
COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!=", "and", "or"})
# A comparison binds weaker than arithmetic and does not chain; ``a - (b - c)`` needs its
# parentheses.
LEVELS = {"<": 1, "<=": 1, ">": 1, ">=": 1, "==": 1, "!=": 1, "+": 2, "-": 2, "*": 3, "//": 3, "%": 3}


class PrimExpr:
    """Base of the scalar expressions; carries Python's operators."""

    __slots__ = ()

    if TYPE_CHECKING:  # A dataclass would take an inherited property for the default of its own field.

        @property
        def dtype(self) -> str:
            """The element type of the value."""

    def __add__(self, other: PrimLike) -> PrimExpr:
        return binary("+", self, other)

    def __radd__(self, other: PrimLike) -> PrimExpr:
        return binary("+", other, self)

    def __sub__(self, other: PrimLike) -> PrimExpr:
        return binary("-", self, other)

    def __rsub__(self, other: PrimLike) -> PrimExpr:
        return binary("-", other, self)

    def __mul__(self, other: PrimLike) -> PrimExpr:
        return binary("*", self, other)

    def __rmul__(self, other: PrimLike) -> PrimExpr:
        return binary("*", other, self)

    def __truediv__(self, other: PrimLike) -> PrimExpr:
        return binary("/", self, other)

    def __rtruediv__(self, other: PrimLike) -> PrimExpr:
        return binary("/", other, self)

    def __floordiv__(self, other: PrimLike) -> PrimExpr:
        return binary("//", self, other)

    def __rfloordiv__(self, other: PrimLike) -> PrimExpr:
        return binary("//", other, self)

    def __mod__(self, other: PrimLike) -> PrimExpr:
        return binary("%", self, other)

    def __rmod__(self, other: PrimLike) -> PrimExpr:
        return binary("%", other, self)

    def __neg__(self) -> PrimExpr:
        return binary("-", const(0, self.dtype), self)

    def __lt__(self, other: PrimLike) -> PrimExpr:
        return binary("<", self, other)

    def __le__(self, other: PrimLike) -> PrimExpr:
        return binary("<=", self, other)

    def __gt__(self, other: PrimLike) -> PrimExpr:
        return binary(">", self, other)

    def __ge__(self, other: PrimLike) -> PrimExpr:
        return binary(">=", self, other)

    def equal(self, other: PrimLike) -> PrimExpr:
        """Return the comparison ``self == other`` (``==`` itself compares how two expressions are
        built).
        """
        return binary("==", self, other)

    def not_equal(self, other: PrimLike) -> PrimExpr:
        """Return the comparison ``self != other``."""
        return binary("!=", self, other)

    def astype(self, dtype: str) -> PrimExpr:
        """Return the value converted to ``dtype``."""
        return cast(dtype, self)


PrimLike: TypeAlias = Union[PrimExpr, int, float, bool]


@dataclass(frozen=True, slots=True)
class IntImm(PrimExpr):
    """An integer or bool constant."""

    value: int
    dtype: str = "int64"

    def __post_init__(self) -> None:
        # Nothing is made more often: what was looked at needs no call.
        if type(self.dtype) is not str or self.dtype not in CHECKED:
            check_dtype(self.dtype)

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True)
class FloatImm(PrimExpr):
    """A floating-point constant."""

    value: float
    dtype: str = "float32"

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class StringImm(PrimExpr):
    """A string constant, as arguments of intrinsics need it."""

    value: str

    @property
    def dtype(self) -> str:
        return "handle"


_serials = count()


@dataclass(frozen=True, slots=True, eq=False)
class Var(PrimExpr):
    """A scalar variable; its name is a hint, the object is its identity.

    ``serial`` counts variables in the order of their making; canonical forms order namesakes by it.
    """

    name: str
    dtype: str = "int64"
    serial: int = field(init=False, repr=False, default_factory=_serials.__next__)

    def __post_init__(self) -> None:
        check_dtype(self.dtype)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class SizeVar(Var):
    """A variable that Relay's files mark as an extent, that is as not negative."""


@dataclass(frozen=True, slots=True, eq=False)
class Given(Var):
    """A variable whose value data decide: it may be any number of its dtype."""


@dataclass(frozen=True, slots=True, eq=False)
class Pointer(Var):
    """The address of elements of dtype ``element`` ("void": of anything) in memory of ``scope``."""

    element: str = "void"
    scope: str = ""

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        check_dtype(self.element)
        check_scope(self.scope)


@dataclass(frozen=True, slots=True)
class AnyExtent(PrimExpr):
    """Relay's ``?``: an extent about which nothing is known; two of them are not known to be equal.

    ``written`` is an expression over such extents where Relay's files have one in this place (``?
    // 4``). It is written back, and nothing follows from it.
    """

    written: PrimExpr | None = None

    @property
    def dtype(self) -> str:
        return "int64"

    def __repr__(self) -> str:
        return "?"


class _Hashed(PrimExpr):
    """An expression that remembers its hash, which would otherwise be found anew from all that is
    below.
    """

    __slots__ = ("_hash",)

    if TYPE_CHECKING:
        _hash: int


@dataclass(frozen=True, slots=True)
class Binary(_Hashed):
    """``a op b``; operands have one dtype."""

    op: BinaryOp
    a: PrimExpr
    b: PrimExpr

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            found = hash((self.op, self.a, self.b))
            object.__setattr__(self, "_hash", found)
            return found

    def __str__(self) -> str:
        """Return the expression as messages write it."""
        if self.op not in LEVELS:
            return f"{self.op}({self.a}, {self.b})"
        own = LEVELS[self.op]
        parts = []
        for operand, least in ((self.a, own + (own == 1)), (self.b, own + 1)):
            weaker = isinstance(operand, Binary) and LEVELS.get(operand.op, least) < least
            parts.append(f"({operand})" if weaker else str(operand))
        return f" {self.op} ".join(parts)

    @property
    def dtype(self) -> str:
        dtype = self.a.dtype
        if self.op not in COMPARISONS:
            return dtype
        return vector_dtype("bool", lanes_of(dtype)) if "x" in dtype else "bool"


@dataclass(frozen=True, slots=True)
class Not(PrimExpr):
    """Logical negation."""

    a: PrimExpr

    @property
    def dtype(self) -> str:
        return self.a.dtype


@dataclass(frozen=True, slots=True)
class Cast(PrimExpr):
    """Conversion to ``dtype`` (float to int truncates, int to int wraps)."""

    dtype: str
    value: PrimExpr

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class Select(PrimExpr):
    """Both branches may be evaluated; for guarded loads use the intrinsic ``if_then_else``."""

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr

    @property
    def dtype(self) -> str:
        return self.true_value.dtype


@dataclass(frozen=True, slots=True)
class Call(PrimExpr):
    """An intrinsic by name, as in TVMScript's ``T.`` namespace, e.g. ``exp`` or
    ``if_then_else``.
    """

    name: str
    args: tuple[PrimExpr, ...]
    dtype: str
    # Of an address: the element and the scope, where the script says them.
    pointer: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class FunctionCall(PrimExpr):
    """A call of another function of the module, ``Module.<name>(…)`` in TVMScript."""

    name: str
    args: tuple[PrimExpr, ...]
    dtype: str

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class Keyword(PrimExpr):
    """An argument that a function takes by its name; ``value`` is one as attributes have it."""

    name: str
    value: Any

    @property
    def dtype(self) -> str:
        return "handle"


@dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """A multi-dimensional array in memory; ``name`` is a hint, the object is its identity.

    It is row-major unless ``strides`` says how many elements a step along each dimension passes,
    and begins where its memory does unless ``offset`` says at which element. A variable there that
    nothing else defines is one that the buffer itself gives its value. ``notes`` are the arguments
    of TVMScript that say nothing of the elements (align, offset_factor, buffer_type,
    axis_separators, layout).
    """

    name: str
    shape: tuple[PrimExpr, ...]
    dtype: str = "float32"
    scope: str = "global"
    strides: tuple[PrimExpr, ...] = ()
    offset: PrimExpr | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_dtype(self.dtype)
        check_scope(self.scope)
        budget = active()
        if budget is not None:
            known = [one.value if isinstance(one, IntImm) else 1 for one in self.shape]
            budget.extent(known, lambda: f"the buffer {self.name!r}")

    def __getitem__(self, indices: PrimLike | tuple[PrimLike, ...]) -> BufferLoad:
        found = indices if isinstance(indices, tuple) else (indices,)
        return BufferLoad(self, tuple(convert(index, "int64") for index in found))


@dataclass(frozen=True, slots=True)
class BufferLoad(PrimExpr):
    """One element of a buffer, or those at the lanes of the last index that ``predicate`` sets."""

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    predicate: PrimExpr | None = None

    @property
    def dtype(self) -> str:
        return accessed_dtype(self.buffer, self.indices)


@dataclass(frozen=True, slots=True)
class BufferData(PrimExpr):
    """Where the memory of ``buffer`` begins: ``buffer.data``; ``bare`` where the script has the
    buffer's name alone.
    """

    buffer: Buffer
    bare: bool = False

    @property
    def dtype(self) -> str:
        return "handle"


@dataclass(frozen=True, slots=True)
class LetIn(PrimExpr):
    """``body``, in which ``var`` has the value ``value``."""

    var: Var
    value: PrimExpr
    body: PrimExpr

    @property
    def dtype(self) -> str:
        return self.body.dtype


@dataclass(frozen=True, slots=True)
class Ramp(PrimExpr):
    """The vector ``base + stride * [0, 1, … lanes - 1]``."""

    base: PrimExpr
    stride: PrimExpr
    lanes: PrimExpr

    @property
    def dtype(self) -> str:
        return vector_dtype(self.base.dtype, self.lanes)


@dataclass(frozen=True, slots=True)
class Broadcast(PrimExpr):
    """The vector with ``value`` in each of its lanes."""

    value: PrimExpr
    lanes: PrimExpr

    @property
    def dtype(self) -> str:
        return vector_dtype(self.value.dtype, self.lanes)


@dataclass(frozen=True, slots=True)
class Shuffle(PrimExpr):
    """The lanes ``indices`` of all ``vectors``, one behind the other.

    A scalar where there is one index.
    """

    vectors: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]

    @property
    def dtype(self) -> str:
        return vector_dtype(element_dtype(self.vectors[0].dtype), len(self.indices))


@dataclass(frozen=True, slots=True)
class CommReducer(PrimExpr):
    """How the partial results ``left`` and ``right`` of a reduction are combined, beginning with
    ``identities``.
    """

    left: tuple[Var, ...]
    right: tuple[Var, ...]
    results: tuple[PrimExpr, ...]
    identities: tuple[PrimExpr, ...]

    @property
    def dtype(self) -> str:
        return "handle"


def vector_dtype(dtype: str, lanes: PrimExpr | int | str) -> str:
    """Return the dtype of ``lanes`` elements of ``dtype``, which may be vectors themselves."""
    count: int | str
    match lanes:
        case IntImm(value):
            count = value
        case Binary("*", Call("vscale"), IntImm(value)) | Binary("*", IntImm(value), Call("vscale")):
            count = f"vscalex{value}"
        case int() | str():
            count = lanes
        case _:
            raise OperandError(f"a vector of {lanes} lanes has no dtype")
    inner = lanes_of(dtype)
    if isinstance(count, int) and isinstance(inner, int):
        count *= inner
    return dtype if count == inner else element_dtype(dtype) + (f"x{count}" if count != 1 else "")


def accessed_dtype(buffer: Buffer, indices: Sequence[PrimExpr]) -> str:
    """Return the dtype of what ``buffer`` holds at ``indices``."""
    last = indices[-1] if indices else None
    if last is None or isinstance(last, IntImm):
        return buffer.dtype
    dtype = last.dtype
    return vector_dtype(buffer.dtype, lanes_of(dtype)) if "x" in dtype else buffer.dtype


def const(value: int | float | bool, dtype: str) -> PrimExpr:
    """Return the constant ``value`` of ``dtype``."""
    if "x" in dtype:
        return Broadcast(const(value, element_dtype(dtype)), IntImm(int(lanes_of(dtype)), "int32"))
    if dtype.startswith(("float", "bfloat")):
        return FloatImm(float(value), dtype)
    return IntImm(int(value), dtype)


def convert(value: PrimLike, dtype: str) -> PrimExpr:
    """Return ``value`` as an expression; a Python number becomes a constant of ``dtype``."""
    return value if isinstance(value, PrimExpr) else const(value, dtype)


class OperandError(Relay2RelaxError, TypeError):
    """Two operands have dtypes that do not go together."""

    kind = tensor_programs.OPERANDS


_SIGNED = ("int8", "int16", "int32", "int64")


def binary(op: BinaryOp, a: PrimLike, b: PrimLike) -> PrimExpr:
    """Return ``a op b`` with constants folded.

    A Python number takes the dtype of the other operand.

    Of two signed integers the narrower one becomes as wide as the other. Raises OperandError for
    other dtypes.
    """
    if isinstance(a, PrimExpr):
        left, right = a, b if isinstance(b, PrimExpr) else const(b, a.dtype)
    elif isinstance(b, PrimExpr):
        left, right = const(a, b.dtype), b
    else:
        raise TypeError("one operand of a TensorIR expression must be an expression")
    dtype = left.dtype
    if dtype != right.dtype:
        if left.dtype not in _SIGNED or right.dtype not in _SIGNED:
            raise OperandError(mistake(tensor_programs.OPERANDS, op=repr(op), left=left.dtype, right=right.dtype))
        wider = max(left.dtype, right.dtype, key=_SIGNED.index)
        left, right, dtype = cast(wider, left), cast(wider, right), wider
    if isinstance(left, AnyExtent) or isinstance(right, AnyExtent):
        return AnyExtent()
    folded = _fold(op, dtype, left, right)
    return folded if folded is not None else Binary(op, left, right)


_FOLD: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "min": min,
    "max": max,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b),
}


# What is the other operand where one is this number.
_LEFT_STAYS = frozenset({("+", 0), ("-", 0), ("*", 1), ("//", 1), ("truncdiv", 1), ("<<", 0)})
_RIGHT_STAYS = frozenset({("+", 0), ("*", 1)})


def _fold(op: BinaryOp, dtype: str, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """Fold what TVM's reader folds, so that a program comes back from there as it was."""
    if dtype not in ("int32", "int64", "bool"):
        return _fold_number(op, a, b)
    # Nothing is asked more often when C is made: no class patterns here.
    x = a.value if isinstance(a, IntImm) else None
    y = b.value if isinstance(b, IntImm) else None
    if x is None:
        if y is None:
            return None
    elif y is not None:
        if op in _FOLD:
            return IntImm(int(_FOLD[op](x, y)), "bool" if op in COMPARISONS else a.dtype)
        if op in ("//", "%") and y != 0:
            return IntImm(x // y if op == "//" else x % y, a.dtype)
    if op in ("and", "or"):
        known, other = (b, a) if x is None else (a, b)
        return other if bool(y if x is None else x) == (op == "and") else known
    if (op, y) in _LEFT_STAYS:
        return a
    if (op, x) in _RIGHT_STAYS:
        return b
    if op == "*" and 0 in (x, y):
        return a if x == 0 else b
    return IntImm(0, a.dtype) if op == "%" and y == 1 else None


def _fold_number(op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr | None:
    """Fold neutral elements, and constants of single and double precision.

    0 times anything is 0.
    """
    match op, a, b:
        case _, FloatImm(x), FloatImm(y) if op in ("+", "-", "*", "/") and (op != "/" or y != 0):
            return _float_result(op, a.dtype, x, y)
        case "max", FloatImm(x), FloatImm(y):
            return b if x < y else a
        case "min", FloatImm(x), FloatImm(y):
            return b if y < x else a
        case "+", (IntImm(0) | FloatImm(0.0)), _:
            return b
        case (("+" | "-"), _, (IntImm(0) | FloatImm(0.0))):
            return a
        case "*", (IntImm(1) | FloatImm(1.0)), _:
            return b
        case (("*" | "/" | "//" | "truncdiv"), _, (IntImm(1) | FloatImm(1.0))):
            return a
        case "*", _, (IntImm(0) | FloatImm(0.0)):
            return b
        case (("*" | "/"), (IntImm(0) | FloatImm(0.0)), _):
            return a
    return None


def _float_result(op: BinaryOp, dtype: str, x: float, y: float) -> PrimExpr | None:
    """Return the sum, difference, product or quotient, rounded as the program would.

    None where it is not folded.
    """
    if dtype not in _LAYOUT:
        return None
    kind = struct.Struct(_LAYOUT[dtype])
    try:
        (left,), (right,) = kind.unpack(kind.pack(x)), kind.unpack(kind.pack(y))
        # A result of double precision is exact enough to be rounded once more.
        exact = {"+": left + right, "-": left - right, "*": left * right, "/": left / right if right else math.inf}[op]
        (value,) = kind.unpack(kind.pack(exact))
    except OverflowError:
        return None
    return FloatImm(value, dtype) if math.isfinite(value) else None


_LAYOUT = {"float32": "f", "float64": "d"}


# Integers below these magnitudes are the same in the dtype.
_EXACT = {"int32": 1 << 31, "int64": 1 << 63, "float32": 1 << 24, "float64": 1 << 53}


def cast(dtype: str, value: PrimLike) -> PrimExpr:
    """Return ``value`` converted to ``dtype``; constants are converted at once where that is
    exact.
    """
    expr = convert(value, dtype)
    if expr.dtype == dtype:
        return expr
    if isinstance(expr, IntImm) and abs(expr.value) < _EXACT.get(dtype, 0):
        return const(expr.value, dtype)
    return Cast(dtype, expr)


def minimum(a: PrimLike, b: PrimLike) -> PrimExpr:
    """Return the smaller value (``a < b ? a : b``); of truth values, whether both are true."""
    return binary("and" if _are_truths(a, b) else "min", a, b)


def maximum(a: PrimLike, b: PrimLike) -> PrimExpr:
    """Return the larger value (``a > b ? a : b``); of truth values, whether one is true."""
    return binary("or" if _are_truths(a, b) else "max", a, b)


def _are_truths(*values: PrimLike) -> bool:
    return any(isinstance(one, PrimExpr) and one.dtype == "bool" for one in values)


def logical_and(*parts: PrimExpr) -> PrimExpr:
    """Return the conjunction of ``parts`` (true when there are none)."""
    result: PrimExpr = IntImm(1, "bool")
    for part in parts:
        result = binary("and", result, part)
    return result


def conjuncts(condition: PrimExpr | None) -> list[PrimExpr]:
    """Return the conditions that together are ``condition``; None is no condition."""
    match condition:
        case None:
            return []
        case Binary("and", a, b):
            return [*conjuncts(a), *conjuncts(b)]
        case Call("likely", (value,), _):
            return conjuncts(value)
    return [condition]


def if_then_else(condition: PrimExpr, then: PrimLike, otherwise: PrimLike) -> PrimExpr:
    """Return the lazy conditional: only the chosen branch is evaluated, so it may guard a load."""
    if isinstance(condition, IntImm):
        chosen, other = (then, otherwise) if condition.value else (otherwise, then)
        return chosen if isinstance(chosen, PrimExpr) else convert(chosen, _dtype_of(other))
    dtype = then.dtype if isinstance(then, PrimExpr) else _dtype_of(otherwise)
    return Call("if_then_else", (condition, convert(then, dtype), convert(otherwise, dtype)), dtype)


def _dtype_of(value: PrimLike) -> str:
    if not isinstance(value, PrimExpr):
        raise TypeError("one branch of a conditional must be an expression")
    return value.dtype


def intrinsic(name: str, *args: PrimExpr, dtype: str = "") -> PrimExpr:
    """Return a call of the intrinsic ``name``; its dtype is that of the first argument unless
    given.
    """
    return Call(name, args, dtype or args[0].dtype)


OPERANDS: Mapping[type, Callable[[Any], Sequence[PrimExpr]]] = {
    Binary: attrgetter("a", "b"),
    Not: lambda expr: (expr.a,),
    Cast: lambda expr: (expr.value,),
    Select: attrgetter("condition", "true_value", "false_value"),
    Call: attrgetter("args"),
    FunctionCall: attrgetter("args"),
    BufferLoad: lambda expr: expr.indices if expr.predicate is None else (*expr.indices, expr.predicate),
    LetIn: attrgetter("value", "body"),
    Ramp: attrgetter("base", "stride", "lanes"),
    Broadcast: attrgetter("value", "lanes"),
    Shuffle: lambda expr: (*expr.vectors, *expr.indices),
    CommReducer: lambda expr: (*expr.results, *expr.identities),
}


def children(expr: PrimExpr) -> Sequence[PrimExpr]:
    """Return the direct operands of ``expr``."""
    operands = OPERANDS.get(type(expr))
    return () if operands is None else operands(expr)
