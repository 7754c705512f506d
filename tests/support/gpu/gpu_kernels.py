"""Kernels written by hand, one of each kind that GPUs run, and what they compute."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relay2relax import relax_ir as rx
from relay2relax.core.dtype import Array
from relay2relax.tir.ir.stmt import PrimFunc

HEAD = """
from tvm.script import ir as I
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def kernel({params}):
"""


@dataclass(frozen=True)
class Kernel:
    """The body of a kernel, the shapes of its inputs and of its result, and numpy's way to it."""

    body: str
    inputs: tuple[tuple[int, ...], ...]
    result: tuple[int, ...]
    expected: Callable[..., Array]
    integers: bool = False

    def func(self, old: str = "", new: str = "") -> PrimFunc:
        """Return the kernel, or the kernel with one text for another, which it has once."""
        body = textwrap.dedent(self.body).strip()
        if old:
            assert body.count(old) == 1, (old, body.count(old))
            body = body.replace(old, new)
        shapes = [*self.inputs, self.result]
        dtypes = ["int32" if self.integers else "float32"] * len(self.inputs) + ["float32"]
        names = "ABCDEFG"
        params = [f'{names[n]}: T.Buffer({s}, "{d}")' for n, (s, d) in enumerate(zip(shapes, dtypes, strict=True))]
        module = rx.parse(HEAD.format(params=", ".join(params)) + textwrap.indent(body, " " * 8))
        (func,) = module.functions.values()
        assert isinstance(func, PrimFunc)
        return func

    def arrays(self) -> list[Array]:
        """Return values for the inputs."""
        rng = np.random.default_rng(0)
        if self.integers:
            return [rng.integers(0, 8, shape).astype("int32") for shape in self.inputs]
        return [rng.standard_normal(shape).astype("float32") for shape in self.inputs]


def _softmax(x: Array) -> Array:
    found = np.exp(x - x.max(axis=1, keepdims=True))
    result: Array = found / found.sum(axis=1, keepdims=True)
    return result


