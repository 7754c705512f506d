"""What the conversion of an operator asks of its arguments, and how it makes Relay of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, Union, cast

from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.frontend.pytorch.dtypes import BY_NUMBER, result_dtype
from relay2relax.relay_ir.frontend.pytorch.notes import Notes
from relay2relax.relay_ir.frontend.pytorch.types import Types
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Expr,
    Op,
    RelayExpr,
    Tuple,
    TupleGetItem,
    const,
)
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.tir.extent import Extent, static
from relay2relax.tir.ir.expr import Binary, IntImm, PrimExpr
from relay2relax.tir.ir.expr import Var as ExtentVar

if TYPE_CHECKING:
    from relay2relax.relay_ir.frontend.pytorch.operators.quantised.packed import Packed

# What a value of a graph is while it is read: an expression, or what is known beforehand.
Number: TypeAlias = Union[int, float, bool]
Value: TypeAlias = Union[Expr, Number, str, list["Value"], tuple["Value", ...], PrimExpr, "Packed", None]


# Operators of numbers that are computed from extents.
_OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "//": "floor_divide", "%": "floor_mod", "max": "maximum",
    "min": "minimum",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Conversion:
    """A node under conversion: its kind, its arguments, and the span of what is made of it.

    ``exact``: PyTorch's results count, not what TVM's importer makes of TorchScript. ``symbols``
    are the values of open extents. ``notes`` are told to the user at the end of the import.
    """

    kind: str
    args: tuple[Value, ...]
    span: Span
    types: Types = field(repr=False)
    default_dtype: str = "float32"
    exact: bool = False
    symbols: Mapping[ExtentVar, Expr] = field(default_factory=dict, repr=False)
    notes: Notes = field(default_factory=Notes, repr=False)

    def refuse(self, problem: str) -> NoReturn:
        """Raise UnsupportedError for this form of the operator."""
        raise UnsupportedError(mistake(frontends.FORM, node=f"{self.span.source_name} ({self.kind})", problem=problem))

    def note(self, text: str) -> None:
        """Have the user told something of this node."""
        self.notes.add(text, f"{self.span.source_name} ({self.kind})")

    def refuse_empty(self) -> NoReturn:
        """Raise UnsupportedError: a tensor without elements comes out."""
        self.refuse("its result has no elements")

    def with_args(self, args: Sequence[Value]) -> Conversion:
        """Return the conversion of another form of the operator."""
        return replace(self, args=tuple(args))

    # --- arguments ---

    def value(self, place: int) -> Value:
        """Return an argument, None where it is left out."""
        return self.args[place] if place < len(self.args) else None

    def tensor(self, place: int) -> Expr:
        """Return an argument that is a tensor; a number becomes a constant."""
        found = self.value(place)
        if isinstance(found, (bool, int, float)):
            return self.const(found, result_dtype((), (), (found,)))
        if not isinstance(found, RelayExpr):
            self.refuse(f"argument {place} is expected to be a tensor, found {found!r}")
        return found

    def optional(self, place: int) -> Expr | None:
        """Return an argument that is a tensor, or None."""
        return None if self.value(place) is None else self.tensor(place)

    def plain(self, value: Value) -> Value:
        """Return the number that a tensor of one element is, where it is known, else ``value``."""
        found = self.types.value(value) if isinstance(value, RelayExpr) else None
        return value if found is None or found.size != 1 else cast(Number, found.item())

    def number(self, place: int, default: Number | None = None) -> Number:
        """Return an argument that is a number, ``default`` where it is None or left out."""
        found = self.plain(self.value(place))
        if found is None and default is not None:
            return default
        if not isinstance(found, (bool, int, float)):
            self.refuse(f"argument {place} has to be a number that is known beforehand")
        return found

    def integer(self, place: int, default: int | None = None) -> int:
        """Return an argument that is an integer."""
        return int(self.number(place, default))

    def integers(self, place: int) -> list[int] | None:
        """Return an argument that is a list of integers, or one integer; None where it is None."""
        found = self.value(place)
        if found is None:
            return None
        known = [self.plain(one) for one in (found if isinstance(found, list) else [found])]
        if not all(isinstance(one, (int, float)) for one in known):
            self.refuse(f"argument {place} has to be integers that are known beforehand")
        return [int(cast(int, one)) for one in known]

    def sizes(self, place: int) -> list[int]:
        """Return an argument that is a list of integers."""
        found = self.integers(place)
        if found is None:
            self.refuse(f"argument {place} is missing")
        return found

    def extents_at(self, place: int) -> list[Extent]:
        """Return an argument that is a list of extents, open ones too."""
        found = self.value(place)
        every = found if isinstance(found, list) else [found]
        if not any(isinstance(one, PrimExpr) for one in every):
            return list(self.sizes(place))
        known = [self.plain(one) for one in every]
        if not all(isinstance(one, (int, PrimExpr)) for one in known):
            self.refuse(f"argument {place} has to be extents")
        return cast("list[Extent]", known)

    def tensors(self, place: int) -> list[Expr]:
        """Return an argument that is a list of tensors, or a tuple."""
        found = self.value(place)
        if isinstance(found, RelayExpr) and isinstance(self.types.of(found), TupleType):
            return self.fields(found)
        if not isinstance(found, (list, tuple)) or not all(isinstance(one, RelayExpr) for one in found):
            self.refuse(f"argument {place} has to be a list of tensors")
        return cast("list[Expr]", list(found))

    def exprs(self) -> list[Expr]:
        """Return the arguments that are expressions, those in lists too."""
        rows = (one if isinstance(one, (list, tuple)) else [one] for one in self.args)
        return [one for row in rows for one in row if isinstance(one, RelayExpr)]

    def dtype_at(self, place: int) -> str | None:
        """Return an argument that is a dtype, or None."""
        number = self.value(place)
        if number is None:
            return None
        if not isinstance(number, int) or number not in BY_NUMBER:
            self.refuse(f"argument {place} is expected to be a dtype that Relay has, found {number!r}")
        return BY_NUMBER[number]

    # --- types ---

    def type_of(self, expr: Expr) -> TensorType:
        """Return the type of a tensor."""
        found = self.types.of(expr)
        if not isinstance(found, TensorType):
            self.refuse(f"a tensor is expected, found {found}")
        return found

    def shape(self, expr: Expr) -> tuple[int, ...]:
        """Return the extents of a tensor, which have to be numbers."""
        extents = [static(one) for one in self.type_of(expr).shape]
        known = tuple(one for one in extents if one is not None)
        if len(known) != len(extents):
            self.refuse(f"it asks for the extents of a tensor of {self.type_of(expr)}")
        return known

    def extent(self, expr: Expr, axis: int) -> int:
        """Return one extent of a tensor, which has to be a number."""
        found = static(self.type_of(expr).shape[axis])
        if found is None:
            self.refuse(f"it asks for extent {axis} of {self.type_of(expr)}")
        return found

    def extents(self, expr: Expr) -> tuple[Extent, ...]:
        """Return the extents of a tensor, open ones too."""
        return self.type_of(expr).shape

    def rank(self, expr: Expr) -> int:
        """Return the number of dimensions of a tensor."""
        return len(self.type_of(expr).shape)

    def dtype(self, expr: Expr) -> str:
        """Return the dtype of a tensor."""
        return self.type_of(expr).dtype

    # --- Relay ---

    def call(self, name: str, *args: object, **attrs: object) -> Expr:
        """Return a call of a Relay operator, with the arguments of TVM's function of its name."""
        function: Callable[..., Expr] = reduce(getattr, name.split("."), cast(Any, op))
        try:
            made = function(*args, span=self.span, **attrs)
            self.types.of(made)
        except Relay2RelaxError as error:
            self.refuse(error.diagnostics[0].title)
        return made

    def dynamic(self, name: str, *args: Expr, **attrs: object) -> Expr:
        """Return a call of an operator of ``dyn``, whose shapes are inputs."""
        record = relay_op(f"dyn.{name}")
        assert record is not None
        made = Call(Op(f"dyn.{name}"), args, record.attrs(**attrs), span=self.span)
        try:
            self.types.of(made)
        except Relay2RelaxError as error:
            self.refuse(error.diagnostics[0].title)
        return made

    def reshaped(self, expr: Expr, wanted: Sequence[Extent]) -> Expr:
        """Return ``expr`` in another shape, whose extents may be open."""
        own = self.extents(expr)
        if tuple(wanted) == tuple(own):
            return expr
        codes = [static(one) for one in wanted]
        for place, (code, one) in enumerate(zip(codes, wanted, strict=True)):
            if code is None and place < len(own) and own[place] == one:
                codes[place] = 0
        open_ = [place for place, code in enumerate(codes) if code is None]
        if not open_:
            return self.call("reshape", expr, [code or 0 for code in codes])
        if len(open_) == 1 and -1 not in codes:
            made = self.call("reshape", expr, [-1 if code is None else code for code in codes])
            return self.of_shape(made, wanted)
        return self.of_shape(self.dynamic("reshape", expr, self.shape_value(wanted), newshape=()), wanted)

    def of_shape(self, made: Expr, shape: Sequence[Extent]) -> Expr:
        """Return an expression, of which the extents are known here that its operator does not
        say.
        """
        return made if -1 in shape else self.types.state(made, TensorType(tuple(shape), self.dtype(made)))

    def spread_to(self, expr: Expr, wanted: Sequence[Extent]) -> Expr:
        """Return ``expr`` repeated along axes of one element."""
        if tuple(wanted) == tuple(self.extents(expr)):
            return expr
        known = [static(one) for one in wanted]
        if None not in known:
            return self.call("broadcast_to", expr, [one or 0 for one in known])
        return self.of_shape(self.dynamic("broadcast_to", expr, self.shape_value(wanted), shape=None), wanted)

    def filled(self, value: Expr, shape: Sequence[Extent], dtype: str) -> Expr:
        """Return a tensor of one number everywhere; its extents may be open."""
        known = [static(one) for one in shape]
        if None not in known:
            return self.call("full", value, shape=[one or 0 for one in known], dtype=dtype)
        made = self.dynamic("full", value, self.shape_value(shape), shape=None, dtype=dtype)
        return self.of_shape(made, shape)

    def shape_value(self, extents: Sequence[Extent]) -> Expr:
        """Return extents as a vector of int64."""
        parts = [self.call("reshape", self.extent_value(one), [1]) for one in extents]
        return self.call("concatenate", self.tuple(parts), axis=0)

    def extent_value(self, extent: Extent) -> Expr:
        """Return an extent as a number of int64 that the program computes."""
        match extent:
            case int():
                return self.const(extent, "int64")
            case IntImm(value):
                return self.const(value, "int64")
            case ExtentVar() if extent in self.symbols:
                return self.symbols[extent]
            case Binary(op=sign, a=a, b=b) if sign in _OPERATORS:
                return self.call(_OPERATORS[sign], self.extent_value(a), self.extent_value(b))
        self.refuse(f"the extent {extent} has no value")

    def const(self, value: object, dtype: str) -> Constant:
        """Return a constant."""
        return replace(const(value, dtype), span=self.span)

    def tuple(self, fields: Sequence[Expr]) -> Tuple:
        """Return a tuple."""
        return Tuple(tuple(fields), self.span)

    def fields(self, whole: Expr) -> list[Expr]:
        """Return the fields of a tuple."""
        found = self.types.of(whole)
        if not isinstance(found, TupleType):
            self.refuse(f"a tuple is expected, found {found}")
        span = None if isinstance(whole, Op) else whole.span
        return [TupleGetItem(whole, place, span) for place in range(len(found.fields))]

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """Return ``expr`` as ``dtype``: itself where it has it."""
        return expr if self.dtype(expr) == dtype else self.call("cast", expr, dtype=dtype)

    def promoted(self, *values: Value) -> list[Expr]:
        """Return tensors and numbers in the dtype of PyTorch's arithmetic over them."""
        exprs = [one for one in values if isinstance(one, RelayExpr)]
        numbers = [one for one in values if isinstance(one, (bool, int, float))]
        if len(exprs) + len(numbers) != len(values):
            self.refuse("its operands have to be tensors and numbers")
        tensors = [self.dtype(one) for one in exprs if self.rank(one)]
        scalars = [self.dtype(one) for one in exprs if not self.rank(one)]
        dtype = result_dtype(tensors, scalars, numbers)
        return [self.cast(one, dtype) if isinstance(one, RelayExpr) else self.const(one, dtype) for one in values]
