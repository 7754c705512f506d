"""Normalisation and activations, against PyTorch and numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax.ops import OpError, TensorType, TupleType, relax_op, relay_op
from relay2relax.tir.expr import Var
from relay2relax.tir.extent import ANY

BATCH = relay_op("nn.batch_norm")
LAYER = relay_op("nn.layer_norm")
SOFTMAX = relay_op("nn.softmax")
RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def t(shape: tuple[Any, ...], dtype: str = "float32") -> TensorType:
    return TensorType(shape, dtype)


def statistics(channels: int) -> tuple[np.ndarray, ...]:
    return normal(channels), normal(channels), normal(channels), np.abs(normal(channels)) + 0.1


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("shape", "axis"), [((7, 3, 4, 5), 1), ((7, 4, 5, 3), -1), ((3, 7), 0)])
def test_batch_norm(run_op, agrees, shape, axis, center, scale, torch):
    x, (gamma, beta, mean, var) = normal(*shape), statistics(3)
    moved = torch.tensor(np.moveaxis(x, axis, 1) if axis else x.T)
    given = [torch.tensor(one) for one in (mean, var)]
    factors = [torch.tensor(gamma) if scale else None, torch.tensor(beta) if center else None]
    expected = torch.nn.functional.batch_norm(moved, *given, *factors, eps=2e-5).numpy()
    expected = np.moveaxis(expected, 1, axis) if axis else expected.T
    attrs = {"axis": axis, "epsilon": 2e-5, "center": center, "scale": scale}
    actual = run_op("nn.batch_norm", attrs, x, gamma, beta, mean, var, batch=7, exact=True)
    agrees(actual, (expected, mean, var))


def test_batch_norm_does_not_train(eager):
    """R.nn.batch_norm trains by default; what a Relay operator becomes says that it does not."""
    attrs: list[dict[str, Any]] = []

    class Spy(eager):
        def call(self, name: str, *args: Any, **given: Any) -> Any:
            attrs.append(given)
            return super().call(name, *args, **given)

    BATCH.relax.expand(Spy(), BATCH.attrs(axis=-1), normal(2, 3), *statistics(3))
    assert attrs[0]["training"] is False
    assert attrs[0]["axis"] == 1


def test_relax_batch_norm_trains(run_op, agrees, torch):
    x, (gamma, beta, mean, var) = normal(7, 3, 4, 5), statistics(3)
    actual = run_op("nn.batch_norm", {}, x, gamma, beta, mean, var)
    agrees(actual[1:], (mean, var))
    op = relax_op("nn.batch_norm")
    out, new_mean, new_var = op.numpy(op.attrs(axis=1, momentum=0.25), x, gamma, beta, mean, var)
    expected = torch.nn.functional.batch_norm(
        torch.tensor(x), None, None, torch.tensor(gamma), torch.tensor(beta), training=True
    )
    agrees(out, expected.numpy(), 140)
    batch_mean, batch_var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    agrees(new_mean, mean * np.float32(0.75) + batch_mean * np.float32(0.25), 140)
    agrees(new_var, var * np.float32(0.75) + batch_var * np.float32(0.25), 140)


def test_training_compute(agrees):
    from relay2relax.backends.numpy_tir import evaluate_prim_func
    from relay2relax.ops.lower import lower_call

    op = relax_op("nn.batch_norm")
    args = [normal(4, 3, 2), *statistics(3)]
    types = [t(one.shape) for one in args]
    attrs = op.attrs(axis=1)
    func = lower_call(op, attrs, types, op.infer(attrs, *types), "batch_norm")
    outputs = [np.zeros(shape, np.float32) for shape in ((4, 3, 2), (3,), (3,))]
    evaluate_prim_func(func, args, outputs)
    agrees(tuple(outputs), op.numpy(attrs, *args), 8)


@pytest.mark.parametrize(("shape", "axis"), [((7, 4, 6), -1), ((7, 6, 4), 1), ((7, 3, 6), 2)])
@pytest.mark.parametrize(("center", "scale"), [(True, True), (False, True), (True, False)])
def test_layer_norm(run_op, agrees, shape, axis, center, scale, torch):
    x, gamma, beta = normal(*shape), normal(6), normal(6)
    moved = torch.tensor(np.moveaxis(x, axis, -1).copy())
    factors = [torch.tensor(gamma) if scale else None, torch.tensor(beta) if center else None]
    expected = np.moveaxis(torch.nn.functional.layer_norm(moved, (6,), *factors, eps=1e-3).numpy(), -1, axis)
    attrs = {"axis": axis, "epsilon": 1e-3, "center": center, "scale": scale}
    agrees(run_op("nn.layer_norm", attrs, x, gamma, beta, reduction=6, batch=7), expected, 6)


def test_relax_layer_norm_over_several_axes(agrees, torch):
    from relay2relax.backends.numpy_tir import evaluate_prim_func
    from relay2relax.ops.lower import lower_call

    op = relax_op("nn.layer_norm")
    x, gamma, beta = normal(3, 4, 5), normal(4, 5), normal(4, 5)
    attrs = op.attrs(axes=(-2, -1))
    expected = torch.nn.functional.layer_norm(torch.tensor(x), (4, 5), torch.tensor(gamma), torch.tensor(beta)).numpy()
    agrees(op.numpy(attrs, x, gamma, beta), expected, 20)
    types = [t(one.shape) for one in (x, gamma, beta)]
    output = np.zeros_like(x)
    func = lower_call(op, attrs, types, op.infer(attrs, *types), "norm")
    evaluate_prim_func(func, [x, gamma, beta], [output])
    agrees(output, expected, 20)


@pytest.mark.parametrize(("shape", "axis"), [((7, 10), -1), ((7, 10, 3), 1), ((2, 3, 4, 7), 3), ((7, 5), 0), ((5,), 0)])
def test_softmax(run_op, agrees, shape, axis, torch):
    x = normal(*shape) * 10
    expected = torch.nn.functional.softmax(torch.tensor(x), axis).numpy()
    agrees(run_op("nn.softmax", {"axis": axis}, x, reduction=10, batch=7), expected, 10)
    expected = torch.nn.functional.log_softmax(torch.tensor(x), axis).numpy()
    agrees(run_op("nn.log_softmax", {"axis": axis}, x, reduction=10, batch=7), expected, 10)


def test_softmax_of_large_numbers(run_op):
    assert run_op("nn.softmax", {}, np.array([1000.0, 1000.0], np.float32)).tolist() == [0.5, 0.5]


def test_activations(run_op, agrees, torch):
    x = normal(7, 3)
    agrees(run_op("nn.relu", {}, x, batch=7), np.maximum(x, 0))
    agrees(run_op("nn.relu", {}, np.array([-3, 0, 4], np.int8)), np.array([0, 0, 4], np.int8))
    assert run_op("nn.relu", {}, np.array([np.nan, -1.0], np.float32)).tolist() == [0.0, 0.0]
    agrees(
        run_op("nn.leaky_relu", {"alpha": 0.1}, x, batch=7),
        torch.nn.functional.leaky_relu(torch.tensor(x), 0.1).numpy(),
    )
    kept, mask = run_op("nn.dropout", {"rate": 0.75}, x, batch=7)
    agrees((kept, mask), (x, np.ones_like(x)))


def test_types_and_operands():
    n = Var("n")
    vectors = [t((8,))] * 4
    expected = TupleType((t((n, 8, ANY)), t((8,)), t((8,))))
    assert BATCH.infer(BATCH.attrs(), t((n, 8, ANY)), *vectors) == expected
    found = BATCH.operands(BATCH.attrs(axis=-1), (t((1, 2, 8), "float16"), None, t((8,), "float16"), None, None))
    assert found[1:] == (t((8,), "float16"),) * 4
    assert LAYER.operands(LAYER.attrs(), (t((1, 2, 8)), None, None))[1:] == (t((8,)),) * 2
    assert SOFTMAX.infer(SOFTMAX.attrs(axis=1), t((n, ANY))) == t((n, ANY))


@pytest.mark.parametrize(
    ("name", "attrs", "types", "message"),
    [
        ("nn.batch_norm", {}, [t((2, 3)), *[t((3,))] * 3, t((4,))], r"moving_var has shape \[4\], expected \[3\]"),
        ("nn.batch_norm", {"axis": 2}, [t((2, 3)), *[t((3,))] * 4], "axis 2"),
        ("nn.layer_norm", {}, [t((2, 3)), t((3,), "float16"), t((3,))], "gamma has dtype float16"),
        ("nn.softmax", {"axis": 2}, [t((2, 3))], "axis 2"),
        ("nn.relu", {}, [TupleType(())], "tensor"),
    ],
)
def test_refused(name, attrs, types, message):
    op = relay_op(name)
    with pytest.raises(OpError, match=message):
        op.infer(op.attrs(**attrs), *types)
