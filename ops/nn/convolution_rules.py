"""What all convolutions share: their attributes, how these are read, and what their rules check.

Data is thought of in the order ``NC`` + spatial axes and a kernel in ``OI`` + spatial axes (``O``
output channels, ``I`` input channels of one group); the layouts of a call say how its tensors get
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Protocol

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import Window, both_sides, padded, per_axis
from relay2relax.ops.registry.attributes import (
    DType,
    IndexExprArray,
    InlineString,
    Int,
    OptionalIndexExpr,
    OptionalIndexExprArray,
    String,
    attr_fields,
)
from relay2relax.ops.registry.record import Emit, OpError, V
from relay2relax.ops.registry.types import Type
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, Shape, equal, is_any, mul, static, sub
from relay2relax.tir.ir.expr import const


@dataclass(frozen=True, slots=True)
class Conv1DAttrs:
    """Over the axis W.

    ``channels`` and ``kernel_size`` repeat or tell the extents of the weight.
    """

    spatial: ClassVar[str] = "W"
    strides: IndexExprArray = (1,)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1,)
    groups: Int = 1
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    data_layout: String = "NCW"
    kernel_layout: String = "OIW"
    out_layout: String = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Conv2DAttrs(Conv1DAttrs):
    """Over H and W; see :class:`Conv1DAttrs`."""

    spatial: ClassVar[str] = "HW"
    strides: IndexExprArray = (1, 1)
    dilation: IndexExprArray = (1, 1)
    data_layout: String = "NCHW"
    kernel_layout: String = "OIHW"


@dataclass(frozen=True, slots=True)
class Conv3DAttrs(Conv1DAttrs):
    """Over D, H and W; see :class:`Conv1DAttrs`."""

    spatial: ClassVar[str] = "DHW"
    strides: IndexExprArray = (1, 1, 1)
    padding: IndexExprArray = (0, 0, 0)
    dilation: IndexExprArray = (1, 1, 1)
    data_layout: String = "NCDHW"
    kernel_layout: String = "OIDHW"


@dataclass(frozen=True, slots=True)
class Conv1DTransposeAttrs:
    """Over the axis W.

    ``output_padding`` enlarges the result at the end, to say which of several sizes is meant.
    """

    spatial: ClassVar[str] = "W"
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    strides: IndexExprArray = (1,)
    output_padding: IndexExprArray = (0,)
    padding: IndexExprArray = (0,)
    dilation: IndexExprArray = (1,)
    groups: Int = 1
    data_layout: InlineString = "NCW"
    kernel_layout: InlineString = "IOW"
    out_layout: InlineString = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Conv2DTransposeAttrs(Conv1DTransposeAttrs):
    """Over H and W; see :class:`Conv1DTransposeAttrs`."""

    spatial: ClassVar[str] = "HW"
    strides: IndexExprArray = (1, 1)
    output_padding: IndexExprArray = (0, 0)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    data_layout: InlineString = "NCHW"
    kernel_layout: InlineString = "IOHW"


@dataclass(frozen=True, slots=True)
class Conv3DTransposeAttrs(Conv1DTransposeAttrs):
    """Over D, H and W; see :class:`Conv1DTransposeAttrs`."""

    spatial: ClassVar[str] = "DHW"
    strides: IndexExprArray = (1, 1, 1)
    output_padding: IndexExprArray = (0, 0, 0)
    padding: IndexExprArray = (0, 0, 0)
    dilation: IndexExprArray = (1, 1, 1)
    data_layout: String = "NCDHW"
    kernel_layout: String = "IODHW"
    out_layout: String = ""


ConvAttrs = Conv1DAttrs | Conv2DAttrs | Conv3DAttrs
ConvTransposeAttrs = Conv1DTransposeAttrs | Conv2DTransposeAttrs | Conv3DTransposeAttrs


class ConvolutionAttrs(Protocol):
    """What the attributes of all convolutions have.

    ``spatial`` are the letters of the spatial axes.
    """

    spatial: ClassVar[str]

    @property
    def strides(self) -> tuple[Extent, ...]:
        """The steps of the windows."""

    @property
    def padding(self) -> tuple[Extent, ...]:
        """What is added around the data."""

    @property
    def dilation(self) -> tuple[Extent, ...]:
        """How far apart the taps are."""

    @property
    def groups(self) -> int:
        """Into how many parts the channels are split."""

    @property
    def kernel_size(self) -> tuple[Extent, ...] | None:
        """The extents of the windows."""

    @property
    def data_layout(self) -> str:
        """The layout of the data."""

    @property
    def kernel_layout(self) -> str:
        """The layout of the weight."""

    @property
    def out_layout(self) -> str:
        """The layout of the result, that of the data where empty."""


@dataclass(frozen=True, slots=True)
class ConvCall:
    """What a convolution's attributes say once they are read."""

    spatial: str
    data: Layout
    kernel: Layout
    out: Layout
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    groups: int

    @property
    def data_order(self) -> str:
        return "NC" + self.spatial

    @property
    def kernel_order(self) -> str:
        return "OI" + self.spatial

    def windows(self, kernel: Sequence[int]) -> tuple[Window, ...]:
        """Return the windows of a kernel with spatial extents ``kernel``."""
        columns = zip(kernel, self.strides, self.dilation, self.before, self.after, strict=True)
        return tuple(Window(*column) for column in columns)


