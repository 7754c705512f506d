"""One classifier told in many ways: tensor programs, library functions, both, and with its weights
bound.

The steps are those of the chapter "End to End Model Execution" of the machine learning compilation
course. The modules stand here as they were first written, in the TVMScript of 2022; they are read,
printed in today's, built and run.
"""
# Functions of a module call each other by name, `Tensor` is a word of scripts, and annotations hold
# dtypes in quotes.
# ruff: noqa: F821, F841, UP037
# Decorated programs are Python only in form, and the classes that hold them become modules.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, name-defined"
# mypy: disable-error-code="no-untyped-def, type-arg, valid-type"

# This is needed for deferring annotation parsing in TVMScript
from __future__ import annotations

import sys

import numpy as np

from relay2relax import backends, relax_ir, script
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.script import relax as R
from relay2relax.script import tir as T

CLASS_NAMES = ("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot")


# fmt: off
@script.ir_module
class MyModule:
    @T.prim_func
    def relu0(X: T.Buffer[(1, 128), "float32"],
              Y: T.Buffer[(1, 128), "float32"]):
        # function attr dict
        T.func_attr({"global_symbol": "relu0", "tir.noalias": True})
        for i, j in T.grid(1, 128):
            with T.block("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = T.max(X[vi, vj], T.float32(0))

    @T.prim_func
    def linear0(X: T.Buffer[(1, 784), "float32"],
                W: T.Buffer[(128, 784), "float32"],
                B: T.Buffer[(128,), "float32"],
                Z: T.Buffer[(1, 128), "float32"]):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        Y = T.alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]

        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @T.prim_func
    def linear1(X: T.Buffer[(1, 128), "float32"],
                W: T.Buffer[(10, 128), "float32"],
                B: T.Buffer[(10,), "float32"],
                Z: T.Buffer[(1, 10), "float32"]):
        T.func_attr({"global_symbol": "linear1", "tir.noalias": True})
        Y = T.alloc_buffer((1, 10), "float32")
        for i, j, k in T.grid(1, 10, 128):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]

        for i, j in T.grid(1, 10):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(x: Tensor((1, 784), "float32"),
             w0: Tensor((128, 784), "float32"),
             b0: Tensor((128,), "float32"),
             w1: Tensor((10, 128), "float32"),
             b1: Tensor((10,), "float32")):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir(relu0, (lv0,), (1, 128), dtype="float32")
            out = R.call_tir(linear1, (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


@script.ir_module
class MyModuleWithExternCall:
    @R.function
    def main(x: Tensor((1, 784), "float32"),
             w0: Tensor((128, 784), "float32"),
             b0: Tensor((128,), "float32"),
             w1: Tensor((10, 128), "float32"),
             b1: Tensor((10,), "float32")):
        # block 0
        with R.dataflow():
            lv0 = R.call_tir("env.linear", (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir("env.relu", (lv0,), (1, 128), dtype="float32")
            out = R.call_tir("env.linear", (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


@script.ir_module
class MyModuleMixture:
    @T.prim_func
    def linear0(X: T.Buffer[(1, 784), "float32"],
                W: T.Buffer[(128, 784), "float32"],
                B: T.Buffer[(128,), "float32"],
                Z: T.Buffer[(1, 128), "float32"]):
        T.func_attr({"global_symbol": "linear0", "tir.noalias": True})
        Y = T.alloc_buffer((1, 128), "float32")
        for i, j, k in T.grid(1, 128, 784):
            with T.block("Y"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    Y[vi, vj] = T.float32(0)
                Y[vi, vj] = Y[vi, vj] + X[vi, vk] * W[vj, vk]

        for i, j in T.grid(1, 128):
            with T.block("Z"):
                vi, vj = T.axis.remap("SS", [i, j])
                Z[vi, vj] = Y[vi, vj] + B[vj]

    @R.function
    def main(x: Tensor((1, 784), "float32"),
             w0: Tensor((128, 784), "float32"),
             b0: Tensor((128,), "float32"),
             w1: Tensor((10, 128), "float32"),
             b1: Tensor((10,), "float32")):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
            lv1 = R.call_tir("env.relu", (lv0,), (1, 128), dtype="float32")
            out = R.call_tir("env.linear", (lv1, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out


# Between two dataflow blocks there may be effects; what a block computes is seen outside where it
# says so.
@script.ir_module
class TwoBlocks:
    relu0 = MyModule["relu0"]
    linear0 = MyModule["linear0"]
    linear1 = MyModule["linear1"]

    @R.function
    def main(x: Tensor((1, 784), "float32"),
             w0: Tensor((128, 784), "float32"),
             b0: Tensor((128,), "float32"),
             w1: Tensor((10, 128), "float32"),
             b1: Tensor((10,), "float32")):
        with R.dataflow():
            lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
            gv0 = R.call_tir(relu0, (lv0,), (1, 128), dtype="float32")
            R.output(gv0)

        gv1 = R.alloc_tensor((1, 128), dtype="float32")

        with R.dataflow():
            out = R.call_tir(linear1, (gv0, w1, b1), (1, 10), dtype="float32")
            R.output(out)
        return out
# fmt: on


def mistaken_sample() -> None:
    """The chapter's own sample of two blocks, which passes tensors that linear1 does not take.

    Raises ParseError.
    """

    # fmt: off
    @script.ir_module
    class TwoBlocks:
        relu0 = MyModule["relu0"]
        linear0 = MyModule["linear0"]
        linear1 = MyModule["linear1"]

        @R.function
        def main(x: Tensor((1, 784), "float32"),
                 w0: Tensor((128, 784), "float32"),
                 b0: Tensor((128,), "float32"),
                 w1: Tensor((10, 128), "float32"),
                 b1: Tensor((10,), "float32")):
            with R.dataflow():
                lv0 = R.call_tir(linear0, (x, w0, b0), (1, 128), dtype="float32")
                gv0 = R.call_tir(relu0, (lv0,), (1, 128), dtype="float32")
                R.output(gv0)

            gv1 = R.alloc_tensor((1, 128), dtype="float32")

            with R.dataflow():
                out = R.call_tir(linear1, (gv0, gv1, b0), (1, 128), dtype="float32")
                R.output(out)
            return out
    # fmt: on


def register_library() -> str:
    """Register the functions that the modules find by name, with PyTorch where it is installed.

    Return by whom.

    Each is given arrays that it reads and, last, the one that it writes. They are exchanged without
    copies: through DLPack with PyTorch, as they are with numpy.
    """
    try:
        import torch
    except ImportError:

        @backends.register_func("env.linear", override=True)
        def numpy_linear(x: np.ndarray, w: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
            np.matmul(x, w.T, out=out)
            np.add(out, b, out=out)

        @backends.register_func("env.relu", override=True)
        def numpy_relu(x: np.ndarray, out: np.ndarray) -> None:
            np.maximum(x, 0, out=out)

        return "numpy"

    @backends.register_func("env.linear", override=True)
    def torch_linear(x: np.ndarray, w: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
        out_torch = torch.from_dlpack(out)
        torch.mm(torch.from_dlpack(x), torch.from_dlpack(w).T, out=out_torch)
        torch.add(out_torch, torch.from_dlpack(b), out=out_torch)

    @backends.register_func("env.relu", override=True)
    def torch_relu(x: np.ndarray, out: np.ndarray) -> None:
        torch.maximum(torch.from_dlpack(x), torch.zeros(1), out=torch.from_dlpack(out))

    return "torch"


def numpy_mlp(data: np.ndarray, w0: np.ndarray, b0: np.ndarray, w1: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """The model by array operations."""
    result: np.ndarray = np.maximum(data @ w0.T + b0, 0) @ w1.T + b1
    return result


def lnumpy_linear(x: np.ndarray, w: np.ndarray, b: np.ndarray, z: np.ndarray) -> None:
    """A linear layer by loops, as the tensor programs have it."""
    y = np.empty(z.shape, "float32")
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            for k in range(x.shape[1]):
                if k == 0:
                    y[i, j] = 0
                y[i, j] = y[i, j] + x[i, k] * w[j, k]
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            z[i, j] = y[i, j] + b[j]


def lnumpy_relu(x: np.ndarray, y: np.ndarray) -> None:
    """An activation by loops, written into memory that is there."""
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            y[i, j] = np.maximum(x[i, j], 0)


def lnumpy_mlp(data: np.ndarray, w0: np.ndarray, b0: np.ndarray, w1: np.ndarray, b1: np.ndarray) -> np.ndarray:
    """The model by loops, its memory made beforehand."""
    lv0, lv1, out = np.empty((1, 128), "float32"), np.empty((1, 128), "float32"), np.empty((1, 10), "float32")
    lnumpy_linear(data, w0, b0, lv0)
    lnumpy_relu(lv0, lv1)
    lnumpy_linear(lv1, w1, b1, out)
    return out


def lnumpy_call_tir(func: object, inputs: tuple[np.ndarray, ...], shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """What call_tir means: memory for the result is made outside, and passed last."""
    result = np.empty(shape, dtype)
    func(*inputs, result)  # type: ignore[operator]
    return result


def lnumpy_mlp_with_call_tir(data: np.ndarray, params: dict[str, np.ndarray]) -> np.ndarray:
    """The model as call_tir has it."""
    lv0 = lnumpy_call_tir(lnumpy_linear, (data, params["w0"], params["b0"]), (1, 128), "float32")
    lv1 = lnumpy_call_tir(lnumpy_relu, (lv0,), (1, 128), "float32")
    return lnumpy_call_tir(lnumpy_linear, (lv1, params["w1"], params["b1"]), (1, 10), "float32")


def sample() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """An image and weights; drawn, as no data set is at hand."""
    rng = np.random.default_rng(8)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    params = {name: rng.standard_normal(shape).astype("float32") / 4 for name, shape in shapes.items()}
    return rng.random((1, 784), dtype="float32"), params


def run(title: str, module: relax_ir.IRModule, *args: np.ndarray, target: str = "numpy") -> np.ndarray:
    """Build and run ``main`` and print what it predicts."""
    machine = backends.VirtualMachine(backends.build(module, target=target))
    result: np.ndarray = machine["main"](*args)
    print(f"{title} Prediction: {CLASS_NAMES[int(result.argmax(axis=1)[0])]}")
    return result


def main(target: str = "numpy") -> None:
    """Print and run every version; fails where two of them disagree."""
    data, params = sample()
    expected = numpy_mlp(data, **params)
    print(expected)
    print("NumPy-MLP Prediction:", CLASS_NAMES[int(expected.argmax())])
    results = [lnumpy_mlp(data, **params), lnumpy_mlp_with_call_tir(data, params)]
    print("Low-level Numpy MLP Prediction:", CLASS_NAMES[int(results[0].argmax())])
    print("Low-level Numpy with CallTIR Prediction:", CLASS_NAMES[int(results[1].argmax())])

    print(MyModule.script())
    results.append(run("MyModule", MyModule, data, *params.values(), target=target))

    try:
        backends.VirtualMachine(backends.build(MyModuleWithExternCall))
    except Relay2RelaxError as error:
        print(error)  # nobody registered the library yet
    print(f"the library is {register_library()}")
    results.append(run("MyModuleWithExternCall", MyModuleWithExternCall, data, *params.values(), target=target))
    results.append(run("MyModuleMixture", MyModuleMixture, data, *params.values(), target=target))

    with_params = relax_ir.transform.BindParams("main", params)(MyModuleMixture)
    print(with_params.script(show_meta=False))
    results.append(run("MyModuleWithParams", with_params, data, target=target))

    results.append(run("TwoBlocks", TwoBlocks, data, *params.values(), target=target))
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)

    try:
        mistaken_sample()
    except Relay2RelaxError as error:
        print(error)


if __name__ == "__main__":
    main(*sys.argv[1:])