SOFTMAX = Kernel(
    """
    for b in T.thread_binding(6, thread="blockIdx.x"):
        stage = T.alloc_buffer((4,), "float32", scope="shared")
        r = T.alloc_buffer((1,), "float32", scope="local")
        e = T.alloc_buffer((1,), "float32", scope="local")
        for t in T.thread_binding(128, thread="threadIdx.x"):
            r[0] = A[b, t]
            for k in T.unroll(5):
                r[0] = T.max(r[0], T.tvm_warp_shuffle_xor(T.tvm_warp_activemask(), r[0], T.shift_left(1, k), 32, 32))
            if t % 32 == 0:
                stage[t // 32] = r[0]
            T.evaluate(T.tvm_storage_sync("shared"))
            r[0] = T.max(T.max(stage[0], stage[1]), T.max(stage[2], stage[3]))
            e[0] = T.exp(A[b, t] - r[0])
            r[0] = e[0]
            T.evaluate(T.tvm_storage_sync("shared" ))
            for k in T.unroll(5):
                r[0] = r[0] + T.tvm_warp_shuffle_down(T.tvm_warp_activemask(), r[0], T.shift_right(16, k), 32, 32)
            if 0 == t % 32:
                stage[t // 32] = r[0]
            T.evaluate(T.tvm_storage_sync("shared"  ))
            B[b, t] = e[0] / (stage[0] + stage[1] + stage[2] + stage[3])
    """,
    ((6, 128),),
    (6, 128),
    _softmax,
)
PRODUCT = Kernel(
    """
    for by in T.thread_binding(3, thread="blockIdx.y"):
        for bx in T.thread_binding(2, thread="blockIdx.x"):
            a = T.alloc_buffer((16, 17), "float32", scope="shared")
            b = T.alloc_buffer((16, 16), "float32", scope="shared")
            sum = T.alloc_buffer((1,), "float32", scope="local")
            for ty in T.thread_binding(16, thread="threadIdx.y"):
                for tx in T.thread_binding(16, thread="threadIdx.x"):
                    sum[0] = T.float32(0)
                    for k in range(3):
                        a[ty, tx] = T.if_then_else(
                            by * 16 + ty < 40 and k * 16 + tx < 44, A[by * 16 + ty, k * 16 + tx], T.float32(0))
                        b[ty, tx] = T.if_then_else(k * 16 + ty < 44, B[k * 16 + ty, bx * 16 + tx], T.float32(0))
                        T.evaluate(T.tvm_storage_sync("shared"))
                        for i in range(16):
                            sum[0] = sum[0] + a[ty, i] * b[i, tx]
                        T.evaluate(T.tvm_storage_sync("shared" ))
                    if by * 16 + ty < 40:
                        C[by * 16 + ty, bx * 16 + tx] = sum[0]
    """,
    ((40, 44), (44, 32)),
    (40, 32),
    lambda a, b: a @ b,
)
TRANSPOSE = Kernel(
    """
    for b in T.thread_binding(4, thread="blockIdx.x"):
        tile = T.alloc_buffer((32, 33), "float32", scope="shared")
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for i in T.unroll(4):
                tile[i * 8 + t // 32, t % 32] = A[i * 8 + t // 32, b * 32 + t % 32]
            T.evaluate(T.tvm_storage_sync("shared"))
            for i in T.unroll(4):
                B[b * 32 + i * 8 + t // 32, t % 32] = tile[t % 32, i * 8 + t // 32]
    """,
    ((32, 128),),
    (128, 32),
    lambda a: a.T,
)
TREE = Kernel(
    """
    for b in T.thread_binding(5, thread="blockIdx.x"):
        s = T.alloc_buffer((64,), "float32", scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            s[t] = A[b * 64 + t]
            T.evaluate(T.tvm_storage_sync("shared"))
            for k in range(6):
                if t < T.shift_right(32, k):
                    s[t] = s[t] + s[t + T.shift_right(32, k)]
                T.evaluate(T.tvm_storage_sync("shared" ))
            if t == 0:
                B[b] = s[0]
    """,
    ((320,),),
    (5,),
    lambda a: a.reshape(5, 64).sum(axis=1),
)
VECTORS = Kernel(
    """
    for b in T.thread_binding(2, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if b * 256 + t * 4 + 4 <= 501:
                for l in T.vectorized(4):
                    C[b * 256 + t * 4 + l] = A[b * 256 + t * 4 + l] * T.float32(2) + B[b * 256 + t * 4 + l]
            else:
                for l in range(4):
                    if b * 256 + t * 4 + l < 501:
                        C[b * 256 + t * 4 + l] = A[b * 256 + t * 4 + l] * T.float32(2) + B[b * 256 + t * 4 + l]
    """,
    ((501,), (501,)),
    (501,),
    lambda a, b: a * 2 + b,
)
STENCIL = Kernel(
    """
    for b in T.thread_binding(4, thread="blockIdx.x"):
        s = T.alloc_buffer((66,), "float32", scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            s[t + 1] = A[b * 64 + t]
            if t == 0:
                s[0] = T.if_then_else(b > 0, A[T.max(b * 64 - 1, 0)], T.float32(0))
            if t == 63:
                s[65] = T.if_then_else(b < 3, A[T.min(b * 64 + 64, 255)], T.float32(0))
            T.evaluate(T.tvm_storage_sync("shared"))
            B[b * 64 + t] = s[t] + s[t + 1] + s[t + 2]
    """,
    ((256,),),
    (256,),
    lambda a: np.convolve(a, np.ones(3, "float32"), "same"),
)
TWO = Kernel(
    """
    w = T.alloc_buffer((256,), "float32")
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            w[b * 64 + t] = A[b * 64 + t] * A[b * 64 + t]
    for b in T.thread_binding(4, thread="blockIdx.x"):
        for t in T.thread_binding(64, thread="threadIdx.x"):
            B[b * 64 + t] = w[255 - (b * 64 + t)]
    """,
    ((256,),),
    (256,),
    lambda a: np.square(a)[::-1],
)
HISTOGRAM = Kernel(
    """
    for b in T.thread_binding(1, thread="blockIdx.x"):
        count = T.alloc_buffer((8,), "float32", scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            if t < 8:
                count[t] = T.float32(0)
            T.evaluate(T.tvm_storage_sync("shared"))
            for i in range(3):
                T.evaluate(T.call_extern("float32", "atomicAdd", T.address_of(count[A[i * 64 + t]]), T.float32(1)))
            T.evaluate(T.tvm_storage_sync("shared" ))
            if t < 8:
                B[t] = count[t]
    """,
    ((192,),),
    (8,),
    lambda a: np.bincount(a, minlength=8),
    integers=True,
)


