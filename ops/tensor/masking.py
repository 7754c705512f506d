"""Operators that choose by place: one_hot, trilu, sequence_mask, matrix_set_diag.

Source of the semantics: TVM 0.18, ``src/relay/op/tensor/transform.cc`` and
``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, is_int, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert, convert_element
from relay2relax.ops.common.places import FAR
from relay2relax.ops.common.shapes import ask_at_least, no_new_axis, tensor
from relay2relax.ops.registry.attributes import Bool, Double, DType, Int, Integer
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, add, as_prim, equal, minimum, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, cast, const, if_then_else, logical_and

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


@dataclass(frozen=True, slots=True)
class OneHotAttrs:
    """The extent of the new axis, its place in the result (-1: the last), and the dtype of the
    result.
    """

    depth: Int = 1
    axis: Int = -1
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class TriluAttrs:
    """Whether the upper triangle stays, or else the lower one."""

    upper: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxTriangleAttrs:
    """The diagonal at which the triangle begins; 0 is the main one, positive ones lie above it."""

    k: Integer = 0


@dataclass(frozen=True, slots=True)
class SequenceMaskAttrs:
    """What takes the place of masked elements, and the axis of time, 0 or 1."""

    mask_value: Double = 0.0
    axis: Int = 0


@dataclass(frozen=True, slots=True)
class MatrixSetDiagAttrs:
    """The lowest and the highest diagonal, and on which side shorter ones are padded in
    ``diagonal``.
    """

    k1: Int = 0
    k2: Int = 0
    super_diag_right_align: Bool = True
    sub_diag_right_align: Bool = False


# one_hot


def one_hot_shape(attrs: OneHotAttrs, indices: Type, depth: Extent) -> TensorType:
    """Return the shape of ``indices`` with an axis of ``depth`` more."""
    found = tensor(indices)
    if not is_int(found.dtype):
        raise OpError(mistake(operators.DTYPE, what="the tensor of places", dtype=found.dtype, expected="integers"), 0)
    if not -1 <= attrs.axis <= found.rank:
        raise no_new_axis(attrs.axis, found.rank)
    axis = _hot_axis(attrs, found.rank)
    return TensorType((*found.shape[:axis], depth, *found.shape[axis:]), attrs.dtype)


def _hot_axis(attrs: OneHotAttrs, rank: int) -> int:
    return rank if attrs.axis == -1 else attrs.axis


def one_hot_type(attrs: OneHotAttrs, indices: Type, on_value: Type, off_value: Type) -> Type:
    """Return the shape of ``indices`` with an axis of ``depth`` more, in the attributes' dtype."""
    if attrs.depth < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="depth", value=attrs.depth, expected="at least 1"))
    return one_hot_shape(attrs, indices, attrs.depth)


def one_hot_relay_type(attrs: OneHotAttrs, indices: Type, on_value: Type, off_value: Type) -> Type:
    """Return the type; TVM's inference does not look at the indices' element type."""
    return one_hot_type(attrs, TensorType(tensor(indices).shape, "int32"), on_value, off_value)


def one_hot_values(attrs: OneHotAttrs, indices: Array, on_value: Array, off_value: Array, depth: int) -> Array:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    axis = _hot_axis(attrs, indices.ndim)
    if not indices.size:
        return np.empty((*indices.shape[:axis], depth, *indices.shape[axis:]), numpy_dtype(attrs.dtype))
    classes = np.arange(depth).reshape(depth, *(1,) * (indices.ndim - axis))
    on, off = convert(on_value, attrs.dtype), convert(off_value, attrs.dtype)
    return np.asarray(np.where(np.expand_dims(indices, axis) == classes, on, off), numpy_dtype(attrs.dtype))


def one_hot_numpy(attrs: OneHotAttrs, indices: Array, on_value: Array, off_value: Array) -> Array:
    """Return ``on_value`` where the place along the new axis is the index, else ``off_value``."""
    return one_hot_values(attrs, indices, on_value, off_value, attrs.depth)


def one_hot_compute(
    attrs: OneHotAttrs,
    out: TensorType,
    indices: te.Tensor,
    on_value: te.Tensor,
    off_value: te.Tensor,
    *depth: te.Tensor,
) -> te.Tensor:
    """Return one of the two values at each place."""
    axis = _hot_axis(attrs, indices.rank)

    def element(*i: PrimExpr) -> PrimExpr:
        place = (*i[:axis], *i[axis + 1 :])
        hit = cast("int64", indices[place]).equal(i[axis])
        return Select(hit, convert_element(on_value[()], out.dtype), convert_element(off_value[()], out.dtype))

    return te.compute(out.shape, element, name="T_one_hot")


