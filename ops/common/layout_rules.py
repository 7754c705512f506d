"""How operators adapt to the layouts of their inputs: what becomes of attributes and results.

A rule is asked twice. With the layouts that the program has (``new`` is None) it says in which the
operator takes its inputs. With those that producers have changed to, it says which it wants then,
and its attributes for that. ``old`` are the layouts as the program had them. A layout that nobody
knows is None. A rule that answers with one has failed: the inputs get their old layouts back.

The facts are those of TVM 0.18's ``FInferCorrectLayout``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Optional, TypeAlias

from relay2relax.ops.common.layout import Axis, Layout
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import static

MaybeLayout: TypeAlias = Optional[Layout]
# The attributes of the operator; its record says of which class.
Attrs: TypeAlias = Any
Now: TypeAlias = "Optional[tuple[Layout, ...]]"
# Each is known where ``Now`` is given, else perhaps None.
Before: TypeAlias = "tuple[Any, ...]"
Types: TypeAlias = Sequence[Type]


@dataclass(frozen=True, slots=True)
class Laid:
    """The layouts in which an operator takes its inputs and gives its results, and its attributes
    for them.
    """

    inputs: tuple[MaybeLayout, ...]
    outputs: tuple[MaybeLayout, ...]
    attrs: Attrs


# (attributes, layouts of the producers' results now, layouts before, types before) -> answer
LayoutRule: TypeAlias = Callable[[Attrs, Now, Before, Types], Optional[Laid]]

_PART = re.compile(r"(\d*)([A-Za-z])")


@lru_cache(maxsize=1024)
def layout_named(name: str) -> Layout:
    """Return the layout ``name``, of any letters; what is no axis of it is a mere name."""
    parts = _PART.findall(name)
    return Layout(name, tuple(Axis(c.upper(), int(number)) if number else Axis(c) for number, c in parts))


def of_axes(axes: Iterable[Axis]) -> Layout:
    """Return the layout of ``axes``."""
    found = tuple(axes)
    return Layout("".join(f"{one.factor}{one.letter.lower()}" if one.factor else one.letter for one in found), found)


def place(layout: Layout, axis: Axis) -> int:
    """Return the dimension of ``layout`` that is ``axis``, of whatever factor, -1 where none is."""
    wanted = (axis.letter, bool(axis.factor))
    return next((i for i, one in enumerate(layout.axes) if (one.letter, bool(one.factor)) == wanted), -1)


def factor_of(layout: Layout, letter: str) -> int:
    """Return the extent of the inner part of an axis, -1 where it is not split."""
    return max((one.factor for one in layout.axes if one.letter == letter and one.factor), default=-1)


def outer_rank(layout: Layout) -> int:
    """Return the number of axes, the inner parts of split ones not counted."""
    return sum(not one.factor for one in layout.axes)


CHANNEL = layout_named("C")


def _shape(ty: Type) -> tuple[Any, ...]:
    assert isinstance(ty, TensorType)
    return ty.shape


def _first_known(layouts: Iterable[MaybeLayout]) -> MaybeLayout:
    return next((one for one in layouts if one is not None), None)


def _axis_in(new: Layout, old: Layout, axis: int) -> int:
    """Return where the dimension ``axis`` of ``old`` is in ``new``, -1 where it is not."""
    return place(new, old.axes[axis]) if -len(old.axes) <= axis < len(old.axes) else -1


# --- any operator on elements ---------------------------------------------------------------------


def elementwise(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Elements are taken one by one: any layout will do."""
    found = new[0] if new is not None else _first_known(old)
    return Laid((found,) * len(old), (found,), attrs)


