"""Relay's expressions.

    expr ::= Constant | Var | GlobalVar | Op | Constructor
           | Call(expr, expr*, attrs) | Tuple(expr*) | TupleGetItem(expr, int)
           | Let(var, expr, expr) | If(expr, expr, expr) | Function(var*, expr)
           | RefCreate(expr) | RefRead(expr) | RefWrite(expr, expr) | Match(expr, clause*)

An expression is equal to itself only: sharing in the graph means something (a shared node is
computed once). What is learnt about a node, its type above all, is kept in tables beside the tree
(``IRModule.types``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias, Union, cast

import numpy as np
from typing_extensions import Never

from relay2relax.core.arrays import plain_array
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import types
from relay2relax.core.source import Span
from relay2relax.ops.registry.attributes import NoAttrs, check_words
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.device import VirtualDevice
from relay2relax.relay_ir.ir.result_counts import count_results
from relay2relax.relay_ir.ir.types import GlobalTypeVar, TensorType, Type, TypeVar


class BuildError(Relay2RelaxError):
    """An expression cannot be made of what was given."""

    kind = types.BUILD


class RelayExpr:
    """Base of all expressions; carries Python's operators, which make calls of Relay's.

    A Python number or an array on the other side becomes a constant. ``str`` is the expression's
    text.
    """

    __slots__ = ("__weakref__",)

    def __str__(self) -> str:
        from relay2relax.relay_ir.text.printer import print_expr

        return print_expr(cast(Expr, self))

    def __repr__(self) -> str:
        # An expression may be as deep as a program is long; what is shown of it is only what it is.
        return f"<{type(self).__name__} {getattr(self, 'name', '')}".rstrip() + ">"

    def __add__(self, other: object) -> Call:
        return _binary("add", self, other)

    def __radd__(self, other: object) -> Call:
        return _binary("add", other, self)

    def __sub__(self, other: object) -> Call:
        return _binary("subtract", self, other)

    def __rsub__(self, other: object) -> Call:
        return _binary("subtract", other, self)

    def __mul__(self, other: object) -> Call:
        return _binary("multiply", self, other)

    def __rmul__(self, other: object) -> Call:
        return _binary("multiply", other, self)

    def __truediv__(self, other: object) -> Call:
        return _binary("divide", self, other)

    def __rtruediv__(self, other: object) -> Call:
        return _binary("divide", other, self)

    def __neg__(self) -> Call:
        return _operator_call("negative", as_expr(self))

    def __lt__(self, other: object) -> Call:
        return _binary("less", self, other)

    def __le__(self, other: object) -> Call:
        return _binary("less_equal", self, other)

    def __gt__(self, other: object) -> Call:
        return _binary("greater", self, other)

    def __ge__(self, other: object) -> Call:
        return _binary("greater_equal", self, other)

    def __call__(self, *args: object) -> Call:
        """Return the call of this function value; Python numbers and arrays become constants."""
        return Call(as_expr(self), tuple(as_expr(arg) for arg in args))

    def astype(self, dtype: str) -> Call:
        """Return the value converted to ``dtype``; raises BuildError where that is not a name."""
        if not isinstance(dtype, str):
            raise BuildError(f"astype takes the name of a dtype, found {type(dtype).__name__}")
        return _operator_call("cast", as_expr(self), dtype=dtype)


def _as_tuple(expr: RelayExpr, part: str) -> None:
    """Let a list that was given be the tuple that it is declared to be."""
    given = getattr(expr, part)
    if type(given) is list:
        object.__setattr__(expr, part, tuple(given))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constant(RelayExpr):
    """A tensor; ``data`` may be a view into a file and is never changed.

    Data of another byte order, and bytes of bool other than 0 and 1, are converted.
    """

    data: Array
    span: Span | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", plain_array(self.data))

    @property
    def tensor_type(self) -> TensorType:
        """The shape and dtype of the data."""
        return TensorType(tuple(int(d) for d in self.data.shape), of_array(self.data))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Var(RelayExpr):
    """A local variable; ``name`` is a hint."""

    name: str
    type_annotation: Type | None = None
    span: Span | None = None
    virtual_device: VirtualDevice | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GlobalVar(RelayExpr):
    """The name of a function of the module; one object per name within a module."""

    name: str
    span: Span | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Op(RelayExpr):
    """A primitive operator; equal by name. ``relay_op(name)`` finds its record."""

    name: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Constructor(RelayExpr):
    """A constructor of an ADT."""

    name: str
    inputs: tuple[Type, ...]
    belong_to: GlobalTypeVar
    tag: int = -1
    span: Span | None = None

    def same_as(self, other: Constructor) -> bool:
        """Whether both are the constructor of one name of one type.

        Files may hold several objects of it.
        """
        return self is other or (self.name == other.name and self.belong_to.name == other.belong_to.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(RelayExpr):
    """A call.

    ``attrs`` is the attribute dataclass of the operator's record (``NoAttrs`` where it has none).

    A call of anything but an operator has ``NoAttrs`` or, rarely, a :class:`OpaqueAttrs`.
    """

    op: Expr
    args: tuple[Expr, ...]
    attrs: Any = NoAttrs()
    type_args: tuple[Type, ...] = ()
    span: Span | None = None

    def __post_init__(self) -> None:
        _as_tuple(self, "args")
        if type(self.attrs) is not NoAttrs:
            check_words(self.attrs)

    def __getitem__(self, index: int) -> TupleGetItem:
        """Return one result of an operator that has several, as ``op.split(x, 2)[0]``; unpacking
        works, too.

        Raises TypeError where TVM's function of the operator does not give a tuple, IndexError
        beyond its fields.
        """
        fields = self.args[0].fields if len(self.args) == 1 and isinstance(self.args[0], Tuple) else None
        count = count_results(self.op.name, self.attrs, fields) if isinstance(self.op, Op) else None
        if count is None:
            raise TypeError(
                "only calls of operators with several results have fields; see TupleGetItem for other values"
            )
        if not -count <= index < count:
            raise IndexError(f"field {index} of {count} results")
        return TupleGetItem(self, index % count)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tuple(RelayExpr):
    """A tuple; empty for the unit value."""

    fields: tuple[Expr, ...]
    span: Span | None = None

    def __post_init__(self) -> None:
        _as_tuple(self, "fields")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TupleGetItem(RelayExpr):
    """Projection of field ``index``."""

    tuple_value: Expr
    index: int
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Let(RelayExpr):
    """``let var = value; body``; ``value`` may call ``var`` if it is a function literal."""

    var: Var
    value: Expr
    body: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class If(RelayExpr):
    """Only the chosen branch is evaluated."""

    condition: Expr
    true_branch: Expr
    false_branch: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Function(RelayExpr):
    """A function; ``attrs`` maps names such as ``Primitive`` to values."""

    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None = None
    type_params: tuple[TypeVar, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=dict)
    span: Span | None = None
    virtual_device: VirtualDevice | None = None

    def __post_init__(self) -> None:
        _as_tuple(self, "params")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefCreate(RelayExpr):
    """A new mutable cell."""

    value: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefRead(RelayExpr):
    """The content of a cell."""

    ref: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RefWrite(RelayExpr):
    """Replace the content of a cell; the value is ``()``."""

    ref: Expr
    value: Expr
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class PatternWildcard:
    """Matches anything."""

    span: Span | None = None


@dataclass(frozen=True, slots=True)
class PatternVar:
    """Matches anything and binds it."""

    var: Var
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class PatternConstructor:
    """Matches values made by ``constructor``."""

    constructor: Constructor
    patterns: tuple[Pattern, ...] = ()
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class PatternTuple:
    """Matches tuples field by field."""

    patterns: tuple[Pattern, ...]
    span: Span | None = None


Pattern: TypeAlias = Union[PatternWildcard, PatternVar, PatternConstructor, PatternTuple]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Clause:
    """One arm of a match."""

    lhs: Pattern
    rhs: Expr


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Match(RelayExpr):
    """The first clause that matches is evaluated; ``complete`` demands that one always does."""

    data: Expr
    clauses: tuple[Clause, ...]
    complete: bool = True
    span: Span | None = None

    def __post_init__(self) -> None:
        _as_tuple(self, "clauses")


@dataclass(frozen=True, slots=True)
class OpaqueAttrs:
    """Attributes of a class that no record declares, kept as they were read: type key and
    fields.
    """

    type_key: str
    fields: tuple[tuple[str, object], ...] = ()


Expr: TypeAlias = Union[
    Constant, Var, GlobalVar, Op, Constructor, Call, Tuple, TupleGetItem, Let, If, Function, RefCreate, RefRead,
    RefWrite, Match,
]  # fmt: skip


def children(expr: Expr) -> Sequence[Expr]:
    """Return the direct sub-expressions of ``expr`` in evaluation order.

    Binders are not among them.
    """
    match expr:
        case Call(op, args):
            return (op, *args)
        case Constant() | Var() | GlobalVar() | Op() | Constructor():
            return ()
        case Tuple(fields):
            return fields
        case TupleGetItem(value):
            return (value,)
        case Let(_, value, body):
            return (value, body)
        case If(condition, then, otherwise):
            return (condition, then, otherwise)
        case Function(_, body):
            return (body,)
        case RefCreate(value) | RefRead(value):
            return (value,)
        case RefWrite(ref, value):
            return (ref, value)
        case Match(data, clauses):
            return (data, *(clause.rhs for clause in clauses))
    no_expression(expr)


def no_expression(found: Never) -> NoReturn:
    """Raise BuildError for what users gave where an expression is expected."""
    raise BuildError(f"an expression of Relay is expected, found {type(found).__name__}")


# --- what Python's values are in Relay ------------------------------------------------------------


def const(value: object, dtype: str | None = None) -> Constant:
    """Return a constant of an array, a number or nested sequences of numbers.

    Without ``dtype`` Python integers become int32, floats float32, truth values bool, as in TVM; an
    array keeps its own, where TVM 0.18 has 32 bits of 64. An array that already has ``dtype`` is
    not copied. Raises BuildError for what is not numbers.
    """
    wanted = numpy_dtype(dtype) if dtype is not None else None
    array = np.asarray(value, dtype=wanted)
    if wanted is None and not isinstance(value, (np.ndarray, np.generic)):
        narrow = {np.dtype(np.int64): np.dtype(np.int32), np.dtype(np.float64): np.dtype(np.float32)}
        array = array.astype(narrow.get(array.dtype, array.dtype))
    if array.dtype == np.object_ or array.dtype.kind in "US":
        raise BuildError(f"cannot make a constant of {value!r}")
    return Constant(array)


def as_expr(value: object, like: object = None) -> Expr:
    """Return ``value`` as an expression: sequences become tuples, numbers and arrays constants.

    A Python number takes the dtype of ``like`` where that is a constant or a variable annotated as
    a tensor, and int32, float32 or bool otherwise. Raises BuildError for other objects.
    """
    if isinstance(value, RelayExpr):
        return cast(Expr, value)
    if isinstance(value, (tuple, list)):
        return Tuple(tuple(as_expr(item) for item in value))
    if isinstance(value, (bool, int, float)):
        return const(value, _dtype_of(like))
    if isinstance(value, (np.ndarray, np.generic)):
        return const(np.asarray(value))
    raise BuildError(f"expected a Relay expression, a number or an array, found {type(value).__name__}")


def _dtype_of(like: object) -> str | None:
    if isinstance(like, Constant):
        return like.tensor_type.dtype
    if isinstance(like, Var) and isinstance(like.type_annotation, TensorType):
        return like.type_annotation.dtype
    return None


def _binary(name: str, left: object, right: object) -> Call:
    return _operator_call(name, as_expr(left, like=right), as_expr(right, like=left))


def _operator_call(name: str, *args: Expr, **attrs: str) -> Call:
    """Return the call of an operator that Python's operators stand for."""
    record = relay_op(name)
    if record is None:
        raise BuildError(f"the operator {name} is not known")
    return Call(Op(name), args, record.attrs(**attrs))
