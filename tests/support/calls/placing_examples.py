"""Random calls of the operators that place elements: gathering, scattering, masks, sorting, random
numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from operator_draws import NUMBERS, PLACES, Call, Draw, Example

from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.tir.ir.expr import FloatImm, Var

# Gathering and scattering


def gather(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    axis = d.axis(len(shape))
    wanted = list(shape)
    wanted[axis] = d.extent()
    return {"axis": axis}, [d.array(shape, d.dtype()), d.places(wanted, shape[axis])]


def gather_nd(d: Draw) -> Call:
    shape = d.shape(1, 4, 1)
    batch = d.number(0, len(shape) - 1)
    depth = d.number(1, len(shape) - batch)
    tail = d.shape(0, 2)
    rows = [d.places((*shape[:batch], *tail), shape[batch + n], "int32") for n in range(depth)]
    return {"batch_dims": batch}, [d.array(shape, d.dtype()), np.stack(rows)]


def relax_gather_nd(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    depth = d.number(1, len(shape))
    tail = d.shape(0, 2)
    return {"batch_dims": 0}, [
        d.array(shape, d.dtype()),
        np.stack([d.places(tail, e, "int64") for e in shape[:depth]], -1),
    ]


def adv_index(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    places = d.shape(1, 2)
    count = d.number(1, len(shape))
    kind = d.dtype(PLACES)
    indices = [d.places(places, shape[n], kind) for n in range(count)]
    return {}, [(d.array(shape, d.dtype()), *indices)]


def index_tensor(d: Draw) -> Call:
    _, ((data, *indices),) = adv_index(d)
    return {}, [data, tuple(indices)]


def scatter_elements(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    axis, how, dtype = d.axis(len(shape)), d.pick(("update", "add", "mul", "mean", "min", "max")), d.dtype(NUMBERS)
    wanted = [d.number(0, extent) for extent in shape]
    wanted[axis] = d.number(0, shape[axis])
    places = np.argsort(d.rng.random([*wanted[:axis], shape[axis], *wanted[axis:][1:]] if axis >= 0 else shape), axis)
    # Places are distinct: among several updates of one place the last one wins in one order only.
    cut = tuple(slice(0, extent) for extent in wanted)
    places = places[cut].astype(d.dtype(PLACES))
    return {"axis": axis, "reduction": how}, [d.array(shape, dtype), places, d.array(places.shape, dtype)]


def scatter_nd(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 1), d.dtype(NUMBERS)
    depth, how = d.number(1, len(shape)), d.pick(("update", "add", "mul", "min", "max"))
    count = d.number(0, min(int(np.prod(shape[:depth])), 4))
    chosen = d.rng.permutation(int(np.prod(shape[:depth])))[:count]
    places = np.stack(np.unravel_index(chosen, shape[:depth])).astype(d.dtype(PLACES))
    return {"mode": how}, [d.array(shape, dtype), places, d.array((count, *shape[depth:]), dtype)]


def relax_scatter_nd(d: Draw) -> Call:
    attrs, (data, places, updates) = scatter_nd(d)
    return {"reduction": attrs["mode"]}, [data, np.ascontiguousarray(places.T), updates]


# Masks and other arrangements


def one_hot(d: Draw) -> Call:
    dtype, depth, shape = d.dtype(), d.number(1, 4), d.shape(0, 2)
    values = [d.array((), dtype, 0, 2), d.array((), dtype, 0, 2)]
    attrs = {"depth": depth, "axis": d.pick((-1, *range(len(shape) + 1))), "dtype": dtype}
    return attrs, [d.array(shape, d.dtype(PLACES), -1, depth), *values]


def trilu(d: Draw) -> Call:
    return {"upper": d.flag()}, [d.array(d.shape(2), d.dtype()), np.array(d.number(-2, 2), d.dtype(PLACES))]


def triangle(d: Draw) -> Call:
    return {"k": d.number(-2, 2)}, [d.array(d.shape(2), d.dtype())]


def sequence_mask(d: Draw) -> Call:
    shape, axis = d.shape(2, 4, 1), d.number(0, 1)
    lengths = d.array((shape[1 - axis],), d.dtype(PLACES), 0, shape[axis])
    return {"mask_value": d.pick((0.0, -1.0)), "axis": axis}, [d.array(shape, d.dtype(NUMBERS)), lengths]


def matrix_set_diag(d: Draw) -> Call:
    shape, dtype = (*d.shape(0, 2), d.number(1, 4), d.number(1, 4)), d.dtype()
    rows, columns = shape[-2:]
    low = d.number(1 - rows, columns - 1)
    high = d.pick((low, d.number(low, columns - 1)))
    longest = max(min(rows + min(k, 0), columns - max(k, 0)) for k in range(low, high + 1))
    lines = (high - low + 1,) if high > low else ()
    aligned = {"super_diag_right_align": d.flag(), "sub_diag_right_align": d.flag()}
    return {"k1": low, "k2": high, **aligned}, [d.array(shape, dtype), d.array((*shape[:-2], *lines, longest), dtype)]


def layout_transform(d: Draw) -> Call:
    source, target = d.pick(
        (("NCHW", "NHWC"), ("NCHW", "NCHW2c"), ("NCHW2c", "NHWC"), ("OIHW", "OIHW2i2o"), ("NC", "CN"))
    )
    sizes = {"N": d.extent(), "H": d.extent(), "W": d.extent(), "O": 2 * d.extent(1), "c": 2}
    sizes["C"] = d.extent(1) if "2c" in source else 2 * d.extent(1)
    sizes["I"] = 2 * d.extent(1)
    shape = [sizes[letter] for letter in source if letter.isalpha()]
    return {"src_layout": source, "dst_layout": target}, [d.array(shape, d.dtype())]


def reverse_sequence(d: Draw) -> Call:
    shape = d.shape(2, 4, 1)
    seq, batch = (int(axis) for axis in d.rng.permutation(len(shape))[:2])
    lengths = d.array((shape[batch],), d.dtype(PLACES), 0, shape[seq])
    return {"seq_axis": seq, "batch_axis": batch}, [d.array(shape, d.dtype()), lengths]


def sliding_window(d: Draw) -> Call:
    shape = d.shape(1, 3, 1)
    axis = d.number(0, len(shape) - 1)
    window = tuple(d.number(1, extent) for extent in shape[axis:])
    strides = tuple(d.number(1, 2) for _ in window)
    return {"axis": axis, "window_shape": window, "strides": strides}, [d.array(shape, d.dtype())]


def meshgrid(d: Draw) -> Call:
    dtype = d.dtype()
    return {"indexing": d.pick(("ij", "xy"))}, [tuple(d.array((d.extent(),), dtype) for _ in range(d.number(2, 3)))]


def unravel_index(d: Draw) -> Call:
    dtype, shape = d.dtype(PLACES), [d.number(1, 4) for _ in range(d.number(1, 3))]
    return {}, [d.places(d.shape(0, 1), int(np.prod(shape)), dtype), np.array(shape, dtype)]


def invert_permutation(d: Draw) -> Call:
    return {}, [d.distinct((d.extent(),), d.dtype(PLACES))]


def argwhere(d: Draw) -> Call:
    return {}, [d.array(d.shape(1), d.dtype(), 0, 1)]


def sparse_to_dense(d: Draw) -> Call:
    shape, dtype = tuple(d.number(1, 4) for _ in range(d.number(1, 3))), d.dtype(NUMBERS)
    chosen = d.rng.permutation(int(np.prod(shape)))[: d.number(1, 4)]
    places = np.stack(np.unravel_index(chosen, shape), -1).astype(d.dtype(PLACES))
    places = places[:, 0] if len(shape) == 1 and d.flag() else places
    return {"output_shape": shape}, [places, d.array((len(chosen),), dtype), d.array((), dtype)]


def sparse_reshape(d: Draw) -> Call:
    rows = d.places((d.extent(1), 3), 2, "int64")
    return {}, [rows, np.array([2, 3, 4], np.int64), np.array(d.pick(([8, -1], [24], [4, 2, 3])), np.int64)]


def sparse_fill_empty_rows(d: Draw) -> Call:
    rows, columns, count = d.number(1, 5), d.number(1, 4), d.number(1, 4)
    chosen = np.sort(d.rng.choice(rows * columns, min(count, rows * columns), replace=False))
    places = np.stack(np.unravel_index(chosen, (rows, columns)), -1).astype(np.int64)
    values = d.array((len(chosen),), "float32")
    return {}, [places, values, np.array([rows, columns], np.int64), d.array((1,), "float32")]


def collapse_sum_like(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 1), d.dtype(NUMBERS)
    return {}, [d.array(shape, dtype), d.array(d.broadcast(shape), dtype)]


def collapse_sum_to(d: Draw) -> Call:
    _, (data, like) = collapse_sum_like(d)
    return {"shape": like.shape}, [data, np.array(like.shape, np.int32)]


def relax_collapse_sum_to(d: Draw) -> Call:
    _, (data, like) = collapse_sum_like(d)
    return {}, [data, like.shape]


def strided_set(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 2), d.dtype()
    begin = [d.number(0, extent - 1) for extent in shape]
    end = [d.number(low + 1, extent) for low, extent in zip(begin, shape, strict=True)]
    strides = [d.number(1, 2) for _ in shape]
    sizes = [-(-(high - low) // step) for low, high, step in zip(begin, end, strides, strict=True)]
    return {}, [
        d.array(shape, dtype),
        d.array(sizes, dtype),
        *(np.array(one, np.int32) for one in (begin, end, strides)),
    ]


def einsum(d: Draw) -> Call:
    i, j, k, dtype = d.extent(1), d.extent(1), d.extent(1), d.dtype(("float32", "float64", "int32"))
    cases: tuple[tuple[str, list[tuple[int, ...]]], ...] = (
        ("ij,jk->ik", [(i, j), (j, k)]), ("ij->ji", [(i, j)]), ("ii->i", [(i, i)]), ("...ij->...", [(k, i, j)]),
        ("ij,ij", [(i, j), (i, j)]), ("i,j->ij", [(i,), (j,)]),
    )  # fmt: skip
    equation, shapes = d.pick(cases)
    return {"equation": equation}, [tuple(d.array(shape, dtype) for shape in shapes)]


def spectrum(d: Draw) -> Call:
    shape, dtype = (*d.shape(0, 2, 1), d.number(1, 8)), d.dtype(("float32", "float64"))
    return {"inverse": d.flag()}, [d.array(shape, dtype), d.array(shape, dtype)]


def short_time_spectrum(d: Draw) -> Call:
    dtype, size = d.dtype(("float32", "float64")), d.pick((4, 6))
    attrs = {
        "n_fft": size,
        "hop_length": d.number(1, 4),
        "win_length": size,
        "normalized": d.flag(),
        "onesided": d.flag(),
    }
    return attrs, [d.array((d.number(1, 2), size + d.number(0, 9)), dtype), d.array((size,), dtype)]


# Sorting


def sort(d: Draw) -> Call:
    data = d.array(d.shape(1, 3), d.dtype(NUMBERS))
    return {"axis": d.axis(data.ndim), "is_ascend": d.flag()}, [data]


def argsort(d: Draw) -> Call:
    attrs, args = sort(d)
    return {**attrs, "dtype": d.pick(("int32", "int64", "float32"))}, args


def relax_sort(d: Draw) -> Call:
    attrs, args = sort(d)
    return {"axis": attrs["axis"], "descending": d.flag()}, args


def relax_argsort(d: Draw) -> Call:
    attrs, args = relax_sort(d)
    return {**attrs, "dtype": d.pick(("int32", "int64"))}, args


def topk(d: Draw) -> Call:
    attrs, (data,) = argsort(d)
    return {**attrs, "k": d.number(0, data.shape[attrs["axis"]]), "ret_type": d.pick(("both", "values", "indices"))}, [
        data
    ]


def relax_topk(d: Draw) -> Call:
    attrs, args = topk(d)
    attrs = {"largest" if name == "is_ascend" else name: value for name, value in attrs.items()}
    if 0 in args[0].shape:
        args = [d.array((3,), "float32")]
        attrs = {**attrs, "axis": 0, "k": min(attrs["k"], 3)}
    return {**attrs, "k": max(attrs["k"], 1), "dtype": d.pick(("int32", "int64"))}, args


def searchsorted(d: Draw) -> Call:
    lines, dtype = d.shape(0, 2), d.dtype(NUMBERS)
    sequence = np.sort(d.array((*lines, d.extent()), dtype, 0, 4), -1)
    return {"right": d.flag(), "dtype": d.pick(PLACES)}, [sequence, d.array((*lines, d.extent()), dtype, -1, 5)]


def bucketize(d: Draw) -> Call:
    dtype = d.dtype(("float32", "int32", "int64", "float64"))
    bounds = np.sort(d.array((d.extent(),), dtype, 0, 4))
    return {"out_int32": d.flag(), "right": d.flag()}, [d.array(d.shape(0, 2), dtype, -1, 5), bounds]


def unique(d: Draw) -> Call:
    return {"sorted": d.flag(), "return_counts": d.flag()}, [d.array((d.extent(1),), d.dtype(NUMBERS), 0, 2)]


def random_key(d: Draw) -> np.ndarray:
    return d.rng.integers(0, 1 << 63, 10).astype(np.uint64)


def random_numbers(d: Draw) -> Call:
    dtype = d.pick(("float32", "float64"))
    ends = [np.array(d.pick((0, -1)), dtype), np.array(d.pick((1, 4)), dtype)]
    return {"out_shape": d.shape(1, 3, 1), "out_dtype": dtype}, [random_key(d), *ends]


def multinomial(d: Draw) -> Call:
    return {"num_samples": d.number(1, 4)}, [
        random_key(d),
        d.array((*d.shape(0, 1, 1), d.number(1, 5)), "float32", 0.125, 1),
    ]


def eye(d: Draw) -> Call:
    return {"n": d.number(0, 5), "m": d.pick((None, d.number(0, 5))), "k": d.number(-2, 2), "dtype": d.dtype()}, []


def eye_like(d: Draw) -> Call:
    return {"k": d.number(-2, 2), "dtype": d.pick(("", d.dtype()))}, [d.array(d.shape(2, 2), d.dtype())]


def hamming_window(d: Draw) -> Call:
    attrs = {"window_size": d.number(1, 9), "periodic": d.flag(), "alpha": 0.54, "beta": 0.46}
    return {**attrs, "dtype": d.pick(("float32", "float64"))}, []


def relax_one_hot(d: Draw) -> Call:
    _, (indices, *_) = one_hot(d)
    attrs = {"on_value": FloatImm(2.0), "off_value": FloatImm(-1.0), "depth": d.number(1, 4)}
    return {**attrs, "axis": d.pick((-1, *range(indices.ndim + 1)))}, [indices]


def index_put(d: Draw) -> Call:
    shape, dtype = d.shape(1, 3, 1), d.dtype(NUMBERS)
    count = d.number(1, min(shape))
    # Distinct places: what several values leave at one place depends on their order.
    indices = tuple(d.rng.permutation(extent)[:count].astype("int64") for extent in shape)
    return {"accumulate": d.flag()}, [d.array(shape, dtype), indices, d.array((count,), dtype)]


def slice_scatter(d: Draw) -> Call:
    shape, dtype = list(d.shape(1, 3, 1)), d.dtype()
    axis = d.axis(len(shape))
    begin, step = d.number(0, shape[axis] - 1), d.number(1, 2)
    end = d.number(begin, shape[axis])
    data = d.array(shape, dtype)
    shape[axis] = -(-(end - begin) // step)
    return {"start": begin, "end": end, "step": step, "axis": axis}, [data, d.array(shape, dtype)]


def scheduled_layout(d: Draw) -> Call:
    rows, columns = 2 * d.number(1, 3), 2 * d.number(1, 3)
    attrs = {"src_layout": f"{rows}n{columns}k", "dst_layout": f"{rows // 2}n{columns}k2n"}
    return attrs, [d.array((rows, columns), d.dtype())]


def mapped_layout(d: Draw) -> Call:
    i, j = Var("i"), Var("j")
    return {"index_map": IndexMap((i, j), (j, i // 2, i % 2))}, [d.array((2 * d.number(1, 3), d.extent(1)), d.dtype())]


def relax_unique(d: Draw) -> Call:
    names = ("sorted", "return_index", "return_inverse", "return_counts")
    attrs: dict[str, Any] = {name: d.flag() for name in names}
    shape = tuple(d.extent(1) for _ in range(d.number(1, 3)))
    if d.flag():
        attrs["axis"] = d.number(-len(shape), len(shape) - 1)
    return attrs, [d.array(shape, d.dtype(NUMBERS), 0, 2)]


def dynamic_slice(d: Draw) -> Call:
    shape = d.shape(1, 3)
    begin = [d.number(0, extent) for extent in shape]
    places = begin, [d.number(low, extent) for low, extent in zip(begin, shape, strict=True)], [1 for _ in shape]
    return {}, [d.array(shape, d.dtype()), *(np.array(one, np.int64) for one in places)]


PLACING_EXAMPLES: dict[str, Example] = {
    **dict.fromkeys(("gather", "R.gather_elements"), gather),
    **dict.fromkeys(("R.triu", "R.tril"), triangle),
    **dict.fromkeys(("random.uniform", "random.normal"), random_numbers),
    "gather_nd": gather_nd,
    "R.gather_nd": relax_gather_nd,
    "adv_index": adv_index,
    "R.index_tensor": index_tensor,
    "scatter_elements": scatter_elements,
    "scatter_nd": scatter_nd,
    "R.scatter_nd": relax_scatter_nd,
    "one_hot": one_hot,
    "trilu": trilu,
    "sequence_mask": sequence_mask,
    "matrix_set_diag": matrix_set_diag,
    "layout_transform": layout_transform,
    "reverse_sequence": reverse_sequence,
    "sliding_window": sliding_window,
    "meshgrid": meshgrid,
    "unravel_index": unravel_index,
    "invert_permutation": invert_permutation,
    "argwhere": argwhere,
    "R.nonzero": argwhere,
    "R.unique": relax_unique,
    "R.shape_of": argwhere,
    "R.dynamic_strided_slice": dynamic_slice,
    "sparse_to_dense": sparse_to_dense,
    "sparse_reshape": sparse_reshape,
    "sparse_fill_empty_rows": sparse_fill_empty_rows,
    "collapse_sum_like": collapse_sum_like,
    "collapse_sum_to": collapse_sum_to,
    "R.collapse_sum_to": relax_collapse_sum_to,
    "strided_set": strided_set,
    "einsum": einsum,
    "dft": spectrum,
    "stft": short_time_spectrum,
    "sort": sort,
    "argsort": argsort,
    "R.sort": relax_sort,
    "R.argsort": relax_argsort,
    "topk": topk,
    "R.topk": relax_topk,
    "searchsorted": searchsorted,
    "R.bucketize": bucketize,
    "unique": unique,
    "R.eye": eye,
    "R.eye_like": eye_like,
    "R.hamming_window": hamming_window,
    "R.one_hot": relax_one_hot,
    "R.index_put": index_put,
    "R.slice_scatter": slice_scatter,
    "auto_scheduler_layout_transform": scheduled_layout,
    **dict.fromkeys(("meta_schedule_layout_transform", "R.layout_transform"), mapped_layout),
    "random.threefry_generate": lambda d: ({"out_shape": d.shape(1, 2, 1)}, [random_key(d)]),
    "random.threefry_split": lambda d: ({}, [random_key(d)]),
    "random.multinomial": multinomial,
}
