"""Rearrangements in blocks, against PyTorch, numpy and numbers by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from typed import of_type, relay_record

from relay2relax import backends, relay_ir, translator
from relay2relax.ops import OpError, TensorType
from relay2relax.tir.extent import ANY

RANDOM = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.parametrize("block", [1, 2, 3])
@pytest.mark.parametrize("mode", ["DCR", "CDR"])
def test_depth_to_space_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., Any], torch: Any, block: int, mode: str
) -> None:
    x = normal(11, 2 * block * block, 4, 5)
    # PyTorch's channel is (channel, row, column); DCR has the channel last.
    given = x.reshape(11, block * block, 2, 4, 5).swapaxes(1, 2).reshape(x.shape) if mode == "DCR" else x
    expected = torch.nn.functional.pixel_shuffle(torch.tensor(given.copy()), block).numpy()
    agrees(run_op("nn.depth_to_space", {"block_size": block, "mode": mode}, x, batch=11), expected)
    attrs = {"block_size": block, "mode": mode, "layout": "NHWC"}
    agrees(run_op("nn.depth_to_space", attrs, x.transpose(0, 2, 3, 1), batch=11), expected.transpose(0, 2, 3, 1))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_space_to_depth_undoes_it(run_op: Callable[..., Any], agrees: Callable[..., Any], layout: str) -> None:
    x = normal(11, 8, 12, 8)
    there = run_op("nn.space_to_depth", {"block_size": 2, "layout": layout}, x, batch=11)
    agrees(run_op("nn.depth_to_space", {"block_size": 2, "layout": layout}, there, batch=11), x)


def test_blocks_that_do_not_fit_are_refused_where_they_are_computed(run_op: Callable[..., Any]) -> None:
    op = relay_record("nn.depth_to_space")
    attrs = op.attrs(block_size=2)
    assert op.infer(attrs, TensorType((1, 6, ANY, 4))) == TensorType((1, 1, ANY, 8))
    with pytest.raises(OpError, match="cannot be split"):
        op.numpy(attrs, normal(1, 6, 4, 4))


def test_space_to_batch_by_hand(run_op: Callable[..., Any], agrees: Callable[..., Any]) -> None:
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 4, 4, 1)
    attrs = {"block_shape": (2, 2), "paddings": ((0, 0), (0, 0))}
    expected = [[[1, 3], [9, 11]], [[2, 4], [10, 12]], [[5, 7], [13, 15]], [[6, 8], [14, 16]]]
    actual = run_op("nn.space_to_batch_nd", attrs, x)
    agrees(actual, np.array(expected, np.float32)[..., None])
    agrees(run_op("nn.batch_to_space_nd", {"block_shape": (2, 2), "crops": ((0, 0), (0, 0))}, actual), x)


def test_space_to_batch_pads_and_batch_to_space_crops(run_op: Callable[..., Any], agrees: Callable[..., Any]) -> None:
    x = normal(11, 4, 5, 3)
    attrs = {"block_shape": (3, 2), "paddings": ((1, 1), (0, 3)), "pad_value": 2.5}
    padded = np.pad(x, ((0, 0), (1, 1), (0, 3), (0, 0)), constant_values=2.5)
    batch = run_op("nn.space_to_batch_nd", attrs, x, batch=11)
    assert batch.shape == (66, 2, 4, 3)
    for row in range(3):
        for column in range(2):
            place = (row * 2 + column) * 11
            agrees(batch[place : place + 11], padded[:, row::3, column::2])
    crops = {"block_shape": (3, 2), "crops": ((1, 1), (0, 3))}
    agrees(run_op("nn.batch_to_space_nd", crops, batch, batch=66), x)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_dilate(run_op: Callable[..., Any], agrees: Callable[..., Any], dtype: str) -> None:
    x = RANDOM.integers(0, 9, (5, 3, 4)).astype(dtype)
    expected = np.full((5, 7, 7), 3, dtype)
    expected[:, ::3, ::2] = x
    attrs = {"strides": (1, 3, 2), "dilation_value": 3.0}
    agrees(run_op("nn.dilate", attrs, x, batch=5), expected)
    dilate = relay_record("nn.dilate")
    assert of_type(dilate.infer(dilate.attrs(strides=(2,)), TensorType((ANY,))), TensorType).shape == (ANY,)


@pytest.mark.parametrize("new", [1, 2, 6])
def test_fifo_buffer(run_op: Callable[..., Any], agrees: Callable[..., Any], new: int) -> None:
    data, buffer = normal(3, new, 2), normal(3, 5, 2)
    expected = np.concatenate((buffer, data), axis=1)[:, new:]
    agrees(run_op("nn.fifo_buffer", {"axis": 1}, data, buffer, batch=3), expected)


@pytest.mark.parametrize(("mode", "name"), [("SYMMETRIC", "symmetric"), ("REFLECT", "reflect")])
def test_mirror_pad(
    run_op: Callable[..., Any], agrees: Callable[..., Any], mode: str, name: Literal["symmetric", "reflect"]
) -> None:
    x = normal(5, 3, 4)
    attrs: dict[str, Any] = {"mode": mode, "pad_width": ((0, 0), (1, 2), (3, 0))}
    agrees(run_op("nn.mirror_pad", attrs, x, batch=(5, 3, 4)), np.pad(x, attrs["pad_width"], mode=name))
    with pytest.raises(OpError, match="cannot give a border of 9"):
        relay_record("nn.mirror_pad").numpy(relay_record("nn.mirror_pad").attrs(pad_width=((9, 0),)), normal(4))


@pytest.mark.compiler
def test_dilation_of_unknown_extents_in_c() -> None:
    # Sizes of the memory in between are differences, whose parts may be negative when they are
    # divided.
    mod = relay_ir.parse("def @main(%x: Tensor[(?, ?, ?, ?), float32]) { nn.batch_flatten(%x) }")
    x = mod["main"].params[0]
    op = relay_record("nn.dilate")
    call = relay_ir.Call(relay_ir.Op("nn.dilate"), (x,), op.attrs(strides=(3, 7, 1, 5)))
    mod = relay_ir.IRModule({next(iter(mod.functions)): relay_ir.Function((x,), call)})
    data = normal(1, 2, 3, 4)
    expected = np.zeros((1, 8, 3, 16), np.float32)
    expected[:, ::7, :, ::5] = data
    machine = backends.VirtualMachine(backends.build(translator.via_graph(mod), target="c"))
    for _ in range(3):
        np.testing.assert_array_equal(machine["main"](data), expected)
