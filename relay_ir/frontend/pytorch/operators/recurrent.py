"""RNN, GRU and LSTM: layers of cells, a step for each place of the sequence.

What the inputs of all steps give to a layer's gates is one product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.matmul import linear
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr

# What an LSTM carries from step to step: its state, and its memory; others have the state alone.
_State = tuple[Expr, ...]
# The state after a step, of what its input and the state before give to the gates.
_Cell = Callable[[Conversion, Expr, Expr, _State], _State]


@dataclass(frozen=True, slots=True)
class _Layer:
    """The weights of one direction of a layer: of inputs, of states, and what makes states of what
    an LSTM gives.
    """

    inputs: tuple[Expr, Expr | None]
    states: tuple[Expr, Expr | None]
    projection: Expr | None

    @classmethod
    def of(cls, weights: Sequence[Expr], biased: bool) -> _Layer:
        """Return a layer of its weights in PyTorch's order."""
        biases = weights[2:4] if biased else (None, None)
        rest = weights[4 if biased else 2 :]
        return cls((weights[0], biases[0]), (weights[1], biases[1]), rest[0] if rest else None)


def _rnn_cell(activation: str) -> _Cell:
    return lambda at, x, hidden, state: (at.call(activation, at.call("add", x, hidden)),)


def _lstm_cell(at: Conversion, x: Expr, hidden: Expr, state: _State) -> _State:
    gates = at.fields(at.call("split", at.call("add", hidden, x), 4, axis=1))
    taken, kept, given = (at.call("sigmoid", gates[place]) for place in (0, 1, 3))
    new = at.call("multiply", taken, at.call("tanh", gates[2]))
    memory = at.call("add", at.call("multiply", kept, state[1]), new)
    return at.call("multiply", given, at.call("tanh", memory)), memory


def _gru_cell(at: Conversion, x: Expr, hidden: Expr, state: _State) -> _State:
    pairs = list(zip(*(at.fields(at.call("split", one, 3, axis=1)) for one in (hidden, x)), strict=True))
    reset, update = (at.call("sigmoid", at.call("add", *pair)) for pair in pairs[:2])
    hidden, x = pairs[2]
    new = at.call("tanh", at.call("add", x, at.call("multiply", reset, hidden)))
    return (at.call("add", new, at.call("multiply", update, at.call("subtract", state[0], new))),)


def _step(at: Conversion, cell: _Cell, layer: _Layer, x: Expr, state: _State) -> _State:
    made = cell(at, x, linear(at, state[0], *layer.states), state)
    return made if layer.projection is None else (linear(at, made[0], layer.projection, None), *made[1:])


def _run(at: Conversion, cell: _Cell, layer: _Layer, data: Expr, state: _State, back: bool) -> tuple[Expr, _State]:
    """Return what a direction of a layer gives, one step after the other, and its last state."""
    length, batch, size = at.extents(data)
    given = linear(at, at.reshaped(data, [-1, size]), *layer.inputs)
    given = at.reshaped(given, [length, batch, at.extents(given)[1]])
    steps = _unbound(at, given)
    outs = []
    for x in reversed(steps) if back else steps:
        state = _step(at, cell, layer, x, state)
        outs.append(state[0])
    return at.call("stack", at.tuple(outs[::-1] if back else outs), axis=0), state


def _unbound(at: Conversion, whole: Expr) -> list[Expr]:
    """Return the parts of a tensor along its first axis."""
    parts = at.fields(at.call("split", whole, at.extent(whole, 0), axis=0))
    return [at.call("squeeze", one, axis=[0]) for one in parts]


def _recurrent(cell: _Cell) -> Convert:
    """``lstm(data, states, weights, biased, layers, dropout, train, bidirectional, batch_first)``;
    of the others the state is a tensor.
    """

    def convert(at: Conversion) -> Value:
        if isinstance(at.value(3), list) or not isinstance(at.value(2), list):
            at.refuse("its sequences are packed: how long they are depends on the data")
        data, biased, count = at.tensor(0), bool(at.number(3)), at.integer(4)
        directions, batch_first = 1 + bool(at.number(7)), bool(at.number(8))
        if at.number(6) and at.number(5) and count > 1:
            at.refuse("the module trains: export or trace it after `.eval()`")
        data = at.call("transpose", data, axes=[1, 0, 2]) if batch_first else data
        wholes = at.tensors(1) if isinstance(at.value(1), (list, tuple)) else [at.tensor(1)]
        states = list(zip(*(_unbound(at, one) for one in wholes), strict=True))
        weights = at.tensors(2)
        each = len(weights) // (count * directions)
        last: list[_State] = []
        for number in range(count):
            outs = []
            for place in range(number * directions, (number + 1) * directions):
                layer = _Layer.of(weights[place * each : (place + 1) * each], biased)
                out, state = _run(at, cell, layer, data, states[place], back=place % directions == 1)
                outs.append(out)
                last.append(state)
            data = at.call("concatenate", at.tuple(outs), axis=2) if directions == 2 else outs[0]
        ends = [at.call("stack", at.tuple(parts), axis=0) for parts in zip(*last, strict=True)]
        return at.call("transpose", data, axes=[1, 0, 2]) if batch_first else data, *ends

    return convert


def _single(cell: _Cell) -> Convert:
    """``lstm_cell(data, states, weights of inputs, of states, biases of both)``; of the others the
    state is a tensor.
    """

    def convert(at: Conversion) -> Value:
        state = tuple(at.tensors(1)) if isinstance(at.value(1), (list, tuple)) else (at.tensor(1),)
        layer = _Layer((at.tensor(2), at.optional(4)), (at.tensor(3), at.optional(5)), None)
        made = _step(at, cell, layer, linear(at, at.tensor(0), *layer.inputs), state)
        return made if len(made) > 1 else made[0]

    return convert


_CELLS: dict[str, _Cell] = {
    "rnn_tanh": _rnn_cell("tanh"), "rnn_relu": _rnn_cell("nn.relu"), "gru": _gru_cell, "lstm": _lstm_cell,
}  # fmt: skip
RECORDS = [
    *records({name: _recurrent(cell) for name, cell in _CELLS.items()}),
    *records({f"{name}_cell": _single(cell) for name, cell in _CELLS.items()}),
]
