"""RNN, GRU and LSTM: steps one after the other, as many as the sequence is long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators import activation
from relay2relax.relay_ir.ir.expr import Expr

# An activation of one value.
Apply = Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one direction has: what the inputs of all steps give to the gates, weights and biases of
    the state (one for each gate where they stay apart), activations, and states to begin with.
    """

    steps: Sequence[Expr]
    recurrent: Sequence[Expr]
    bias: Sequence[Expr | None]
    acts: Sequence[Apply]
    peephole: Sequence[Expr | None]
    state: Expr
    memory: Expr | None


def _activations(at: Conversion, defaults: Sequence[str], directions: int) -> list[Apply]:
    names = at.attr("activations") or list(defaults) * directions
    alphas, betas = list(at.attr("activation_alpha", [])), list(at.attr("activation_beta", []))
    made = []
    for name in names:
        lowered = name.lower()
        alpha = alphas.pop(0) if alphas and lowered in _WITH_ALPHA else _WITH_ALPHA.get(lowered, 0.0)
        beta = betas.pop(0) if betas and lowered in _WITH_BETA else _WITH_BETA.get(lowered, 0.0)
        if alpha is None or beta is None:
            at.refuse(f"its activation {name} has no {'alpha' if alpha is None else 'beta'}, and there is no default")
        made.append(_activation(at, lowered, alpha, beta))
    return made


# With their defaults. Of three ONNX Runtime and the operators of these names have others.
_WITH_ALPHA: dict[str, float | None] = {
    "leakyrelu": 0.01, "hardsigmoid": 0.2, "elu": 1.0, "thresholdedrelu": None, "affine": None, "scaledtanh": None,
}  # fmt: skip
_WITH_BETA: dict[str, float | None] = {"hardsigmoid": 0.5, "affine": None, "scaledtanh": None}


def _activation(at: Conversion, name: str, alpha: float, beta: float) -> Apply:
    plain = {"sigmoid": "sigmoid", "tanh": "tanh", "relu": "nn.relu"}
    if name in plain:
        return lambda x: at.call(plain[name], x)
    found: dict[str, Apply] = {
        "leakyrelu": lambda x: activation.leaky_relu(at, x, alpha),
        "hardsigmoid": lambda x: activation.hard_sigmoid(at, x, alpha, beta),
        "thresholdedrelu": lambda x: at.call("where", at.call("greater", x, at.like(alpha, x)), x, at.like(0, x)),
        "softsign": lambda x: activation.softsign(at, x),
        "softplus": lambda x: activation.softplus(at, x),
        "elu": lambda x: activation.elu(at, x, alpha),
        "affine": lambda x: at.call("add", at.call("multiply", x, at.like(alpha, x)), at.like(beta, x)),
        "scaledtanh": lambda x: at.call(
            "multiply", at.call("tanh", at.call("multiply", x, at.like(beta, x))), at.like(alpha, x)
        ),
    }
    if name not in found:
        at.refuse(f"its activation is {name}")
    return found[name]


def _clipped(at: Conversion, x: Expr) -> Expr:
    limit = at.attr("clip")
    return x if limit is None else at.call("clip", x, a_min=-float(limit), a_max=float(limit))


def _part(at: Conversion, x: Expr, place: int) -> Expr:
    """Return what belongs to one direction."""
    return at.squeeze(at.slice(x, 0, place, place + 1), [0])


def _pieces(at: Conversion, x: Expr, count: int, axis: int) -> list[Expr]:
    return [x] if count == 1 else at.fields(at.call("split", x, count, axis=axis))


def _linear(at: Conversion, x: Expr, weight: Expr, bias: Expr | None) -> Expr:
    made = at.call("nn.dense", x, weight, units=None)
    return made if bias is None else at.call("add", made, bias)


def _rnn_step(at: Conversion, cell: _Cell, x: Expr, h: Expr, c: Expr | None) -> tuple[Expr, Expr | None]:
    total = at.call("add", x, _linear(at, h, cell.recurrent[0], cell.bias[0]))
    return cell.acts[0](_clipped(at, total)), None


def _gru_step(at: Conversion, cell: _Cell, x: Expr, h: Expr, c: Expr | None) -> tuple[Expr, Expr | None]:
    parts = _pieces(at, x, 3, 1)
    gates = [
        cell.acts[0](_clipped(at, at.call("add", parts[i], _linear(at, h, cell.recurrent[i], cell.bias[i]))))
        for i in range(2)
    ]
    update, reset = gates
    if at.attr("linear_before_reset", 0):
        hidden = at.call("multiply", reset, _linear(at, h, cell.recurrent[2], cell.bias[2]))
    else:
        hidden = _linear(at, at.call("multiply", reset, h), cell.recurrent[2], cell.bias[2])
    new = cell.acts[1](_clipped(at, at.call("add", parts[2], hidden)))
    kept = at.call("multiply", update, h)
    return at.call("add", at.call("multiply", at.call("subtract", at.like(1, update), update), new), kept), None


