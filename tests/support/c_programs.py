"""Small Relay programs for the C backend: at least one for each of its rules and kinds of loops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from relay2relax import relay_ir, translator
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.ir.expr import Buffer, IntImm
from relay2relax.tir.ir.stmt import PrimFunc

# Parameters and body of ``main``; parameters whose names begin with ``w`` are constants. An extent
# ``?`` is symbolic.
PROGRAMS: Mapping[str, tuple[str, str]] = {
    "dense_relu": (
        "%x: Tensor[(4, 16), float32], %w: Tensor[(8, 16), float32], %wb: Tensor[(8), float32]",
        "nn.relu(nn.bias_add(nn.dense(%x, %w, units=8), %wb))",
    ),
    "conv_bias_relu": (
        "%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(16, 3, 3, 3), float32], %wb: Tensor[(16), float32]",
        "nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1]), %wb))",
    ),
    "softmax": ("%x: Tensor[(16, 40), float32]", "nn.softmax(%x)"),
    "layer_norm": (
        "%x: Tensor[(16, 40), float32], %wg: Tensor[(40), float32], %wb: Tensor[(40), float32]",
        "nn.layer_norm(%x, %wg, %wb)",
    ),
    "attention": (
        "%q: Tensor[(2, 16, 8), float32], %k: Tensor[(2, 32, 8), float32], %v: Tensor[(2, 8, 32), float32]",
        "nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=True)",
    ),
    "lstm_cell": (
        "%x: Tensor[(4, 2, 3), float32], %s: Tensor[(2, 4), float32], %w: Tensor[(4, 7), float32]",
        """
  %0 = tanh(nn.dense(concatenate((take(%x, 0i64, axis=0), %s), axis=1), %w, units=4));
  %1 = tanh(nn.dense(concatenate((take(%x, 1i64, axis=0), %0), axis=1), %w, units=4));
  %2 = tanh(nn.dense(concatenate((take(%x, 2i64, axis=0), %1), axis=1), %w, units=4));
  tanh(nn.dense(concatenate((take(%x, 3i64, axis=0), %2), axis=1), %w, units=4))""",
    ),
    "pooling": (
        "%x: Tensor[(1, 16, 6, 6), float32]",
        "(nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]), nn.global_avg_pool2d(%x))",
    ),
    "depthwise_conv": (
        "%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 1, 3, 3), float32]",
        "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=16)",
    ),
    "depthwise_rows": (
        "%x: Tensor[(1, 8, 36, 36), float32], %v: Tensor[(32, 8, 1, 1), float32], %w: Tensor[(32, 1, 3, 3), float32]",
        "nn.conv2d(nn.relu(nn.conv2d(%x, %v)), %w, padding=[1, 1, 1, 1], strides=[2, 2], groups=32)",
    ),
    "group_conv": (
        "%x: Tensor[(1, 8, 5, 5), float32], %w: Tensor[(32, 4, 3, 3), float32]",
        "nn.conv2d(%x, %w, groups=2)",
    ),
    "int8_dense": (
        "%x: Tensor[(8, 16), int8], %w: Tensor[(8, 16), int8]",
        'nn.dense(%x, %w, units=8, out_dtype="int32")',
    ),
    "bytes_conv": (
        "%x: Tensor[(1, 8, 5, 5), uint8], %w: Tensor[(8, 8, 3, 3), int8], %wb: Tensor[(8), int32]",
        """
  %0 = nn.conv2d(subtract(cast(%x, dtype="int32"), 3), cast(%w, dtype="int32"), padding=[1, 1, 1, 1]);
  %1 = multiply(cast(nn.bias_add(%0, %wb), dtype="float32"), 0.01f);
  cast(cast(clip(add(round(%1), 5f), a_min=0f, a_max=255f), dtype="int32"), dtype="uint8")""",
    ),
    "qdq_dense": (
        "%x: Tensor[(8, 16), uint8], %w: Tensor[(8, 16), int8], %ws: Tensor[(8, 1), float32]",
        """
  %0 = multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.05f);
  nn.relu(nn.dense(%0, multiply(cast(cast(%w, dtype="int32"), dtype="float32"), %ws), units=8))""",
    ),
    "requantise": (
        "%x: Tensor[(8, 16), uint8]",
        """
  %0 = multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.05f);
  %1 = divide(multiply(%0, 0.125f), 0.00625f);
  %2 = floor(%1);
  %3 = subtract(%1, %2);
  %4 = logical_and(equal(%3, 0.5f), equal(floor_mod(%2, 2f), 0f));
  %5 = add(where(logical_or(less(%3, 0.5f), %4), %2, add(%2, 1f)), 3f);
  cast(clip(%5, a_min=0f, a_max=255f), dtype="uint8")""",
    ),
    "round_even": (
        "%x: Tensor[(4, 8), float32]",
        """
  %0 = multiply(%x, 4f);
  %1 = floor(%0);
  %2 = subtract(%0, %1);
  %3 = logical_and(equal(%2, 0.5f), equal(floor_mod(%1, 2f), 0f));
  where(logical_or(less(%2, 0.5f), %3), %1, add(%1, 1f))""",
    ),
    "half_precision": (
        "%x: Tensor[(4, 16), float16], %w: Tensor[(8, 16), float16]",
        "exp(nn.dense(%x, %w, units=8))",
    ),
    "concatenate": (
        "%x: Tensor[(4, 3), float32], %y: Tensor[(4, 5), float32]",
        "concatenate((exp(%x), tanh(%y), %x), axis=1)",
    ),
    "conv_transpose": (
        "%x: Tensor[(1, 4, 4, 4), float32], %w: Tensor[(4, 3, 2, 2), float32]",
        "nn.relu(nn.conv2d_transpose(%x, %w, channels=3, kernel_size=[2, 2], strides=[2, 2]))",
    ),
    "winograd": (
        "%x: Tensor[(1, 12, 12, 32), float32], %w: Tensor[(3, 3, 32, 32), float32]",
        'nn.relu(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO"))',
    ),
    "reductions": (
        "%x: Tensor[(4, 6, 5), float32]",
        "(sum(%x, axis=[1]), max(%x, axis=[2]), mean(%x), argmax(%x, axis=[2]))",
    ),
    "broadcast": (
        "%x: Tensor[(4, 1, 5), float32], %y: Tensor[(3, 1), float32]",
        "multiply(add(%x, %y), broadcast_to(%y, shape=[4, 3, 5]))",
    ),
    "gather": (
        "%x: Tensor[(9, 4), float32], %i: Tensor[(5), int32]",
        'nn.relu(take(%x, %i, axis=0, mode="clip"))',
    ),
    "cast": (
        "%x: Tensor[(3, 5), float32]",
        'cast(cast(multiply(%x, 9f), dtype="int8"), dtype="uint8")',
    ),
    "symbolic_batch": (
        "%x: Tensor[(?, 16), float32], %w: Tensor[(8, 16), float32]",
        "nn.softmax(nn.relu(nn.dense(%x, %w, units=8)))",
    ),
    "in_place": (
        "%x: Tensor[(6, 5), float32]",
        "tanh(cumsum(%x, axis=1))",
    ),
    "shared_inputs": (
        "%x: Tensor[(3, 24), float32], %w: Tensor[(8, 24), float32], %wr: Tensor[(5, 24), float32]",
        "(sigmoid(nn.dense(%x, %w, units=8)), nn.relu(nn.dense(%x, %wr, units=5)))",
    ),
    "choose": (
        "%x: Tensor[(4, 8), float32], %y: Tensor[(4, 8), float32]",
        "where(greater(%x, 0f), exp(%y), clip(%x, a_min=-1f, a_max=1f))",
    ),
    "sort": (
        "%x: Tensor[(3, 7), float32]",
        "exp(sort(negative(%x)))",
    ),
    "elementwise_chain": (
        "%x: Tensor[(5, 7), float32], %y: Tensor[(5, 7), float32]",
        "sqrt(abs(subtract(multiply(sigmoid(%x), %y), divide(%x, 3f))))",
    ),
    "powers": (
        "%x: Tensor[(5, 7), float32], %y: Tensor[(5, 7), float32]",
        "add(power(%x, 3f), sqrt(power(%y, 2f)))",
    ),
    "constant_folding": (
        "%x: Tensor[(4, 16), float32], %w: Tensor[(8, 16), float32], %ws: Tensor[(8, 1), float32]",
        "nn.dense(%x, multiply(%w, exp(%ws)), units=8)",
    ),
    "views": (
        "%x: Tensor[(6, 4), float32], %w: Tensor[(6, 12), float32]",
        """
  %0 = exp(reshape(%x, newshape=[2, 3, 4]));
  nn.relu(reshape(nn.dense(reshape(%0, newshape=[2, 12]), %w, units=6), newshape=[2, 3, 2]))""",
    ),
    "common_stages": (
        "%x: Tensor[(3, 8), float32]",
        "(sum(exp(%x), axis=[1]), max(exp(%x), axis=[1]))",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Program:
    """A program as the C backend gets it; ``whole`` has its constants as parameters, too."""

    func: PrimFunc
    constants: tuple[Buffer, ...]
    whole: PrimFunc

    def arguments(self) -> dict[Buffer, np.ndarray]:
        """Return values for all inputs and constants; a symbolic extent is 5."""
        random = np.random.default_rng(17)
        found = {}
        for buffer in self.whole.buffers[: -self.whole.num_outputs]:
            drawn = random.standard_normal(self.shape(buffer)) * (8 if buffer.dtype.startswith("int") else 0.5)
            found[buffer] = drawn.astype(buffer.dtype)
        return found

    def outputs(self) -> list[np.ndarray]:
        """Return memory for the results."""
        buffers = self.whole.buffers[-self.whole.num_outputs :]
        return [np.zeros(self.shape(buffer), buffer.dtype) for buffer in buffers]

    def shape(self, buffer: Buffer) -> tuple[int, ...]:
        """Return the extents of a buffer, 5 for symbolic ones."""
        return tuple(extent.value if isinstance(extent, IntImm) else 5 for extent in buffer.shape)


def c_program(name: str) -> Program:
    """Return a program by its name, which its function has, too."""
    params, body = PROGRAMS[name]
    module = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n{body}\n}}'))
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module)))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    whole = replace(func, name=name)
    kept = {param: buffer for param, buffer in whole.buffer_map.items() if not buffer.name.startswith("w")}
    left = tuple(param for param in whole.params if param in kept or param not in whole.buffer_map)
    constants = tuple(buffer for buffer in whole.buffers if buffer.name.startswith("w"))
    return Program(replace(whole, params=left, buffer_map=kept), constants, whole)
