"""Normalisation and activations, against PyTorch and numpy."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from typed import of_type, present, relax_record, relay_record

from relay2relax.ops import Expanded, OpError, TensorType, TupleType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

if TYPE_CHECKING:
    from tests.ops.conftest import Eager

BATCH = relay_record("nn.batch_norm")
LAYER = relay_record("nn.layer_norm")
SOFTMAX = relay_record("nn.softmax")
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
def test_batch_norm(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    shape: tuple[int, ...],
    axis: int,
    center: bool,
    scale: bool,
    torch: ModuleType,
) -> None:
    x, (gamma, beta, mean, var) = normal(*shape), statistics(3)
    moved = torch.tensor(np.moveaxis(x, axis, 1) if axis else x.T)
    given = [torch.tensor(one) for one in (mean, var)]
    factors = [torch.tensor(gamma) if scale else None, torch.tensor(beta) if center else None]
    expected = torch.nn.functional.batch_norm(moved, *given, *factors, eps=2e-5).numpy()
    expected = np.moveaxis(expected, 1, axis) if axis else expected.T
    attrs = {"axis": axis, "epsilon": 2e-5, "center": center, "scale": scale}
    actual = run_op("nn.batch_norm", attrs, x, gamma, beta, mean, var, batch=7, exact=True)
    agrees(actual, (expected, mean, var))


def test_batch_norm_does_not_train(eager: type[Eager]) -> None:
    """R.nn.batch_norm trains by default; what a Relay operator becomes says that it does not."""
    attrs: list[dict[str, Any]] = []

    class Spy(eager):  # type: ignore[misc, valid-type]  # a fixture gives the class
        def call(self, name: str, *args: Any, **given: Any) -> Any:
            attrs.append(given)
            return super().call(name, *args, **given)

    of_type(BATCH.relax, Expanded).expand(Spy(), BATCH.attrs(axis=-1), normal(2, 3), *statistics(3))
    assert attrs[0]["training"] is False
    assert attrs[0]["axis"] == 1


def test_relax_batch_norm_trains(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    x, (gamma, beta, mean, var) = normal(7, 3, 4, 5), statistics(3)
    actual = run_op("nn.batch_norm", {}, x, gamma, beta, mean, var)
    agrees(actual[1:], (mean, var))
    op = relax_record("nn.batch_norm")
    out, new_mean, new_var = of_type(op.numpy(op.attrs(axis=1, momentum=0.25), x, gamma, beta, mean, var), tuple)
    expected = torch.nn.functional.batch_norm(
        torch.tensor(x), None, None, torch.tensor(gamma), torch.tensor(beta), training=True
    )
    agrees(out, expected.numpy(), 140)
    batch_mean, batch_var = x.mean(axis=(0, 2, 3)), x.var(axis=(0, 2, 3))
    agrees(new_mean, mean * np.float32(0.75) + batch_mean * np.float32(0.25), 140)
    agrees(new_var, var * np.float32(0.75) + batch_var * np.float32(0.25), 140)


def test_training_compute(agrees: Callable[..., None]) -> None:
    from relay2relax.backends.numpy.tir import evaluate_prim_func
    from relay2relax.ops.registry.lower import lower_call

    op = relax_record("nn.batch_norm")
    args = [normal(4, 3, 2), *statistics(3)]
    types = [t(one.shape) for one in args]
    attrs = op.attrs(axis=1)
    func = lower_call(op, attrs, types, op.infer(attrs, *types), "batch_norm")
    outputs = [np.zeros(shape, np.float32) for shape in ((4, 3, 2), (3,), (3,))]
    evaluate_prim_func(func, args, outputs)
    agrees(tuple(outputs), op.numpy(attrs, *args), 8)


@pytest.mark.parametrize(("shape", "axis"), [((7, 4, 6), -1), ((7, 6, 4), 1), ((7, 3, 6), 2)])
@pytest.mark.parametrize(("center", "scale"), [(True, True), (False, True), (True, False)])
def test_layer_norm(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    shape: tuple[int, ...],
    axis: int,
    center: bool,
    scale: bool,
    torch: ModuleType,
) -> None:
    x, gamma, beta = normal(*shape), normal(6), normal(6)
    moved = torch.tensor(np.moveaxis(x, axis, -1).copy())
    factors = [torch.tensor(gamma) if scale else None, torch.tensor(beta) if center else None]
    expected = np.moveaxis(torch.nn.functional.layer_norm(moved, (6,), *factors, eps=1e-3).numpy(), -1, axis)
    attrs = {"axis": axis, "epsilon": 1e-3, "center": center, "scale": scale}
    agrees(run_op("nn.layer_norm", attrs, x, gamma, beta, reduction=6, batch=7), expected, 6)


def test_relax_layer_norm_over_several_axes(agrees: Callable[..., None], torch: ModuleType) -> None:
    from relay2relax.backends.numpy.tir import evaluate_prim_func
    from relay2relax.ops.registry.lower import lower_call

    op = relax_record("nn.layer_norm")
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
def test_softmax(
    run_op: Callable[..., Any], agrees: Callable[..., None], shape: tuple[int, ...], axis: int, torch: ModuleType
) -> None:
    x = normal(*shape) * 10
    expected = torch.nn.functional.softmax(torch.tensor(x), axis).numpy()
    agrees(run_op("nn.softmax", {"axis": axis}, x, reduction=10, batch=7), expected, 10)
    expected = torch.nn.functional.log_softmax(torch.tensor(x), axis).numpy()
    agrees(run_op("nn.log_softmax", {"axis": axis}, x, reduction=10, batch=7), expected, 10)


def test_softmax_of_large_numbers(run_op: Callable[..., Any]) -> None:
    assert run_op("nn.softmax", {}, np.array([1000.0, 1000.0], np.float32)).tolist() == [0.5, 0.5]


def test_activations(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
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


def test_types_and_operands() -> None:
    n = Var("n")
    vectors = [t((8,))] * 4
    expected = TupleType((t((n, 8, ANY)), t((8,)), t((8,))))
    assert BATCH.infer(BATCH.attrs(), t((n, 8, ANY)), *vectors) == expected
    found = present(BATCH.operands)(
        BATCH.attrs(axis=-1), (t((1, 2, 8), "float16"), None, t((8,), "float16"), None, None)
    )
    assert found[1:] == (t((8,), "float16"),) * 4
    assert present(LAYER.operands)(LAYER.attrs(), (t((1, 2, 8)), None, None))[1:] == (t((8,)),) * 2
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
def test_refused(name: str, attrs: dict[str, Any], types: list[Any], message: str) -> None:
    op = relay_record(name)
    with pytest.raises(OpError, match=message):
        op.infer(op.attrs(**attrs), *types)


@pytest.mark.parametrize("axis", [1, -1])
def test_instance_norm_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, axis: int
) -> None:
    x, gamma, beta = normal(5, 3, 4, 6), normal(3), normal(3)
    expected = torch.nn.functional.instance_norm(
        torch.tensor(x), weight=torch.tensor(gamma), bias=torch.tensor(beta), eps=1e-3
    ).numpy()
    x, expected = (np.moveaxis(one, 1, axis) for one in (x, expected))
    actual = run_op("nn.instance_norm", {"axis": axis, "epsilon": 1e-3}, x, gamma, beta, reduction=24, batch=5)
    agrees(actual, expected, 24)
    bare = {"axis": axis, "epsilon": 1e-3, "scale": False, "center": False}
    plain = run_op("nn.instance_norm", bare, x, gamma, beta, reduction=24)
    along = [-1 if d == axis % 4 else 1 for d in range(4)]
    agrees(plain * gamma.reshape(along) + beta.reshape(along), expected, 24)


def test_group_norm_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType
) -> None:
    x, gamma, beta = normal(5, 6, 4, 3), normal(6), normal(6)
    expected = torch.nn.functional.group_norm(
        torch.tensor(x), 3, torch.tensor(gamma), torch.tensor(beta), eps=1e-3
    ).numpy()
    attrs = {"num_groups": 3, "epsilon": 1e-3}
    agrees(run_op("nn.group_norm", attrs, x, gamma, beta, reduction=24, batch=5), expected, 24)


def test_group_norm_with_channels_last_takes_the_channels_only(
    run_op: Callable[..., Any], agrees: Callable[..., None]
) -> None:
    x, ones = normal(5, 4, 3, 6), np.ones(6, np.float32)
    parts = x.reshape(5, 4, 3, 2, 3)
    centred = parts - parts.mean(axis=-1, keepdims=True)
    expected = (centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + np.float32(1e-5))).reshape(x.shape)
    agrees(run_op("nn.group_norm", {"num_groups": 2, "axis": 3}, x, ones, ones * 0, batch=5), expected, 24)


@pytest.mark.parametrize(("axes", "eps"), [((1,), 1e-3), ((1, 3), 1e-12), ((), 2.0)])
def test_l2_normalize(
    run_op: Callable[..., Any], agrees: Callable[..., None], axes: tuple[int, ...], eps: float
) -> None:
    x = normal(5, 3, 4, 2)
    squares = (x**2).sum(axis=axes or None, keepdims=True)
    expected = x / np.sqrt(np.maximum(squares, np.float32(eps)))
    agrees(run_op("nn.l2_normalize", {"eps": eps, "axis": axes}, x, reduction=120, batch=5), expected, 120)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_lrn_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, size: int
) -> None:
    x = normal(5, 6, 4, 3)
    expected = torch.nn.functional.local_response_norm(torch.tensor(x), size, alpha=0.3, beta=0.6, k=1.5).numpy()
    attrs = {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.5}
    agrees(run_op("nn.lrn", attrs, x, reduction=9, batch=5), expected, 9)
    last = np.moveaxis(run_op("nn.lrn", {**attrs, "axis": 3}, np.moveaxis(x, 1, 3), reduction=9, batch=5), 3, 1)
    agrees(last, expected, 9)


@pytest.mark.parametrize("axis", [1, -1])
def test_prelu_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, axis: int
) -> None:
    x, alpha = normal(5, 3, 4), normal(3)
    for slopes in (alpha, alpha[:1]):  # One for each place, or one for all.
        expected = torch.nn.functional.prelu(torch.tensor(x), torch.tensor(slopes)).numpy()
        actual = run_op("nn.prelu", {"axis": axis}, np.moveaxis(x, 1, axis), slopes, batch=5)
        agrees(np.moveaxis(actual, axis, 1), expected)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("extents", [(), (4, 2)])
def test_nll_loss_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, reduction: str, extents: tuple[int, ...]
) -> None:
    x, weights = normal(5, 7, *extents), np.abs(normal(7))
    targets = RANDOM.integers(0, 7, (5, *extents))
    targets.flat[1] = -100
    expected = torch.nn.functional.nll_loss(
        torch.tensor(x), torch.tensor(targets), torch.tensor(weights), reduction=reduction, ignore_index=-100
    ).numpy()
    attrs = {"reduction": reduction, "ignore_index": -100}
    agrees(run_op("nn.nll_loss", attrs, x, targets, weights, reduction=40, batch=5), expected, 40)


def test_cross_entropy(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    x, y = np.abs(normal(5, 3)), normal(5, 3)
    agrees(run_op("nn.cross_entropy", {}, x, y, reduction=15, batch=5), -(np.log(x) * y).sum() / np.float32(5), 15)
    expected = -(x * y).sum() / np.float32(5)
    agrees(run_op("nn.cross_entropy_with_logits", {}, x, y, reduction=15, batch=5), expected, 15)
    # Relax takes one sample without a batch.
    agrees(run_op("nn.cross_entropy_with_logits", {}, x[0], y[0], reduction=3), -(x[0] * y[0]).sum(), 3)