def one_hot_relax(e: Emit[V], attrs: OneHotAttrs, indices: V, on_value: V, off_value: V) -> V:
    """A comparison with the numbers of the classes; R.one_hot takes Python numbers only."""
    found = tensor(e.type_of(indices))
    axis = _hot_axis(attrs, found.rank)
    if found.dtype not in ("int32", "int64"):
        indices = e.call("astype", indices, dtype="int64")
    dtype = tensor(e.type_of(indices)).dtype
    classes = e.call("arange", start=0, end=attrs.depth, step=1, dtype=dtype)
    classes = e.call("reshape", classes, e.shape((attrs.depth, *(1,) * (found.rank - axis))))
    hit = e.call("equal", e.call("expand_dims", indices, axis=(axis,)), classes)
    on, off = (
        one if tensor(e.type_of(one)).dtype == attrs.dtype else e.call("astype", one, dtype=attrs.dtype)
        for one in (on_value, off_value)
    )
    return e.call("where", hit, on, off)


# trilu


def trilu_type(attrs: TriluAttrs, data: Type, k: Type) -> Type:
    """Return the type of ``data``."""
    found, diagonal = tensor(data), tensor(k, 1)
    if found.rank < 2:
        raise OpError(mistake(operators.RANK, what="the tensor of matrices", rank=found.rank, expected="at least 2"), 0)
    if diagonal.rank or not is_int(diagonal.dtype):
        raise OpError(
            mistake(
                operators.SHAPE, what="the tensor of the diagonal", shape=show(diagonal.shape), expected="one integer"
            ),
            1,
        )
    return found


def trilu_relay_type(attrs: TriluAttrs, data: Type, k: Type) -> Type:
    """Return the type.

    TVM's inference takes tensors of any rank, and any number for the diagonal.
    """
    if tensor(k, 1).rank:
        return trilu_type(attrs, data, k)
    return tensor(data)


def trilu_numpy(attrs: TriluAttrs, data: Array, k: Array) -> Array:
    """Return the triangle from diagonal ``k`` on, zeros elsewhere."""
    return np.asarray(
        (np.triu if attrs.upper else np.tril)(data, int(np.clip(k.astype(np.int64), -FAR, FAR))), data.dtype
    )


def _triangle(out: TensorType, data: te.Tensor, k: PrimExpr, upper: bool) -> te.Tensor:
    def element(*i: PrimExpr) -> PrimExpr:
        distance = i[-1] - i[-2]
        return Select(distance >= k if upper else distance <= k, data[i], const(0, out.dtype))

    return te.compute(out.shape, element, name="T_trilu")


def trilu_relax(e: Emit[V], attrs: TriluAttrs, data: V, k: V) -> V:
    """R.triu and R.tril take the diagonal as a number."""
    known = e.constant_of(k)
    if known is None or tensor(e.type_of(data)).dtype == "bool":
        return e.as_tir(trilu, attrs, (data, k), "R.triu and R.tril take a number for the diagonal, and no bool")
    return e.call("triu" if attrs.upper else "tril", data, k=int(known))


def _relax_triangle(name: str, upper: bool, doc: str) -> OpDef:
    def infer(attrs: RelaxTriangleAttrs, data: Type) -> Type:
        return trilu_type(TriluAttrs(upper), data, TensorType((), "int64"))

    return OpDef(
        doc=doc,
        source="TVM 0.27 src/relax/op/tensor/create.cc",
        inputs=("x",),
        attrs=RelaxTriangleAttrs,
        infer=infer,
        numpy=lambda attrs, data: trilu_numpy(TriluAttrs(upper), data, np.asarray(attrs.k)),
        compute=lambda attrs, out, data: _triangle(out, data, as_prim(attrs.k), upper),
        relax=SameOp(),
        script=Script(name, "x, k=0", positional=("k",)),
    )


# sequence_mask


def sequence_mask_type(attrs: SequenceMaskAttrs, data: Type, valid_length: Type) -> Type:
    """Return the type of ``data``."""
    found, lengths = tensor(data), tensor(valid_length, 1)
    if attrs.axis not in (0, 1):
        raise OpError(mistake(operators.ATTRIBUTE, name="axis", value=attrs.axis, expected="0 or 1"))
    if found.rank < 2:
        raise OpError(
            mistake(operators.RANK, what="the data", rank=found.rank, expected="at least 2: time and batch"), 0
        )
    if lengths.rank != 1 or equal(lengths.shape[0], found.shape[1 - attrs.axis]) is False:
        expected = f"{show((found.shape[1 - attrs.axis],))}, a length for each sequence of the data"
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of lengths", shape=show(lengths.shape), expected=expected), 1
        )
    return found


