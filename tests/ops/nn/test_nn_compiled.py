"""Operators of neural networks compiled: in a real apache-tvm, as Relax operators and as PrimFuncs;
and as C.

One module holds a function for each case and form; each compiler runs once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.tvm import build
from relay2relax.core.dtype import of_array
from relay2relax.core.tolerance import difference
from relay2relax.ops import TensorType, relay_op
from relay2relax.ops.registry.lower import lower_call
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.struct_info import from_type

RANDOM = np.random.default_rng(5)
CASES: list[tuple[str, dict[str, Any], list[tuple[int, ...]]]] = [
    ("nn.conv2d", {"padding": (1, 1), "strides": (2, 1), "dilation": (1, 2)}, [(1, 3, 7, 8), (4, 3, 3, 3)]),
    ("nn.conv2d", {"groups": 2, "channels": 6, "out_layout": "NHWC"}, [(1, 4, 5, 6), (6, 2, 3, 3)]),
    (
        "nn.conv2d",
        {"groups": 4, "channels": 8, "data_layout": "NHWC", "kernel_layout": "HWOI", "padding": (0, 1, 2, 1)},
        [(1, 5, 6, 4), (3, 3, 4, 2)],
    ),
    ("nn.conv2d", {"data_layout": "NHWC", "kernel_layout": "HWIO"}, [(1, 5, 6, 4), (3, 3, 4, 5)]),
    ("nn.conv2d", {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i"}, [(1, 2, 5, 5, 2), (4, 2, 3, 3, 2)]),
    (
        "nn.conv2d_transpose",
        {"strides": (2, 2), "padding": (1, 1), "output_padding": (1, 1)},
        [(1, 3, 4, 5), (3, 4, 3, 3)],
    ),
    ("nn.conv2d_transpose", {"strides": (2, 2)}, [(1, 3, 4, 5), (3, 4, 2, 2)]),
    (
        "nn.conv2d_transpose",
        {"groups": 2, "strides": (2, 3), "data_layout": "NHWC", "kernel_layout": "HWOI", "padding": (1, 0)},
        [(1, 4, 5, 4), (3, 4, 3, 4)],
    ),
    ("nn.conv1d", {"padding": (1, 2), "strides": (2,), "groups": 2}, [(1, 4, 9), (6, 2, 3)]),
    ("nn.conv1d", {"data_layout": "NWC", "kernel_layout": "WIO", "dilation": (2,)}, [(1, 9, 4), (3, 4, 5)]),
    ("nn.conv3d", {"padding": (1, 0, 1, 0, 1, 1), "strides": (1, 2, 1)}, [(1, 2, 4, 5, 6), (3, 2, 2, 3, 3)]),
    ("nn.conv3d", {"data_layout": "NDHWC", "kernel_layout": "DHWIO"}, [(1, 4, 5, 6, 2), (2, 3, 3, 2, 3)]),
    ("nn.conv1d_transpose", {"strides": (2,), "padding": (1,), "output_padding": (1,)}, [(1, 4, 5), (4, 3, 3)]),
    ("nn.conv3d_transpose", {"strides": (2, 1, 2), "padding": (1, 0, 1)}, [(1, 2, 3, 4, 3), (2, 3, 3, 2, 3)]),
    ("nn.dense", {"units": 5}, [(2, 3), (5, 3)]),
    ("nn.matmul", {"units": None, "transpose_a": True}, [(3, 2), (3, 5)]),
    ("nn.batch_matmul", {"transpose_b": True}, [(1, 2, 3), (4, 5, 3)]),
    ("nn.bias_add", {"axis": 1}, [(2, 3, 4), (3,)]),
    ("nn.batch_flatten", {}, [(2, 3, 4)]),
    ("nn.max_pool2d", {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}, [(1, 2, 7, 8)]),
    ("nn.max_pool2d", {"pool_size": (2, 2), "strides": (3, 3), "padding": (1, 1), "ceil_mode": True}, [(1, 2, 7, 8)]),
    ("nn.avg_pool2d", {"pool_size": (3, 2), "strides": (2, 2), "padding": (1, 1)}, [(1, 2, 7, 8)]),
    ("nn.avg_pool2d", {"pool_size": (2, 2), "strides": (3, 3), "padding": (1, 0), "ceil_mode": True}, [(1, 2, 7, 8)]),
    (
        "nn.avg_pool2d",
        {
            "pool_size": (3, 3), "strides": (3, 3), "padding": (1, 1), "ceil_mode": True, "count_include_pad": True,
            "layout": "NHWC",
        },
        [(1, 7, 8, 2)],
    ),
    ("nn.global_avg_pool2d", {}, [(1, 2, 5, 6)]),
    ("nn.global_max_pool2d", {"layout": "NHWC"}, [(1, 5, 6, 2)]),
    ("nn.adaptive_avg_pool2d", {"output_size": (3, 2)}, [(1, 2, 6, 8)]),
    ("nn.adaptive_avg_pool2d", {"output_size": (4, 3)}, [(1, 2, 6, 8)]),
    ("nn.max_pool1d", {"pool_size": (3,), "strides": (2,), "padding": (1, 0), "ceil_mode": True}, [(1, 2, 8)]),
    ("nn.max_pool3d", {"pool_size": (2, 2, 3), "strides": (2, 1, 2), "padding": (1, 0, 1)}, [(1, 2, 5, 4, 6)]),
    ("nn.avg_pool1d", {"pool_size": (3,), "strides": (2,), "padding": (1,), "layout": "NWC"}, [(1, 8, 2)]),
    (
        "nn.avg_pool3d",
        {"pool_size": (2, 2, 3), "padding": (1, 0, 1), "count_include_pad": True, "ceil_mode": True},
        [(1, 2, 5, 4, 6)],
    ),
    ("nn.adaptive_avg_pool1d", {"output_size": (3,)}, [(1, 2, 9)]),
    ("nn.adaptive_avg_pool3d", {"output_size": (2, 1, 3)}, [(1, 2, 4, 3, 6)]),
    ("nn.adaptive_max_pool1d", {"output_size": (3,)}, [(1, 2, 7)]),
    ("nn.adaptive_max_pool2d", {"output_size": (1,)}, [(1, 2, 7, 6)]),
    ("nn.adaptive_max_pool3d", {"output_size": (2, 1, 3), "layout": "NDHWC"}, [(1, 4, 3, 6, 2)]),
    ("nn.batch_norm", {"epsilon": 1e-3, "scale": False}, [(2, 3, 4), *[(3,)] * 4]),
    ("nn.batch_norm", {"axis": -1}, [(2, 4, 3), *[(3,)] * 4]),
    ("nn.layer_norm", {"center": False}, [(2, 4, 3), (3,), (3,)]),
    ("nn.instance_norm", {"scale": False}, [(2, 4, 3, 5), (4,), (4,)]),
    ("nn.group_norm", {"num_groups": 2, "center": False}, [(2, 4, 3, 5), (4,), (4,)]),
    ("nn.group_norm", {"num_groups": 2, "axis": -1}, [(2, 3, 5, 4), (4,), (4,)]),
    ("nn.l2_normalize", {"eps": 0.01, "axis": (1, 2)}, [(2, 4, 3, 5)]),
    ("nn.lrn", {"size": 3, "axis": 3, "alpha": 0.1}, [(2, 4, 3, 5)]),
    ("nn.prelu", {"axis": -1}, [(2, 4, 3), (3,)]),
    ("nn.fast_softmax", {}, [(2, 4)]),
    ("nn.cross_entropy", {}, [(2, 4), (2, 4)]),
    ("nn.cross_entropy_with_logits", {}, [(2, 4), (2, 4)]),
    ("nn.softmax", {"axis": 1}, [(2, 4, 3)]),
    ("nn.log_softmax", {}, [(2, 4, 3)]),
    ("nn.relu", {}, [(2, 4)]),
    ("nn.leaky_relu", {"alpha": 0.1}, [(2, 4)]),
    ("nn.dropout", {}, [(2, 4)]),
    ("nn.depth_to_space", {"block_size": 2}, [(1, 8, 3, 2)]),
    ("nn.depth_to_space", {"block_size": 2, "mode": "CDR", "layout": "NHWC"}, [(1, 3, 2, 8)]),
    ("nn.space_to_depth", {"block_size": 2}, [(1, 3, 4, 2)]),
    ("nn.space_to_batch_nd", {"block_shape": (2, 2), "paddings": ((1, 0), (0, 1))}, [(2, 3, 5, 2)]),
    ("nn.batch_to_space_nd", {"block_shape": (2, 2), "crops": ((1, 0), (0, 1))}, [(8, 3, 5, 2)]),
    ("nn.dilate", {"strides": (2, 1, 3), "dilation_value": 2.0}, [(2, 4, 3)]),
    ("nn.fifo_buffer", {"axis": 1}, [(2, 2, 3), (2, 4, 3)]),
    ("nn.mirror_pad", {"mode": "REFLECT", "pad_width": ((0, 0), (1, 2))}, [(2, 4)]),
    ("nn.mirror_pad", {"pad_width": ((1, 0), (1, 4))}, [(2, 4)]),
    ("nn.upsampling", {"scale_h": 2.0, "scale_w": 3.0}, [(1, 2, 3, 4)]),
    ("nn.upsampling", {"scale_h": 2.0, "scale_w": 1.5, "method": "bilinear", "layout": "NHWC"}, [(1, 3, 4, 2)]),
    (
        "nn.upsampling3d",
        {"scale_d": 2.0, "scale_h": 1.0, "scale_w": 2.0, "method": "trilinear"},
        [(1, 2, 3, 4, 2)],
    ),
    ("nn.deformable_conv2d", {"padding": (1, 1)}, [(1, 2, 5, 4), (1, 18, 5, 4), (3, 2, 3, 3)]),
    ("nn.correlation", {"kernel_size": 3, "padding": (2, 2)}, [(1, 2, 6, 5), (1, 2, 6, 5)]),
    ("nn.contrib_dense_pack", {"units": 4, "weight_layout": "NC2n"}, [(3, 6), (2, 6, 2)]),
    ("nn.max_pool2d_grad", {"pool_size": (3, 3), "strides": (2, 2)}, [(1, 2, 3, 3), (1, 2, 7, 7)]),
    ("nn.avg_pool2d_grad", {"pool_size": (2, 2), "padding": (1, 1)}, [(1, 2, 6, 5), (1, 2, 5, 4)]),
    (
        "nn.conv2d_backward_weight",
        {"strides": (2, 2), "kernel_size": (3, 3), "kernel_layout": "NCHW", "out_layout": "OIHW"},
        [(2, 4, 3, 3), (2, 3, 8, 8)],
    ),
    ("nn.pad", {"pad_width": ((0, 1), (2, 0))}, [(2, 4), ()]),
    ("nn.pad", {"pad_width": ((0, 1), (2, 0)), "pad_mode": "edge"}, [(2, 4), ()]),
    ("nn.pad", {"pad_width": ((0, 1), (2, 0)), "pad_mode": "reflect"}, [(2, 4), ()]),
]  # fmt: skip


def integers(*shape: int, dtype: str = "int16", high: int = 8) -> np.ndarray:
    return RANDOM.integers(0, high, shape).astype(dtype)


def floats(*shape: int) -> np.ndarray:
    return np.abs(RANDOM.standard_normal(shape)).astype(np.float32)


def sparse(rows: int, columns: int, *block: int) -> tuple[np.ndarray, ...]:
    """A matrix with two elements in each row but the second, which has none."""
    starts = np.cumsum([0] + [0 if row == 1 else 2 for row in range(rows)]).astype(np.int32)
    return floats(starts[-1], *block), integers(starts[-1], dtype="int32", high=columns), starts


def given_cases() -> list[tuple[str, dict[str, Any], tuple[np.ndarray, ...]]]:
    """Cases whose arguments are not all random numbers of float32."""
    blocks = {"channels": 4, "kernel_size": (3, 3), "data_layout": "NCHW2c", "out_layout": "NCHW4c"}
    bits = {"weight_bits": 2, "pack_dtype": "uint8", "out_dtype": "int32"}
    winograd = {"tile_size": 2, "channels": 4, "kernel_size": (3, 3), "padding": (1, 1)}
    targets = integers(5, dtype="int64", high=4)
    targets[2] = -100
    return [
        ("nn.nll_loss", {"ignore_index": -100}, (floats(5, 4), targets, floats(4))),
        ("nn.nll_loss", {"ignore_index": -100, "reduction": "none"}, (floats(5, 4), targets, floats(4))),
        ("nn.max_pool1d", {"pool_size": (3,), "padding": (1,)}, (integers(2, 3, 8, dtype="int32"),)),
        ("nn.avg_pool3d", {"pool_size": (2, 2, 2)}, (integers(2, 3, 4, 4, 4, dtype="int32"),)),
        ("nn.adaptive_avg_pool1d", {"output_size": (3,)}, (integers(2, 3, 8, dtype="int32"),)),
        ("nn.contrib_conv2d_NCHWc", blocks, (floats(2, 3, 6, 5, 2), floats(1, 3, 3, 3, 2, 4))),
        ("nn.contrib_conv2d_gemm_weight_transform", {"tile_N": 4, "tile_K": 2}, (floats(3, 3, 2, 5),)),
        ("nn.contrib_conv2d_winograd_weight_transform", {"tile_size": 4}, (floats(4, 3, 3, 3),)),
        ("nn.contrib_conv2d_winograd_without_weight_transform", winograd, (floats(2, 3, 5, 6), floats(4, 4, 4, 3))),
        ("nn.bitpack", {"bits": 2, "bit_axis": 2, "pack_type": "uint8"}, (integers(3, 16),)),
        ("nn.bitserial_conv2d", {"channels": 3, **bits}, (integers(1, 8, 5, 4), integers(3, 8, 3, 3))),
        ("nn.bitserial_dense", {"units": 3, **bits}, (integers(4, 16), integers(3, 2, 2, dtype="uint8", high=256))),
        ("nn.sparse_dense", {}, (floats(3, 8), *sparse(4, 8))),
        ("nn.sparse_dense", {"sparse_lhs": True}, (floats(3, 8), *sparse(4, 4, 3, 2))),
        ("nn.sparse_conv2d", {"layout": "NCHW"}, (floats(2, 8, 3, 4), *sparse(4, 8, 3, 1))),
        ("nn.sparse_add", {}, (floats(4, 8), *sparse(4, 8))),
        ("nn.sparse_transpose", {}, sparse(6, 6)),
    ]


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


def all_cases() -> list[tuple[str, dict[str, Any], tuple[np.ndarray, ...]]]:
    random = [(name, given, tuple(floats(*shape) for shape in shapes)) for name, given, shapes in CASES]
    return random + given_cases()


def type_of(array: np.ndarray) -> TensorType:
    return TensorType(array.shape, of_array(array))


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_operators_in_tvm() -> None:
    builder = relax_ir.BlockBuilder()
    emitter = OpEmitter(builder)
    cases = list(sampled(all_cases(), 2))
    expected: dict[str, tuple[Any, Any]] = {}
    for number, (name, given, arrays) in enumerate(cases):
        op = relay_op(name)
        assert op is not None
        attrs = op.attrs(**given)
        for form in ("relax", "tir"):
            params = [relax_ir.Var(f"x{i}", from_type(type_of(array))) for i, array in enumerate(arrays)]
            function = f"{form}_{number}"
            with builder.function(function, params):
                with builder.dataflow():
                    emit = emitter.as_relax if form == "relax" else emitter.as_tir
                    result = builder.emit_output(emit(op, attrs, params))
                builder.emit_func_output(result)
            expected[function] = arrays, op.numpy(attrs, *arrays)
    module = builder.get()
    relax_ir.check_well_formed(module)
    executable = build(module)
    for function, (arrays, value) in expected.items():
        actual = flat(executable[function](*arrays))
        for one, wanted in zip(actual, flat(value), strict=True):
            name, given, _ = cases[int(function.split("_")[1])]
            found = difference(one, np.asarray(wanted), 64)
            assert found.agrees, f"{function}: {name} {given}: {found}"


@pytest.mark.compiler
def test_operators_in_c() -> None:
    cases = list(sampled(all_cases(), 1))
    functions = []
    for number, (name, given, arrays) in enumerate(cases):
        op = relay_op(name)
        assert op is not None
        attrs, types = op.attrs(**given), list(map(type_of, arrays))
        functions.append(lower_call(op, attrs, types, op.infer(attrs, *types), f"call_{number}"))
    module = compile_prim_funcs(functions)
    for function, (name, given, arrays) in zip(functions, cases, strict=True):
        op = relay_op(name)
        assert op is not None
        values = [np.asarray(one) for one in flat(op.numpy(op.attrs(**given), *arrays))]
        results = [np.full(one.shape, 7).astype(one.dtype) for one in values]
        module.call(function.name, *(np.ascontiguousarray(one).reshape(one.shape) for one in arrays), *results)
        for one, wanted in zip(results, values, strict=True):
            found = difference(one, wanted, 64)
            assert found.agrees, f"{name} {given}: {found}"
