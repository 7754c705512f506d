"""Operators with sparse weights, against numpy's products of the whole weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Op, const, op
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform import Conv2dToSparse, Conv2dToSparse2, DenseToSparse, block_sparse
from relay2relax.translator import lower_to_tir


def sparse_matrix(rows: int, columns: int, block: tuple[int, int], seed: int = 0) -> Any:
    """Return a matrix of which about a third of the blocks are not zero."""
    draw = np.random.default_rng(seed)
    used = draw.random((rows // block[0], columns // block[1])) < 0.35
    return (draw.standard_normal((rows, columns)) * np.kron(used, np.ones(block))).astype("float32")


def names(mod: IRModule) -> list[str]:
    return [node.op.name for node in nodes(mod["main"]) if isinstance(node, Call) and isinstance(node.op, Op)]


def run(mod: IRModule, *args: Any) -> Any:
    """Return what a program gives by numpy's kernels, which is what C gives."""
    found = np.asarray(create_executor("debug", mod).evaluate()(*args))
    native = backends.VirtualMachine(backends.build(lower_to_tir(mod), "c"))["main"](*args)
    np.testing.assert_allclose(np.asarray(native), found, rtol=1e-4, atol=1e-5)
    return found


@pytest.mark.parametrize("block", [(1, 1), (4, 1), (2, 4)])
def test_blocks_are_the_matrix(block: tuple[int, int]) -> None:
    matrix = sparse_matrix(8, 12, block)
    found, again = block_sparse(matrix, *block), np.zeros_like(matrix)
    for row in range(8 // block[0]):
        for place in range(found.indptr[row], found.indptr[row + 1]):
            at, width = found.indices[place], block[1]
            again[row * block[0] : (row + 1) * block[0], at * width : (at + 1) * width] = found.data[place]
    np.testing.assert_array_equal(again, matrix)
    assert found.stored == np.count_nonzero(matrix)
    assert found.sizes == (*found.data.shape, len(found.data), 8 // block[0] + 1)
    with pytest.raises(UnsupportedError, match="5 by 1"):
        block_sparse(matrix, 5, 1)


def test_dense_layers() -> None:
    weight, other = sparse_matrix(8, 6, (2, 3)), sparse_matrix(6, 8, (1, 1), 1)
    x, w, v = (relay_ir.var(n, shape=s) for n, s in (("x", (4, 6)), ("w", (8, 6)), ("v", (6, 8))))
    before = IRModule.from_expr(Function((x, w, v), op.nn.dense(op.nn.relu(op.nn.dense(x, w)), v)))
    parts = block_sparse(weight, 2, 3)
    after = relay_ir.infer_type(DenseToSparse(["w", "elsewhere"], [parts.sizes, (1, 1, 1, 1, 1)])(before))
    assert names(after) == ["nn.sparse_dense", "nn.relu", "nn.dense"]
    assert [param.name for param in after["main"].params] == ["x", "v", "w.data", "w.indices", "w.indptr"]
    data = np.random.default_rng(2).standard_normal((4, 6)).astype("float32")
    found = run(after, data, other, parts.data, parts.indices, parts.indptr)
    np.testing.assert_allclose(found, np.maximum(data @ weight.T, 0) @ other.T, rtol=1e-4, atol=1e-5)


def test_dense_layers_that_stay() -> None:
    x, w = relay_ir.var("x", shape=(4, 6), dtype="float64"), relay_ir.var("w", shape=(8, 6), dtype="float64")
    mod = relay_ir.infer_type(IRModule.from_expr(op.nn.dense(x, w)))
    assert DenseToSparse(["w"], [(3, 1, 1, 3, 9)])(mod) is mod
    with pytest.raises(UnsupportedError, match="the weight w has the sizes"):
        DenseToSparse(["w"], [(3, 1)])(mod)
    with pytest.raises(UnsupportedError, match="1 weights are named"):
        DenseToSparse(["w"], [])(mod)


def convolution(weight: Expr, layout: str, size: int, **attrs: Any) -> Any:
    shape = (2, 6, 5, 5) if layout == "NCHW" else (2, 5, 5, 6)
    kernel = "OIHW" if layout == "NCHW" else "HWIO"
    given = {"kernel_size": (size, size), "channels": 8, "data_layout": layout, "kernel_layout": kernel}
    return op.nn.conv2d(relay_ir.var("x", shape=shape), weight, **(given | attrs))


def images(layout: str) -> Any:
    shape = (2, 6, 5, 5) if layout == "NCHW" else (2, 5, 5, 6)
    return np.random.default_rng(2).standard_normal(shape).astype("float32")


def product(data: Any, matrix: Any, layout: str) -> Any:
    return np.einsum("nchw,oc->nohw" if layout == "NCHW" else "nhwc,oc->nhwo", data, matrix)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_convolutions_with_given_weights(layout: str) -> None:
    matrix = sparse_matrix(8, 6, (1, 1))
    shape = (8, 6, 1, 1) if layout == "NCHW" else (1, 1, 6, 8)
    parts = block_sparse(matrix, 1, 1)
    before = IRModule.from_expr(convolution(relay_ir.var("w", shape=shape), layout, 1))
    after = relay_ir.infer_type(Conv2dToSparse(["w"], [parts.sizes], layout, 1)(before))
    assert names(after) == ["nn.sparse_conv2d"]
    data = images(layout)
    found = run(after, data, parts.data, parts.indices, parts.indptr)
    np.testing.assert_allclose(found, product(data, matrix, layout), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("block", [(1, 1), (2, 3)])
def test_convolutions_with_constant_weights(layout: str, block: tuple[int, int]) -> None:
    matrix = sparse_matrix(8, 6, block)
    weight = matrix.reshape(8, 6, 1, 1) if layout == "NCHW" else matrix.T.reshape(1, 1, 6, 8)
    before = relay_ir.infer_type(IRModule.from_expr(convolution(const(weight), layout, 1)))
    after = relay_ir.infer_type(Conv2dToSparse2(layout, 1, block, 0.4)(before))
    assert names(after) == ["nn.sparse_conv2d"]
    data = images(layout)
    np.testing.assert_allclose(run(after, data), product(data, matrix, layout), rtol=1e-4, atol=1e-5)
    assert Conv2dToSparse2(layout, 1, block, 0.9)(before) is before


def test_convolutions_that_stay() -> None:
    weight = const(sparse_matrix(8, 6, (1, 1)).reshape(8, 6, 1, 1))
    for attrs in ({"strides": (2, 2)}, {"padding": (1, 1)}):
        mod = relay_ir.infer_type(IRModule.from_expr(convolution(weight, "NCHW", 1, **attrs)))
        assert Conv2dToSparse2("NCHW", 1, (1, 1), 0.1)(mod) is mod
    mod = relay_ir.infer_type(IRModule.from_expr(convolution(weight, "NCHW", 1)))
    assert Conv2dToSparse2("NHWC", 1, (1, 1), 0.1)(mod) is mod
    assert Conv2dToSparse2("NCHW", 1, (3, 1), 0.1)(mod) is mod


def test_a_window_is_a_row_of_the_matrix() -> None:
    """The elements of a kernel stand as TVM puts them: channels last where the data's are."""
    kernel = sparse_matrix(9 * 6, 8, (1, 1)).reshape(3, 3, 6, 8)
    mod = relay_ir.infer_type(IRModule.from_expr(convolution(const(kernel), "NHWC", 3, padding=(1, 1))))
    call = Conv2dToSparse2("NHWC", 3, (1, 1), 0.1)(mod)["main"].body
    assert isinstance(call, Call)
    data, indices, indptr = (one.data for one in call.args[1:] if isinstance(one, relay_ir.Constant))
    expected = kernel.transpose(3, 0, 1, 2).reshape(8, 54)
    for row in range(8):
        at = slice(indptr[row], indptr[row + 1])
        np.testing.assert_array_equal(indices[at], np.nonzero(expected[row])[0])
        np.testing.assert_array_equal(data[at].reshape(-1), expected[row][np.nonzero(expected[row])])
