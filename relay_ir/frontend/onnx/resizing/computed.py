"""Changes of size whose scales or sizes only the running program knows: the matrix of each axis is
computed by it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion
from relay2relax.relay_ir.frontend.onnx.lengths import lengths, reshaped, vector
from relay2relax.relay_ir.ir.expr import Expr


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis that is resized: its extents as int64, its scale, and where its region begins and
    ends, as float32; all are tensors without axes.
    """

    at: Conversion
    old: Expr
    new: Expr
    scale: Expr
    region: tuple[Expr, Expr] | None

    def number(self, value: float) -> Expr:
        return self.at.const(value, "float32")

    def of(self, name: str, *args: Expr) -> Expr:
        return self.at.call(name, *args)

    def wide(self, extent: Expr) -> Expr:
        return self.at.cast(extent, "float32")

    def steps(self, extent: Expr) -> Expr:
        zero, one = self.at.const(0, "int64"), self.at.const(1, "int64")
        return self.wide(self.at.call("arange", zero, extent, one, dtype="int64"))

    def last(self) -> Expr:
        return self.of("subtract", self.wide(self.old), self.number(1))


def _half_pixel(axis: _Axis, steps: Expr) -> Expr:
    half = axis.number(0.5)
    return axis.of("subtract", axis.of("divide", axis.of("add", steps, half), axis.scale), half)


def _align_corners(axis: _Axis, steps: Expr) -> Expr:
    exact = axis.of("multiply", axis.wide(axis.old), axis.scale)
    between = axis.of("maximum", axis.of("subtract", exact, axis.number(1)), axis.number(1e-30))
    return axis.of("divide", axis.of("multiply", steps, axis.last()), between)


def _pytorch_half_pixel(axis: _Axis, steps: Expr) -> Expr:
    many = axis.of("greater", axis.new, axis.at.const(1, "int64"))
    return axis.of("where", many, _half_pixel(axis, steps), axis.of("multiply", steps, axis.number(0)))


def _tf_half_pixel(axis: _Axis, steps: Expr) -> Expr:
    return axis.of("divide", axis.of("add", steps, axis.number(0.5)), axis.scale)


def _symmetric(axis: _Axis, steps: Expr) -> Expr:
    exact = axis.of("multiply", axis.wide(axis.old), axis.scale)
    lost = axis.of("subtract", axis.number(1), axis.of("divide", axis.wide(axis.new), exact))
    middle = axis.of("multiply", axis.of("multiply", axis.wide(axis.old), axis.number(0.5)), lost)
    return axis.of("add", middle, _half_pixel(axis, steps))


def _cropped(axis: _Axis, steps: Expr) -> Expr:
    assert axis.region is not None
    low, high = axis.region
    last, more = axis.last(), axis.of("subtract", axis.wide(axis.new), axis.number(1))
    size = axis.of("multiply", axis.of("subtract", high, low), last)
    many = axis.of(
        "add", axis.of("multiply", low, last),
        axis.of("divide", axis.of("multiply", steps, size), axis.of("maximum", more, axis.number(1))),
    )  # fmt: skip
    middle = axis.of("multiply", axis.of("multiply", axis.of("add", low, high), last), axis.number(0.5))
    return axis.of("where", axis.of("greater", more, axis.number(0)), many, axis.of("add", middle, steps))


# Places in the source of places of the result.
_PLACES: dict[str, Callable[[_Axis, Expr], Expr]] = {
    "half_pixel": _half_pixel,
    "asymmetric": lambda axis, steps: axis.of("divide", steps, axis.scale),
    "align_corners": _align_corners,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "tf_half_pixel_for_nn": _tf_half_pixel,
    "half_pixel_symmetric": _symmetric,
    "tf_crop_and_resize": _cropped,
}


def _weight(axis: _Axis, distance: Expr, mode: str, alpha: float) -> Expr:
    """Return what an element at a distance weighs."""
    one, x = axis.number(1), axis.of("abs", distance)
    if mode == "linear":
        return axis.of("maximum", axis.number(0), axis.of("subtract", one, x))
    near = _polynomial(axis, x, (alpha + 2, -(alpha + 3), 0, 1))
    far = _polynomial(axis, x, (alpha, -5 * alpha, 8 * alpha, -4 * alpha))
    beyond = axis.of("where", axis.of("less", x, axis.number(2)), far, axis.number(0))
    return axis.of("where", axis.of("less_equal", x, one), near, beyond)


def _polynomial(axis: _Axis, x: Expr, factors: tuple[float, ...]) -> Expr:
    made = axis.number(factors[0])
    for factor in factors[1:]:
        made = axis.of("add", axis.of("multiply", made, x), axis.number(factor))
    return made


