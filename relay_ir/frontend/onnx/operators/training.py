"""One step of an optimiser: new values of several tensors, and of what it remembers of each."""

from __future__ import annotations

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr


def _groups(at: Conversion, count: int) -> tuple[Expr, Expr, list[tuple[Expr, ...]]]:
    """Return rate, step, and for each tensor what is given of it: itself, its gradient, …"""
    tensors = at.tensors()
    rate, step, rest = at.scalar(tensors[0]), at.scalar(tensors[1]), tensors[2:]
    each = len(rest) // count
    return rate, step, [tuple(rest[place::each]) for place in range(each)]


def _regularised(at: Conversion, x: Expr, gradient: Expr) -> Expr:
    factor = at.attr("norm_coefficient", 0.0)
    return at.call("add", at.call("multiply", x, at.like(factor, x)), gradient)


def _mixed(at: Conversion, old: Expr, kept: float, new: Expr) -> Expr:
    """Return ``kept * old + (1 - kept) * new``."""
    share = at.call("multiply", new, at.like(1 - kept, new))
    return at.call("add", at.call("multiply", old, at.like(kept, old)), share)


def _adagrad(at: Conversion) -> tuple[Expr, ...]:
    rate, step, groups = _groups(at, 3)
    decay = at.call("multiply", at.cast(step, at.dtype(rate)), at.like(at.attr("decay_factor", 0.0), rate))
    rate = at.call("divide", rate, at.call("add", decay, at.like(1, rate)))
    values, sums = [], []
    for x, gradient, total in groups:
        gradient = _regularised(at, x, gradient)
        total = at.call("add", total, at.call("multiply", gradient, gradient))
        root = at.call("add", at.call("sqrt", total), at.like(at.attr("epsilon", 1e-6), x))
        moved = at.call("divide", at.call("multiply", rate, gradient), root)
        values.append(at.call("subtract", x, moved))
        sums.append(total)
    return (*values, *sums)


def _adam(at: Conversion) -> tuple[Expr, ...]:
    rate, step, groups = _groups(at, 4)
    alpha, beta = at.attr("alpha", 0.9), at.attr("beta", 0.999)
    count, one = at.cast(step, at.dtype(rate)), at.like(1, rate)
    seconds = at.call("subtract", one, at.call("power", at.like(beta, rate), count))
    firsts = at.call("subtract", one, at.call("power", at.like(alpha, rate), count))
    adjusted = at.call("multiply", rate, at.call("divide", at.call("sqrt", seconds), firsts))
    rate = at.call("where", at.call("greater", count, at.like(0, rate)), adjusted, rate)
    values, means, squares = [], [], []
    for x, gradient, mean, square in groups:
        gradient = _regularised(at, x, gradient)
        mean = _mixed(at, mean, alpha, gradient)
        square = _mixed(at, square, beta, at.call("multiply", gradient, gradient))
        root = at.call("add", at.call("sqrt", square), at.like(at.attr("epsilon", 1e-6), x))
        new = at.call("subtract", x, at.call("divide", at.call("multiply", rate, mean), root))
        values.append(at.call("multiply", new, at.like(1 - at.attr("norm_coefficient_post", 0.0), x)))
        means.append(mean)
        squares.append(square)
    return (*values, *means, *squares)


def _momentum(at: Conversion) -> tuple[Expr, ...]:
    rate, step, groups = _groups(at, 3)
    alpha, nesterov = at.wanted("alpha"), at.wanted("mode") == "nesterov"
    later = at.call("greater", step, at.like(0, step))
    beta = at.call("where", later, at.like(at.wanted("beta"), rate), at.like(1, rate))
    values, speeds = [], []
    for x, gradient, speed in groups:
        gradient = _regularised(at, x, gradient)
        kept = at.call("multiply", speed, at.like(alpha, x))
        speed = at.call("add", kept, at.call("multiply", beta, gradient))
        ahead = at.call("add", gradient, at.call("multiply", speed, at.like(alpha, x))) if nesterov else speed
        values.append(at.call("subtract", x, at.call("multiply", rate, ahead)))
        speeds.append(speed)
    return (*values, *speeds)


_TABLE: dict[str, Convert] = {"Adagrad": _adagrad, "Adam": _adam, "Momentum": _momentum}
OPERATORS: dict[str, Convert] = {f"ai.onnx.preview.training.{name}": convert for name, convert in _TABLE.items()}
