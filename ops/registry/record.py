"""What an operator is: one :class:`OpDef` per operator, with a facet for each thing that is asked
about it.

Facets are plain functions over plain words. ``args`` of a facet follow ``inputs``; an input that
Relay passes as a tuple (``concatenate``) arrives as a ``TupleType`` in ``infer`` and as a Python
tuple elsewhere; a Relax argument that is a shape arrives as a tuple of extents (in ``numpy``: of
ints).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeAlias, Union

from typing_extensions import TypeVar

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, ErrorKind, Relay2RelaxError
from relay2relax.core.errors.table import operators
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import Type
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, Shape

# What a numpy kernel gives: an array, a number that is no tensor, or several of them.
Value: TypeAlias = Union[Array, int, tuple["Value", ...]]
# What a definition gives: a tensor, or several of them.
Tensors: TypeAlias = Union["te.Tensor", tuple["te.Tensor", ...]]
V = TypeVar("V")
# The attribute class of an operator; ``OpDef`` alone is the record of any operator.
A = TypeVar("A", default=Any)
A_contra = TypeVar("A_contra", contravariant=True, default=Any)


def single(value: Tensors) -> te.Tensor:
    """Return the tensor of a definition that has one; raises TypeError where it has several."""
    if isinstance(value, tuple):
        raise TypeError(f"one tensor is expected, these are {len(value)}")
    return value


# What is known of the arguments, None where nothing is; and what is known of the elements of
# inputs.
Operands: TypeAlias = "Callable[[A, tuple[Type | None, ...]], tuple[Type | None, ...]]"
Settled: TypeAlias = "tuple[OpDef, Any, tuple[int, ...]]"
Settle: TypeAlias = "Callable[[A, tuple[Shape | None, ...]], Settled | None]"


# The facets. After the attributes come the arguments: how many there are, each record says in its
# ``inputs``.


class TypeRule(Protocol[A_contra]):
    """(attrs, *types) -> type."""

    def __call__(self, attrs: A_contra, /, *args: Any, **kwargs: Any) -> Type: ...


class Kernel(Protocol[A_contra]):
    """(attrs, *arrays) -> value."""

    def __call__(self, attrs: A_contra, /, *args: Any, **kwargs: Any) -> Value: ...


class Definition(Protocol[A_contra]):
    """(attrs, out, *tensors) -> tensors."""

    def __call__(self, attrs: A_contra, /, *args: Any, **kwargs: Any) -> Tensors: ...


class Extents(Protocol[A_contra]):
    """(attrs, out, *tensors) -> tensor."""

    def __call__(self, attrs: A_contra, /, *args: Any, **kwargs: Any) -> te.Tensor: ...


class OpError(Relay2RelaxError):
    """An operator refuses its arguments.

    ``argument`` is the index of the input at fault, where one is.
    """

    kind = operators.REFUSED

    def __init__(
        self, problem: str | Diagnostic, argument: int | None = None, *, kind: ErrorKind | None = None
    ) -> None:
        super().__init__(problem, kind=kind)
        self.message = self.diagnostics[0].title
        self.argument = argument


@dataclass(frozen=True, slots=True)
class FieldOf(Generic[V]):
    """Field ``index`` of ``whole``, the result of a Relax operator's call with ``attrs``."""

    op: str
    attrs: object
    whole: V
    index: int


class Emit(Protocol[V]):
    """What an expansion into Relax may do; ``V`` is the caller's handle of an emitted value."""

    @property
    def qdq(self) -> bool:
        """Whether R.quantize is asked for, which rounds halves otherwise than ``qnn.quantize``."""

    def call(self, name: str, *args: V, **attrs: Any) -> V:
        """Emit the Relax operator ``R.<name>``; ``attrs`` are fields of its record's attribute
        class.
        """

    def type_of(self, value: V) -> Type:
        """Return the type of ``value``, with symbolic extents."""

    def const(self, value: int | float | bool | Array, dtype: str) -> V:
        """Return a constant."""

    def shape(self, extents: Sequence[Extent]) -> V:
        """Return a shape value, e.g. the second argument of ``R.reshape``."""

    def tuple(self, values: Sequence[V]) -> V:
        """Emit a tuple."""

    def item(self, value: V, index: int) -> V:
        """Emit a projection from a tuple."""

    def constant_of(self, value: V) -> Array | None:
        """Return the data of a constant, None for any other value."""

    def field_of(self, value: V) -> FieldOf[V] | None:
        """Return of what ``value`` is a field; None for other values."""

    def extents_of(self, op: OpDef, attrs: object, args: Sequence[V]) -> Shape:
        """Emit the computation of the extents that data decide, and return them as symbolic
        extents.
        """

    def as_tir(self, op: OpDef, attrs: object, args: Sequence[V], why: str) -> V:
        """Emit ``call_tir`` of the operator's own PrimFunc: for a call that Relax's operators
        cannot express.

        ``why`` says what they lack; it is kept with the PrimFunc.
        """


class Expand(Protocol[A_contra]):
    """Emits a call with ``attrs`` as Relax operators, for any kind of handles."""

    def __call__(self, emit: Emit[V], attrs: A_contra, /, *args: Any, **kwargs: Any) -> V:
        """Return the result's handle; ``args`` are the arguments' handles."""


@dataclass(frozen=True, slots=True)
class SameOp:
    """The Relax operator means the same with the same attributes (those in ``Script.omit``
    aside).
    """


