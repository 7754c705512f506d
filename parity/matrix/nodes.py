"""Where in a model results part, where errors grow most, and where NaN and infinities begin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax import backends, relax_ir
from relay2relax.core.dtype import Array
from relay2relax.core.walk import post_order
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.relay_ir.ir.expr import Call, Expr, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.translator.arguments import Argument, flatten
from relay2relax.translator.bisection import (
    FUSED_OTHERWISE,
    FUSING,
    NodeDifference,
    expose_intermediates,
    node_differences,
)

_COLUMNS = ("call", "operator", "max_abs", "of_scale", "verdict", "reason")


@dataclass(frozen=True, slots=True)
class Growth:
    """The call behind which the error is most times what it was before: shares of the largest
    value.
    """

    call: str
    before: float
    after: float

    @property
    def factor(self) -> float:
        """How many times."""
        return self.after / self.before

    def __str__(self) -> str:
        return f"{self.call} makes an error {self.factor:.3g} times as large, {self.before:.2g} to {self.after:.2g}"


@dataclass(frozen=True, slots=True)
class NodeReport:
    """Every intermediate value of a program on a backend, compared with Relay's on numpy.

    ``first``  the first that differs. ``growth``  where errors grow most, None where there is no
    error before an operator. ``count``  how many calls there are. ``fused``  whether the backend
    takes operators together, which it does otherwise here, as every value is an output. ``values``
    how far every value is off, in order; a call that gives a tuple has one for each field.
    """

    program: str
    backend: str
    count: int
    first: NodeDifference | None
    growth: Growth | None
    fused: bool
    values: tuple[NodeDifference, ...] = ()

    def __str__(self) -> str:
        said = str(self.first) if self.first else "every intermediate value agrees"
        grown = f"; {self.growth}" if self.growth else ""
        apart = f" ({FUSED_OTHERWISE})" if self.fused else ""
        return f"{self.program} on {self.backend}: {said}{grown}{apart}"

    def to_json(self) -> dict[str, object]:
        """Return the report as plain values."""
        first = self.first and {
            "call": self.first.index + 1,
            "operator": _name(self.first.call),
            "span": str(self.first.call.span) if self.first.call.span is not None else None,
            "reason": self.first.difference.reason,
        }
        growth = self.growth and {"call": self.growth.call, "before": self.growth.before, "after": self.growth.after}
        return {
            "program": self.program, "backend": self.backend, "calls": self.count, "first": first, "growth": growth,
            "otherwise_fused": self.fused, "values": self.records(),
        }  # fmt: skip

    def records(self) -> list[dict[str, object]]:
        """Return a flat record for every value; what is not finite is None."""
        found: list[dict[str, object]] = []
        for one in self.values:
            gap = one.difference
            numbers = (value if np.isfinite(value) else None for value in (gap.max_abs, gap.of_scale))
            values = (one.index + 1, _name(one.call), *numbers, gap.verdict, gap.reason)
            found.append(dict(zip(_COLUMNS, values, strict=True)))
        return found

    def to_dataframe(self) -> Any:
        """Return a row for every value as a frame of pandas.

        Raises UnsupportedError where that is not installed.
        """
        return data_frame(self.records())

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, self.records(), str(self))


def node_report(
    mod: IRModule,
    arguments: Sequence[Argument],
    name: str,
    translate: Callable[[IRModule], relax_ir.IRModule],
    backend: str,
    length: int | None = None,
) -> NodeReport:
    """Compare every intermediate value of a translation, called ``name``, on ``backend``.

    Arguments are those of ``translator.bisection.node_differences``.
    """
    first: NodeDifference | None = None
    growth: Growth | None = None
    errors: dict[Expr, float] = {}
    count = 0
    values: list[NodeDifference] = []
    for one in node_differences(mod, arguments, translate, backend, length):
        count = one.count
        values.append(one)
        error = one.difference.of_scale
        if not one.difference.agrees and first is None:
            first = one
        before = max((errors.get(call, 0.0) for call in _operands(one.call)), default=0.0)
        if before > 0 and np.isfinite(error) and (growth is None or error / before > growth.factor):
            growth = Growth(f"call {one.index + 1}, {_name(one.call)}", before, error)
        errors[one.call] = max(errors.get(one.call, 0.0), error if np.isfinite(error) else 0.0)
    return NodeReport(name, backend, count, first, growth, backend in FUSING, tuple(values))


def _operands(call: Call) -> list[Call]:
    """Return the calls whose values a call takes, through tuples."""
    return [one for one in _sources(call) if isinstance(one, Call)]


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A call of Relay that makes NaN or infinities of finite values."""

    index: int
    count: int
    call: Call
    values: int
    size: int

    def __str__(self) -> str:
        where = f" (span {self.call.span})" if self.call.span is not None else ""
        return (
            f"Relay itself: call {self.index + 1} of {self.count}, {_name(self.call)}{where}, makes {self.values} of "
            f"{self.size} values NaN or infinite, of finite ones"
        )


def not_finite(mod: IRModule, arguments: Sequence[Argument]) -> NotFinite | None:
    """Return the first call of ``main`` whose value is not finite though all that it takes is; None
    where every value is finite, or what comes in is not.
    """
    exposed, calls = expose_intermediates(mod)
    found = backends.create_executor("graph", exposed).evaluate()(*arguments)
    bad: set[Expr] = {
        param for param, value in zip(exposed["main"].params, arguments, strict=True) if _bad(flatten(value))
    }
    for index, (call, value) in enumerate(zip(calls, found, strict=True)):
        arrays = flatten(value)
        wrong = _bad(arrays)
        if wrong:
            if not bad.intersection(_sources(call)):
                return NotFinite(index, len(calls), call, wrong, sum(one.size for one in arrays))
            bad.add(call)
    return None


def _sources(call: Call) -> list[Expr]:
    def below(node: Expr) -> Sequence[Expr]:
        return () if isinstance(node, Call) else tuple(children(node))

    return list(post_order(call.args, below))


def _bad(arrays: Sequence[Array]) -> int:
    """Return how many values are NaN or infinite."""
    floats = (one.astype(np.float64) for one in arrays if one.dtype.kind in "fV")
    return sum(int(one.size - np.count_nonzero(np.isfinite(one))) for one in floats)


def _name(call: Call) -> str:
    return call.op.name if isinstance(call.op, Op) else "a function"
