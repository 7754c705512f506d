"""What the conversion of an ONNX operator asks of its arguments, and how it makes Relay of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeAlias, Union, cast

import numpy as np

from relay2relax.core.dtype import Array, is_float, numpy_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.frontend.onnx.elements import Element, element_of
from relay2relax.relay_ir.frontend.onnx.protos import Message, Node
from relay2relax.relay_ir.frontend.pytorch.types import Types
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, RelayExpr, Tuple, TupleGetItem, Var, const
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import Extent, static

# What a name of a graph stands for: an expression, a sequence of them, or an optional without one.
Value: TypeAlias = Union[Expr, list["Value"], None]
Convert: TypeAlias = "Callable[[Conversion], Value | tuple[Value, ...]]"
# Attributes of dynamic operators that are empty, where others are null.
_EMPTY = ("newshape", "reps", "pad_width")
# As numpy has it.
MOST_DIMENSIONS = 64
# So many steps of an operator become calls of their own.
MOST_STEPS = 16_384
# Larger values are data, not shapes.
MOST_FOLDED = 4096


class Subgraphs(Protocol):
    """What the importer does for operators that hold graphs. ``config`` chooses forms, as TVM's
    ``convert_config``.
    """

    config: Mapping[str, object]
    folder: Path | None

    def subgraph(self, graph: Message, given: Sequence[Value], inside: str) -> list[Value]:
        """Return the outputs of a graph that is held, with ``given`` for its inputs."""


class Values:
    """What is known of expressions: types, and the data of what constants alone decide.

    ``narrow`` are the elements of those that have fewer bits than Relay's dtype.
    """

    def __init__(self) -> None:
        self.types = Types()
        self.arrays: dict[Expr, Array] = {}
        self.narrow: dict[Expr, Element] = {}
        self._found: dict[Expr, Array | None] = {}

    def state(self, expr: Expr, type_: Type) -> Expr:
        """Say the type of an expression that is no call of an operator, and return it."""
        return self.types.state(expr, type_)

    def data(self, expr: Expr) -> Array | None:
        """Return the data of ``expr`` where it is told beforehand."""
        stack = [expr]
        while stack:
            node = stack[-1]
            if node in self._found:
                stack.pop()
                continue
            missing = [one for one in _operands(node) if one not in self._found]
            if missing:
                stack += missing
                continue
            self._found[node] = self._data(node)
            stack.pop()
        return self._found[expr]

    def _data(self, node: Expr) -> Array | None:
        match node:
            case Constant(data):
                return data
            case Var():
                return self.arrays.get(node)
            case Call(Op("shape_of"), (data,), attrs):
                shape = [static(one) for one in self.tensor(data).shape]
                return None if None in shape else np.array(shape, numpy_dtype(attrs.dtype or "int64"))
            case Call(Op("ndarray_size"), (data,), attrs):
                shape = [static(one) for one in self.tensor(data).shape]
                known = [one for one in shape if one is not None]
                return np.array(math.prod(known), numpy_dtype(attrs.dtype)) if len(known) == len(shape) else None
            case Call(Op(name), args, attrs):
                return self._computed(node, name, args, attrs)
        return None

    def _computed(self, node: Expr, name: str, args: Sequence[Expr], attrs: Any) -> Array | None:
        found = self.types.of(node)
        if not isinstance(found, TensorType):
            return None
        extents = [static(one) for one in found.shape]
        size = math.prod(one or 0 for one in extents)
        if None in extents and any(one is None for one in (self._operand(arg) for arg in args)):
            return None
        if size > MOST_FOLDED:
            return None
        given = [self._operand(arg) for arg in args]
        record = relay_op(name)
        if record is None or any(one is None for one in given):
            return None
        try:
            value = kernel_value(record, attrs, cast(Any, given))
        except Relay2RelaxError:
            return None
        return value if isinstance(value, np.ndarray) else None

    def _operand(self, arg: Expr) -> Any:
        if isinstance(arg, Tuple):
            parts = [self._found.get(one) for one in arg.fields]
            return None if any(one is None for one in parts) else tuple(parts)
        return self._found.get(arg)

    def tensor(self, expr: Expr) -> TensorType:
        """Return the type of a tensor; raises UnsupportedError where it is something else."""
        found = self.types.of(expr)
        if not isinstance(found, TensorType):
            raise UnsupportedError(
                mistake(frontends.FORM, node="a value", problem=f"a tensor is expected, found {found}")
            )
        return found


def _operands(node: Expr) -> Sequence[Expr]:
    match node:
        case Call(Op("shape_of" | "ndarray_size")):
            return ()
        case Call(Op(), args):
            return [field for arg in args for field in (arg.fields if isinstance(arg, Tuple) else (arg,))]
    return ()


@dataclass(frozen=True, slots=True)
class Conversion:
    """A node under conversion: its arguments (None where one is left out), and its opset."""

    node: Node
    args: tuple[Value, ...]
    opset: int
    values: Values = field(repr=False)
    importer: Subgraphs = field(repr=False)
    span: Span | None = None

    # --- arguments and attributes ---

    def has(self, place: int) -> bool:
        """Whether an argument is given."""
        return place < len(self.args) and self.args[place] is not None

    def arg(self, place: int = 0) -> Expr:
        """Return an argument, which has to be a tensor."""
        if not self.has(place):
            self.refuse(f"its input {place} is left out")
        found = self.args[place]
        if not isinstance(found, RelayExpr):
            self.refuse(f"its input {place} is a sequence")
        return found

    def tensors(self) -> list[Expr]:
        """Return all arguments, which have to be tensors."""
        return [self.arg(place) for place in range(len(self.args))]

    def sequence(self, place: int = 0) -> list[Value]:
        """Return an argument that is a sequence."""
        found = self.args[place] if self.has(place) else None
        if not isinstance(found, list):
            self.refuse(f"its input {place} is a sequence of unknown length")
        return found

    def attr(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.node.attrs.get(name, default)

    def wanted(self, name: str) -> Any:
        """Return an attribute that has to be there."""
        if name not in self.node.attrs:
            self.refuse(f"its attribute {name} is missing")
        return self.node.attrs[name]

    def known(self, place: int, attr: str = "") -> Array | None:
        """Return an argument's data, or of older opsets the attribute that said them; None where
        the model computes them.
        """
        if attr and attr in self.node.attrs:
            return np.asarray(self.node.attrs[attr])
        if not self.has(place):
            return None
        found, extents = self.data(self.arg(place)), self.static(self.arg(place))
        if found is None and extents is not None and 0 in extents:
            return np.zeros(extents, numpy_dtype(self.dtype(self.arg(place))))
        return found

    def ints(self, place: int, attr: str = "") -> list[int] | None:
        """Return an argument of integers as :meth:`known` does; None where it is left out.

        Refuses one that the model computes.
        """
        found = self.known(place, attr)
        if found is None:
            if self.has(place):
                self.refuse(f"its {attr or f'input {place}'} is computed")
            return None
        return [int(one) for one in np.asarray(found).reshape(-1)]

    def wanted_ints(self, place: int) -> list[int]:
        """Return an argument of integers as :meth:`ints` does; refuses one that is left out."""
        self.arg(place)
        return self.ints(place) or []

    def steps(self, count: int) -> range:
        """Return the numbers of steps that are written out, of which there must not be too many."""
        if count > MOST_STEPS:
            self.refuse(f"its {count} steps are written out, and more than {MOST_STEPS} are too many")
        return range(count)

    # --- what is known of values ---

    def data(self, expr: Expr) -> Array | None:
        """Return the data of an expression where it is told beforehand."""
        return self.values.data(expr)

    def type(self, expr: Expr) -> TensorType:
        """Return the type of a tensor."""
        return self.values.tensor(expr)

    def dtype(self, expr: Expr) -> str:
        """Return the dtype of a tensor."""
        return self.type(expr).dtype

    def element(self, expr: Expr) -> Element:
        """Return what a tensor holds in ONNX's words."""
        return self.values.narrow.get(expr) or element_of(self.dtype(expr))

    def holding(self, expr: Expr, element: Element) -> Expr:
        """Say what a tensor holds in ONNX's words, and return it."""
        if element.narrow:
            self.values.narrow[expr] = element
        return expr

    def rank(self, expr: Expr) -> int:
        """Return the number of dimensions of a tensor."""
        return self.type(expr).rank

    def extents(self, expr: Expr) -> tuple[Extent, ...]:
        """Return the extents of a tensor."""
        return self.type(expr).shape

    def static(self, expr: Expr) -> tuple[int, ...] | None:
        """Return the extents of a tensor where all are numbers."""
        found = [static(one) for one in self.type(expr).shape]
        known = tuple(one for one in found if one is not None)
        return known if len(known) == len(found) else None

    def shape(self, expr: Expr) -> tuple[int, ...]:
        """Return the extents of a tensor, which have to be numbers."""
        found = self.static(expr)
        if found is None:
            self.refuse(f"it has to know the extents of {self.type(expr)}")
        return found

    def axis(self, expr: Expr, default: int, name: str = "axis") -> int:
        """Return an attribute that is an axis of ``expr``, from the front."""
        found, rank = int(self.attr(name, default)), max(self.rank(expr), 1)
        if not -rank <= found < rank:
            self.refuse(f"its {name} is {found}, and there are {rank} axes")
        return found % rank

    # --- Relay ---

    def call(self, name: str, *args: object, **attrs: object) -> Expr:
        """Return a call of a Relay operator, with the arguments of TVM's function of its name. What
        constants alone decide is a constant.
        """
        try:
            function: Callable[..., Expr] = reduce(getattr, name.split("."), cast(Any, op))
        except AttributeError as error:
            self.refuse(str(error))
        try:
            made = function(*args, span=self.span, **attrs)
            self.values.types.of(made)
        except Relay2RelaxError as error:
            self.refuse(error.diagnostics[0].title)
        return self._folded(made)

    def dynamic(self, name: str, *args: Expr, **attrs: object) -> Expr:
        """Return a call of an operator of ``dyn``, whose shapes or places are inputs.

        The attributes that they stand for are empty.
        """
        record = relay_op(f"dyn.{name}")
        assert record is not None
        given = {one.name: one.default for one in attr_fields(record.attrs)}
        empty = {name: () if name in _EMPTY else None for name, one in given.items() if one is MISSING}
        made = Call(Op(f"dyn.{name}"), args, record.attrs(**{**empty, **attrs}), span=self.span)
        try:
            self.values.types.of(made)
        except Relay2RelaxError as error:
            self.refuse(error.diagnostics[0].title)
        return self._folded(made)

    def _folded(self, made: Expr) -> Expr:
        match made:
            case Call(Op("shape_of" | "ndarray_size"), _):
                found = self.values.data(made)
            case Call(Op("cast"), (weights,)) if self.dtype(weights) in ("int8", "uint8") and self.rank(weights) > 1:
                return made  # Quantised weights stay bytes.
            case Call(Op(), args) if args and all(map(_is_constant, args)):
                found = self.values.data(made)
            case _:
                return made
        return made if found is None else replace(const(found, of_array(found)), span=self.span)

    def const(self, value: object, dtype: str) -> Constant:
        """Return a constant."""
        return replace(const(np.asarray(value, numpy_dtype(dtype)), dtype), span=self.span)

    def like(self, value: object, expr: Expr) -> Constant:
        """Return a constant of the dtype of ``expr``."""
        return self.const(value, self.dtype(expr))

    def tuple(self, fields: Sequence[Expr]) -> Tuple:
        """Return a tuple."""
        return Tuple(tuple(fields), self.span)

    def fields(self, whole: Expr) -> list[Expr]:
        """Return the fields of a tuple."""
        if isinstance(whole, Tuple):
            return list(whole.fields)
        found = self.values.types.of(whole)
        if not isinstance(found, TupleType):
            self.refuse(f"{found} has no fields")
        return [TupleGetItem(whole, place, self.span) for place in range(len(found.fields))]

    def cast(self, expr: Expr, dtype: str) -> Expr:
        """Return ``expr`` as ``dtype``: itself where it has it."""
        return expr if self.dtype(expr) == dtype else self.call("cast", expr, dtype=dtype)

    def shape_of(self, expr: Expr) -> Expr:
        """Return the extents of a tensor as a vector of int64."""
        return self.call("shape_of", expr, dtype="int64")

    def reshape(self, expr: Expr, shape: Sequence[int]) -> Expr:
        """Return ``expr`` in another shape; Relay's codes 0 and -1 stand."""
        if self.static(expr) == tuple(shape):
            return expr
        return self.call("reshape", expr, tuple(int(one) for one in shape))

    def reshape_to(self, expr: Expr, shape: Expr) -> Expr:
        """Return ``expr`` in the shape that a vector holds."""
        found = self.data(shape)
        if found is not None:
            return self.reshape(expr, [int(one) for one in found])
        return self.dynamic("reshape", expr, self.cast(shape, "int64"))

    def transpose(self, expr: Expr, axes: Sequence[int]) -> Expr:
        """Return ``expr`` with its axes in another order."""
        return expr if list(axes) == list(range(len(axes))) else self.call("transpose", expr, axes=tuple(axes))

    def unsqueeze(self, expr: Expr, axes: Sequence[int]) -> Expr:
        """Return ``expr`` with axes of one element at places of the result."""
        rank = self.rank(expr) + len(axes)
        for axis in sorted(one % rank for one in axes):
            expr = self.call("expand_dims", expr, axis=axis)
        return expr

    def squeeze(self, expr: Expr, axes: Sequence[int]) -> Expr:
        """Return ``expr`` without axes of one element."""
        return self.call("squeeze", expr, axis=list(axes)) if axes else expr

    def slice(self, expr: Expr, axis: int, begin: int, end: int, step: int = 1) -> Expr:
        """Return a part of ``expr`` along one axis."""
        return self.call("strided_slice", expr, begin=[begin], end=[end], strides=[step], axes=[axis])

    def scalar(self, expr: Expr) -> Expr:
        """Return a tensor of one element as one without axes."""
        return self.reshape(expr, ()) if self.rank(expr) else expr

    def floating(self, expr: Expr) -> bool:
        """Whether a tensor holds floats."""
        return is_float(self.dtype(expr))

    def refuse(self, why: str) -> NoReturn:
        """Raise UnsupportedError: Relay cannot say this call, or not like this."""
        name = f"{self.node.place!r} ({self.node.spelled})"
        raise UnsupportedError(mistake(frontends.FORM, node=f"the ONNX node {name}", problem=why))


def _is_constant(arg: Expr) -> bool:
    if isinstance(arg, Tuple):
        return all(isinstance(one, Constant) for one in arg.fields)
    return isinstance(arg, Constant)
