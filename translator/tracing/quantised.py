"""What became of quantised operators that were to be floats, and how far results may be off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor

from relay2relax import relay_ir
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import is_float
from relay2relax.core.passes import Rewrites
from relay2relax.core.tolerance import LONGEST_CHAIN, Tolerance, bound
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo, TupleStructInfo
from relay2relax.relay_ir.transform.qdq.model import InFloats
from relay2relax.relay_ir.transform.qdq.ties import halves_to_even
from relay2relax.translator.pipeline import Via
from relay2relax.translator.tracing.model import Fate, Item


@dataclass(frozen=True, slots=True)
class QuantisedOperators:
    """The ``calls`` of one operator that had the same fate.

    ``quanta`` is by how many quanta the result of one may be off, for the same operands; None where
    they stay in integers. ``why`` they do, or what quantises the sum that they make. ``quantum`` is
    the largest scale of a result.
    """

    operator: str
    calls: int
    quanta: float | None
    why: str = ""
    quantum: float = 0.0

    def __str__(self) -> str:
        begin = f"{counted(self.calls, 'call')} of {self.operator}"
        if self.quanta is None:
            return f"{begin} in integers: {self.why}"
        off = self.why if self.why else f"off by at most {self.quanta:.3g} quanta each"
        return f"{begin} in floats: {off}"


def quantised_operators(found: Iterable[InFloats]) -> tuple[QuantisedOperators, ...]:
    """Return what became of the operators, equal fates together, in order of their names."""
    groups: dict[tuple[str, bool, str], list[InFloats]] = {}
    for one in found:
        groups.setdefault((one.operator, one.quanta is None, one.why), []).append(one)
    return tuple(
        QuantisedOperators(
            operator,
            len(calls),
            None if stays else max(one.quanta or 0.0 for one in calls),
            why,
            max(one.quantum for one in calls),
        )
        for (operator, stays, why), calls in sorted(groups.items())
    )


def quantised_items(
    found: Mapping[relay_ir.Expr, InFloats], rewrites: Rewrites, numbers: Mapping[relay_ir.Expr, int]
) -> list[Item]:
    """Return what the receipt says of quantised operators, which are integer operators in Relay;
    ``numbers`` are the nodes of the map.
    """
    items: list[Item] = []
    for call, one in found.items():
        summary = QuantisedOperators(one.operator, 1, one.quanta, one.why)
        note = str(summary).split(" of ", 1)[1].split(" ", 1)[1]
        fate = Fate.KEPT if one.quanta is None else Fate.MOVED
        items += [
            Item(numbers[origin], "integer operator", one.operator, fate, note)
            for origin in rewrites.origins(call)
            if isinstance(origin, relay_ir.Call) and origin in numbers
        ]
    return items


def allowed_quanta(found: Sequence[QuantisedOperators]) -> int:
    """Return how many quanta a check allows: those of all calls added up, as if each operator
    handed on what it was given.

    That is a rule of thumb: an operator may make more of a difference, or less.
    """
    return sum(floor(one.quanta) * one.calls for one in found if one.quanta is not None)


def quantised_tolerance(result: StructInfo, found: Sequence[QuantisedOperators]) -> Tolerance | None:
    """Return the tolerance for a ``result`` of a program with such operators; None for the usual
    one.

    The quantum of floats is the largest one of them all.
    """
    quanta = allowed_quanta(found)
    if not quanta:
        return None
    dtypes = set(_dtypes(result))
    floats = {dtype for dtype in dtypes if is_float(dtype)}
    quantum = max(one.quantum for one in found) if floats == dtypes else 1.0
    relative = max((bound(dtype, LONGEST_CHAIN) for dtype in floats), default=0.0)
    said = f"{counted(quanta, 'quantum', 'quanta')} of the qdq form"
    return Tolerance(relative, quanta * quantum, bool(floats), said)


def relay_in_floats(source: relay_ir.IRModule, via: Via) -> relay_ir.IRModule:
    """Return the ``source`` of a translation in floats as Relay that rounds as the translation
    ``via`` does: R.quantize rounds halves to even, the PrimFuncs of ``"tir"`` as Relay does.
    """
    return halves_to_even(source) if via == "graph" else source


def _dtypes(info: StructInfo) -> Iterable[str]:
    match info:
        case TensorStructInfo(_, dtype):
            yield dtype
        case TupleStructInfo(fields):
            for one in fields:
                yield from _dtypes(one)