def broadcast(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Two operands are laid out alike, the smaller one as the last axes of the larger."""
    shapes = [_shape(one) for one in types[:2]]
    before = list(old[:2])
    larger = 0 if len(shapes[0]) >= len(shapes[1]) else 1
    if before[0] is None and before[1] is None:
        return None
    output = before[larger]
    for known in (0, 1):
        if before[1 - known] is None:
            rest = len(shapes[known]) - len(shapes[1 - known])
            if rest < 0:
                return None
            before[1 - known] = of_axes(before[known].axes[rest : len(shapes[known])])
            output = before[known]
    if new is None:
        return Laid(tuple(before), (output,), attrs)
    large = 0 if outer_rank(new[0]) >= outer_rank(new[1]) else 1
    small = 1 - large
    target = _like(before[small], before[large], new[large])
    if target is None:
        return None
    inputs = [new[0], new[1]]
    inputs[small] = _broadcastable(target, before[small], shapes[small])
    return Laid(tuple(inputs), (new[larger],), attrs)


def _broadcastable(layout: Layout, old: Layout, shape: Sequence[Any]) -> Layout:
    """Return ``layout`` with inner parts of 1 where ``shape`` in layout ``old`` has no more."""

    def part(axis: Axis) -> Axis:
        if not axis.factor:
            return axis
        at = place(old, Axis(axis.letter))
        one = at == -1 or (static(shape[at]) == 1 and place(old, axis) == -1)
        return Axis(axis.letter, 1 if one else max(factor_of(layout, axis.letter), 1))

    return of_axes(map(part, layout.axes))


def _like(old: Layout, reference: Layout, changed: Layout) -> Layout | None:
    """Return what ``old`` becomes where ``reference``, which ends alike, becomes ``changed``."""
    large, small = (reference, old) if reference.rank > old.rank else (old, reference)
    rest, last = large.axes[: large.rank - small.rank], large.axes[large.rank - small.rank :]
    if {one.letter for one in rest} & {one.letter for one in last} or not _isomorphic(last, small.axes):
        return None
    if not old.rank:
        return old
    letters: dict[str, str] = {}
    for mine, its in zip(reversed(old.axes), reversed(reference.axes), strict=False):
        letters[its.letter] = mine.letter
    used = {one.letter for one in old.axes[-reference.rank :]}
    for its in reversed(reference.axes):
        if its.letter not in letters:
            free = [its.letter, *"ABCDEFGHIJKLMNOPQRSTUVWXYZ"]
            letters[its.letter] = next(one for one in free if one not in used)
            used.add(letters[its.letter])
    if any(one.letter not in letters for one in changed.axes):
        return None
    return of_axes(Axis(letters[one.letter], one.factor) for one in changed.axes)


def _isomorphic(left: Sequence[Axis], right: Sequence[Axis]) -> bool:
    """Whether axes correspond one to one, with the same factors."""
    pairs = {(a.letter, bool(a.factor), b.letter) for a, b in zip(left, right, strict=True)}
    there, back = {(a, f) for a, f, _ in pairs}, {(b, f) for _, f, b in pairs}
    return len(pairs) == len(there) == len(back) and all(a.factor == b.factor for a, b in zip(left, right, strict=True))


# --- operators with a layout of their own ---------------------------------------------------------


def convolution(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """A convolution has the layouts of its attributes, whatever its inputs have."""
    data, kernel = layout_named(attrs.data_layout), layout_named(attrs.kernel_layout)
    return Laid((data, kernel), (layout_named(attrs.out_layout) if attrs.out_layout else data,), attrs)


def deformable_convolution(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Offsets lie as the data do."""
    data, kernel = layout_named(attrs.data_layout), layout_named(attrs.kernel_layout)
    return Laid((data, data, kernel), (layout_named(attrs.out_layout) if attrs.out_layout else data,), attrs)


def pooling(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """A pool follows its input, but where ``out_layout`` says in which layout it is to be."""
    if attrs.out_layout:
        if attrs.out_layout != attrs.layout:
            return None
    elif new is not None:
        attrs = replace(attrs, layout=new[0].name)
    layout = layout_named(attrs.layout)
    return Laid((layout,), (layout,), attrs)


def resize(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Images follow the layout of their input where it is of the same rank."""
    if new is not None and new[0] != old[0] and attrs.layout == old[0].name and new[0].rank == old[0].rank:
        attrs = replace(attrs, layout=new[0].name)
    layout = layout_named(attrs.layout)
    return Laid((layout,), (layout,), attrs)


def upsampling(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Upsampling follows its input where the spatial axes stay and are not split."""
    if new is not None:
        own = layout_named(attrs.layout)
        stays = all(place(new[0], Axis(one)) == place(own, Axis(one)) for one in "WH")
        depth = place(new[0], Axis("D"))
        stays = stays and depth in (-1, place(own, Axis("D")))
        if stays and all(factor_of(new[0], one) == -1 for one in ("WHD" if depth != -1 else "WH")):
            attrs = replace(attrs, layout=new[0].name)
    layout = layout_named(attrs.layout)
    return Laid((layout,), (layout,), attrs)


def regions_of_interest(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Regions are rows of five numbers."""
    layout = layout_named(attrs.layout)
    return Laid((layout, layout_named("N5")), (layout,), attrs)


def dense(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """A product of matrices moves no axis."""
    rows = layout_named("NC")
    return Laid((rows, rows), (rows,), attrs)


def dense_pack(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """The weight is packed as the attribute says."""
    rows = layout_named("NC")
    return Laid((rows, layout_named(attrs.weight_layout)), (rows,), attrs)


# --- operators with axes --------------------------------------------------------------------------


def _positive(axis: int, ty: Type) -> int:
    return axis + len(_shape(ty)) if axis < 0 else axis


def _normalised(attrs: Attrs, new: Now, old: Before, types: Types) -> tuple[MaybeLayout, Attrs]:
    """Return the layout of the data of an operator with an axis, which cannot be split, and its
    attributes.
    """
    axis = _positive(attrs.axis, types[0])
    if new is None or factor_of(new[0], old[0].axes[axis].letter) > 1:
        return old[0], attrs
    return new[0], replace(attrs, axis=_axis_in(new[0], old[0], axis))


def batch_norm(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Four vectors along the channels, which are two of the results."""
    data, attrs = _normalised(attrs, new, old, types)
    return Laid((data, *(CHANNEL,) * 4), (data, CHANNEL, CHANNEL), attrs)


def normalisation(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """A scale and an offset along the channels."""
    data, attrs = _normalised(attrs, new, old, types)
    return Laid((data, CHANNEL, CHANNEL), (data,), attrs)


def l2_normalize(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Several axes, which move with the data and cannot be split."""
    axes = [_positive(axis, types[0]) for axis in attrs.axis]
    if new is None or any(factor_of(new[0], old[0].axes[axis].letter) > 1 for axis in axes):
        return Laid((old[0],), (old[0],), attrs)
    moved = tuple(_axis_in(new[0], old[0], axis) for axis in axes)
    return Laid((new[0],), (new[0],), replace(attrs, axis=moved))


def topk(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Values and places lie as the data do."""
    data, attrs = _normalised(attrs, new, old, types)
    return Laid((data,), (data, data), attrs)


def prelu(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """The data stay as they were."""
    return Laid((old[0], CHANNEL), (old[0],), attrs)


def reduction(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Axes are reduced wherever they lie, both parts of split ones."""
    rank = len(_shape(types[0]))
    given = attrs.axis
    listed = range(rank) if given is None else (given,) if isinstance(given, int) else given
    axes = {axis % rank for axis in listed}
    if attrs.exclude:
        axes = set(range(rank)) - axes if given is not None else set()
    now = new[0] if new is not None and axes else old[0]
    if now is None or old[0] is None:
        return None
    reduced = {old[0].axes[axis].letter for axis in axes}
    places, kept = [], []
    for at, axis in enumerate(now.axes):
        gone = axis.letter in reduced
        if gone is not bool(attrs.exclude):
            places.append(at)
        if not gone:
            kept.append(axis)
        elif attrs.keepdims:
            kept.append(Axis(axis.letter, 1) if axis.factor else axis)
    if not kept:
        # Of a scalar no layout can be told.
        return None
    if new is not None and axes:
        attrs = replace(attrs, axis=tuple(places))
    return Laid((of_axes(now.axes),) * len(old), (of_axes(kept),), attrs)


def concatenate(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """All parts lie alike, and the axis moves."""
    (fields,) = types
    assert isinstance(fields, TupleType)
    axis = _positive(attrs.axis, fields.fields[0])
    if new is not None and all(one == new[0] for one in new):
        return Laid((new[0],) * len(old), (new[0],), replace(attrs, axis=_axis_in(new[0], old[0], axis)))
    found = _first_known(old)
    if found is None or found.rank <= axis or found.axes[axis].factor:
        return None
    return Laid((found,) * len(old), (found,), attrs)


def split(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Places along a split axis are counted in its outer part."""
    parts = attrs.indices_or_sections
    count = parts if isinstance(parts, int) else len(parts) + 1
    found = old[0]
    if new is not None and found is not None:
        axis = _positive(attrs.axis, types[0])
        factor = factor_of(new[0], found.axes[axis].letter)
        if factor > 1 and not isinstance(parts, int):
            if any(one % factor for one in parts):
                return Laid((found,), (found,) * count, attrs)
            attrs = replace(attrs, indices_or_sections=tuple(one // factor for one in parts))
        attrs = replace(attrs, axis=_axis_in(new[0], found, axis))
        found = new[0]
    return Laid((found,), (found,) * count, attrs)


def transpose(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """The result has the letters of the input in another order."""
    if old[0] is None:
        return None
    rank = old[0].rank
    axes = tuple(axis % rank for axis in attrs.axes) if attrs.axes else tuple(reversed(range(rank)))
    layout = old[0]
    if new is not None:
        moved = tuple(_axis_in(new[0], old[0], axis) for axis in axes)
        if -1 not in moved and len(moved) == new[0].rank:
            axes, layout = moved, new[0]
    if layout.is_split:
        return None
    return Laid((layout,), (of_axes(layout.axes[axis] for axis in axes),), replace(attrs, axes=axes))


def squeeze(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Axes of one element go, wherever they lie."""
    layout = old[0] if new is None else new[0]
    if layout is None:
        return None
    axes = attrs.axis
    if axes is None:
        axes = [at for at, extent in enumerate(_shape(types[0])) if static(extent) == 1]
    axes = tuple(axes)
    if new is not None:
        axes = tuple(_axis_in(new[0], old[0], axis) for axis in axes)
        attrs = replace(attrs, axis=axes)
    gone = {axis % layout.rank for axis in axes}
    return Laid((layout,), (of_axes(one for at, one in enumerate(layout.axes) if at not in gone),), attrs)


def slice_like(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Listed axes move where both inputs lie alike."""
    if new is not None and new[0] == new[1] and old[0] == old[1] and attrs.axes:
        axes = tuple(_axis_in(new[0], old[0], axis) for axis in attrs.axes)
        if -1 not in axes:
            return Laid((new[0], new[0]), (new[0],), replace(attrs, axes=axes))
    return Laid((old[0], old[1]), (old[1],), attrs)


def pad(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Widths move with their axes; a split axis cannot be padded."""
    value = layout_named("1")
    if new is None or old[0] is None:
        return Laid((old[0], value), (old[0],), attrs)
    widths = {one.letter: width for one, width in zip(old[0].axes, attrs.pad_width, strict=True) if not one.factor}
    moved = [widths.get(one.letter) for one in new[0].axes]
    split = {one.letter for one in new[0].axes if one.factor}
    if None in moved or any(widths.get(letter) and any(map(_is_padding, widths[letter])) for letter in split):
        return Laid((old[0], value), (old[0],), attrs)
    return Laid((new[0], value), (new[0],), replace(attrs, pad_width=tuple(moved)))


def _is_padding(width: object) -> bool:
    return width != 0


def strided_slice(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Begins and ends move with their axes; of a split axis whole blocks are taken."""
    layout = old[0]
    if layout is None or new is None:
        return None if layout is None else Laid((layout,), (layout,), attrs)
    changed = new[0]
    if not layout.name.startswith(changed.name) and not changed.name.startswith(layout.name):
        if len(layout.name) != len(changed.name):
            return None
        made = _permuted_slice(attrs, changed, layout, _shape(types[0]))
    elif len(layout.name) < len(changed.name):
        made = _blocked_slice(attrs, changed, layout, _shape(types[0]))
    else:
        made, changed = attrs, layout if changed == layout else changed
        if changed != layout:
            return Laid((layout,), (layout,), attrs)
    return None if made is None else Laid((changed,), (changed,), made)


def _strides(attrs: Any) -> tuple[int, ...]:
    given = tuple(attrs.strides or ())
    return tuple(1 for _ in given) if attrs.slice_mode == "size" else given


def _permuted_slice(attrs: Any, new: Layout, old: Layout, shape: Sequence[Any]) -> Any:
    begin, end, strides = tuple(attrs.begin), tuple(attrs.end), _strides(attrs)
    if attrs.axes:
        axes = tuple(_axis_in(new, old, axis) for axis in attrs.axes)
        return replace(attrs, begin=begin, end=end, strides=strides, axes=axes)
    at = [place(old, axis) for axis in new.axes]
    if -1 in at:
        return None
    return replace(
        attrs,
        begin=tuple(begin[i] if i < len(begin) else 0 for i in at),
        end=tuple(end[i] if i < len(end) else static(shape[i]) for i in at),
        strides=tuple(strides[i] if i < len(strides) else 1 for i in at),
    )


def _blocked_slice(attrs: Any, new: Layout, old: Layout, shape: Sequence[Any]) -> Any:
    begins, ends, strides = [], [], _strides(attrs)
    axes = attrs.axes or range(len(attrs.begin))
    for i, (axis, begin, end) in enumerate(zip(axes, attrs.begin, attrs.end, strict=True)):
        factor = factor_of(new, old.axes[axis].letter)
        if factor != -1:
            if i < len(strides) and strides[i] != 1:
                return None
            if attrs.slice_mode == "size" and not attrs.axes:
                end = static(shape[axis]) if end < 0 else begin + end
            if begin % factor or end % factor:
                return None
            begin, end = begin // factor, end // factor
        begins.append(begin)
        ends.append(end)
    moved = {"axes": tuple(_axis_in(new, old, axis) for axis in axes)} if attrs.axes else {}
    return replace(attrs, begin=tuple(begins), end=tuple(ends), **moved)


# --- quantised operators, whose scales and zero points lie along the channels ---------------------


def with_parameters(rule: LayoutRule, count: int, layout: Layout = CHANNEL, inputs: int | None = None) -> LayoutRule:
    """Return ``rule`` for an operator with ``count`` scales and zero points behind its tensors.

    The attributes stay where TVM's rule leaves them.
    """

    def quantised(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
        tensors = len(old) - count
        kept = None if new is None else tuple(new[:tensors])
        made = rule(attrs, kept, tuple(old[:tensors]), types[: inputs or tensors])
        return None if made is None else replace(made, inputs=(*made.inputs, *(layout,) * count))

    return quantised


def qnn_concatenate(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Each part has a scale and a zero point, and so has the result."""
    (first, *_) = types
    assert isinstance(first, TupleType)
    return with_parameters(concatenate, 2 * len(first.fields) + 2, inputs=1)(attrs, new, old, types)


def requantize(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Channels stay whole where scales differ along them."""
    if new is None:
        return Laid((old[0], *(CHANNEL,) * 4), (old[0],), attrs)
    axis = attrs.axis if attrs.axis != -1 else len(_shape(types[0])) - 1
    one_scale = not _shape(types[1]) and not _shape(types[2])
    kept = of_axes(axis for axis in new[0].axes if one_scale or not axis.factor)
    at = max(place(kept, old[0].axes[axis]), 0)
    return Laid((kept, *(CHANNEL,) * 4), (kept,), replace(attrs, axis=at))


def simulated_quantize(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """A scale and two ends beside the data."""
    found = new[0] if new is not None else old[0]
    return Laid((found, *(CHANNEL,) * 3), (found,), attrs)


def per_axis(attrs: Attrs, new: Now, old: Before, types: Types) -> Laid | None:
    """Three vectors along some axes of the data, which are split as those are."""
    if old[0] is None:
        return None
    letters = {old[0].axes[axis].letter for axis in attrs.axes}
    layout = old[0] if new is None else new[0]
    places = [at for at, axis in enumerate(layout.axes) if axis.letter in letters]
    if new is not None:
        attrs = replace(attrs, axes=tuple(places))
    vector = of_axes(layout.axes[at] for at in places)
    return Laid((layout, *(vector,) * 3), (layout,), attrs)
