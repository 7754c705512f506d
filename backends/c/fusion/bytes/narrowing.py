"""Products of int32 whose factors are known to fit into bytes become products of bytes.

Quantised models take zero points away from their bytes before they multiply: what is multiplied is
int32, though it lies between 256 neighbouring integers. Such a tensor is stored as bytes instead,
of which the least integer was taken away; that is put right behind the sum, with the sums of the
other factor, which are known ahead where weights are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.fusion.bytes.forms import FEW, QUADS, Form, form_of
from relay2relax.backends.c.fusion.bytes.spans import Span, spans_of
from relay2relax.backends.c.stages import AnyStage, Axis, Opaque, Reduction, Stage, mapped
from relay2relax.core.dtype import integer_range
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, Cast, IntImm, PrimExpr, Select, Var, binary, const
from relay2relax.tir.ir.visit import loads, map_expr, substitute, variables

# What the factors of a product are.
_DATA, _WEIGHTS = "data", "weights"


@dataclass(frozen=True, slots=True)
class Byte:
    """What a buffer of int32 is instead: ``buffer`` has its elements, each ``least`` less.

    It ``was`` there already where the one of int32 only widened it. Dimension ``last``, where there
    is one, became the innermost, and longer.
    """

    buffer: Buffer
    least: int
    was: bool = False
    last: int | None = None

    def place(self, indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        """Return where the element at ``indices`` lies."""
        if self.last is None:
            return tuple(indices)
        return (*indices[: self.last], *indices[self.last + 1 :], indices[self.last])

    def load(self, indices: Sequence[PrimExpr]) -> BufferLoad:
        """Return the byte that stands for the element at ``indices``."""
        return BufferLoad(self.buffer, self.place(indices))

    def wide(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the number that the element at ``indices`` was."""
        return binary("+", Cast("int32", self.load(indices)), const(self.least, "int32"))


@dataclass(frozen=True, slots=True)
class _Product:
    """A sum of products that can be of bytes."""

    data: BufferLoad
    weights: BufferLoad
    form: Form


@dataclass(frozen=True, slots=True)
class Integers:
    """The ``stages`` of a program, and what is known of its integers.

    ``spans`` says between which ones buffers of known content lie, ``still`` are buffers whose
    memory stays as it is, ``known`` what depends on constants alone. ``byte`` is the dtype whose
    products with int8 the processor adds up.
    """

    stages: Sequence[AnyStage]
    spans: Mapping[Buffer, Span]
    still: frozenset[Buffer]
    known: frozenset[Buffer]
    byte: str


def narrow_factors(integers: Integers) -> list[AnyStage]:
    """Return the stages with products of bytes."""
    rule = Narrowing(integers)
    return rule.stages() if rule.products else list(integers.stages)


