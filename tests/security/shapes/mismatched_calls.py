"""Calls of Relay programs of one operator, with open extents, on shapes that may or may not fit."""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from sanitizers import Action

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import difference

SIZES = (0, 1, 2, 3, 5, 7)
# Shapes of the parameters %a, %b, ..., those that end in i of indices and those in b of truths; and
# the call.
PROGRAMS = {
    "add": ("(?, 16) (?, 16)", "add(%a, %b)"),
    "multiply": ("(?, ?) (?)", "multiply(%a, %b)"),
    "where": ("(?, ?)b (?, ?) (?, ?)", "where(%a, %b, %c)"),
    "dense": ("(?, ?) (?, ?)", "nn.dense(%a, %b, units=None)"),
    "matmul": ("(?, ?) (?, ?)", "nn.matmul(%a, %b, units=None)"),
    "batch_matmul": ("(?, ?, ?) (?, ?, ?)", "nn.batch_matmul(%a, %b, transpose_b=True)"),
    "bias_add": ("(?, ?) (?)", "nn.bias_add(%a, %b)"),
    "concatenate": ("(?, ?) (?, ?)", "concatenate((%a, %b), axis=0)"),
    "stack": ("(?, ?) (?, ?)", "stack((%a, %b), axis=0)"),
    "reshape": ("(?, ?)", "reshape(%a, newshape=[4, -1])"),
    "reshape_like": ("(?, ?) (?, ?)", "reshape_like(%a, %b)"),
    "broadcast_to_like": ("(?) (?, ?)", "broadcast_to_like(%a, %b)"),
    "collapse_sum_like": ("(?, ?) (?)", "collapse_sum_like(%a, %b)"),
    "slice_like": ("(?, ?) (?, ?)", "slice_like(%a, %b, axes=None)"),
    "squeeze": ("(?, ?)", "squeeze(%a, axis=[0])"),
    "layer_norm": ("(?, ?) (?) (?)", "nn.layer_norm(%a, %b, %c)"),
    "instance_norm": ("(1, ?, ?) (?) (?)", "nn.instance_norm(%a, %b, %c)"),
    "prelu": ("(?, ?) (?)", "nn.prelu(%a, %b)"),
    "conv2d": ("(1, ?, ?, ?) (?, ?, 3, 3)", "nn.conv2d(%a, %b, kernel_size=[3, 3])"),
    "max_pool2d": ("(1, 1, ?, ?)", "nn.max_pool2d(%a, pool_size=[2, 2])"),
    "take": ("(?, ?) (?)i", "take(%a, %b, axis=0)"),
    "take_around": ("(?, ?) (?)i", 'take(%a, %b, axis=0, mode="wrap")'),
    "take_flat": ("(?, ?) (?)i", "take(%a, %b)"),
    "gather": ("(?, ?) (?, ?)i", "gather(%a, %b, axis=0)"),
    "gather_nd": ("(?, ?) (2, ?)i", "gather_nd(%a, %b)"),
    "scatter_nd": ("(?, ?) (2, ?)i (?)", "scatter_nd(%a, %b, %c)"),
    "adv_index": ("(?, ?) (?)i (?)i", "adv_index((%a, %b, %c))"),
    "grid_sample": ("(1, 2, ?, ?) (1, 2, ?, ?)", "image.grid_sample(%a, %b)"),
    "sequence_mask": ("(?, ?) (?)i", "sequence_mask(%a, %b)"),
    "reverse_sequence": ("(?, ?) (?)i", "reverse_sequence(%a, %b, seq_axis=0, batch_axis=1)"),
    "cross_entropy": ("(?, ?) (?, ?)", "nn.cross_entropy(%a, %b)"),
    "einsum": ("(?, ?) (?, ?)", 'einsum((%a, %b), equation="ij,jk->ik")'),
    "depth_to_space": ("(1, ?, ?, ?)", "nn.depth_to_space(%a, block_size=2)"),
    "space_to_depth": ("(1, ?, ?, ?)", "nn.space_to_depth(%a, block_size=2)"),
    "resize2d": ("(1, 1, ?, ?)", "image.resize2d(%a, size=[4, 4], roi=[0f, 0f, 0f, 0f])"),
    "roi_align": (
        "(1, 1, ?, ?) (?, 5)",
        "vision.roi_align(%a, %b, pooled_size=[2, 2], spatial_scale=1f, sample_ratio=1)",
    ),
    "roi_pool": (
        "(1, 1, ?, ?) (?, 5)",
        "vision.roi_pool(%a, %b, pooled_size=[2, 2], spatial_scale=1f)",
    ),
    "scatter_nd_counted": ("(?, ?) (?, ?)i (?, ?)", "scatter_nd(%a, %b, %c)"),
    "bitpack": ("(?, ?)i", 'nn.bitpack(%a, bits=2, pack_axis=1, bit_axis=2, pack_type="uint8")'),
    "sliding_window": ("(?, ?)", "sliding_window(%a, axis=0, window_shape=[2, 3], strides=[1, 2])"),
    "stft": ("(?, ?) (4)", "stft(%a, %b, n_fft=4, hop_length=2, win_length=4, normalized=False, onesided=True)"),
    "strided_slice": ("(?, ?)", "strided_slice(%a, begin=[-3, 0], end=[-1, 2], strides=[1, 1], axes=None)"),
    "strided_slice_back": ("(?, ?)", "strided_slice(%a, begin=[-3], end=[0], strides=[-2], axes=[0])"),
    "softmax": ("(?, ?)", "nn.softmax(%a)"),
    "max": ("(?, ?)", "max(%a, axis=[0])"),
}
_DTYPES = {"": "float32", "i": "int32", "b": "bool"}


