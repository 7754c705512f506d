"""Edges: NaN, infinities, overflow, ties, empty axes. Expected values by hand, and the same from a
real apache-tvm.

All calls stand in one Relay module, which runs on numpy, in C and in apache-tvm; each has to give
the expected values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import backends, relay_ir, translator
from relay2relax.core.dtype import numpy_dtype, of_array

NAN, INF = np.nan, np.inf


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def i8(*values: int) -> np.ndarray:
    return np.array(values, np.int8)


def f64(*values: float) -> np.ndarray:
    return np.array(values, np.float64)


def bf16(*values: float) -> np.ndarray:
    return np.array(values, numpy_dtype("bfloat16"))


def flags(*values: int) -> np.ndarray:
    return np.array(values, np.bool_)


LEFT = f32(NAN, 1, NAN, INF, -INF, 2)
RIGHT = f32(1, NAN, NAN, INF, 3, -3)
YES, NO = flags(1, 0, 1, 0), flags(1, 1, 0, 0)
PAIRS = f64(1, 3, 2, 6).reshape(2, 2)
IMAGE = f64(1, 3, 2, 6).reshape(1, 2, 2)
# Text with %0, %1 for the arguments, the arguments, the expected value.
CASES: list[tuple[str, list[np.ndarray], np.ndarray]] = [
    # a > b ? a : b: a NaN on the left gives the right operand, one on the right itself.
    ("maximum(%0, %1)", [LEFT, RIGHT], f32(1, NAN, NAN, INF, 3, 2)),
    ("minimum(%0, %1)", [LEFT, RIGHT], f32(1, NAN, NAN, INF, -INF, -3)),
    # Comparisons are ordered, that for difference too.
    ("equal(%0, %1)", [LEFT, RIGHT], np.array([False, False, False, True, False, False])),
    ("not_equal(%0, %1)", [LEFT, RIGHT], np.array([False, False, False, False, True, True])),
    ("less(%0, %1)", [LEFT, RIGHT], np.array([False, False, False, False, True, False])),
    ("clip(%0, a_min=-1f, a_max=1f)", [f32(NAN, INF, -INF, -0.5)], f32(1, 1, -1, -0.5)),
    ("nn.relu(%0)", [f32(NAN, INF, -INF)], f32(0, INF, 0)),
    ("sign(%0)", [f32(NAN, INF, -INF, -0.0)], f32(0, 1, -1, 0)),
    # A NaN is forgotten as soon as a number follows.
    ("max(%0)", [f32(NAN, 1, 2)], f32(2)[0]),
    ("max(%0)", [f32(1, 2, NAN)], f32(NAN)[0]),
    ("min(%0, axis=[0])", [np.tile(f32(3, NAN, 1), (20, 2))], f32(3, NAN, 1, 3, NAN, 1)),
    ("max(%0)", [np.r_[f32(NAN, 5), np.zeros(60, np.float32)]], f32(5)[0]),
    ("max(%0)", [np.r_[np.zeros(60, np.float32), f32(5, NAN)]], f32(NAN)[0]),
    # The first of several largest, or the last.
    ("argmax(%0)", [f32(1, 3, 3, 2, 3)], i32(1)[0]),
    ("argmax(%0, select_last_index=True)", [f32(1, 3, 3, 2, 3)], i32(4)[0]),
    ("argmin(%0, axis=[1])", [np.array([[2, 1, 1], [0, 0, 0]], np.int32)], i32(1, 0)),
    # Reductions of nothing give their identity.
    ("sum(%0, axis=[1])", [np.zeros((2, 0), np.float32)], f32(0, 0)),
    ("prod(%0, axis=[1])", [np.zeros((2, 0), np.float32)], f32(1, 1)),
    ("max(%0, axis=[1])", [np.zeros((2, 0), np.int8)], i8(-128, -128)),
    # Integers wrap around.
    ("add(%0, %1)", [i8(127, -128, 100), i8(1, -1, 100)], i8(-128, 127, -56)),
    ("multiply(%0, %1)", [i8(64, -128, 11), i8(2, -1, 12)], i8(-128, -128, -124)),
    ("abs(%0)", [i8(-128, -1, 5)], i8(-128, 1, 5)),
    ("negative(%0)", [i8(-128, -1, 5)], i8(-128, 1, -5)),
    ("subtract(%0, %1)", [np.array([0, 5], np.uint8), np.array([1, 6], np.uint8)], np.array([255, 255], np.uint8)),
    # Division towards zero, and towards minus infinity.
    ("divide(%0, %1)", [i32(7, -7, 7, -7), i32(2, 2, -2, -2)], i32(3, -3, -3, 3)),
    ("mod(%0, %1)", [i32(7, -7, 7, -7), i32(2, 2, -2, -2)], i32(1, -1, 1, -1)),
    ("floor_divide(%0, %1)", [i32(7, -7, 7, -7), i32(2, 2, -2, -2)], i32(3, -4, -4, 3)),
    ("floor_mod(%0, %1)", [i32(7, -7, 7, -7), i32(2, 2, -2, -2)], i32(1, 1, -1, -1)),
    ("floor_divide(%0, %1)", [f32(7, -7, 7.5, -7.5), f32(2, 2, -2, -2)], f32(3, -4, -4, 3)),
    ("floor_mod(%0, %1)", [f32(7, -7, 1e20, -7.5), f32(2, 2, 1.5, -2)], f32(1, 1, 0, -1.5)),
    ("trunc_divide(%0, %1)", [f32(7, -7, 7.5, -7.5), f32(2, 2, -2, -2)], f32(3, -3, -3, 3)),
    ("mod(%0, %1)", [f32(7, -7, INF, 5), f32(2, 2, 2, INF)], f32(1, -1, NAN, 5)),
    ("divide(%0, %1)", [f32(1, -1, 0), f32(0, 0, 0)], f32(INF, -INF, NAN)),
    ("right_shift(%0, %1)", [i32(-8, -1, 7), i32(1, 31, 2)], i32(-4, -1, 1)),
    ("left_shift(%0, %1)", [i32(1, 3, -1), i32(31, 30, 4)], i32(-(1 << 31), -(1 << 30), -16)),
    # Halves.
    ("round(%0)", [f32(0.5, 1.5, 2.5, -0.5, -2.5)], f32(1, 2, 3, -1, -3)),
    # Conversions truncate; integers keep their lower bits; whatever is not 0 is true.
    ('cast(%0, dtype="int32")', [f32(2.9, -2.9, 1e9)], i32(2, -2, 1000000000)),
    ('cast(%0, dtype="int8")', [i32(127, 128, 300, -129)], i8(127, -128, 44, 127)),
    ('cast(%0, dtype="uint8")', [i32(-1, 256)], np.array([255, 0], np.uint8)),
    ('cast(%0, dtype="bool")', [f32(0, -0.0, 0.5, INF)], np.array([False, False, True, True])),
    ("take(%0, %1)", [f32(1, 2, 3), i32(-1, 5, 2)], f32(1, 3, 3)),
    ('take(%0, %1, mode="wrap")', [f32(1, 2, 3), i32(-1, 5, 2)], f32(3, 3, 3)),
    # Sorting keeps the order of equals.
    ('argsort(%0, dtype="int32")', [f32(2, 1, 2, 1)], i32(1, 3, 0, 2)),
    ('argsort(%0, is_ascend=False, dtype="int32")', [f32(2, 1, 2, 1)], i32(0, 2, 1, 3)),
    ("power(%0, %1)", [f32(-2, 0, -2, INF), f32(3, 0, 0.5, -1)], f32(-8, 1, NAN, 0)),
    ("sqrt(%0)", [f32(-1, INF)], f32(NAN, INF)),
    ("log(%0)", [f32(0, -1, INF)], f32(-INF, NAN, INF)),
    ("exp(%0)", [f32(-INF, INF, 200, -200)], f32(0, INF, INF, 0)),
    # Truth values are numbers, too: `or` is their sum and maximum, `and` their product and minimum.
    ("equal(%0, %1)", [YES, NO], flags(1, 0, 0, 1)),
    ("not_equal(%0, %1)", [YES, NO], flags(0, 1, 1, 0)),
    ("less(%0, %1)", [YES, NO], flags(0, 1, 0, 0)),
    ("less_equal(%0, %1)", [YES, NO], flags(1, 1, 0, 1)),
    ("greater(%0, %1)", [YES, NO], flags(0, 0, 1, 0)),
    ("greater_equal(%0, %1)", [YES, NO], flags(1, 0, 1, 1)),
    ("maximum(%0, %1)", [YES, NO], flags(1, 1, 1, 0)),
    ("minimum(%0, %1)", [YES, NO], flags(1, 0, 0, 0)),
    ("add(%0, %1)", [YES, NO], flags(1, 1, 1, 0)),
    ("multiply(%0, %1)", [YES, NO], flags(1, 0, 0, 0)),
    ("abs(%0)", [YES], YES),
    ("nn.relu(%0)", [YES], YES),
    ("clip(%0, a_min=0f, a_max=1f)", [YES], YES),
    ("isfinite(%0)", [YES], flags(1, 1, 1, 1)),
    ("argmax(%0)", [flags(0, 1, 1)], i32(1)[0]),
    ("argmin(%0)", [flags(1, 0, 0)], i32(1)[0]),
    ("max(%0)", [flags(0, 1, 0)], flags(1)[0]),
    ("take(%0, %1)", [f32(4, 5), YES], f32(5, 4, 5, 4)),
    # Other numbers are true where they are not 0.
    ("logical_not(%0)", [i8(-3, 0, 1)], i8(0, 1, 0)),
    ("logical_and(%0, %1)", [i8(-3, 0, 1), i8(1, 1, 0)], i8(1, 0, 0)),
    # bfloat16.
    ("argmax(%0)", [bf16(1, 3, 3, 2)], i32(1)[0]),
    ("mod(%0, %1)", [bf16(7, -7, 5.5), bf16(2, 2, -2)], bf16(1, -1, 1.5)),
    ('argsort(%0, dtype="int32")', [bf16(0.875, -1, 0.75)], i32(1, 2, 0)),
    ('topk(%0, k=2, ret_type="values")', [bf16(0.875, -1, 0.75)], bf16(0.875, 0.75)),
    ("power(%0, %1)", [bf16(2, 9), bf16(3, 0.5)], bf16(8, 3)),
    # Normalisation in double precision.
    ("nn.layer_norm(%0, %1, %2, epsilon=0f)", [PAIRS, f64(1, 2), f64(0, 1)], f64(-1, 3, -1, 3).reshape(2, 2)),
    ("nn.instance_norm(%0, %1, %2, epsilon=0f)", [IMAGE, f64(1, 2), f64(0, 1)], f64(-1, 1, -1, 3).reshape(1, 2, 2)),
    (
        "nn.group_norm(%0, %1, %2, num_groups=2, epsilon=0f)",
        [IMAGE, f64(1, 2), f64(0, 1)],
        f64(-1, 1, -1, 3).reshape(1, 2, 2),
    ),
]


def module(cases: list[Any]) -> tuple[Any, list[np.ndarray]]:
    """Return a Relay module of all calls, and its arguments."""
    params, arguments, lines = [], [], []
    for number, (text, args, _) in enumerate(cases):
        for place, arg in enumerate(args):
            shape = ", ".join(map(str, arg.shape)) + ("," if arg.ndim == 1 else "")
            params.append(f"%a{number}_{place}: Tensor[({shape.rstrip(',')}), {of_array(arg)}]")
            arguments.append(arg)
            text = text.replace(f"%{place}", f"%a{number}_{place}")
        lines.append(f"  %{number} = {text};")
    results = ", ".join(f"%{number}" for number in range(len(cases)))
    source = "\n".join(['#[version = "0.0.5"]', f"def @main({', '.join(params)}) {{", *lines, f"  ({results})", "}"])
    return relay_ir.infer_type(relay_ir.parse(source)), arguments


def check(found: Any, cases: list[Any]) -> None:
    wrong = []
    for value, (text, args, expected) in zip(found, cases, strict=True):
        same = np.asarray(value).dtype == expected.dtype and np.array_equal(value, expected, equal_nan=True)
        if not same and not (expected.dtype.kind == "f" and np.allclose(value, expected, 1e-6, 0, equal_nan=True)):
            wrong.append(f"{text} of {args}: {value}, expected {expected}")
    assert not wrong, "\n".join(wrong)


def array_equal_cases() -> list[Any]:
    # NaN cannot be asked for in arrays of integers.
    return [(text, args, np.asarray(expected)) for text, args, expected in CASES]


def test_edges_on_numpy() -> None:
    cases = array_equal_cases()
    mod, arguments = module(cases)
    check(backends.create_executor("debug", mod).evaluate()(*arguments), cases)


@pytest.mark.compiler
def test_edges_in_c() -> None:
    cases = array_equal_cases()
    mod, arguments = module(cases)
    check(backends.VirtualMachine(backends.build(translator.lower_to_tir(mod), target="c"))["main"](*arguments), cases)


@pytest.mark.tvm
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.sweep(every=2)
def test_edges_in_tvm(translate: Any) -> None:
    # Where memory is empty, real TVM reads none of it, but has no tensors without elements as
    # arguments.
    cases = [case for case in sampled(array_equal_cases(), 1) if all(arg.size for arg in case[1])]
    mod, arguments = module(cases)
    check(backends.VirtualMachine(backends.build(translate(mod), target="tvm"))["main"](*arguments), cases)
