"""Cells of recurrent networks, from their gates on; importers compute these in many ways."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.graph.patterns.pattern import FusionPattern, Match

_ADD, _MULTIPLY, _SUBTRACT = is_op("add"), is_op("multiply"), is_op("subtract")
_SIGMOID, _TANH = is_op("sigmoid"), is_op("tanh")


def recurrent_patterns() -> Iterator[FusionPattern]:
    """Yield the cells of LSTMs and GRUs."""
    yield _lstm_cell()
    yield _gru_cell()
    yield _gru_cell_by_difference()


def _lstm_cell() -> FusionPattern:
    """``c' = f * c + i * g`` and ``h' = o * tanh(c')``; both are results."""
    before, after = _MULTIPLY(_SIGMOID(wildcard()), wildcard()), _MULTIPLY(_SIGMOID(wildcard()), _TANH(wildcard()))
    cell = _ADD(before, after)
    hidden = _MULTIPLY(_SIGMOID(wildcard()), _TANH(cell))
    return FusionPattern("msc.lstm_cell", hidden, needs=("sigmoid", "tanh", "multiply", "add"), also=(cell,))


def _gru_cell() -> FusionPattern:
    """``h' = (1 - z) * n + z * h`` with ``n = tanh(x + r * hn)``."""
    update, one = _SIGMOID(wildcard()), is_constant()
    new = _TANH(_ADD(wildcard(), _MULTIPLY(_SIGMOID(wildcard()), wildcard())))
    hidden = _ADD(_MULTIPLY(_SUBTRACT(one, update), new), _MULTIPLY(update, wildcard()))

    def check(match: Match) -> bool:
        return match.is_about(one, 1)

    return FusionPattern("msc.gru_cell", hidden, {one: "one"}, check, needs=("sigmoid", "tanh", "subtract"))


def _gru_cell_by_difference() -> FusionPattern:
    """``h' = n + z * (h - n)``, as PyTorch computes it."""
    new = _TANH(_ADD(wildcard(), _MULTIPLY(_SIGMOID(wildcard()), wildcard())))
    hidden = _ADD(new, _MULTIPLY(_SIGMOID(wildcard()), _SUBTRACT(wildcard(), new)))
    return FusionPattern("msc.gru_cell", hidden, needs=("sigmoid", "tanh", "subtract"))