class Narrowing:
    """The products that become ones of bytes, and what their factors are then."""

    def __init__(self, integers: Integers) -> None:
        stages = integers.stages
        self.before, self.still, self.known = stages, integers.still, integers.known
        self.dtypes = {_DATA: integers.byte, _WEIGHTS: "int8"}
        self.spans = spans_of(stages, integers.spans)
        self.writers: dict[Buffer, list[Stage]] = {}
        self.opaque = {b for stage in stages if isinstance(stage, Opaque) for b in stage.reads() | stage.writes()}
        for stage in stages:
            if isinstance(stage, Stage):
                self.writers.setdefault(stage.target, []).append(stage)
        self.narrow: dict[Buffer, Byte] = {}
        # Copies: of bytes as int32, and of constants as bytes.
        self.wide: dict[Buffer, Buffer] = {}
        self.copied: dict[Buffer, Buffer] = {}
        self.products = self._products()
        for product in self.products.values():
            self._narrowed(product.data.buffer, _DATA, product.form)
            self._narrowed(product.weights.buffer, _WEIGHTS, product.form)

    def stages(self) -> list[AnyStage]:
        """Return all stages, on bytes."""
        found: list[AnyStage] = []
        for stage in self.before:
            if not isinstance(stage, Stage):
                found.append(stage)
                continue
            made = self._product(stage, found) if stage in self.products else stage
            found.append(self._stored(self._reading(made, found)))
        # What only widened bytes has no reader any more.
        read = {buffer for stage in found for buffer in stage.reads()}
        gone = {buffer for buffer, byte in self.narrow.items() if byte.was}
        return [one for one in found if not (isinstance(one, Stage) and one.target in gone - read)]

    # What is a product of bytes

    def _products(self) -> dict[Stage, _Product]:
        """Return the sums that become products of bytes: a buffer is the same factor in all."""
        found = {stage: one for stage in self.before if isinstance(stage, Stage) and (one := self._factors(stage))}
        roles: dict[Buffer, set[str]] = {}
        for one in found.values():
            # Few channels are laid out for the one product that reads them.
            own = f"{_DATA} {id(one)}" if one.form.kind == FEW else _DATA
            roles.setdefault(one.data.buffer, set()).add(own)
            roles.setdefault(one.weights.buffer, set()).add(_WEIGHTS)
        return {
            stage: one
            for stage, one in found.items()
            if len(roles[one.data.buffer]) == len(roles[one.weights.buffer]) == 1
        }

    def _factors(self, stage: Stage) -> _Product | None:
        """Return the factors of a sum of products that can be of bytes, the weights last."""
        reduction = stage.reduction
        if reduction is None or reduction.op != "+" or reduction.identity != const(0, "int32"):
            return None
        match reduction.source:
            case Binary("*", BufferLoad() as a, BufferLoad() as b) if a.dtype == b.dtype == "int32":
                for data, weights in ((a, b), (b, a)):
                    form = form_of(stage, data, weights, weights.buffer in self.known)
                    if form is None or data.buffer is weights.buffer or data.buffer in self.known:
                        continue
                    if self._fits(data.buffer, _DATA, form) and self._fits(weights.buffer, _WEIGHTS, form):
                        return _Product(data, weights, form)
        return None

    def _fits(self, buffer: Buffer, role: str, form: Form) -> bool:
        span = self.spans.get(buffer)
        if span is None or span[1] - span[0] > 255 or buffer in self.opaque:
            return False
        if role == _WEIGHTS:
            # Without fours, or with a depth that is not known, sums of data would be too dear.
            if _least(span, "int8") and (form.kind != QUADS or form.depth is None):
                return False
            return buffer in self.known or (buffer in self.writers and buffer not in self.still)
        own = buffer in self.writers and buffer not in self.still
        return own if form.kind == FEW else own or self._widened(buffer, role) is not None

    def _widened(self, buffer: Buffer, role: str) -> Byte | None:
        """Return the bytes of another buffer, where ``buffer`` is nothing but those widened."""
        writers = self.writers.get(buffer, [])
        if len(writers) != 1 or writers[0].reduction is not None:
            return None
        (writer,) = writers
        match writer.value:
            case Cast("int32", BufferLoad(source, indices)) if (
                writer.indices == indices == tuple(axis.var for axis in writer.axes)
                and source.dtype == self.dtypes[role]
                and source not in self.opaque
                and len(self.writers.get(source, ())) <= 1
            ):
                return Byte(source, 0, True)
        return None

    def _narrowed(self, buffer: Buffer, role: str, form: Form) -> None:
        """Find what ``buffer`` is instead."""
        if buffer in self.narrow:
            return
        dtype, span = self.dtypes[role], self.spans[buffer]
        last = form.few(role == _DATA)
        byte = None if last is not None else self._widened(buffer, role)
        if byte is None:
            shape = list(buffer.shape)
            if last is not None:
                shape = [*shape[:last], *shape[last + 1 :], IntImm(form.size)]
            least = span[0] - integer_range(dtype)[0] if role == _DATA else _least(span, dtype)
            byte = Byte(Buffer(buffer.name, tuple(shape), dtype), least, last=last)
        self.narrow[buffer] = byte

    # Rewriting

    def _product(self, stage: Stage, before: list[AnyStage]) -> Stage:
        """Return a product of bytes; what it needs is added to the stages ``before``."""
        one, reduction = self.products[stage], stage.reduction
        assert reduction is not None
        left, right = self.narrow[one.data.buffer], self.narrow[one.weights.buffer]
        if one.weights.buffer in self.still or right.last is not None:
            right = self._copied(one, right, before)
        longer, size = one.form.axis if one.form.dims else None, IntImm(one.form.size)
        axes = tuple(replace(axis, extent=size) if axis is longer else axis for axis in reduction.axes)
        data, weights = left.load(one.data.indices), right.load(one.weights.indices)
        source = Binary("*", Cast("int32", data), Cast("int32", weights))
        stage = replace(stage, reduction=replace(reduction, axes=axes, source=source))
        # What every factor lacks, the sum lacks as often as the other factor says.
        value: PrimExpr = reduction.result
        for lacking, other in ((left, weights), (right, data)):
            if lacking.least:
                value = binary("+", value, _summed(stage, other, lacking.least, before))
        if left.least and right.least:
            value = binary("+", value, const(left.least * right.least * (one.form.depth or 0), "int32"))
        return replace(stage, value=substitute(stage.value, {reduction.result: value}))

    def _copied(self, one: _Product, byte: Byte, before: list[AnyStage]) -> Byte:
        """Return weights as bytes; the copy, behind as many zeros as the form asks for, is added to
        the stages ``before``.
        """
        buffer = one.weights.buffer
        if buffer not in self.copied:
            self.copied[buffer] = byte.buffer
            axes = tuple(Axis(Var(f"i{number}"), extent) for number, extent in enumerate(buffer.shape))
            value: PrimExpr = BufferLoad(buffer, tuple(axis.var for axis in axes))
            value = _less(value, byte.least, byte.buffer.dtype)
            if byte.last is not None:
                few = axes[byte.last]
                value = Call("if_then_else", (binary("<", few.var, few.extent), value, const(0, "int8")), "int8")
                axes = tuple(replace(axis, extent=IntImm(one.form.size)) if axis is few else axis for axis in axes)
            before.append(Stage(axes, byte.buffer, byte.place([axis.var for axis in axes]), value))
        return byte

    def _reading(self, stage: Stage, before: list[AnyStage]) -> Stage:
        """Return ``stage`` with loads of bytes in place of those of what is narrow.

        What else sums up products of it has a copy of int32, which is added to the stages
        ``before``.
        """
        if not any(self._is_stored(buffer) for buffer in stage.reads()):
            return stage
        summed: set[Buffer] = set()
        if stage.reduction is not None:
            summed = {load.buffer for load in loads(stage.reduction.source)}

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if not isinstance(node, BufferLoad):
                return None
            indices = tuple(map_expr(index, rewrite) for index in node.indices)
            if not self._is_stored(node.buffer):
                return BufferLoad(node.buffer, indices)
            byte = self.narrow[node.buffer]
            if node.buffer in summed:
                return BufferLoad(self._widened_again(node.buffer, byte, before), indices)
            return byte.wide(indices)

        return mapped(stage, rewrite)

    def _is_stored(self, buffer: Buffer) -> bool:
        """Whether what wrote ``buffer`` writes bytes instead."""
        byte = self.narrow.get(buffer)
        return byte is not None and not byte.was and buffer not in self.still and self._is_own(buffer, byte)

    def _is_own(self, buffer: Buffer, byte: Byte) -> bool:
        # Weights with more zeros are a copy.
        return byte.last is None or any(one.data.buffer is buffer for one in self.products.values())

    def _widened_again(self, buffer: Buffer, byte: Byte, before: list[AnyStage]) -> Buffer:
        if buffer not in self.wide:
            wide = self.wide[buffer] = Buffer("wide", buffer.shape, "int32")
            axes = tuple(Axis(Var(f"i{number}"), extent) for number, extent in enumerate(buffer.shape))
            place = tuple(axis.var for axis in axes)
            before.append(Stage(axes, wide, place, byte.wide(place)))
        return self.wide[buffer]

    def _stored(self, stage: Stage) -> Stage:
        """Return ``stage`` storing bytes, where its target is narrow."""
        if not self._is_stored(stage.target):
            return stage
        byte = self.narrow[stage.target]
        value = _less(stage.value, byte.least, byte.buffer.dtype)
        return replace(stage, target=byte.buffer, indices=byte.place(stage.indices), value=value)


