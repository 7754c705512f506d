"""Layers of neural networks as Relax programs have them.

    fused = graph.fuse(g, weights, graph.relax_patterns())

Where Relax has one operator for a layer that a program writes out, the node becomes that operator;
the others become their parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.model import MSCJoint, RelaxAttrs
from relay2relax.graph.patterns.nn import nn_patterns
from relay2relax.graph.patterns.pattern import Emit, FusionPattern, Match
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.relax_ir.ir.expr import Call, ShapeExpr
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr

# Patterns over operators that both IRs have, under the same names.
_SHARED = frozenset(
    {"msc.gelu", "msc.gelu_tanh", "msc.silu", "msc.swish", "msc.layer_norm", "msc.rms_norm", "msc.gru_cell"}
)


@lru_cache(maxsize=None)
def relax_patterns() -> Sequence[FusionPattern]:
    """Return the patterns in the order in which they are tried, larger ones first."""
    return (
        *_attentions(),
        *(one for one in nn_patterns() if one.name in _SHARED),
        _group_norm(),
        *(_linear(held, wide, add) for held in (True, False) for wide in (True, False) for add in (True, False)),
        *(_conv_bias(rank, held, shaped) for held in (True, False) for rank in (1, 2, 3) for shaped in (True, False)),
        *(_embedding(wide) for wide in (True, False)),
    )


def _learned(held: bool, role: str, roles: dict[DFPattern, str]) -> DFPattern:
    """Return the pattern of a learned value: a constant, whose role is noted, or anything."""
    if not held:
        return wildcard()
    part = is_constant()
    roles[part] = role
    return part


def _linear(held: bool, wide: bool, add: bool) -> FusionPattern:
    """``data @ weight.T``, with a bias behind it; ``wide`` data become rows by a reshape before it,
    and have their extents back by another.
    """
    roles: dict[DFPattern, str] = {}
    weight = _learned(held, "weight", roles)
    data, turned = wildcard(), is_op("permute_dims")(weight)
    rows = is_op("reshape")(data, wildcard())
    product = is_op("matmul")(rows if wide else data, turned)
    product = is_op("reshape")(product, wildcard()) if wide else product
    bias = _learned(held, "bias", roles) if add else wildcard()
    pattern = is_op("add")(product, bias) if add else product

    def check(match: Match) -> bool:
        given, taken, made = match.tensor(data), match.tensor(weight), match.tensor(product)
        if given is None or taken is None or made is None or len(taken.shape) != 2:
            return False
        if made.shape != (*given.shape[:-1], taken.shape[0]):
            return False
        added = match.tensor(bias) if add else None
        fits = not add or (added is not None and added.shape == made.shape[-1:])
        return list(match.attrs(turned).axes or (1, 0)) == [1, 0] and fits

    needs = ("matmul", "permute_dims", *(("add",) if add else ()), *(("reshape",) if wide else ()))
    return FusionPattern("msc.linear_bias" if add else "msc.linear", pattern, roles, check, needs=needs)


def _conv_bias(rank: int, held: bool, shaped: bool) -> FusionPattern:
    """A convolution and a bias, which a reshape spreads over its channels (``shaped``)."""
    roles: dict[DFPattern, str] = {}
    weight, bias = _learned(held, "weight", roles), _learned(held, "bias", roles)
    conv = is_op(f"nn.conv{rank}d")(wildcard(), weight)
    spread = is_op("reshape")(bias, wildcard()) if shaped else bias
    pattern = is_op("add")(conv, spread)

    def check(match: Match) -> bool:
        attrs, added, made = match.attrs(conv), match.tensor(spread), match.tensor(pattern)
        layout = attrs.out_layout or attrs.data_layout
        if added is None or made is None or "C" not in layout or len(layout) != len(made.shape):
            return False
        around = len(layout) - layout.index("C")
        row = (1,) * (len(layout) - around) + made.shape[-around:][:1] + (1,) * (around - 1)
        return len(added.shape) <= len(row) and added.shape == row[len(row) - len(added.shape) :]

    needs = (f"nn.conv{rank}d", "add", *(("reshape",) if shaped else ()))
    return FusionPattern(f"msc.conv{rank}d_bias", pattern, roles, check, needs=needs)


def _embedding(wide: bool) -> FusionPattern:
    """Rows of a table; ``wide`` places become a row by a reshape, and their extents come back."""
    weight, places = is_constant(), is_op("astype")(wildcard())
    taken = is_op("take")(weight, is_op("reshape")(places, wildcard()) if wide else places)
    pattern = is_op("reshape")(taken, wildcard()) if wide else taken

    def check(match: Match) -> bool:
        table, given, made = match.tensor(weight), match.tensor(places), match.tensor(pattern)
        if table is None or given is None or made is None or len(table.shape) != 2:
            return False
        return match.attrs(taken).axis in (0, None) and made.shape == (*given.shape, table.shape[1])

    needs = ("take", "astype", *(("reshape",) if wide else ()))
    return FusionPattern("msc.embedding", pattern, {weight: "weight"}, check, needs=needs)


def _attentions() -> Iterator[FusionPattern]:
    """Yield attention with heads as the second axis, with heads that are batches, and without; and
    R.nn.attention with the transposes around it.
    """
    for masked in (True, False):
        turned = [is_op("permute_dims")(wildcard()) for _ in range(3)]
        bias = (wildcard(),) if masked else ()
        pattern = is_op("permute_dims")(is_op("nn.attention")(*turned, *bias))
        needs = ("nn.attention", "permute_dims")
        yield FusionPattern("msc.attention", pattern, relax=_attention_in_relax, needs=needs)
    for shaped in (True, False):
        for scale in ("divide", "multiply", ""):
            for masked in (True, False):
                yield _attention(shaped, scale, masked)


def _attention(shaped: bool, scale: str, masked: bool) -> FusionPattern:
    """``shaped``: heads are an axis of their own around the softmax only."""
    query, key, value, mask, factor = *(wildcard() for _ in range(4)), is_constant()
    scores = is_op("matmul")(query, key)
    found: DFPattern = is_op("reshape")(scores, wildcard()) if shaped else scores
    found = is_op(scale)(found, factor) if scale else found
    found = is_op("add")(found, mask) if masked else found
    softmax = is_op("nn.softmax")(found)
    shares = is_op("reshape")(softmax, wildcard()) if shaped else softmax
    pattern = is_op("matmul")(shares, value)

    def check(match: Match) -> bool:
        made, taken, given = (match.tensor(one) for one in (softmax, scores, shares))
        if made is None or taken is None or given is None or taken.shape != given.shape:
            return False
        operands = [match.tensor(one) for one in (query, key, value)]
        alike = all(one is not None and one.shape[:-2] == taken.shape[:-2] for one in operands)
        ranks = (len(taken.shape), len(made.shape)) in (((3, 4),) if shaped else ((3, 3), (4, 4)))
        static = all(isinstance(extent, int) for extent in (*taken.shape, *made.shape))
        rows = match.attrs(softmax).axis in (-1, len(made.shape) - 1) and made.shape[-2:] == taken.shape[-2:]
        number = match.tensor(factor) if scale else None
        return alike and ranks and static and rows and (number is None or number.shape in ((), (1,)))

    needs = ("matmul", "nn.softmax", *((scale,) if scale else ()))
    roles: dict[DFPattern, str] = {factor: "scale"} if scale else {}
    return FusionPattern("msc.attention", pattern, roles, check, _attention_in_relax, needs)


def _attention_in_relax(emit: Emit, query: RelaxExpr, key: RelaxExpr, *rest: RelaxExpr) -> RelaxExpr:
    """Emit R.nn.attention, whose heads are the third axis; batches alone have one head."""
    if emit.parts("nn.attention"):
        return _as_it_stands(emit, query, key, *rest)
    *masks, value = rest[: len(rest) - len(emit.held)]
    (softmax,), scores = emit.parts("nn.softmax"), emit.parts("matmul")[0].outputs[0].shape
    bias = [emit("broadcast_to", one, ShapeExpr(softmax.outputs[0].shape)) for one in masks]
    if len(scores) == 4:
        turns = (query, (0, 2, 1, 3)), (key, (0, 3, 1, 2)), (value, (0, 2, 1, 3))
        given = [emit("permute_dims", one, axes=axes) for one, axes in turns]
        return emit("permute_dims", emit("nn.attention", *given, *bias, scale=_scale(emit)), axes=(0, 2, 1, 3))
    batch, rows, columns = scores
    bias = [emit("reshape", one, ShapeExpr((batch, 1, rows, columns))) for one in bias]
    given = [emit("expand_dims", one, axis=(2,)) for one in (query, emit("permute_dims", key, axes=(0, 2, 1)), value)]
    return emit("squeeze", emit("nn.attention", *given, *bias, scale=_scale(emit)), axis=(2,))


def _group_norm() -> FusionPattern:
    """Groups as channels of an instance normalisation, and what is learnt of the channels."""
    data, gamma, beta, one, zero = wildcard(), wildcard(), wildcard(), is_constant(), is_constant()
    normal = is_op("nn.instance_norm")(is_op("reshape")(data, wildcard()), one, zero)
    shaped = is_op("reshape")(normal, wildcard())
    pattern = is_op("add")(is_op("multiply")(shaped, gamma), beta)

    def check(match: Match) -> bool:
        given, groups, made = match.tensor(data), match.tensor(normal), match.tensor(shaped)
        if given is None or groups is None or made is None or made.shape != given.shape or len(given.shape) < 3:
            return False
        attrs, spread = match.attrs(normal), (given.shape[1], *(1 for _ in given.shape[2:]))
        learned = [match.tensor(part) for part in (gamma, beta)]
        fits = all(part is not None and part.shape == spread for part in learned)
        plain = len(groups.shape) == 3 and groups.shape[0] == given.shape[0] and attrs.channel_axis == 1
        values = [match.constant(part) for part in (one, zero)]
        whole = all(found is not None and (found == wanted).all() for found, wanted in zip(values, (1, 0), strict=True))
        return fits and plain and list(attrs.axes) in ([2], [-1]) and whole

    needs = ("nn.instance_norm", "reshape")
    return FusionPattern("msc.group_norm", pattern, {one: "one", zero: "zero"}, check, _group_norm_in_relax, needs)


def _group_norm_in_relax(
    emit: Emit, data: RelaxExpr, gamma: RelaxExpr, beta: RelaxExpr, one: RelaxExpr, zero: RelaxExpr
) -> RelaxExpr:
    (normal,) = emit.parts("nn.instance_norm")
    shape = emit.shape(0)
    scale, shift = (emit("reshape", part, ShapeExpr(shape[1:2])) for part in (gamma, beta))
    return emit(
        "nn.group_norm", data, scale, shift, num_groups=normal.outputs[0].shape[1], channel_axis=1,
        axes=tuple(range(2, len(shape))), epsilon=_call(normal).attrs.epsilon,
    )  # fmt: skip


def _as_it_stands(emit: Emit, *operands: RelaxExpr) -> RelaxExpr:
    """Emit the attention of a node, and the transposes around it."""
    *turns, last = [_call(part).attrs.axes for part in emit.parts("permute_dims")]
    (attention,) = emit.parts("nn.attention")
    given = [emit("permute_dims", one, axes=axes) for one, axes in zip(operands, turns, strict=False)]
    attrs = _call(attention).attrs
    said = {one.name: getattr(attrs, one.name) for one in attr_fields(type(attrs))}
    return emit("permute_dims", emit("nn.attention", *given, *operands[3:], **said), axes=last)


def _call(part: MSCJoint) -> Call:
    assert isinstance(part.attrs, RelaxAttrs)
    assert isinstance(part.attrs.value, Call)
    return part.attrs.value


def _scale(emit: Emit) -> float:
    if "scale" not in emit.held:
        return 1.0
    return 1 / emit.number("scale") if emit.parts("divide") else emit.number("scale")