def _matrix(axis: _Axis, places: Expr) -> Expr:
    """Return what each place of the result takes of each element, a matrix (new, old)."""
    at = axis.at
    mode, exclude = at.attr("mode", "nearest"), bool(at.attr("exclude_outside", 0))
    columns, zero, last = axis.steps(axis.old), axis.number(0), axis.last()

    def taken(places: Expr) -> Expr:
        kept = axis.of("minimum", axis.of("maximum", places, zero), last)
        return axis.of("equal", at.unsqueeze(kept, [1]), columns)

    if mode == "nearest":
        return at.cast(taken(_rounded(axis, places)), "float32")
    taps = range(2) if mode == "linear" else range(-1, 3)
    rows, total = axis.number(0), axis.number(0)
    for tap in taps:
        place = axis.of("add", axis.of("floor", places), axis.number(tap))
        weight = _weight(axis, axis.of("subtract", place, places), mode, float(at.attr("cubic_coeff_a", -0.75)))
        if exclude:
            inside = axis.of("logical_and", axis.of("greater_equal", place, zero), axis.of("less_equal", place, last))
            weight = axis.of("where", inside, weight, zero)
        total = axis.of("add", total, weight)
        rows = axis.of("add", rows, axis.of("where", taken(place), at.unsqueeze(weight, [1]), zero))
    return axis.of("divide", rows, at.unsqueeze(total, [1])) if exclude else rows


def _rounded(axis: _Axis, places: Expr) -> Expr:
    how = axis.at.attr("nearest_mode", "round_prefer_floor" if axis.at.opset >= 11 else "floor")
    half = axis.number(0.5)
    match how:
        case "round_prefer_floor":
            return axis.of("ceil", axis.of("subtract", places, half))
        case "round_prefer_ceil":
            return axis.of("floor", axis.of("add", places, half))
        case _:
            return axis.of(how, places)


def resize_as_computed(at: Conversion, how: str, scales: Expr | None, sizes: Expr | None) -> Expr:
    """Return ``Resize`` by scales or sizes of the running program; one of them is given."""
    x, rank = at.arg(0), at.rank(at.arg(0))
    axes = [one % rank for one in at.attr("axes", range(rank))]
    if at.attr("antialias", 0) or at.attr("keep_aspect_ratio_policy", "stretch") != "stretch" or how not in _PLACES:
        at.refuse("its sizes are computed")
    made = at.cast(x, "float32")
    outside: Expr = at.const(False, "bool")
    shape = [at.scalar(one) if not isinstance(one, int) else at.const(one, "int64") for one in lengths(at, x)]
    for number, axis in enumerate(axes):
        one = _axis(at, shape[axis], scales, sizes, number, len(axes), how)
        places = _PLACES[how](one, one.steps(one.new))
        if how == "tf_crop_and_resize":
            beyond = one.of("logical_or", one.of("less", places, one.number(0)), one.of("greater", places, one.last()))
            outside = one.of("logical_or", outside, at.unsqueeze(beyond, list(range(1, rank - axis))))
        order = [each for each in range(rank) if each != axis] + [axis]
        turned = at.transpose(made, order)
        rows = at.call(
            "nn.dense", reshaped(at, turned, [-1, lengths(at, turned)[-1]]), _matrix(one, places), units=None
        )
        back = [*lengths(at, turned)[:-1], at.reshape(one.new, [1])]
        made = at.transpose(at.reshape_to(rows, vector(at, back)), [order.index(each) for each in range(rank)])
    if how == "tf_crop_and_resize":
        made = at.call("where", outside, at.const(at.attr("extrapolation_value", 0.0), "float32"), made)
    return at.cast(made, at.dtype(x))


def _axis(
    at: Conversion, old: Expr, scales: Expr | None, sizes: Expr | None, number: int, count: int, how: str
) -> _Axis:
    def element(whole: Expr, place: int) -> Expr:
        return at.scalar(at.slice(whole, 0, place, place + 1))

    wide = at.cast(old, "float32")
    if sizes is not None:
        new = at.cast(element(sizes, number), "int64")
        scale = at.call("divide", at.cast(new, "float32"), wide)
    else:
        assert scales is not None
        scale = at.cast(element(scales, number), "float32")
        # In float64 the product is exact, as where scales are known.
        exact = at.call("multiply", at.cast(old, "float64"), at.cast(scale, "float64"))
        new = at.cast(at.call("floor", exact), "int64")
    region = None
    if how == "tf_crop_and_resize":
        ends = [at.cast(element(at.arg(1), number + half * count), "float32") for half in (0, 1)]
        region = (ends[0], ends[1])
    return _Axis(at, old, new, scale, region)