def _lstm_step(at: Conversion, cell: _Cell, x: Expr, h: Expr, c: Expr | None) -> tuple[Expr, Expr | None]:
    assert c is not None
    total = at.call("add", x, _linear(at, h, cell.recurrent[0], cell.bias[0]))
    i, o, f, g = _pieces(at, total, 4, 1)
    peep = cell.peephole

    def seen(gate: Expr, weight: Expr | None, memory: Expr) -> Expr:
        return gate if weight is None else at.call("add", gate, at.call("multiply", weight, memory))

    i = cell.acts[0](_clipped(at, seen(i, peep[0], c)))
    new = cell.acts[1](_clipped(at, g))
    if at.attr("input_forget", 0):
        f = at.call("subtract", at.like(1, i), i)
    else:
        f = cell.acts[0](_clipped(at, seen(f, peep[2], c)))
    memory = at.call("add", at.call("multiply", f, c), at.call("multiply", i, new))
    o = cell.acts[0](_clipped(at, seen(o, peep[1], memory)))
    return at.call("multiply", o, cell.acts[2](memory)), memory


_Step = Callable[[Conversion, _Cell, Expr, Expr, "Expr | None"], "tuple[Expr, Expr | None]"]


def _recurrent(step: _Step, defaults: Sequence[str]) -> Convert:
    def convert(at: Conversion) -> tuple[Expr, ...]:
        x, lstm = at.arg(0), step is _lstm_step
        batch_first = bool(at.attr("layout", 0))
        if batch_first:
            x = at.transpose(x, [1, 0, 2])
        length, batch, _ = at.shape(x)
        direction = at.attr("direction", "forward")
        if direction not in ("forward", "reverse", "bidirectional") or at.attr("layout", 0) not in (0, 1):
            at.refuse(f"its direction is {direction}, its layout {at.attr('layout', 0)}")
        directions = 2 if direction == "bidirectional" else 1
        acts = _activations(at, defaults, directions)
        size, each = at.shape(at.arg(2))[-1], len(acts) // directions
        outs, hiddens, memories = [], [], []
        at.steps(length)
        for place in range(directions):
            own = acts[place * each : (place + 1) * each]
            cell = _cell(at, x, place, own, (batch, size), step, batch_first)
            backward = direction == "reverse" or place == 1
            out, h, c = _run(at, step, cell, backward)
            outs.append(at.call("stack", at.tuple(out), axis=0))
            hiddens.append(h)
            memories.append(c)
        y = at.call("stack", at.tuple(outs), axis=1)
        axis = 1 if batch_first else 0
        last = [at.call("stack", at.tuple(hiddens), axis=axis)]
        if lstm:
            last.append(at.call("stack", at.tuple([one for one in memories if one is not None]), axis=axis))
        return at.transpose(y, [2, 0, 1, 3]) if batch_first else y, *last

    return convert


def _cell(
    at: Conversion, x: Expr, place: int, acts: Sequence[Apply], shape: tuple[int, int], step: _Step, batch_first: bool
) -> _Cell:
    lstm, gates = step is _lstm_step, 3 if step is _gru_step else 1

    def initial(number: int) -> Expr:
        if not at.has(number):
            return at.call("zeros", shape, at.dtype(at.arg(0)))
        given = at.transpose(at.arg(number), [1, 0, 2]) if batch_first else at.arg(number)
        return _part(at, given, place)

    biases: list[Expr | None] = [None, None]
    if at.has(3):
        biases = list(_pieces(at, _part(at, at.arg(3), place), 2, 0))
    peephole: list[Expr | None] = [None] * 3
    if lstm and at.has(7):
        peephole = list(_pieces(at, _part(at, at.arg(7), place), 3, 0))
    recurrent = _pieces(at, _part(at, at.arg(2), place), gates, 0)
    bias = [None] * gates if biases[1] is None else _pieces(at, biases[1], gates, 0)
    steps = _projected(at, x, _part(at, at.arg(1), place), biases[0])
    return _Cell(steps, recurrent, bias, acts, peephole, initial(5), initial(6) if lstm else None)


def _projected(at: Conversion, x: Expr, weight: Expr, bias: Expr | None) -> list[Expr]:
    """Return what each step's input gives to the gates, by one product for all steps."""
    length, batch, size = at.shape(x)
    made = _linear(at, at.reshape(x, [length * batch, size]), weight, bias)
    return _pieces(at, made, length, 0) if length else []


def _run(at: Conversion, step: _Step, cell: _Cell, backward: bool) -> tuple[list[Expr], Expr, Expr | None]:
    """Return the state after each step, the last state and memory. A sequence that is shorter than
    the others keeps its state past its end, and gives zeros there.
    """
    h, c = cell.state, cell.memory
    outs: list[Expr] = []
    lengths = at.cast(at.arg(4), "int32") if at.has(4) else None
    order = range(len(cell.steps))
    for place in reversed(order) if backward else order:
        new, memory = step(at, cell, cell.steps[place], h, c)
        out = new
        if lengths is not None:
            inside = at.unsqueeze(at.call("less", at.const(place, "int32"), lengths), [1])
            out = at.call("where", inside, new, at.like(0, new))
            new = at.call("where", inside, new, h)
            memory = at.call("where", inside, memory, c) if memory is not None and c is not None else memory
        h, c = new, memory
        outs.append(out)
    if lengths is not None:
        # Of a sequence without steps the state is zero, whatever it began with.
        some = at.unsqueeze(at.call("less", at.const(0, "int32"), lengths), [1])
        h = at.call("where", some, h, at.like(0, h))
    return outs[::-1] if backward else outs, h, c


OPERATORS: dict[str, Convert] = {
    "RNN": _recurrent(_rnn_step, ("Tanh",)),
    "GRU": _recurrent(_gru_step, ("Sigmoid", "Tanh")),
    "LSTM": _recurrent(_lstm_step, ("Sigmoid", "Tanh", "Tanh")),
}
