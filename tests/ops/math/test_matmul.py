"""Matrix products, against numpy; Relay's and Relax's agree to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type, present, relax_record, relay_record

from relay2relax.ops import OpError, TensorType, relax_op, relay_op
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

DENSE = relay_record("nn.dense")
MATMUL = relay_record("nn.matmul")
BATCH = relay_record("nn.batch_matmul")
RELAX = relax_record("matmul")
BIAS = relay_record("nn.bias_add")
FLATTEN = relay_record("nn.batch_flatten")
RANDOM = np.random.default_rng(1)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def t(shape: tuple[Any, ...], dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


@pytest.mark.parametrize("shape", [(7, 5), (2, 7, 5), (2, 1, 7, 5)])
def test_dense(run_op: Callable[..., Any], agrees: Callable[..., None], shape: tuple[int, ...]) -> None:
    x, w = normal(*shape), normal(4, 5)
    for units in (4, None):
        agrees(run_op("nn.dense", {"units": units}, x, w, reduction=5, batch=7, exact=True), x @ w.T, 5)


def test_dense_is_relax_matmul_to_the_bit() -> None:
    """Sums are ordered by the memory layout of the operands; both sides pass the same view."""
    x, w = normal(1, 1000), normal(300, 1000)
    relax = RELAX.numpy(
        RELAX.attrs(), x, relax_record("permute_dims").numpy(relax_record("permute_dims").attrs((1, 0)), w)
    )
    np.testing.assert_array_equal(DENSE.numpy(DENSE.attrs(300), x, w), relax)


def test_products_sum_in_out_dtype(run_op: Callable[..., Any]) -> None:
    x, w = np.full((1, 4), 100, np.int8), np.full((1, 4), 100, np.int8)
    assert run_op("nn.dense", {"units": 1, "out_dtype": "int32"}, x, w).tolist() == [[40000]]
    a, b = np.full((1, 1, 4), 100, np.int8), np.full((1, 4, 1), 100, np.int8)
    assert run_op("nn.batch_matmul", {"out_dtype": "int32"}, a, b).tolist() == [[[40000]]]
    assert run_op("matmul", {"out_dtype": "int32"}, a, b).tolist() == [[[40000]]]


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_transposed_operands(
    run_op: Callable[..., Any], agrees: Callable[..., None], transpose_a: bool, transpose_b: bool
) -> None:
    a, b = normal(3, 7, 5), normal(3, 5, 4)
    attrs = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    left = a.swapaxes(1, 2).copy() if transpose_a else a
    right = b.swapaxes(1, 2).copy() if transpose_b else b
    agrees(run_op("nn.batch_matmul", attrs, left, right, reduction=5, batch=7, exact=True), a @ b, 5)
    one = b[0].T.copy() if transpose_b else b[0]
    agrees(run_op("nn.matmul", {"units": None, **attrs}, left, one, reduction=5, batch=7, exact=True), a @ b[0], 5)


def test_batch_of_one_meets_any_batch(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    for a, b in [(normal(1, 2, 5), normal(6, 5, 3)), (normal(6, 2, 5), normal(1, 5, 3))]:
        agrees(run_op("nn.batch_matmul", {}, a, b, reduction=5, batch=6, exact=True), a @ b, 5)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((5,), (5,)),
        ((5,), (5, 3)),
        ((2, 5), (5,)),
        ((4, 2, 5), (5,)),
        ((5,), (4, 5, 3)),
        ((7, 2, 5), (5, 3)),
        ((2, 5), (7, 5, 3)),
        ((4, 1, 2, 5), (7, 5, 3)),
        ((4, 7, 2, 5), (1, 7, 5, 3)),
    ],
)
def test_relax_matmul_broadcasts_as_numpy(
    run_op: Callable[..., Any], agrees: Callable[..., None], a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    x, y = normal(*a), normal(*b)
    agrees(run_op("matmul", {}, x, y, reduction=5, batch=7), np.asarray(x @ y), 5)


def test_types_of_products() -> None:
    n = Var("n")
    assert DENSE.infer(DENSE.attrs(64), t((n, 100)), t((64, 100))) == t((n, 64))
    assert DENSE.infer(DENSE.attrs(50), t((ANY, ANY)), t((50, ANY))) == t((ANY, 50))
    assert DENSE.infer(DENSE.attrs(None), t((4, 2)), t((ANY, n))) == t((4, ANY))
    # Relay compares the summed extents where `units` is given only.
    free = DENSE.infer(DENSE.attrs(None), t((2, 2, 2, 2), "float16"), t((2, 3), "float16"))
    assert of_type(free, TensorType).shape == (2, 2, 2, 2)
    with pytest.raises(OpError, match="cannot be multiplied"):
        DENSE.numpy(DENSE.attrs(None), np.ones((2, 2)), np.ones((2, 3)))
    assert MATMUL.infer(MATMUL.attrs(None, transpose_a=True), t((n, 2, 5)), t((2, 4))) == t((n, 5, 4))
    assert BATCH.infer(BATCH.attrs(), t((30, 16, 32)), t((ANY, 32, 20))) == t((ANY, 16, 20))
    assert BATCH.infer(BATCH.attrs(), t((ANY, 16, 32)), t((1, 32, 16))) == t((ANY, 16, 16))
    assert BATCH.infer(BATCH.attrs(), t((ANY, 16, 32)), t((ANY, ANY, ANY))) == t((ANY, 16, ANY))
    assert BATCH.infer(BATCH.attrs(transpose_b=True), t((n, 16, 32)), t((n, 20, 32))) == t((n, 16, 20))
    assert RELAX.infer(RELAX.attrs(), t((n, 1, 4, 5)), t((3, 5, 6))) == t((n, 3, 4, 6))


def test_dense_deduces_its_weight() -> None:
    assert present(DENSE.operands)(DENSE.attrs(128), (t((1, 784)), None)) == (t((1, 784)), t((128, 784)))
    assert present(DENSE.operands)(DENSE.attrs(None), (t((1, 784)), None)) == (t((1, 784)), None)
    assert present(MATMUL.operands)(MATMUL.attrs(3), (t((1, 784)), None)) == (t((1, 784)), t((784, 3)))
    assert present(BIAS.operands)(BIAS.attrs(-1), (t((1, 2, 8), "float16"), None))[1] == t((8,), "float16")


@pytest.mark.parametrize(
    ("name", "attrs", "types", "message"),
    [
        ("nn.dense", {"units": 3}, [t((2, 4)), t((5, 4))], "units is 3, expected 5"),
        ("nn.dense", {"units": 5}, [t((2, 4)), t((5, 6))], "the data has 4 features, but the weight takes 6"),
        ("nn.dense", {"units": None}, [t((2, 4)), t((5,))], "the weight has 1 dimensions, expected 2"),
        ("nn.matmul", {"units": None, "transpose_a": True}, [t((4,)), t((4, 5))], "expected at least 2"),
        ("nn.batch_matmul", {}, [t((2, 3, 4)), t((3, 4, 5))], "shapes"),
        ("nn.batch_matmul", {}, [t((2, 3, 4)), t((2, 5, 4))], "4 columns, the right ones 5 rows"),
        ("nn.batch_matmul", {}, [t((3, 4)), t((4, 5))], "has 2 dimensions, expected 3"),
        ("matmul", {}, [t(()), t((4, 5))], "scalar"),
        ("matmul", {}, [t((2, 3)), t((4, 5))], "3 columns, the right one 4 rows"),
        ("matmul", {}, [t((2, 4)), t((4, 5), "float16")], "dtypes float32 and float16"),
        ("nn.bias_add", {"axis": 2}, [t((2, 3)), t((3,))], "axis 2"),
        ("nn.bias_add", {}, [t((2, 3)), t((4,))], "4 elements, axis 1 of the data 3"),
        ("nn.bias_add", {}, [t((2, 3)), t((3,), "float16")], "dtype float16"),
        ("nn.batch_flatten", {}, [t(())], "no batch axis"),
    ],
)
def test_refused(name: str, attrs: dict[str, Any], types: list[Any], message: str) -> None:
    op = present(relay_op(name) or relax_op(name))
    with pytest.raises(OpError, match=message):
        op.infer(op.attrs(**attrs), *types)


@pytest.mark.parametrize(
    ("shape", "axis"), [((7, 3), 1), ((7, 3, 4, 5), 1), ((7, 4, 5, 3), -1), ((3, 7), 0), ((3,), 0)]
)
def test_bias_add(run_op: Callable[..., Any], agrees: Callable[..., None], shape: tuple[int, ...], axis: int) -> None:
    x, b = normal(*shape), normal(3)
    spread = [1] * len(shape)
    spread[axis] = 3
    agrees(run_op("nn.bias_add", {"axis": axis}, x, b, batch=7, exact=True), x + b.reshape(spread))


@pytest.mark.parametrize("shape", [(7, 3, 4, 5), (7, 3), (7,), (2, 7, 3)])
def test_batch_flatten(run_op: Callable[..., Any], agrees: Callable[..., None], shape: tuple[int, ...]) -> None:
    x = normal(*shape)
    agrees(run_op("nn.batch_flatten", {}, x, batch=7, exact=True), x.reshape(shape[0], -1))
    n = Var("n")
    assert FLATTEN.infer(FLATTEN.attrs(), t((n, 3, 4))) == t((n, 12))
    assert FLATTEN.infer(FLATTEN.attrs(), t((2, ANY, 4))) == t((2, ANY))
