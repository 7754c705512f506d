"""Products of integers in C: bytes are widened once and multiplied in tiles, to the bit as numpy
multiplies them.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import schedule
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = pytest.mark.compiler
RANDOM = np.random.default_rng(11)


def drawn(dtype: str, *shape: int) -> np.ndarray:
    limits = np.iinfo(dtype)
    return RANDOM.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def program(params: str, body: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n{body}\n}}'))


def run(module: relay_ir.IRModule, weights: dict[str, np.ndarray], data: np.ndarray, bound: bool) -> np.ndarray:
    relax = translator.lower_to_tir(module, weights if bound else None)
    main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
    return of_type(main(data) if bound else main(data, **weights), np.ndarray)


def convolved(data: np.ndarray, weight: np.ndarray, groups: int) -> np.ndarray:
    """Return the convolution of NCHW images with windows of 3x3 and a border of one, in int32."""
    padded = np.pad(data.astype(np.int32), ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    parts = zip(np.split(windows, groups, 1), np.split(weight.astype(np.int32), groups), strict=True)
    return np.concatenate([np.einsum("nchwij,ocij->nohw", image, one) for image, one in parts], 1)


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(
    ("read", "made", "groups", "dtype"), [(16, 24, 1, "int8"), (3, 5, 1, "uint8"), (20, 20, 20, "int8")]
)
@pytest.mark.sweep(every=2)
def test_convolutions_of_bytes(read: int, made: int, groups: int, dtype: str, bound: bool) -> None:
    module = program(
        f"%x: Tensor[(2, {read}, 9, 7), {dtype}], %w: Tensor[({made}, {read // groups}, 3, 3), int8]",
        f'nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups={groups}, out_dtype="int32")',
    )
    x, w = drawn(dtype, 2, read, 9, 7), drawn("int8", made, read // groups, 3, 3)
    np.testing.assert_array_equal(run(module, {"w": w}, x, bound), convolved(x, w, groups))


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize(("rows", "dtype"), [(1, "int8"), (13, "uint8"), (13, "int32")])
@pytest.mark.sweep(every=2)
def test_matrix_products_wrap_around_in_32_bits(rows: int, dtype: str, bound: bool) -> None:
    module = program(
        f"%x: Tensor[(?, 70), {dtype}], %w: Tensor[(33, 70), {dtype}]", 'nn.dense(%x, %w, units=33, out_dtype="int32")'
    )
    x, w = drawn(dtype, rows, 70), drawn(dtype, 33, 70)
    found = run(module, {"w": w}, x, bound)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, x.astype(np.int32) @ w.astype(np.int32).T)


def test_a_byte_is_widened_once() -> None:
    """A quantised convolution becomes its operands, widened and shifted, and a product of int32 in
    tiles.
    """
    module = program(
        "%x: Tensor[(1, 32, 14, 14), uint8], %w: Tensor[(32, 32, 3, 3), int8]",
        'qnn.conv2d(%x, %w, 3, 1, 0.1f, 0.2f, padding=[1, 1, 1, 1], kernel_size=[3, 3], out_dtype="int32")',
    )
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module, {"w": drawn("int8", 32, 32, 3, 3)})))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    labels = [one.label for one in schedule(func, Machine(), frozenset(merged.constants)).stages]
    assert [label.split(", ")[-1] for label in labels if "over" in label] == ["packing", "product"]
