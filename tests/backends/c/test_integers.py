"""Products of integers in C: bytes are multiplied four at a time, to the bit as numpy multiplies
them, whatever instructions a processor has for that.
"""

from __future__ import annotations

import platform
import shutil

import numpy as np
import pytest
from c_programs import c_program
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.machine import LEVELS, Machine
from relay2relax.backends.c.merge_calls import merge_blocks
from relay2relax.backends.c.schedule.schedule import fused, schedule
from relay2relax.backends.c.toolchain import find_compiler
from relay2relax.core.dtype import bits
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = pytest.mark.compiler
RANDOM = np.random.default_rng(11)


def runs(march: str) -> bool:
    """Say whether this machine has an instruction set."""
    found = find_compiler().macros
    return all(f"__{one.upper().replace('.', '_')}__" in found for one in LEVELS[march])


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


# Instruction sets: their own compiler options, and whether this machine runs them.
SETS = ["native", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def quantised(x: np.ndarray, zero: int) -> np.ndarray:
    return x.astype(np.int32) - zero


@pytest.mark.parametrize("march", SETS)
def test_sums_of_bytes_at_their_ends(march: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No instruction may keep its sums within 16 bits: 255 * -128 and 255 * 127, all along, zero
    points of both factors, depths that four does not divide, results that are cut.
    """
    if march != "native":
        if platform.machine() != "x86_64" or not runs(march):
            pytest.skip(f"not for {march}")
        monkeypatch.setenv("CC", f"{shutil.which('cc')} -march={march}")
    for rows, depth, columns, dtype, weight, zeros in [
        (9, 70, 33, "uint8", "int8", (128, 0)),
        (16, 64, 40, "int8", "int8", (-3, 0)),
        (11, 23, 20, "uint8", "uint8", (7, 131)),
        (1, 128, 48, "uint8", "int8", (255, 0)),
    ]:
        module = program(
            f"%x: Tensor[({rows}, {depth}), {dtype}], %w: Tensor[({columns}, {depth}), {weight}]",
            f'%0 = subtract(cast(%x, dtype="int32"), {zeros[0]});\n'
            f'nn.dense(%0, subtract(cast(%w, dtype="int32"), {zeros[1]}), units={columns}, out_dtype="int32")',
        )
        x, w = drawn(dtype, rows, depth), drawn(weight, columns, depth)
        x[0], w[0], w[1] = np.iinfo(dtype).max, np.iinfo(weight).min, np.iinfo(weight).max
        found = run(module, {"w": w}, x, True)
        np.testing.assert_array_equal(found, quantised(x, zeros[0]) @ quantised(w, zeros[1]).T)


@pytest.mark.parametrize(("read", "made", "groups"), [(3, 24, 1), (6, 20, 1), (20, 20, 20)])
def test_quantised_convolutions(read: int, made: int, groups: int) -> None:
    """Few channels, channels that four does not divide, and one by one; padded by the zero point,
    and rounded back to bytes, halves to the even one.
    """
    module = program(
        f"%x: Tensor[(1, {read}, 9, 7), float32], %w: Tensor[({made}, {read // groups}, 3, 3), int8], "
        f"%b: Tensor[({made}), int32]",
        f"""
  %0 = subtract(cast(cast(clip(%x, a_min=0f, a_max=255f), dtype="uint8"), dtype="int32"), 131);
  %1 = nn.conv2d(%0, cast(%w, dtype="int32"), padding=[1, 1, 1, 1], groups={groups}, out_dtype="int32");
  %2 = multiply(cast(nn.bias_add(%1, %b), dtype="float32"), 0.0078125f);
  %3 = floor(%2);
  %4 = subtract(%2, %3);
  %5 = logical_and(equal(%4, 0.5f), equal(floor_mod(%3, 2f), 0f));
  %6 = where(logical_or(less(%4, 0.5f), %5), %3, add(%3, 1f));
  cast(cast(clip(add(%6, 100f), a_min=0f, a_max=255f), dtype="int32"), dtype="uint8")""",
    )
    x, w = drawn("uint8", 1, read, 9, 7), drawn("int8", made, read // groups, 3, 3)
    b = RANDOM.integers(-5000, 5000, made, dtype="int32")
    relax = translator.lower_to_tir(module, {"w": w, "b": b})
    main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
    total = convolved(quantised(x, 131), w, groups) + b[:, None, None]
    right = np.clip(np.rint(total / np.float32(128)) + 100, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(of_type(main(x.astype("float32")), np.ndarray), right)


def test_sums_of_scaled_integers_are_exact() -> None:
    """In QDQ form factors are floats: their sum is that of the integers, scaled once."""
    module = program(
        "%x: Tensor[(9, 600), uint8], %w: Tensor[(20, 600), int8], %s: Tensor[(20, 1), float32]",
        """
  %0 = multiply(cast(subtract(cast(%x, dtype="int32"), 7), dtype="float32"), 0.3f);
  nn.dense(%0, multiply(cast(cast(%w, dtype="int32"), dtype="float32"), %s), units=20)""",
    )
    x, w, s = drawn("uint8", 9, 600), drawn("int8", 20, 600), RANDOM.random((20, 1), "float32")
    relax = translator.lower_to_tir(module, {"w": w, "s": s})
    main = backends.VirtualMachine(backends.build(relax, target="c"))["main"]
    right = (quantised(x, 7) @ quantised(w, 0).T).astype("float32") * (np.float32(0.3) * s[:, 0])
    np.testing.assert_array_equal(of_type(main(x), np.ndarray), right)


def test_nothing_of_a_quantised_layer_is_wider_than_a_byte() -> None:
    """Between convolutions there are bytes, and the product is one of those."""
    made = c_program("bytes_conv")
    program = fused(made.func, Machine(), frozenset(made.constants), native=True)
    wide = {b.name for stage in program.stages for b in stage.writes() if bits(b.dtype) > 8}
    assert wide == {"sums"}


def test_a_byte_is_widened_once() -> None:
    """A quantised convolution becomes its operands, widened and shifted, and a product of int32 in
    tiles, where apache-tvm compiles the loops.
    """
    module = program(
        "%x: Tensor[(1, 32, 14, 14), uint8], %w: Tensor[(32, 32, 3, 3), int8]",
        'qnn.conv2d(%x, %w, 3, 1, 0.1f, 0.2f, padding=[1, 1, 1, 1], kernel_size=[3, 3], out_dtype="int32")',
    )
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module, {"w": drawn("int8", 32, 32, 3, 3)})))
    (func,) = (f for f in merged.module.functions.values() if isinstance(f, PrimFunc))
    labels = [one.label for one in schedule(func, Machine(), frozenset(merged.constants)).stages]
    assert [label.split(", ")[-1] for label in labels if "over" in label] == ["packing", "product"]


def requantised(value: str, scale: np.float32, zero: int) -> str:
    """Return the text of what rounds ``value`` over ``scale`` to a byte, halves to the even one."""
    return f"""
  %1 = divide({value}, {float(scale)!r}f);
  %2 = floor(%1);
  %3 = subtract(%1, %2);
  %4 = logical_and(equal(%3, 0.5f), equal(floor_mod(%2, 2f), 0f));
  %5 = add(where(logical_or(less(%3, 0.5f), %4), %2, add(%2, 1f)), {zero}f);
  cast(clip(%5, a_min=0f, a_max=255f), dtype="uint8")"""


@pytest.mark.parametrize(("more", "dropped"), [(1.0, True), (1.001, True), (1.01, False), (2.0, False)])
def test_bytes_quantised_again_by_about_the_same_scale_are_those_bytes(more: float, dropped: bool) -> None:
    x, zero = np.arange(256, dtype=np.uint8), 131
    scale = np.float32(RANDOM.uniform(0.001, 0.1))
    other = np.float32(scale * np.float32(more))
    text = f'%0 = multiply(cast(subtract(cast(%x, dtype="int32"), {zero}), dtype="float32"), {float(scale)!r}f);'
    module = program("%x: Tensor[(256), uint8]", text + requantised("%0", other, zero))
    numbers = (x.astype(np.float32) - np.float32(zero)) * scale / other
    wanted = np.clip(np.rint(numbers) + zero, 0, 255).astype(np.uint8)
    assert bool((wanted == x).all()) == dropped
    np.testing.assert_array_equal(run(module, {}, x, True), wanted)
    merged = merge_blocks(LegalizeOps()(translator.lower_to_tir(module))).module
    (func,) = (func for func in merged.functions.values() if isinstance(func, PrimFunc))
    assert ("nearbyint" in str(schedule(func, Machine(), native=True))) != dropped


@pytest.mark.parametrize("march", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
def test_quotients_next_to_halves_are_rounded_as_divisions_are(march: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies next to halves on either side, and beyond all bytes."""
    if platform.machine() != "x86_64" or not runs(march):
        pytest.skip(f"this machine does not run {march}")
    monkeypatch.setenv("CC", f"{find_compiler().command[0]} -march={march}")
    zero, halves = 117, np.arange(-200, 200, dtype=np.float32) + np.float32(0.5)
    for scale in RANDOM.uniform(0.001, 0.1, 3).astype(np.float32):
        near = halves * scale
        for _ in range(3):
            near = np.nextafter(near, np.float32(-np.inf))
        steps = [near]
        for _ in range(6):
            steps.append(np.nextafter(steps[-1], np.float32(np.inf)))
        numbers = np.stack([*steps, np.full_like(near, np.inf), np.full_like(near, -np.inf)])
        text = '%0 = cast(nn.dense(%x, %w, units=16, out_dtype="int32"), dtype="float32");\n%9 = add(%0, %b);'
        shapes = "%x: Tensor[(9, 16), int8], %w: Tensor[(16, 16), int8], %b: Tensor[(9, 16), float32]"
        module = program(shapes, text + requantised("%9", scale, zero))
        nothing = np.zeros((9, 16), np.int8), np.zeros((16, 16), np.int8)
        main = backends.VirtualMachine(backends.build(translator.lower_to_tir(module), target="c"))["main"]
        for columns in np.split(numbers, 25, axis=1):
            with np.errstate(over="ignore"):
                wanted = np.clip(np.rint(columns / scale) + zero, 0, 255).astype(np.uint8)
            np.testing.assert_array_equal(main(*nothing, np.ascontiguousarray(columns)), wanted)