def _half_product(a: Array, b: Array) -> Array:
    # Products of half numbers are exact in single precision, and these sums nearly so.
    found: Array = a.astype("float16").astype("float64") @ b.astype("float16").astype("float64")
    return found


FRAGMENTS = Kernel(
    """
    for b in T.thread_binding(2, thread="blockIdx.x"):
        left = T.alloc_buffer((640,), "float16", scope="shared")
        right = T.alloc_buffer((1280,), "float16", scope="shared")
        stage = T.alloc_buffer((768,), "float32", scope="shared")
        for t in T.thread_binding(64, thread="threadIdx.x"):
            fa = T.alloc_buffer((256,), "float16", scope="wmma.matrix_a")
            fb = T.alloc_buffer((256,), "float16", scope="wmma.matrix_b")
            fc = T.alloc_buffer((256,), "float32", scope="wmma.accumulator")
            for i in T.unroll(8):
                left[(i * 2 + t // 32) * 40 + t % 32] = T.Cast("float16", A[b * 16 + i * 2 + t // 32, t % 32])
            for i in T.unroll(16):
                right[(i * 2 + t // 32) * 40 + t % 32] = T.Cast("float16", B[i * 2 + t // 32, t % 32])
            T.evaluate(T.tvm_fill_fragment(fc.data, 16, 16, 16, 0, T.float32(0)))
            T.evaluate(T.tvm_storage_sync("shared"))
            for k in range(2):
                T.evaluate(T.tvm_load_matrix_sync(fa.data, 16, 16, 16, 0, T.tvm_access_ptr(
                    T.type_annotation("float16"), left.data, k * 16, 640, 1), 40, "row_major"))
                T.evaluate(T.tvm_load_matrix_sync(fb.data, 16, 16, 16, 0, T.tvm_access_ptr(
                    T.type_annotation("float16"), right.data, k * 640 + t // 32 * 16, 1280, 1), 40, "row_major"))
                T.evaluate(T.tvm_mma_sync(fc.data, 0, fa.data, 0, fb.data, 0, fc.data, 0))
            T.evaluate(T.tvm_store_matrix_sync(
                fc.data, 16, 16, 16, 0, T.address_of(stage[t // 32 * 384]), 24, "row_major"))
            T.evaluate(T.tvm_storage_sync("shared" ))
            for i in T.unroll(8):
                C[b * 16 + i * 2 + t // 32, t % 32] = stage[t % 32 // 16 * 384 + (i * 2 + t // 32) * 24 + t % 16]
    """,
    ((32, 32), (32, 32)),
    (32, 32),
    _half_product,
)
KERNELS = {
    "softmax": SOFTMAX,
    "product": PRODUCT,
    "transpose": TRANSPOSE,
    "tree": TREE,
    "vectors": VECTORS,
    "stencil": STENCIL,
    "two": TWO,
    "histogram": HISTOGRAM,
    "fragments": FRAGMENTS,
}
