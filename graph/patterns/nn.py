"""Layers of neural networks as importers write them, beyond MSC's table, and their Relax.

    fused = graph.fuse(g, weights, graph.nn_patterns())

Constants that make a layer what it is (the 0.044715 of a GELU) are checked. Weights may be
constants, which the node then holds, or parameters, which are operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.patterns.attention import attention_patterns
from relay2relax.graph.patterns.msc import gelu_in_relax, linear_bias_in_relax, linear_in_relax
from relay2relax.graph.patterns.normalisation import normalisation_patterns
from relay2relax.graph.patterns.pattern import Emit, FusionPattern, Match
from relay2relax.graph.patterns.recurrent import recurrent_patterns
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relay_ir.ir.expr import Var


@lru_cache(maxsize=None)
def nn_patterns() -> Sequence[FusionPattern]:
    """Return the patterns in the order in which they are tried, larger ones first."""
    return (
        *recurrent_patterns(),
        *attention_patterns(),
        *normalisation_patterns(),
        *_gelus(),
        *_swishes(),
        *_linears(),
        *(
            _conv_bias(rank, bias, held)
            for held in (True, False)
            for rank in (1, 2, 3)
            for bias in ("nn.bias_add", "add")
        ),
        *_embeddings(),
        _qdq(),
    )


def _learned(held: bool) -> DFPattern:
    return is_constant() if held else wildcard()


def _roles(held: bool, **roles: DFPattern) -> dict[DFPattern, str]:
    return {part: role for role, part in roles.items()} if held else {}


def _linears() -> Iterator[FusionPattern]:
    """Products with ``nn.dense``: of matrices, or of more dimensions that reshapes make one."""
    for held in (True, False):
        for wide in (True, False):
            for add in ("nn.bias_add", "add", ""):
                for turned in (True, False):
                    yield _linear(held, wide, add, turned)


def _linear(held: bool, wide: bool, add: str, turned: bool) -> FusionPattern:
    data, weight, bias = wildcard(), _learned(held), _learned(held)
    turn = is_op("transpose")(weight)
    dense = is_op("nn.dense")(is_op("reshape")(data) if wide else data, turn if turned else weight)
    product = is_op("reshape")(dense) if wide else dense
    pattern = is_op(add)(product, bias) if add else product

    def check(match: Match) -> bool:
        given, taken, made = match.tensor(data), match.tensor(weight), match.tensor(product)
        if given is None or taken is None or made is None:
            return False
        turns = not turned or list(match.attrs(turn).axes or (1, 0)) == [1, 0]
        columns = taken.shape[1 if turned else 0]
        if not turns or made.shape != (*given.shape[:-1], columns):
            return False
        if not add:
            return True
        added = match.tensor(bias)
        last = add == "add" or match.attrs(pattern).axis in (-1, len(made.shape) - 1)
        return last and added is not None and added.shape == (columns,)

    weights = _roles(held, weight=weight, **({"bias": bias} if add else {}))
    needs = ("nn.dense", *(("transpose",) if turned else ()), *((add,) if add else ()))
    if add:
        return FusionPattern("msc.linear_bias", pattern, weights, check, linear_bias_in_relax, needs)
    return FusionPattern("msc.linear", pattern, weights, check, linear_in_relax, needs)


def _convolutions() -> Iterator[FusionPattern]:
    for held in (True, False):
        for rank in (1, 2, 3):
            for add in ("nn.bias_add", "add"):
                yield _conv_bias(rank, add, held)


def _conv_bias(rank: int, add: str, held: bool) -> FusionPattern:
    weight, bias = _learned(held), _learned(held)
    conv = is_op(f"nn.conv{rank}d")(wildcard(), weight)
    pattern = is_op(add)(conv, bias)

    def check(match: Match) -> bool:
        attrs, added, made = match.attrs(conv), match.tensor(bias), match.tensor(pattern)
        layout = attrs.out_layout or attrs.data_layout
        if added is None or made is None or "C" not in layout or len(layout) != len(made.shape):
            return False
        axis = layout.index("C")
        if add == "nn.bias_add":
            return match.attrs(pattern).axis in (axis, axis - len(layout))
        around = len(layout) - axis
        shape = added.shape[-around:]
        return all(one == 1 for one in (*added.shape[:-around], *shape[1:])) and shape[:1] == (made.shape[axis],)

    return FusionPattern(
        f"msc.conv{rank}d_bias", pattern, _roles(held, weight=weight, bias=bias), check, needs=(f"nn.conv{rank}d", add)
    )


def _embeddings() -> Iterator[FusionPattern]:
    for held in (True, False):
        for cast in (True, False):
            yield _embedding(held, cast)


def _embedding(held: bool, cast: bool) -> FusionPattern:
    weight, places = _learned(held), wildcard()
    pattern = is_op("take")(weight, is_op("cast")(places) if cast else places)

    def check(match: Match) -> bool:
        table = match.tensor(weight)
        known = table is not None and len(table.shape) == 2 and match.attrs(pattern).axis == 0
        return known and (held or isinstance(match[weight], Var))

    return FusionPattern("msc.embedding", pattern, _roles(held, weight=weight), check, needs=("take",))


def _products(data: DFPattern, half: DFPattern, curve: DFPattern) -> Iterator[DFPattern]:
    """Yield ``data * half * curve``, however it is bracketed."""
    multiply = is_op("multiply")
    yield multiply(multiply(data, half), curve)
    yield multiply(multiply(data, curve), half)
    yield multiply(data, multiply(half, curve))


def _gelus() -> Iterator[FusionPattern]:
    """``x * 0.5 * (1 + erf(x / sqrt(2)))``, and the approximation of it by ``tanh``."""
    for shape in range(3):
        for divided in (True, False):
            yield _gelu(shape, divided)
        for power in (True, False):
            yield _gelu_tanh(shape, power)


def _gelu(shape: int, divided: bool) -> FusionPattern:
    data, half, one, root = wildcard(), is_constant(), is_constant(), is_constant()
    inner = is_op("divide" if divided else "multiply")(data, root)
    pattern = list(_products(data, half, is_op("add")(is_op("erf")(inner), one)))[shape]
    known = ((half, 0.5), (one, 1.0), (root, math.sqrt(2) if divided else math.sqrt(0.5)))

    def check(match: Match) -> bool:
        return all(match.is_about(part, value) for part, value in known)

    roles: dict[DFPattern, str] = {half: "half", one: "one", root: "root"}
    needs = ("erf", "multiply", *(("divide",) if divided else ()))
    return FusionPattern("msc.gelu", pattern, roles, check, gelu_in_relax, needs)


def _gelu_tanh(shape: int, power: bool) -> FusionPattern:
    multiply = is_op("multiply")
    data, half, one, root, share, three = wildcard(), *(is_constant() for _ in range(5))
    cube = is_op("power")(data, three) if power else multiply(multiply(data, data), data)
    inner = multiply(root, is_op("add")(data, multiply(share, cube)))
    pattern = list(_products(data, half, is_op("add")(is_op("tanh")(inner), one)))[shape]
    known: list[tuple[DFPattern, float]] = [
        (half, 0.5), (one, 1.0), (root, math.sqrt(2 / math.pi)), (share, 0.044715),
    ]  # fmt: skip
    if power:
        known.append((three, 3.0))

    def check(match: Match) -> bool:
        return all(match.is_about(part, value) for part, value in known)

    roles = {part: role for (part, _), role in zip(known, ("half", "one", "root", "share", "power"), strict=False)}
    needs = ("tanh", "multiply", *(("power",) if power else ()))
    return FusionPattern("msc.gelu_tanh", pattern, roles, check, _gelu_tanh_in_relax, needs)


def _gelu_tanh_in_relax(emit: Emit, data: RelaxExpr, *factors: RelaxExpr) -> RelaxExpr:
    return emit("nn.gelu_tanh", data)


def _swishes() -> Iterator[FusionPattern]:
    """``x * sigmoid(x)``, and with a factor inside."""
    data, factor = wildcard(), is_constant()
    multiply, sigmoid = is_op("multiply"), is_op("sigmoid")
    needs = ("multiply", "sigmoid")
    yield FusionPattern("msc.silu", multiply(data, sigmoid(data)), relax=_silu_in_relax, needs=needs)
    data = wildcard()
    pattern = multiply(data, sigmoid(multiply(data, factor)))
    yield FusionPattern("msc.swish", pattern, {factor: "beta"}, _checked_factor(factor), _swish_in_relax, needs)


def _checked_factor(factor: DFPattern) -> Callable[[Match], bool]:
    def check(match: Match) -> bool:
        found = match.tensor(factor)
        return found is not None and found.shape == ()

    return check


def _silu_in_relax(emit: Emit, data: RelaxExpr) -> RelaxExpr:
    return emit("nn.silu", data)


def _swish_in_relax(emit: Emit, data: RelaxExpr, beta: RelaxExpr) -> RelaxExpr:
    return emit("multiply", data, emit("sigmoid", emit("multiply", data, beta)))


def _qdq() -> FusionPattern:
    """A value that is quantised and at once dequantised."""
    scales = [is_constant() for _ in range(4)]
    pattern = is_op("qnn.dequantize")(is_op("qnn.quantize")(wildcard(), *scales[:2]), *scales[2:])
    roles = ("scale", "zero_point", "scale_back", "zero_point_back")
    needs = ("qnn.quantize", "qnn.dequantize")
    return FusionPattern("msc.qdq", pattern, {**dict(zip(scales, roles, strict=True))}, needs=needs)
