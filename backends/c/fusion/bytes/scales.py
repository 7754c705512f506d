"""Products of integers times their scales become products of integers, scaled behind the sum.

Models in QDQ form are those of floats: bytes less a zero point, times a scale, into an operator,
and its result is quantised. Where both factors of a sum of products are such, the sum is one of
integers, which is exact, and the scales are multiplied once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.fusion.bytes.makers import looked_into, makers_of, without_unread
from relay2relax.backends.c.fusion.bytes.narrowing import Integers, Narrowing
from relay2relax.backends.c.stages import AnyStage, Reduction, Stage, mapped, points
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    IntImm,
    PrimExpr,
    Select,
    Var,
    binary,
    const,
)
from relay2relax.tir.ir.visit import map_expr, substitute, variables

# So many products of bytes less zero points do not reach the ends of int32.
_MOST = (1 << 31) // (255 * 255)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """A buffer of floats is integers, which ``integers`` has, times ``scale``.

    That is a number, or a load at the places ``axes`` of the buffer.
    """

    integers: Buffer
    scale: PrimExpr
    axes: tuple[Var, ...] = ()

    def at(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the scale of the element at ``indices``."""
        return substitute(self.scale, dict(zip(self.axes, indices, strict=True))) if self.axes else self.scale


def scale_behind_sums(integers: Integers) -> list[AnyStage]:
    """Return the stages with sums of products of integers, where those can be of bytes."""
    stages, still, known = integers.stages, integers.still, integers.known
    found = _Scales(stages, still, known)
    sums = [stage for stage in stages if isinstance(stage, Stage) and _is_sum_of_products(stage)]
    wanted = {stage for stage in sums if found.factors(stage) is not None}
    while wanted:
        # A buffer has integers for all sums, or for none.
        others = {load.buffer for stage in sums if stage not in wanted for load in _loads(stage)}
        left = {stage for stage in wanted if not any(load.buffer in others for load in _loads(stage))}
        if left == wanted:
            made, products = found.stages(wanted)
            narrow = Narrowing(replace(integers, stages=made, known=known | found.integers(known))).products
            left = {old for old in wanted if products[old] in narrow}
            if left == wanted:
                return without_unread(made, stages, still)
        wanted = left
    return list(stages)


def _is_sum_of_products(stage: Stage) -> bool:
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or not isinstance(reduction.source, Binary):
        return False
    source = reduction.source
    return source.op == "*" and isinstance(source.a, BufferLoad) and isinstance(source.b, BufferLoad)


