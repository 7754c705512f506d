"""Operators of one accelerator, and layouts that schedulers chose: types by hand, refusals, orders
of elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops import TensorType, relay_op
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import relax_op
from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.tir.ir.expr import Var

SCALES = {"ifm_scale": 0.5, "ifm_zero_point": 0, "ofm_scale": 0.5, "ofm_zero_point": 0}
LUT = TensorType((0,), "int8")


def infer(name: str, attrs: dict[str, Any], *types: TensorType) -> Any:
    record = relay_op(f"contrib.ethosu.{name}")
    assert record is not None
    return record.infer(record.attrs(**attrs), *types)


def test_types_of_ethosu_kernels() -> None:
    image = TensorType((1, 9, 8, 3), "int8")
    weight, bias = TensorType((20, 3, 3, 3), "int8"), TensorType((20, 10), "uint8")
    attrs = {**SCALES, "weight_zero_point": 0, "kernel_shape": (3, 3), "ofm_channels": 20, "padding": (1, 1, 1, 1)}
    assert infer("conv2d", attrs, image, weight, bias, LUT) == TensorType((1, 9, 8, 20), "int8")
    strided = {**attrs, "strides": (2, 2), "dilation": (2, 1)}
    assert infer("conv2d", strided, image, weight, bias, LUT) == TensorType((1, 4, 4, 20), "int8")
    bricks = {**attrs, "ofm_layout": "NHCWB16", "upscale": "NEAREST"}
    assert infer("conv2d", bricks, image, weight, bias, LUT) == TensorType((1, 18, 2, 16, 16), "int8")
    inside = {**attrs, "ifm_layout": "NHCWB16"}
    packed = TensorType((1, 9, 1, 8, 16), "int8")
    assert infer("conv2d", inside, packed, weight, bias, LUT) == TensorType((1, 9, 8, 20), "int8")
    wide = {**attrs, "ofm_dtype": "int32"}
    single = TensorType((20, 3, 3, 1), "int8")
    assert infer("depthwise_conv2d", wide, image, single, bias, LUT) == TensorType((1, 9, 8, 20), "int32")
    pool = {**SCALES, "pooling_type": "MAX", "pool_shape": (2, 2), "ofm_channels": 3, "ofm_dtype": "int8"}
    assert infer("pooling", {**pool, "strides": (2, 2)}, image, LUT) == TensorType((1, 4, 4, 3), "int8")
    with pytest.raises(OpError, match="scale_bias has shape"):
        infer("conv2d", attrs, image, weight, TensorType((3, 10), "uint8"), LUT)
    with pytest.raises(OpError, match="the weight has shape"):
        infer("conv2d", attrs, image, TensorType((20, 1, 1, 3), "int8"), bias, LUT)
    with pytest.raises(OpError, match="the input has dtype float32"):
        infer("conv2d", attrs, TensorType((1, 9, 8, 3), "float32"), weight, bias, LUT)
    with pytest.raises(OpError, match="expected int32"):
        infer("pooling", {**pool, "pooling_type": "SUM"}, image, LUT)


def test_types_of_ethosu_arithmetic() -> None:
    image = TensorType((1, 9, 8, 3), "int8")
    attrs = {
        **SCALES, "operator_type": "ADD", "ifm2_scale": 1.0, "ifm2_zero_point": 0, "ifm_channels": 3,
        "ifm2_channels": 3, "ofm_dtype": "int16",
    }  # fmt: skip
    assert infer("binary_elementwise", attrs, image, image, LUT) == TensorType((1, 9, 8, 3), "int16")
    with pytest.raises(OpError, match="expected int8"):
        infer("binary_elementwise", {**attrs, "operator_type": "MAX"}, image, image, LUT)
    with pytest.raises(OpError, match="operator_type"):
        infer("binary_elementwise", {**attrs, "operator_type": "DIV"}, image, image, LUT)
    attrs = {**SCALES, "operator_type": "ABS", "ofm_channels": 3, "ofm_layout": "NHCWB16"}
    assert infer("unary_elementwise", attrs, image, LUT) == TensorType((1, 9, 1, 8, 16), "int8")
    assert infer("identity", SCALES, TensorType((2, 3), "int16"), LUT) == TensorType((2, 3), "int16")


def test_ethosu_operators_are_carried_and_refused_by_name() -> None:
    x, lut = relay_ir.var("x", shape=(1, 4, 4, 3), dtype="int8"), relay_ir.var("lut", shape=(0,), dtype="int8")
    call = relay_ir.op.contrib.ethosu.identity(x, lut, **SCALES)
    mod = relay_ir.infer_type(relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x, lut), call)}))
    for again in (
        relay_ir.parse(mod.astext()),
        relay_ir.load_json(relay_ir.save_json(mod)),
        graph.to_relay(*graph.from_relay(mod)),
    ):
        assert relay_ir.structural_equal(mod, again)
    args = np.zeros((1, 4, 4, 3), np.int8), np.zeros(0, np.int8)
    named = r"contrib\.ethosu\.identity cannot be run: it runs on an Arm Ethos-U only"
    for backend in ("numpy", "c"):
        with pytest.raises(UnsupportedError, match=named):
            backends.create_executor("graph", mod, backend=backend).evaluate()(*args)
    for translate in (translator.lower_to_tir, translator.via_graph):
        with pytest.raises(UnsupportedError, match=named):
            translate(mod)


def test_layouts_of_the_auto_scheduler(check: Any) -> None:
    data = np.arange(8 * 6, dtype=np.float32).reshape(8, 6)
    layouts = {"src_layout": "8n6k", "dst_layout": "2n3k4n2k"}
    wanted = data.reshape(2, 4, 3, 2).transpose(0, 2, 1, 3)
    check("auto_scheduler_layout_transform", [data], wanted, symbols=False, **layouts)
    back = {"src_layout": "2n3k4n2k", "dst_layout": "8n6k"}
    check("auto_scheduler_layout_transform", [np.ascontiguousarray(wanted)], data, symbols=False, **back)
    record = relay_op("auto_scheduler_layout_transform")
    assert record is not None
    mistakes = ("8n6k", "8n5k", "axis k"), ("8n", "8n", "2 dimensions"), ("n8k6", "8n6k", "no sequence")
    for source, target, message in mistakes:
        with pytest.raises(OpError, match=message):
            record.infer(record.attrs(src_layout=source, dst_layout=target), TensorType((8, 6)))


def test_layouts_of_the_meta_scheduler(check: Any) -> None:
    i, j = Var("i"), Var("j")
    mapping = IndexMap((i, j), (j // 4, i, j % 4))
    data = np.arange(3 * 8, dtype=np.int32).reshape(3, 8)
    wanted = data.reshape(3, 2, 4).transpose(1, 0, 2)
    check("meta_schedule_layout_transform", [data], wanted, symbols=False, index_map=mapping)
    padded = IndexMap((i, j), (i, j * 2 + 1))
    wide = np.zeros((3, 16), np.int32)
    wide[:, 1::2] = data
    check("meta_schedule_layout_transform", [data], wide, symbols=False, index_map=padded)


def test_layouts_of_relax(check: Any) -> None:
    record = relax_op("layout_transform")
    i, j = Var("i"), Var("j")
    data = np.arange(3 * 8, dtype=np.float32).reshape(3, 8)
    check(record, [data], data.reshape(3, 2, 4).transpose(1, 0, 2), index_map=IndexMap((i, j), (j // 4, i, j % 4)))
    padded = np.pad(data, [(0, 0), (0, 1)], constant_values=2.5).reshape(3, 3, 3)
    check(record, [data], padded, index_map=IndexMap((i, j), (i, j // 3, j % 3)), pad_value=2.5)


def test_index_maps_are_written_and_read() -> None:
    i, j = Var("i", "int32"), Var("j", "int32")
    mapping = IndexMap((i, j), (j // 4, i, j % 4))
    assert mapping == IndexMap((j, i), (i // 4, j, i % 4))
    assert mapping != IndexMap((i, j), (j // 4, i, j % 2))
    x = relay_ir.var("x", shape=(3, 8), dtype="int32")
    call = relay_ir.op.meta_schedule_layout_transform(x, index_map=mapping)
    mod = relay_ir.infer_type(relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), call)}))
    for again in (relay_ir.load_json(relay_ir.save_json(mod)), relay_ir.parse(mod.astext())):
        assert relay_ir.structural_equal(mod, again)
        data = np.arange(24, dtype=np.int32).reshape(3, 8)
        found = backends.create_executor("graph", again).evaluate()(data)
        np.testing.assert_array_equal(found, data.reshape(3, 2, 4).transpose(1, 0, 2))
