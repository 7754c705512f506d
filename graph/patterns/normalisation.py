"""Layer, group and root-mean-square normalisation, as importers write them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from relay2relax.core.matching.language import is_constant, is_op, wildcard
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.graph.patterns.pattern import Emit, FusionPattern, Match
from relay2relax.relax_ir.ir.expr import Expr as RelaxExpr
from relay2relax.relax_ir.ir.expr import ShapeExpr


def normalisation_patterns() -> Iterator[FusionPattern]:
    """Yield the patterns, those that hold others first."""
    for power in (True, False):
        for divided in (True, False):
            yield _layer_norm(power, divided)
            yield _rms_norm(power, divided)
    yield _group_norm()


def _square(value: DFPattern, power: bool) -> tuple[DFPattern, DFPattern | None]:
    """Return the square of a value, and the constant in it."""
    if not power:
        return is_op("multiply")(value, value), None
    two = is_constant()
    return is_op("power")(value, two), two


def _over(value: DFPattern, variance: DFPattern, divided: bool) -> DFPattern:
    """Return a value over the root of its variance."""
    if divided:
        return is_op("divide")(value, is_op("sqrt")(variance))
    return is_op("multiply")(value, is_op("rsqrt")(variance))


def _layer_norm(power: bool, divided: bool) -> FusionPattern:
    data, gamma, beta, epsilon = wildcard(), wildcard(), wildcard(), is_constant()
    mean = is_op("mean")(data)
    centred = is_op("subtract")(data, mean)
    square, two = _square(centred, power)
    variance = is_op("mean")(square)
    normal = _over(centred, is_op("add")(variance, epsilon), divided)
    pattern = is_op("add")(is_op("multiply")(normal, gamma), beta)

    def check(match: Match) -> bool:
        given = match.tensor(data)
        if given is None or (two is not None and not match.is_about(two, 2)):
            return False
        rows = [_is_last(match.attrs(part), len(given.shape)) for part in (mean, variance)]
        fits = _fit(match, given.shape[-1:], gamma, beta) and match.tensor(pattern) == given
        return all(rows) and _is_number(match, epsilon) and fits

    roles: dict[DFPattern, str] = {epsilon: "epsilon", **({two: "two"} if two is not None else {})}
    needs = ("mean", "subtract", "power" if power else "multiply", "sqrt" if divided else "rsqrt")
    return FusionPattern("msc.layer_norm", pattern, roles, check, _layer_norm_in_relax, needs)


def _layer_norm_in_relax(emit: Emit, data: RelaxExpr, gamma: RelaxExpr, beta: RelaxExpr, *held: RelaxExpr) -> RelaxExpr:
    gamma, beta = _flat(emit, gamma, 1), _flat(emit, beta, 2)
    return emit("nn.layer_norm", data, gamma, beta, axes=(-1,), epsilon=emit.number("epsilon"))


def _rms_norm(power: bool, divided: bool) -> FusionPattern:
    data, gamma, epsilon = wildcard(), wildcard(), is_constant()
    square, two = _square(data, power)
    mean = is_op("mean")(square)
    pattern = is_op("multiply")(_over(data, is_op("add")(mean, epsilon), divided), gamma)

    def check(match: Match) -> bool:
        given = match.tensor(data)
        if given is None or (two is not None and not match.is_about(two, 2)):
            return False
        last = _is_last(match.attrs(mean), len(given.shape))
        fits = _fit(match, given.shape[-1:], gamma) and match.tensor(pattern) == given
        return last and _is_number(match, epsilon) and fits

    roles: dict[DFPattern, str] = {epsilon: "epsilon", **({two: "two"} if two is not None else {})}
    needs = ("mean", "power" if power else "multiply", "sqrt" if divided else "rsqrt")
    return FusionPattern("msc.rms_norm", pattern, roles, check, _rms_norm_in_relax, needs)


def _rms_norm_in_relax(emit: Emit, data: RelaxExpr, gamma: RelaxExpr, *held: RelaxExpr) -> RelaxExpr:
    gamma = _flat(emit, gamma, 1)
    return emit("nn.rms_norm", data, gamma, axes=(-1,), epsilon=emit.number("epsilon"))


def _group_norm() -> FusionPattern:
    """Groups as channels of an instance normalisation, as PyTorch exports them."""
    data, gamma, beta, one, zero = wildcard(), wildcard(), wildcard(), is_constant(), is_constant()
    grouped = is_op("reshape")(data)
    normal = is_op("nn.instance_norm")(grouped, one, zero)
    shaped = is_op("reshape")(normal)
    pattern = is_op("add")(is_op("multiply")(shaped, gamma), beta)

    def check(match: Match) -> bool:
        given, groups, made = match.tensor(data), match.tensor(grouped), match.tensor(shaped)
        if given is None or groups is None or made is None or made.shape != given.shape:
            return False
        plain = len(groups.shape) == 3 and groups.shape[0] == given.shape[0] and match.attrs(normal).axis == 1
        spread = (given.shape[1], *(1 for _ in given.shape[2:]))
        fits = all(_has_shape(match, part, spread) for part in (gamma, beta))
        return plain and fits and _all_are(match, one, 1) and _all_are(match, zero, 0)

    roles: dict[DFPattern, str] = {one: "one", zero: "zero"}
    return FusionPattern("msc.group_norm", pattern, roles, check, _group_norm_in_relax, ("nn.instance_norm", "reshape"))


def _group_norm_in_relax(
    emit: Emit, data: RelaxExpr, gamma: RelaxExpr, beta: RelaxExpr, one: RelaxExpr, zero: RelaxExpr
) -> RelaxExpr:
    (normal,) = emit.parts("nn.instance_norm")
    channels, rank = (emit.shape(0)[1],), len(emit.shape(0))
    scale, shift = (emit("reshape", value, ShapeExpr(channels)) for value in (gamma, beta))
    return emit(
        "nn.group_norm", data, scale, shift, num_groups=normal.outputs[0].shape[1], channel_axis=1,
        axes=tuple(range(2, rank)), epsilon=normal.attrs.epsilon,
    )  # fmt: skip


def _flat(emit: Emit, value: RelaxExpr, place: int) -> RelaxExpr:
    """Return an operand without ones in front of its last extent."""
    shape = emit.shape(place)
    return value if len(shape) == 1 else emit("reshape", value, ShapeExpr(shape[-1:]))


def _is_last(attrs: object, rank: int) -> bool:
    """Whether a mean is taken over the last axis, which stays."""
    axis = getattr(attrs, "axis", None)
    axes = [axis] if isinstance(axis, int) else [int(one) for one in axis or ()]
    return axes in ([-1], [rank - 1]) and getattr(attrs, "keepdims", False) and not getattr(attrs, "exclude", False)


def _is_number(match: Match, part: DFPattern) -> bool:
    found = match.tensor(part)
    return found is not None and found.shape in ((), (1,))


def _fit(match: Match, shape: Sequence[object], *parts: DFPattern) -> bool:
    return all(_has_shape(match, part, shape) for part in parts)


def _has_shape(match: Match, part: DFPattern, shape: Sequence[object]) -> bool:
    found = match.tensor(part)
    if found is None:
        return False
    # Ones in front change nothing: the operator broadcasts to the other operand.
    lead = len(found.shape) - len(shape)
    return lead >= 0 and found.shape[lead:] == tuple(shape) and all(one == 1 for one in found.shape[:lead])


def _all_are(match: Match, part: DFPattern, value: float) -> bool:
    found = match.constant(part)
    return found is not None and bool((found == value).all())
