"""A two-layer perceptron in Relax: by operators, and by tensor programs of its own.

The model is that of TVM's "Understand Relax Abstraction". Both modules are written in TVMScript on
live Python, built, run with batches of several sizes, and compared with numpy.
"""

# TVMScript is Python in form alone: its annotations, loops and blocks are read, not run.
# mypy: disable-error-code="valid-type, name-defined"
# mypy: disable-error-code="attr-defined, operator, arg-type, untyped-decorator, no-untyped-def"

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from relay2relax import backends, relax_ir
from relay2relax.script import ir as I
from relay2relax.script import relax as R
from relay2relax.script import tir as T


# Matrix products and activations by name; a function alone.
@R.function
def relax_mlp(
    data: R.Tensor(("n", 784), dtype="float32"),
    w0: R.Tensor((784, 128), dtype="float32"),
    b0: R.Tensor((128,), dtype="float32"),
    w1: R.Tensor((128, 10), dtype="float32"),
    b1: R.Tensor((10,), dtype="float32"),
) -> R.Tensor(("n", 10), dtype="float32"):
    with R.dataflow():
        lv0 = R.matmul(data, w0) + b0
        lv1 = R.nn.relu(lv0)
        lv2 = R.matmul(lv1, w1) + b1
        R.output(lv2)
    return lv2


@I.ir_module
class LowLevel:
    """The same by loops: two tensor programs, symbolic in every extent, and the graph that calls
    them.
    """

    @T.prim_func(private=True)
    def linear(x: T.handle, w: T.handle, b: T.handle, z: T.handle):
        M, N, K = T.int64(), T.int64(), T.int64()
        X = T.match_buffer(x, (M, K), "float32")
        W = T.match_buffer(w, (K, N), "float32")
        B = T.match_buffer(b, (N,), "float32")
        Z = T.match_buffer(z, (M, N), "float32")
        Y = T.alloc_buffer((M, N), "float32")
        for i, j, k in T.grid(M, N, K):
            with T.block("Y"):
                v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[v_i, v_j] = T.float32(0.0)
                Y[v_i, v_j] = Y[v_i, v_j] + X[v_i, v_k] * W[v_k, v_j]
        for i, j in T.grid(M, N):
            with T.block("Z"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Z[v_i, v_j] = Y[v_i, v_j] + B[v_j]

    @T.prim_func(private=True)
    def relu(x: T.handle, y: T.handle):
        M, N = T.int64(), T.int64()
        X = T.match_buffer(x, (M, N), "float32")
        Y = T.match_buffer(y, (M, N), "float32")
        for i, j in T.grid(M, N):
            with T.block("Y"):
                v_i, v_j = T.axis.remap("SS", [i, j])
                Y[v_i, v_j] = T.max(X[v_i, v_j], T.float32(0.0))

    @R.function
    def main(
        x: R.Tensor(("n", 784), dtype="float32"),
        w0: R.Tensor((784, 256), dtype="float32"),
        b0: R.Tensor((256,), dtype="float32"),
        w1: R.Tensor((256, 10), dtype="float32"),
        b1: R.Tensor((10,), dtype="float32"),
    ) -> R.Tensor(("n", 10), dtype="float32"):
        cls = LowLevel
        n = T.int64()
        with R.dataflow():
            lv = R.call_tir(cls.linear, (x, w0, b0), out_sinfo=R.Tensor((n, 256), dtype="float32"))
            lv1 = R.call_tir(cls.relu, (lv,), out_sinfo=R.Tensor((n, 256), dtype="float32"))
            lv2 = R.call_tir(cls.linear, (lv1, w1, b1), out_sinfo=R.Tensor((n, 10), dtype="float32"))
            R.output(lv2)
        return lv2


def numpy_mlp(data: np.ndarray, w0: np.ndarray, b0: np.ndarray, w1: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """The model in numpy."""
    result: np.ndarray = np.maximum(data @ w0 + b0, 0) @ w1 + b1
    return result


def weights(hidden: int) -> list[np.ndarray]:
    """Weights of the model with so many hidden units."""
    rng = np.random.default_rng(0)
    shapes = [(784, hidden), (hidden,), (hidden, 10), (10,)]
    return [rng.standard_normal(shape).astype("float32") / 8 for shape in shapes]


def main(target: str = "numpy") -> None:
    """Print, build and run both modules; fails where one disagrees with numpy."""
    high_level = relax_ir.IRModule({relax_ir.GlobalVar("main"): relax_mlp})
    # The decorator has made a module of the class.
    modules: list[tuple[Any, int]] = [(high_level, 128), (LowLevel, 256)]
    for module, hidden in modules:
        print(module.script())
        # What was printed is a program again, the same one.
        assert relax_ir.structural_equal(relax_ir.parse(module.script()), module)
        machine = backends.VirtualMachine(backends.build(module, target=target))
        params = weights(hidden)
        for batch in (1, 3):
            data = np.random.default_rng(batch).standard_normal((batch, 784)).astype("float32")
            result = machine["main"](data, *params)
            np.testing.assert_allclose(result, numpy_mlp(data, *params), rtol=1e-4, atol=1e-4)
            print(f"{batch} x 784 -> {result.shape}: {result[0]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