def read_call(attrs: ConvolutionAttrs, least: int | None = 1) -> ConvCall:
    """Return what the attributes say; raises OpError where they contradict each other.

    Strides and dilations are at least ``least``, any number for None.
    """
    spatial = attrs.spatial
    rank = len(spatial)
    if attrs.groups < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="groups", value=attrs.groups, expected="at least 1"))
    before, after = both_sides(attrs.padding, rank)
    return ConvCall(
        spatial,
        parse_layout(attrs.data_layout, "NC" + spatial),
        parse_layout(attrs.kernel_layout, "OI" + spatial),
        parse_layout(attrs.out_layout or attrs.data_layout, "NC" + spatial),
        per_axis(attrs.strides, rank, "strides", least),
        per_axis(attrs.dilation, rank, "dilation", least),
        before,
        after,
        attrs.groups,
    )


def extents_in(type_: Type, layout: Layout, order: str, what: str, argument: int) -> Shape:
    """Return the extents of a tensor in ``order``; raises OpError where it is no tensor of the
    layout's rank.
    """
    found = tensor(type_, argument)
    if found.rank != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what=what, rank=found.rank, layout=layout.name, needed=layout.rank), argument
        )
    return layout.extents(found.shape, order)


def check_kernel(attrs: ConvolutionAttrs, kernel: Shape) -> None:
    """Raise OpError where the kernel's spatial extents are not those that the attributes give."""
    if attrs.kernel_size is None:
        return
    expected = tuple(attrs.kernel_size)
    if len(expected) != len(kernel) or any(equal(a, b) is False for a, b in zip(expected, kernel, strict=True)):
        raise OpError(
            f"the weight's windows have extents {list(kernel)}, kernel_size is {list(expected)}",
            1,
            kind=operators.SHAPE,
        )


def check_channels(channels: Extent | None, outputs: Extent, argument: int = 1) -> None:
    """Raise OpError where the attribute ``channels`` is not the number that the weight gives."""
    if channels is not None and equal(channels, outputs) is False:
        expected = f"{outputs}, the output channels of the weight"
        raise OpError(mistake(operators.ATTRIBUTE, name="channels", value=channels, expected=expected), argument)


def known_kernel(attrs: ConvolutionAttrs, kernel: Shape) -> Shape:
    """Return the kernel's spatial extents, those that its type leaves open as the attributes give
    them.
    """
    given = attrs.kernel_size or kernel
    return tuple(known if is_any(extent) else extent for extent, known in zip(kernel, given, strict=True))


def counted_extents(kernel: Shape) -> tuple[int, ...]:
    """Return the spatial extents of a kernel for windows that count positions: 1 for those that are
    not numbers.
    """
    found = (static(extent) for extent in kernel)
    return tuple(1 if extent is None else extent for extent in found)


def beyond_counted(extent: Extent, dilation: int) -> Extent:
    """Return by how much a kernel's extent, if it is a variable, reaches further than the window
    that counts for it.
    """
    return 0 if is_any(extent) or static(extent) is not None else mul(sub(extent, 1), dilation)


def kernel_extents(kernel: Shape) -> tuple[int, ...]:
    """Return the spatial extents of a kernel as numbers."""
    found = tuple(static(extent) for extent in kernel)
    if any(extent is None for extent in found):
        raise OpError(
            f"the spatial extents of the weight must be numbers, but are {list(kernel)}", 1, kind=operators.ATTRIBUTE
        )
    return tuple(extent for extent in found if extent is not None)


def places_under(tap: Sequence[int], windows: Sequence[Window], count: Sequence[int]) -> tuple[slice, ...]:
    """Return the index, into an array with two leading axes, of the elements under one tap of all
    windows.
    """
    return (slice(None), slice(None), *(w.places(k, n) for k, w, n in zip(tap, windows, count, strict=True)))


def tap_of(tap: Sequence[int]) -> tuple[slice | int, ...]:
    """Return the index of one tap of a kernel with two leading axes."""
    return (slice(None), slice(None), *tap)


def pad_spatial(data: te.Tensor, call: ConvCall, before: Sequence[int], after: Sequence[Extent]) -> te.Tensor:
    """Return ``data``, in its own layout, padded by zeros on the spatial axes."""
    first = [0] * data.rank
    last: list[Extent] = [0] * data.rank
    for letter, b, a in zip(call.spatial, before, after, strict=True):
        first[call.data.position(letter)] = b
        last[call.data.position(letter)] = a
    return padded(data, first, last, const(0, data.dtype))


def attributes(attrs: ConvolutionAttrs, *omit: str, **changes: object) -> dict[str, Any]:
    """Return the attributes by name, some left out and some changed."""
    return {f.name: getattr(attrs, f.name) for f in attr_fields(attrs.__class__) if f.name not in omit} | changes


def to_layout(e: Emit[V], value: V, source: Layout, target: Layout) -> V:
    """Emit the transposition from one layout to another, where there is one."""
    axes = tuple(source.axes.index(axis) for axis in target.axes)
    return value if axes == tuple(range(len(axes))) else e.call("permute_dims", value, axes=axes)


def one_dtype(infer: Callable[..., Type]) -> Callable[..., Type]:
    """Return ``infer`` as Relax has it, which multiplies numbers of two dtypes only where
    ``out_dtype`` is given.
    """

    @wraps(infer)
    def checked(attrs: Any, data: Type, weight: Type) -> Type:
        x, w = tensor(data), tensor(weight, 1)
        if not attrs.out_dtype and x.dtype != w.dtype:
            raise OpError(
                f"the data has dtype {x.dtype}, the weight {w.dtype}; out_dtype may say the result's",
                1,
                kind=operators.DTYPE,
            )
        return infer(attrs, data, weight)

    return checked
