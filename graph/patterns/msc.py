"""The patterns of TVM's MSC over Relay, and the Relax that they stand for.

Where MSC's patterns match more than the operator that they are named after, the checks here refuse
it: other constants in a GELU, products of transposed operands, extents that the product would not
have.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.patterns.pattern import Emit, FusionPattern, Match
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr

# MSC of TVM 0.18, and as its first announcement of 2023 prints it.
PatternSet = Literal["msc", "msc-2023"]


@lru_cache(maxsize=None)
def msc_patterns(which: PatternSet = "msc") -> Sequence[FusionPattern]:
    """Return MSC's patterns in the order in which they are tried.

    ``"msc"``: those of TVM 0.18, which joins a bias only where the graph has an ``add``.
    ``"msc-2023"``: those of the first announcement, which always joins it.
    """
    needs: tuple[str, ...] = ("add",) if which == "msc" else ()
    return (
        *(_conv_bias(f"conv{rank}d", bias, needs) for rank in (1, 2) for bias in ("nn.bias_add", "add")),
        _linear(("nn.bias_add",), needs),
        _linear((), ()),
        *(_dense_product(squeezed) for squeezed in (True, False)),
        _batch_product(),
        _embedding(),
        _gelu(),
    )


def _conv_bias(name: str, add: str, needs: tuple[str, ...]) -> FusionPattern:
    weight, bias = is_constant(), is_constant()
    pattern = is_op(add)(is_op(f"nn.{name}")(wildcard(), weight), bias)

    def check(match: Match) -> bool:
        found = match.tensor(bias)
        return add == "add" or (found is not None and len(found.shape) == 1)

    return FusionPattern(f"msc.{name}_bias", pattern, {weight: "weight", bias: "bias"}, check, needs=needs)


def _linear(adds: tuple[str, ...], needs: tuple[str, ...]) -> FusionPattern:
    """``data @ weight.T``, with the ``adds`` behind it, as TVM's PyTorch importer writes it."""
    data, weight, bias = wildcard(), is_constant(), is_constant()
    turned = is_op("transpose")(weight)
    flat = is_op("reshape")(is_op("broadcast_to")(data))
    product = is_op("nn.batch_matmul")(flat, is_op("reshape")(is_op("broadcast_to")(turned)))
    shaped = is_op("squeeze")(is_op("reshape")(product))
    pattern: DFPattern = shaped
    for name in adds:
        pattern = is_op(name)(pattern, bias)

    def check(match: Match) -> bool:
        given, held, made = match.tensor(data), match.tensor(weight), match.tensor(shaped)
        if given is None or held is None or made is None or len(held.shape) != 2:
            return False
        turns = list(match.attrs(turned).axes or (1, 0)) == [1, 0]
        wanted = (*given.shape[:-1], held.shape[0])
        last = not adds or match.attrs(pattern).axis in (-1, len(wanted) - 1)
        return turns and last and made.shape == wanted and _is_plain(match, product)

    weights: dict[DFPattern, str] = {weight: "weight", **({bias: "bias"} if adds else {})}
    form = linear_bias_in_relax if adds else linear_in_relax
    name = "msc.linear_bias" if adds else "msc.linear"
    needs = ("nn.batch_matmul", *needs) if needs else needs
    return FusionPattern(name, pattern, weights, check, form, needs)


def linear_in_relax(emit: Emit, data: RelaxExpr, weight: RelaxExpr) -> RelaxExpr:
    """Emit ``data @ weight``; the weight is turned unless ``nn.dense`` takes it turned already."""
    turned = len(emit.parts("transpose")) != len(emit.parts("nn.dense"))
    return emit("matmul", data, emit("permute_dims", weight, axes=None) if turned else weight, out_dtype=emit.dtype)


def linear_bias_in_relax(emit: Emit, data: RelaxExpr, weight: RelaxExpr, bias: RelaxExpr) -> RelaxExpr:
    """Emit what :func:`linear_in_relax` does, and add the bias."""
    return emit("add", linear_in_relax(emit, data, weight), bias)


def _dense_product(squeezed: bool) -> FusionPattern:
    """``a @ b`` of two matrices."""
    a, b = wildcard(), wildcard()
    turned = is_op("transpose")(b)
    dense = is_op("nn.dense")(a, turned)
    pattern = is_op("squeeze")(dense) if squeezed else dense

    def check(match: Match) -> bool:
        left, right = match.tensor(a), match.tensor(b)
        if left is None or right is None or not len(left.shape) == len(right.shape) == 2:
            return False
        turns = list(match.attrs(turned).axes or (1, 0)) == [1, 0]
        return turns and match.tensor(pattern) == match.tensor(dense)

    return FusionPattern("msc.matmul", pattern, {}, check, _matmul_in_relax)


def _batch_product() -> FusionPattern:
    """``a @ b`` of batches, as TVM's PyTorch importer writes it."""
    a, b = wildcard(), wildcard()
    wide = [is_op("broadcast_to")(one) for one in (a, b)]
    product = is_op("nn.batch_matmul")(*(is_op("reshape")(one) for one in wide))
    shaped = is_op("reshape")(product)
    pattern = is_op("squeeze")(shaped)

    def check(match: Match) -> bool:
        left, right, made = (match.tensor(one) for one in (*wide, pattern))
        own = [match.tensor(one) for one in (a, b)]
        if left is None or right is None or made is None or any(one is None or len(one.shape) < 2 for one in own):
            return False
        same = left.shape[:-2] == right.shape[:-2]
        return same and made.shape == (*left.shape[:-1], right.shape[-1]) and _is_plain(match, product)

    return FusionPattern("msc.matmul", pattern, {}, check, _matmul_in_relax)


def _matmul_in_relax(emit: Emit, a: RelaxExpr, b: RelaxExpr) -> RelaxExpr:
    return emit("matmul", a, b, out_dtype=emit.dtype)


def _embedding() -> FusionPattern:
    weight = is_constant()
    places = is_op("cast")(wildcard())
    pattern = is_op("take")(weight, places)

    def check(match: Match) -> bool:
        held = match.tensor(weight)
        known = held is not None and len(held.shape) == 2 and held.dtype == "float32"
        return known and match.attrs(places).dtype == "int32" and match.attrs(pattern).axis == 0

    return FusionPattern("msc.embedding", pattern, {weight: "weight"}, check)


def _gelu() -> FusionPattern:
    data, factors = wildcard(), [is_constant() for _ in range(3)]
    curve = is_op("multiply")(is_op("erf")(is_op("multiply")(data, factors[0])), factors[1])
    pattern = is_op("multiply")(data, is_op("add")(factors[2], curve))

    def check(match: Match) -> bool:
        known = (math.sqrt(0.5), 0.5, 0.5)
        return all(match.is_about(part, value) for part, value in zip(factors, known, strict=True))

    roles: dict[DFPattern, str] = {part: f"factor_{place}" for place, part in enumerate(factors, 1)}
    return FusionPattern("msc.gelu", pattern, roles, check, gelu_in_relax)


def gelu_in_relax(emit: Emit, data: RelaxExpr, *factors: RelaxExpr) -> RelaxExpr:
    """Emit R.nn.gelu of the first operand."""
    return emit("nn.gelu", data)


def _is_plain(match: Match, product: DFPattern) -> bool:
    """Whether a product of batches is of its operands as they are."""
    attrs = match.attrs(product)
    return not attrs.transpose_a and not attrs.transpose_b