class _Scales:
    """What floats of a program are integers times a scale."""

    def __init__(self, stages: Sequence[AnyStage], still: frozenset[Buffer], known: frozenset[Buffer]) -> None:
        self.before, self.still, self.known = stages, still, known
        self.makers = makers_of(stages)
        self.writers: dict[Buffer, list[AnyStage]] = {}
        for stage in stages:
            for buffer in stage.writes():
                self.writers.setdefault(buffer, []).append(stage)
        self.scaled: dict[Buffer, _Scaled | None] = {}

    def integers(self, known: frozenset[Buffer]) -> frozenset[Buffer]:
        """Return the buffers of integers that depend on constants alone."""
        return frozenset(one.integers for buffer, one in self.scaled.items() if one is not None and buffer in known)

    def factors(self, stage: Stage) -> tuple[_Scaled, _Scaled] | None:
        """Return what the factors of a sum of products are, None where they are no integers."""
        reduction = stage.reduction
        if reduction is None or reduction.op != "+" or reduction.identity != const(0.0, "float32"):
            return None
        depth = static(points(reduction.axes))
        if depth is None or depth > _MOST:
            return None
        match reduction.source:
            case Binary("*", BufferLoad() as a, BufferLoad() as b):
                left, right = self.of(a.buffer), self.of(b.buffer)
                if left is None or right is None:
                    return None
                reduced = {axis.var for axis in reduction.axes}
                scales = (left.at(a.indices), right.at(b.indices))
                # A scale that differs within a sum cannot be taken out of it.
                return None if any(reduced & set(variables(scale)) for scale in scales) else (left, right)
        return None

    def of(self, buffer: Buffer) -> _Scaled | None:
        """Return what a buffer is, None where it is no scaled integers."""
        if buffer not in self.scaled:
            self.scaled[buffer] = self._found(buffer)
        return self.scaled[buffer]

    def _found(self, buffer: Buffer) -> _Scaled | None:
        writers = self.writers.get(buffer, [])
        if buffer in self.still or buffer.dtype != "float32" or not writers:
            return None
        scales: set[PrimExpr] = set()
        axes: tuple[Var, ...] = ()
        for stage in writers:
            parts = self.parts(stage.value) if isinstance(stage, Stage) else None
            if parts is None or not isinstance(stage, Stage):
                return None
            scales.update(scale for _, scale in parts if scale is not None)
            if any(isinstance(scale, BufferLoad) for _, scale in parts):
                axes = tuple(axis.var for axis in stage.axes)
                if len(writers) != 1 or stage.indices != axes:
                    return None
        if len(scales) != 1:
            return None
        return _Scaled(Buffer(buffer.name, buffer.shape, "int32"), scales.pop(), axes)

    def parts(self, value: PrimExpr) -> list[tuple[PrimExpr, PrimExpr | None]] | None:
        """Return the integers and scales that ``value`` may be; zero has no scale."""
        match value:
            case FloatImm(0.0):
                return [(const(0, "int32"), None)]
            case Select(_, a, b) | Call("if_then_else", (_, a, b)):
                left, right = self.parts(a), self.parts(b)
                return None if left is None or right is None else left + right
            case BufferLoad(buffer) if buffer in self.known and buffer in self.makers:
                return self.parts(looked_into(value, self.makers, 1))
            case Binary("*", number, FloatImm() | BufferLoad() as scale):
                match self._integers(number):
                    case Cast("float32", inner) if inner.dtype == "int32":
                        return [(inner, scale)]
        return None

    def _integers(self, number: PrimExpr) -> PrimExpr:
        """Return what is known of ``number``: constants are made step by step."""
        if isinstance(number, BufferLoad) and number.buffer in self.known:
            return looked_into(number, self.makers, 1)
        return number

    # Rewriting

    def stages(self, wanted: set[Stage]) -> tuple[list[AnyStage], dict[Stage, Stage]]:
        """Return all stages, sums ``wanted`` on integers, and which stage each became."""
        buffers: dict[Buffer, _Scaled] = {}
        for summed in wanted:
            for load in _loads(summed):
                one = self.of(load.buffer)
                assert one is not None
                buffers[load.buffer] = one
        found: list[AnyStage] = []
        became: dict[Stage, Stage] = {}
        for stage in self.before:
            if not isinstance(stage, Stage):
                found.append(stage)
                continue
            made = self._summed(stage) if stage in wanted else stage
            made = self._stored(_reading(made, buffers), buffers)
            found.append(made)
            became[stage] = made
        return found, became

    def _summed(self, stage: Stage) -> Stage:
        reduction, factors = stage.reduction, self.factors(stage)
        assert reduction is not None
        assert factors is not None
        a, b = _loads(stage)
        left, right = factors
        total = Var(reduction.result.name, "int32")
        source = Binary("*", BufferLoad(left.integers, a.indices), BufferLoad(right.integers, b.indices))
        scale = binary("*", left.at(a.indices), right.at(b.indices))
        value = substitute(stage.value, {reduction.result: binary("*", Cast("float32", total), scale)})
        return replace(stage, value=value, reduction=Reduction(reduction.axes, "+", const(0, "int32"), source, total))

    def _stored(self, stage: Stage, buffers: Mapping[Buffer, _Scaled]) -> Stage:
        one = buffers.get(stage.target)
        return stage if one is None else replace(stage, target=one.integers, value=self._unscaled(stage.value))

    def _unscaled(self, value: PrimExpr) -> PrimExpr:
        match value:
            case FloatImm():
                return IntImm(0, "int32")
            case Select(condition, a, b):
                return Select(condition, self._unscaled(a), self._unscaled(b))
            case Call("if_then_else", (condition, a, b)):
                return Call("if_then_else", (condition, self._unscaled(a), self._unscaled(b)), "int32")
        parts = self.parts(value)
        assert parts is not None
        return parts[0][0]


def _loads(stage: Stage) -> tuple[BufferLoad, BufferLoad]:
    assert stage.reduction is not None
    source = stage.reduction.source
    assert isinstance(source, Binary)
    assert isinstance(source.a, BufferLoad)
    assert isinstance(source.b, BufferLoad)
    return source.a, source.b


def _reading(stage: Stage, buffers: Mapping[Buffer, _Scaled]) -> Stage:
    """Return ``stage`` with integers times their scale in place of what is stored as integers."""
    if not stage.reads() & buffers.keys():
        return stage

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad) or node.buffer not in buffers:
            return None
        one, indices = buffers[node.buffer], tuple(map_expr(index, rewrite) for index in node.indices)
        return binary("*", Cast("float32", BufferLoad(one.integers, indices)), one.at(indices))

    return mapped(stage, rewrite)