def sequence_mask_numpy(attrs: SequenceMaskAttrs, data: Array, valid_length: Array) -> Array:
    """Return the data with ``mask_value`` from the length of its sequence on."""
    time = np.expand_dims(np.arange(data.shape[attrs.axis]), 1 - attrs.axis)
    inside = time < np.expand_dims(valid_length, attrs.axis)
    inside = inside.reshape(*inside.shape, *(1,) * (data.ndim - 2))
    return np.asarray(np.where(inside, data, np.asarray(attrs.mask_value).astype(data.dtype)), data.dtype)


def sequence_mask_compute(
    attrs: SequenceMaskAttrs, out: TensorType, data: te.Tensor, valid_length: te.Tensor
) -> te.Tensor:
    """Return each element, or the mask value past the length of its sequence."""
    value = const(attrs.mask_value, out.dtype)

    def element(*i: PrimExpr) -> PrimExpr:
        length = valid_length[i[1 - attrs.axis]]
        return Select(cast(length.dtype, i[attrs.axis]) >= length, value, data[i])

    return te.compute(out.shape, element, name="T_sequence_mask")


def sequence_mask_relax(e: Emit[V], attrs: SequenceMaskAttrs, data: V, valid_length: V) -> V:
    """A comparison of the places in time with the lengths."""
    found, lengths = tensor(e.type_of(data)), tensor(e.type_of(valid_length), 1)
    extent = found.shape[attrs.axis]
    if lengths.dtype not in ("int32", "int64") or static(extent) is None:
        return e.as_tir(
            sequence_mask,
            attrs,
            (data, valid_length),
            "the extent in time is not known beforehand, or the lengths are small integers",
        )
    rest = (1,) * (found.rank - 2)
    time = e.call("arange", start=0, end=static(extent), step=1, dtype=lengths.dtype)
    pair = (extent, 1) if attrs.axis == 0 else (1, extent)
    batch = (1, lengths.shape[0]) if attrs.axis == 0 else (lengths.shape[0], 1)
    time = e.call("reshape", time, e.shape((*pair, *rest)))
    inside = e.call("less", time, e.call("reshape", valid_length, e.shape((*batch, *rest))))
    return e.call("where", inside, data, e.const(convert(np.asarray(attrs.mask_value), found.dtype), found.dtype))


# matrix_set_diag


def matrix_set_diag_type(attrs: MatrixSetDiagAttrs, data: Type, diagonal: Type) -> Type:
    """Return the type of ``input``; raises OpError where the diagonals do not fit it."""
    found, given = tensor(data), tensor(diagonal, 1)
    if found.rank < 2:
        raise OpError(mistake(operators.RANK, what="the tensor of matrices", rank=found.rank, expected="at least 2"), 0)
    if attrs.k1 > attrs.k2:
        raise OpError(f"k1 is {attrs.k1}, above k2, {attrs.k2}", kind=operators.ATTRIBUTE)
    rows, columns = found.shape[-2:]
    for extent, k in ((rows, -attrs.k1), (columns, attrs.k2)):
        size = static(extent)
        ask_at_least(extent, k + 1)
        if size is not None and size <= k:
            raise OpError(
                f"diagonals {attrs.k1} to {attrs.k2} lie outside of matrices of {show((rows, columns))}",
                0,
                kind=operators.SHAPE,
            )
    longest = minimum(add(rows, min(attrs.k2, 0)), add(columns, min(-attrs.k1, 0)))
    count = () if attrs.k1 == attrs.k2 else (attrs.k2 - attrs.k1 + 1,)
    want = (*found.shape[:-2], *count, longest)
    if len(want) != given.rank or any(equal(a, b) is False for a, b in zip(want, given.shape, strict=True)):
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of diagonals", shape=show(given.shape), expected=show(want)), 1
        )
    if given.dtype != found.dtype:
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of diagonals",
                dtype=given.dtype,
                expected=f"{found.dtype}, as the matrices have",
            ),
            1,
        )
    return found


def matrix_set_diag_relay_type(attrs: MatrixSetDiagAttrs, data: Type, diagonal: Type) -> Type:
    """Return the type of ``input``; TVM's inference does not look at the extents of the
    diagonals.
    """
    found, given = tensor(data), tensor(diagonal, 1)
    least = 1 if attrs.k1 == attrs.k2 else 2
    if attrs.k1 > attrs.k2 or not least <= given.rank <= found.rank + least - 1 or found.rank < 2:
        return matrix_set_diag_type(attrs, data, diagonal)
    return found