def parameters(name: str) -> list[tuple[list[str], str]]:
    """Return the extents, as words, and the dtype of each parameter."""
    found = re.findall(r"\(([^)]*)\)([ib]?)", PROGRAMS[name][0])
    return [([word.strip() for word in shape.split(",")], _DTYPES[kind]) for shape, kind in found]


def module(name: str) -> relay_ir.IRModule:
    """Return the typed program."""
    given = [
        f"%{letter}: Tensor[({', '.join(shape)}), {dtype}]"
        for letter, (shape, dtype) in zip("abc", parameters(name), strict=False)
    ]
    text = f'#[version = "0.0.5"]\ndef @main({", ".join(given)}) {{ {PROGRAMS[name][1]} }}'
    return relay_ir.infer_type(relay_ir.parse(text))


def arguments(name: str, draw: random.Random) -> list[np.ndarray]:
    """Return arrays of drawn extents; every other draw has one extent everywhere."""
    same = draw.choice(SIZES) if draw.random() < 0.4 else None
    values = np.random.default_rng(draw.randrange(1 << 30))
    arrays = []
    for shape, dtype in parameters(name):
        extents = [int(word) if word != "?" else draw.choice(SIZES) if same is None else same for word in shape]
        arrays.append(np.asarray(values.integers(0, 2, extents) if dtype != "float32" else values.random(extents)))
        arrays[-1] = arrays[-1].astype(dtype)
    return arrays


def outcome(run: Callable[..., Any], args: list[np.ndarray]) -> Any:
    """Return what a call gives, None where it is refused."""
    try:
        return run(*args)
    except Relay2RelaxError:
        return None


def compared(c: Callable[..., Any], numpy: Callable[..., Any], args: list[np.ndarray], strict: bool) -> None:
    """Raise AssertionError where C gives what numpy refuses, or another value.

    ``strict`` is for machines that ask the same rules on both: C then refuses nothing that numpy
    gives, but elements of tensors without any, which numpy's kernels may not look at.
    """
    found, expected = outcome(c, args), outcome(numpy, args)
    if found is None:
        assert not strict or expected is None or any(0 in one.shape for one in args), "C refuses what numpy computes"
        return
    assert expected is not None, "C computes what numpy refuses"
    assert found.shape == expected.shape
    assert difference(found, expected, 64).agrees


def actions(machine: str, first: str, step: str, calls: str) -> Iterator[Action]:
    """Yield calls of every ``step``-th program from ``first`` on."""
    for name in list(PROGRAMS)[int(first) :: int(step)]:
        mod = module(name)
        runs: list[Any] = []
        for backend in ("c", "numpy"):
            if machine == "executor":
                runs.append(backends.create_executor("debug", mod, backend).evaluate())
            else:
                built = backends.build(translator.lower_to_tir(mod), target=backend)
                runs.append(backends.VirtualMachine(built)["main"])
        draw = random.Random(zlib.crc32(name.encode()))
        for number in range(int(calls)):
            args = arguments(name, draw)
            label = f"{machine} {name} {number} {[one.shape for one in args]}"
            c, numpy = runs
            yield label, partial(compared, c, numpy, args, machine == "executor")