def _summed(stage: Stage, factor: BufferLoad, times: int, before: list[AnyStage]) -> PrimExpr:
    """Return the sum of a ``factor`` of ``stage`` over the reduced axes, so many ``times``.

    A stage that is added to those ``before`` makes it.
    """
    reduction = stage.reduction
    assert reduction is not None
    used = {var for index in factor.indices for var in variables(index)}
    axes = tuple(axis for axis in stage.axes if axis.var in used)
    place, total = tuple(axis.var for axis in axes), Var("result", "int32")
    sums = Buffer("sums", tuple(axis.extent for axis in axes), "int32")
    summed = Reduction(reduction.axes, "+", const(0, "int32"), Cast("int32", factor), total)
    before.append(Stage(axes, sums, place, binary("*", total, const(times, "int32")), summed))
    return BufferLoad(sums, place)


def _least(span: Span, dtype: str) -> int:
    """Return what is to be taken away so that numbers fit into ``dtype``: nothing where they do."""
    least, most = integer_range(dtype)
    return 0 if least <= span[0] and span[1] <= most else span[0] - least


def _less(value: PrimExpr, least: int, dtype: str) -> PrimExpr:
    """Return ``value - least`` as a byte, which it fits into."""
    match value:
        case Cast("int32", inner) if not least and inner.dtype == dtype:
            return inner
        case IntImm(number):
            return const(number - least, dtype)
        case Binary("-", inner, IntImm(number)) if number == -least:
            return _less(inner, 0, dtype)
        case Binary("+", inner, IntImm(number)) if number == least:
            return _less(inner, 0, dtype)
        case Select(condition, a, b):
            return Select(condition, _less(a, least, dtype), _less(b, least, dtype))
        case Call("if_then_else", (condition, a, b)):
            return Call("if_then_else", (condition, _less(a, least, dtype), _less(b, least, dtype)), dtype)
    return Cast(dtype, binary("-", value, const(least, "int32")))
