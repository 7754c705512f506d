"""Programs to schedule, their evaluation on numpy, and random steps of schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from relay2relax.backends.numpy.tir import evaluate_prim_func
from relay2relax.tir import PrimFunc, TIRError, te
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Select, Var, binary, const, maximum
from relay2relax.tir.ir.intrinsics import call, min_value
from relay2relax.tir.schedule import Schedule

random = np.random.default_rng(0)


def dense(rows: int | PrimExpr = 7, inner: int = 10, columns: int = 9) -> PrimFunc:
    """relu(x @ w + b), the bias and the relu as stages of their own."""
    x = te.placeholder((rows, inner), "float32", "x")
    w, b = te.placeholder((inner, columns), "float32", "w"), te.placeholder((columns,), "float32", "b")
    k = te.reduce_axis(inner, "k")
    product = te.compute((rows, columns), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), "product")
    shifted = te.compute((rows, columns), lambda i, j: product[i, j] + b[j], "shifted")
    out = te.compute((rows, columns), lambda i, j: maximum(shifted[i, j], const(0, "float32")), "out")
    return te.create_prim_func([x, w, b], [out], "dense")


def convolution() -> PrimFunc:
    """A padded 3x3 convolution with stride 2 and a relu."""
    x, w = te.placeholder((1, 3, 7, 7), "float32", "x"), te.placeholder((4, 3, 3, 3), "float32", "w")

    def padded(n: Var, c: Var, h: Var, v: Var) -> PrimExpr:
        inside = binary("and", binary("and", h >= 1, h < 8), binary("and", v >= 1, v < 8))
        return call("if_then_else", inside, x[n, c, h - 1, v - 1], const(0, "float32"), dtype="float32")

    pad = te.compute((1, 3, 9, 9), padded, "pad")
    c, p, q = te.reduce_axis(3, "c"), te.reduce_axis(3, "p"), te.reduce_axis(3, "q")
    conv = te.compute(
        (1, 4, 4, 4),
        lambda n, o, h, v: te.sum(pad[n, c, h * 2 + p.var, v * 2 + q.var] * w[o, c, p, q], axis=(c, p, q)),
        "conv",
    )
    out = te.compute((1, 4, 4, 4), lambda *i: maximum(conv[i], const(0, "float32")), "out")
    return te.create_prim_func([x, w], [out], "convolution")


def argmax() -> PrimFunc:
    x = te.placeholder((5, 6), "float32", "x")
    k = te.reduce_axis(6, "k")

    def combine(best: Sequence[PrimExpr], new: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        return Select(best[1] >= new[1], best[0], new[0]), Select(best[1] >= new[1], best[1], new[1])

    identity = (const(-1, "int64"), min_value("float32"))
    index, _ = te.compute_several((5,), lambda i: te.Reduce(combine, identity, (k.var, x[i, k]), (k,)), "argmax")
    return te.create_prim_func([x], [index], "argmax")


def data(func: PrimFunc, rows: int = 7) -> list[np.ndarray]:
    """Return inputs for ``func``; symbolic extents are ``rows``."""
    inputs = func.buffers[: len(func.buffers) - func.num_outputs]
    return [random.standard_normal(shape_of(buffer, rows)).astype(buffer.dtype) for buffer in inputs]


def shape_of(buffer: Buffer, rows: int) -> tuple[int, ...]:
    return tuple(getattr(extent, "value", rows) for extent in buffer.shape)


def on_numpy(func: PrimFunc, inputs: list[np.ndarray], rows: int = 7) -> np.ndarray:
    output = func.buffers[-1]
    result = np.full(shape_of(output, rows), 7, output.dtype)
    evaluate_prim_func(func, inputs, [result])
    return result


def matmul(rows: int | PrimExpr = 32, columns: int = 32, inner: int = 32) -> PrimFunc:
    a, b = te.placeholder((rows, inner), "float32", "a"), te.placeholder((inner, columns), "float32", "b")
    k = te.reduce_axis(inner, "k")
    product = te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), "c")
    return te.create_prim_func([a, b], [product], "matmul")


def softmax(rows: int | PrimExpr = 5) -> PrimFunc:
    """Four stages, of which two are reductions along rows."""
    x = te.placeholder((rows, 12), "float32", "x")
    k, m = te.reduce_axis(12, "k"), te.reduce_axis(12, "m")
    largest = te.compute((rows,), lambda i: te.max(x[i, k], axis=k), "largest")
    power = te.compute((rows, 12), lambda i, j: call("exp", x[i, j] - largest[i]), "power")
    total = te.compute((rows,), lambda i: te.sum(power[i, m], axis=m), "total")
    out = te.compute((rows, 12), lambda i, j: power[i, j] / total[i], "out")
    return te.create_prim_func([x], [out], "softmax")


def chain(rows: int | PrimExpr = 9) -> PrimFunc:
    """Elementwise stages, of which one turns the matrix around."""
    x, y = te.placeholder((rows, 10), "float32", "x"), te.placeholder((10, rows), "float32", "y")
    double = te.compute((rows, 10), lambda i, j: x[i, j] * const(2, "float32"), "double")
    turned = te.compute((10, rows), lambda i, j: double[j, i] + y[i, j], "turned")
    out = te.compute((10, rows), lambda i, j: maximum(turned[i, j], const(0, "float32")), "out")
    return te.create_prim_func([x, y], [out], "chain")


def blur(columns: int = 16) -> PrimFunc:
    """Sums of three neighbours among sums over a last dimension, then the largest of pairs."""
    x = te.placeholder((6, columns + 2, 3), "float32", "x")
    k, p = te.reduce_axis(3, "k"), te.reduce_axis(2, "p")
    flat = te.compute((6, columns + 2), lambda i, j: te.sum(x[i, j, k], axis=k), "flat")
    blurred = te.compute((6, columns), lambda i, j: flat[i, j] + flat[i, j + 1] + flat[i, j + 2], "blurred")
    out = te.compute((6, columns // 2), lambda i, j: te.max(blurred[i, j * 2 + p.var], axis=p), "out")
    return te.create_prim_func([x], [out], "blur")


PROGRAMS = [
    dense(),
    dense(Var("n")),
    convolution(),
    argmax(),
    matmul(8, 12, 10),
    softmax(),
    softmax(Var("n")),
    chain(),
    chain(Var("n")),
    blur(),
]

Draw = Callable[..., Any]


def _layout(dimensions: int, draw: Draw) -> Callable[..., list[PrimExpr]]:
    """Return a random map of indices: in another order, one of them perhaps as two digits."""
    order = draw(st.permutations(range(dimensions)))
    cut, size = draw(st.integers(-1, dimensions - 1)), draw(st.sampled_from([2, 3, 4]))

    def mapped(*indices: PrimExpr) -> list[PrimExpr]:
        found = [index // size if place == cut else index for place, index in enumerate(indices)]
        return [found[place] for place in order] + ([indices[cut] % size] if cut >= 0 else [])

    return mapped


def _step(s: Schedule, name: str, draw: Draw) -> None:
    """Take one random step of the kind ``name``; raises TIRError where it is refused."""
    block = draw(st.sampled_from(s.get_blocks()))
    loops = s.get_loops(block)
    everywhere = [one for other in s.get_blocks() for one in s.get_loops(other)]
    loop = draw(st.sampled_from(loops or everywhere))
    match name:
        case "split" | "loop_partition":
            s_factors = [[None, 2], [None, 3], [2, None], [None, 2, 2]]
            getattr(s, name)(loop, draw(st.sampled_from(s_factors)))
        case "fuse":
            place = loops.index(loop) if loop in loops else 0
            s.fuse(*loops[place : place + draw(st.integers(2, 3))])
        case "reorder":
            s.reorder(*draw(st.permutations(loops)))
        case "decompose_reduction":
            s.decompose_reduction(block, loop)
        case "compute_inline" | "reverse_compute_inline":
            getattr(s, name)(block)
        case "compute_at" | "reverse_compute_at":
            getattr(s, name)(block, draw(st.sampled_from(everywhere)), draw(st.booleans()))
        case "rfactor":
            s.rfactor(loop, draw(st.integers(-3, 2)))
        case "cache_read" | "cache_write":
            getattr(s, name)(block, draw(st.integers(0, 1)), draw(st.sampled_from(["global", "local"])))
        case "transform_layout":
            how = (draw(st.sampled_from(["read", "write"])), draw(st.integers(0, 1)))
            regions = s.get_block(block).reads if how[0] == "read" else s.get_block(block).writes
            if how[1] < len(regions):
                mapped = _layout(len(regions[how[1]].region), draw)
                s.transform_layout(block, how, mapped, draw(st.sampled_from([None, 3.0])))
        case "transform_block_layout":
            s.transform_block_layout(block, _layout(len(s.get_block(block).iter_vars), draw))
        case _:
            getattr(s, name)(loop)


STEPS = (
    *("split", "fuse", "reorder", "parallel", "vectorize", "unroll", "loop_partition", "add_unit_loop", "blockize"),
    *("decompose_reduction", "rfactor", "compute_inline", "reverse_compute_inline", "compute_at", "reverse_compute_at"),
    *("cache_read", "cache_write", "transform_layout", "transform_block_layout"),
)


def random_schedule(func: PrimFunc, draw: Draw, most: int = 10) -> tuple[PrimFunc, list[str]]:
    """Return ``func`` after some random steps, and these; steps that are refused are left out."""
    s = Schedule(func)
    done: list[str] = []
    for _ in range(draw(st.integers(1, most))):
        step = draw(st.sampled_from(STEPS))
        try:
            _step(s, step, draw)
        except TIRError:
            continue
        done.append(step)
    return s.func, done