@dataclass(frozen=True, slots=True)
class Expanded(Generic[A]):
    """The operator becomes several Relax operators: ``expand(emit, attrs, *args)`` returns the
    result.
    """

    expand: Expand[A]


@dataclass(frozen=True, slots=True)
class Otherwise:
    """Relax has an operator of that name, which is not used.

    ``why`` says what it does otherwise.
    """

    why: str


RelaxForm: TypeAlias = "Union[SameOp, Expanded[A], Otherwise, None]"


@dataclass(frozen=True, slots=True, eq=False)
class OpDef(Generic[A]):
    """One operator.

    ``relay``  Relay's name, None for an operator that only Relax has.
    ``inputs``  names of the inputs; one that begins with ``*`` takes any number.
    ``attrs``  the attribute dataclass, of the name that Relay's class has; see ``attrs_key``.
    ``infer``  (attrs, *types) -> type: the result type; raises OpError. All argument types are
        known.
    ``operands``  (attrs, types) -> types: what is known of the arguments once some are; unknown
        ones are None.
    ``relay_type``  (attrs, *types) -> type: what Relay's inference says, where it does not say
        ``infer``. TVM looks less closely at some calls: what it accepts has a type, and ``infer``
        refuses it when it is to be run.
    ``relax_type``  (attrs, *types) -> type: what Relax's inference says, where it does not say
        ``infer``: TVM refuses some calls of Relax that it took of Relay.
    ``known_result``  (attrs, result, *types) -> type: what becomes of a result type that the
        program declares, for an operator whose rule looks at it.
    ``numpy``  (attrs, *arrays) -> array or tuple: the reference value, vectorised; never changes
        its arguments.
    ``compute``  (attrs, out, *tensors) -> te.Tensor or tuple of them: the definition that TensorIR
        is made from; ``out`` is the inferred type, its extents static or symbolic.
    ``extents``  for an operator whose result's extents depend on data: (attrs, out, *tensors) ->
        te.Tensor, an int64 vector of the extents that ``out`` leaves unknown, in order; ``compute``
        then has an ``out`` with all of them.
    ``relax``  what Relax has for it; None: only ``call_tir`` of its own PrimFunc.
    ``script``  how the operator is written in Relax, None where Relax does not have it.
    ``builtin``  the function of the virtual machine that computes it, where no tensor program can:
        its result is a number, or a shape, which ``infer`` gives as a tuple of extents.
    ``scalars``  those of ``inputs`` that Relax may give a number that is no tensor; facets take it
        for a tensor of rank 0, but for those of a ``builtin``, which are given the number.
    ``on_bad_values``  what becomes of elements of inputs that the operator has no use for: places
        outside, shapes that do not fit, zeros that are divided by. "" where every value has a use.
    ``passes_through``  whether the value is the (only) input itself, which may be of any type: an
        annotation. Nothing is computed for it.
    ``settle``  for an operator that takes shapes or places as inputs, or is another one for some
        number: (attrs, numbers) -> (operator, attrs, inputs that stay), the same call with
        attributes in their place.
        ``numbers`` are the elements of each input, None where they are unknown; so is the result
        where too little is known.
    ``declares_attrs``  False where Relay's operator carries ``attrs`` without declaring them
        (``unique``, ``cumsum``): its text then refers to them as ``meta[relay.attrs.…][i]``.
    ``fusion``  how Relay's fusion may treat it.
    ``precision``  whether it may compute in lower precision; None where TVM says nothing of it.
    ``layout``  how the operator follows where its inputs change their layouts, as
        ``ops/common/layout_rules.py`` says; None where it cannot.
    """

    doc: str
    source: str
    inputs: tuple[str, ...]
    infer: TypeRule[A]
    numpy: Kernel[A]
    compute: Definition[A]
    relay: str | None = None
    attrs: type[A] = NoAttrs  # type: ignore[assignment]
    operands: Operands[A] | None = None
    relay_type: TypeRule[A] | None = None
    relax_type: TypeRule[A] | None = None
    known_result: TypeRule[A] | None = None
    relax: RelaxForm[A] = None
    script: Script | None = None
    aliases: tuple[str, ...] = ()
    declares_attrs: bool = True
    extents: Extents[A] | None = None
    settle: Settle[A] | None = None
    on_bad_values: str = ""
    passes_through: bool = False
    builtin: str = ""
    scalars: tuple[str, ...] = ()
    fusion: Fusion = OPAQUE
    precision: Precision | None = None
    layout: Callable[..., Any] | None = None

    @property
    def name(self) -> str:
        """The Relay name, or Relax's where Relay has none."""
        if self.relay is not None:
            return self.relay
        assert self.script is not None
        return self.script.name

    @property
    def relax_name(self) -> str:
        """What a call in a Relax module is named: by Relax's name, or ours where it has none."""
        return f"relax.{self.script.name if self.script is not None else self.name}"

    @property
    def attrs_key(self) -> str:
        """The type key of the attributes in Relay's JSON (``relay.attrs.…``).

        "" without Relay's name or attributes.

        A class that cannot have the name of Relay's says the key as its ``type_key``.
        """
        if self.relay is None or self.attrs is NoAttrs:
            return ""
        key: str = getattr(self.attrs, "type_key", f"relay.attrs.{self.attrs.__name__}")
        return key

    @property
    def variadic(self) -> bool:
        """Whether the operator takes any number of inputs."""
        return bool(self.inputs) and self.inputs[-1].startswith("*")

    def __repr__(self) -> str:
        return f"<operator {self.name}>"