def matrix_set_diag_numpy(attrs: MatrixSetDiagAttrs, data: Array, diagonal: Array) -> Array:
    """Return the matrices with the elements of the diagonals replaced.

    Raises OpError where the diagonals do not fit them: what lies outside is no element to take.
    """
    matrix_set_diag_type(attrs, *(TensorType(one.shape, of_array(one)) for one in (data, diagonal)))
    result = np.array(data)
    rows, columns = data.shape[-2:]
    for k in range(attrs.k1, attrs.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        line = diagonal if attrs.k1 == attrs.k2 else diagonal[..., attrs.k2 - k, :]
        right = attrs.super_diag_right_align if k >= 0 else attrs.sub_diag_right_align
        start = line.shape[-1] - length if right and attrs.k1 != attrs.k2 else 0
        places = np.arange(length)
        result[..., places - min(k, 0), places + max(k, 0)] = line[..., start : start + length]
    return result


def matrix_set_diag_compute(
    attrs: MatrixSetDiagAttrs, out: TensorType, data: te.Tensor, diagonal: te.Tensor
) -> te.Tensor:
    """Return the element of its diagonal, or that of the matrix outside of them."""
    rows, columns = data.shape[-2:]
    zero = IntImm(0)

    def element(*i: PrimExpr) -> PrimExpr:
        row, column = i[-2:]
        k = column - row
        place = Select(k >= 0, row, column)
        if attrs.k1 == attrs.k2:
            index: tuple[PrimExpr, ...] = (*i[:-2], place)
        else:
            longest = diagonal.shape[-1]
            above = columns - k
            above = Select(rows < above, rows, above)
            below = rows + k
            below = Select(below < columns, below, columns)
            offset = Select(
                k >= 0,
                longest - above if attrs.super_diag_right_align else zero,
                longest - below if attrs.sub_diag_right_align else zero,
            )
            index = (*i[:-2], attrs.k2 - k, place + offset)
        return if_then_else(logical_and(k >= attrs.k1, k <= attrs.k2), diagonal[index], data[i])

    return te.compute(out.shape, element, name="T_matrix_set_diag")


# Records

one_hot = OpDef(
    relay="one_hot",
    doc="``on_value`` where the place along a new axis is the index, else ``off_value``.",
    source=f"{SOURCE}, one_hot",
    inputs=("indices", "on_value", "off_value"),
    attrs=OneHotAttrs,
    infer=one_hot_type,
    relay_type=one_hot_relay_type,
    numpy=one_hot_numpy,
    compute=one_hot_compute,
    relax=Expanded(one_hot_relax),
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

trilu = OpDef(
    relay="trilu",
    doc="The upper or lower triangle of matrices from a diagonal on, zeros elsewhere.",
    source=f"{SOURCE}, trilu",
    inputs=("data", "k"),
    attrs=TriluAttrs,
    infer=trilu_type,
    on_bad_values="A diagonal far outside leaves all or nothing.",
    relay_type=trilu_relay_type,
    numpy=trilu_numpy,
    compute=lambda attrs, out, data, k: _triangle(out, data, cast("int64", k[()]), attrs.upper),
    relax=Expanded(trilu_relax),
    declares_attrs=False,
    fusion=Fusion(OpPattern.ELEMWISE),
)

sequence_mask = OpDef(
    relay="sequence_mask",
    doc="The data, with a mask value from the length of each sequence on.",
    source=f"{SOURCE}, sequence_mask",
    inputs=("data", "valid_length"),
    attrs=SequenceMaskAttrs,
    infer=sequence_mask_type,
    numpy=sequence_mask_numpy,
    compute=sequence_mask_compute,
    relax=Expanded(sequence_mask_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

matrix_set_diag = OpDef(
    relay="matrix_set_diag",
    doc="Matrices with the elements of some diagonals replaced.",
    source=f"{SOURCE}, matrix_set_diag",
    inputs=("input", "diagonal"),
    attrs=MatrixSetDiagAttrs,
    infer=matrix_set_diag_type,
    relay_type=matrix_set_diag_relay_type,
    numpy=matrix_set_diag_numpy,
    compute=matrix_set_diag_compute,
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (
    one_hot,
    trilu,
    _relax_triangle("triu", True, "The upper triangle of matrices from a diagonal on, zeros elsewhere."),
    _relax_triangle("tril", False, "The lower triangle of matrices up to a diagonal, zeros elsewhere."),
    sequence_mask,
    matrix_set_diag,
)
