"""Passes about extents that programs take several of, as TVM's tests of them, and by numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import IRModule, op
from relay2relax.relay_ir.transform import BatchingOps, ChangeBatch, FlexibleShapeDispatch, PassContext


def run(mod: IRModule, *args: Any) -> list[Any]:
    found = create_executor("vm", mod).evaluate()(*args)
    return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]


def drawn(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


@pytest.mark.parametrize("named", [False, True])
def test_the_batch_of_a_model_changes(get_model_case: Callable[[str], Any], named: bool) -> None:
    case = get_model_case("mlp")
    mod = relay_ir.load_json(case.json)
    data = mod["main"].params[0]
    one, *rest = case.arguments()
    after = relay_ir.infer_type(ChangeBatch({data.name: 0} if named else {data: 0}, batch_size=3)(mod))
    ty = after["main"].ret_type
    assert isinstance(ty, relay_ir.TensorType)
    assert ty.shape[0] == 3
    (found,) = run(after, np.concatenate([one[:1]] * 3), *rest)
    np.testing.assert_allclose(found, np.concatenate([case.expected()[0][:1]] * 3), rtol=1e-4, atol=1e-5)


def test_a_batch_that_there_is_not() -> None:
    x = relay_ir.var("x", shape=(2, 2))
    mod = IRModule.from_expr(op.abs(x))
    assert ChangeBatch({"y": 0}, 4)(mod) is mod
    with pytest.raises(UnsupportedError, match="no axis 2"):
        ChangeBatch({x: 2}, 4)(mod)


def test_products_of_one_input_are_combined() -> None:
    x = relay_ir.var("x", shape=(4, 8))
    weights = [relay_ir.var(f"w{i}", shape=(6, 8)) for i in range(3)]
    before = IRModule.from_expr(relay_ir.Tuple(tuple(op.nn.dense(x, w, units=6) for w in weights)))
    assert BatchingOps()(before) is before
    with PassContext(opt_level=4):
        after = relay_ir.infer_type(BatchingOps()(before))
    assert relay_ir.analysis.list_op_freqs(after).get("nn.batch_matmul") == 1
    args = [drawn(4, 8), *(drawn(6, 8) + i for i in range(3))]
    for found, weight in zip(run(after, *args), args[1:], strict=True):
        np.testing.assert_allclose(found, args[0] @ weight.T, rtol=1e-4, atol=1e-5)


def network() -> IRModule:
    x, w = relay_ir.var("x", shape=(1, 3, 6, 6)), relay_ir.var("w", shape=(4, 3, 3, 3))
    conv = op.nn.conv2d(x, w, padding=1, channels=4, kernel_size=(3, 3))
    return IRModule.from_expr(op.nn.softmax(op.nn.batch_flatten(op.nn.global_avg_pool2d(op.nn.relu(conv)))))


@pytest.mark.parametrize("auto_pad", [True, False])
@pytest.mark.parametrize("batch", [1, 2, 3, 4, 5])
def test_a_network_for_several_batches(auto_pad: bool, batch: int) -> None:
    mod = FlexibleShapeDispatch(buckets=[1, 4], auto_pad=auto_pad)(network())
    assert sorted(var.name for var in mod.functions) == ["main", "main_1", "main_4", "main_any"]
    data, weight = drawn(batch, 3, 6, 6), drawn(4, 3, 3, 3)
    (found,) = run(mod, data, weight)
    single = [run(network(), data[i : i + 1], weight)[0] for i in range(batch)]
    np.testing.assert_allclose(found, np.concatenate(single), rtol=1e-4, atol=1e-5)


def test_several_inputs() -> None:
    x, w = relay_ir.var("x", shape=(10, 10)), relay_ir.var("w", shape=(10, 10))
    mod = FlexibleShapeDispatch(axis=1, buckets=[5, 10], input_indices=[0, 1])(IRModule.from_expr(x + w))
    for extent in (5, 7, 10):
        data = drawn(10, extent)
        np.testing.assert_array_equal(run(mod, data, data)[0], data + data)


def test_a_result_of_one_shape() -> None:
    x, w = relay_ir.var("x", shape=(10, 10)), relay_ir.var("w", shape=(10, 10))
    before = IRModule.from_expr(op.nn.dense(x, w))
    mod = FlexibleShapeDispatch(axis=1, buckets=[5, 7], input_indices=[0, 1], affects_output=False)(before)
    for extent in (5, 6, 7):
        data = drawn(10, extent)
        np.testing.assert_allclose(run(mod, data, data)[0], data @ data.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("auto_pad", [True, False])
def test_several_results(auto_pad: bool) -> None:
    parts = op.split(relay_ir.var("x", shape=(10, 10)), 2, axis=1)
    mod = FlexibleShapeDispatch(buckets=[5, 10], auto_pad=auto_pad)(IRModule.from_expr(parts))
    for extent in (3, 5, 10, 11):
        data = drawn(extent, 10)
        for found, expected in zip(run(mod, data), np.split(data, 2, axis=1), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_inputs_that_there_are_not() -> None:
    with pytest.raises(UnsupportedError, match="none at 2"):
        FlexibleShapeDispatch([1], input_indices=[2])(network())
    with pytest.raises(UnsupportedError, match="no axis 4"):
        FlexibleShapeDispatch([1], axis=4)(network())
