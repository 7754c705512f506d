"""Floating-point numbers survive text (with ``exact_floats``) and JSON, bit for bit, whatever they
are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typed import of_type

from relay2relax import relay_ir
from relay2relax.core.dtype import numpy_dtype
from relay2relax.relay_ir.build import op

# dtype, the integer of its width, and the bits of values that are easily lost: -0, the least and
# the largest denormal, the least normal and the largest finite number, both infinities, NaN as
# numpy makes it.
FORMATS = {
    "float16": (np.uint16, [0x8000, 0x0001, 0x03FF, 0x0400, 0x7BFF, 0x7C00, 0xFC00, 0x7E00]),
    "bfloat16": (np.uint16, [0x8000, 0x0001, 0x007F, 0x0080, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0]),
    "float32": (np.uint32, [0x80000000, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000]),
    "float64": (
        np.uint64,
        [1 << 63, 1, (1 << 52) - 1, 1 << 52, 0x7FEFFFFFFFFFFFFF, 0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48],
    ),
}


def module(value: np.ndarray) -> relay_ir.IRModule:
    return relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((), relay_ir.Constant(value))})


def attributes(mod: relay_ir.IRModule) -> Any:
    """Return the attributes of the call that is the body of ``main``."""
    return of_type(mod["main"].body, relay_ir.Call).attrs


def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype
    nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), nan)
    # Which of the NaNs it is text does not say.
    assert (
        np.where(nan, 0, found).astype(wanted.dtype).tobytes()
        == np.where(nan, 0, wanted).astype(wanted.dtype).tobytes()
    )


def check(dtype: str, bits: list[int]) -> None:
    width, _ = FORMATS[dtype]
    values = np.array(bits, width).view(numpy_dtype(dtype))
    for value in (values, *(one.reshape(()) for one in values)):
        mod = module(value)
        read = of_type(relay_ir.parse(mod.astext(exact_floats=True))["main"].body, relay_ir.Constant)
        assert_same(read.data, value)
        stored = of_type(relay_ir.load_json(relay_ir.save_json(mod))["main"].body, relay_ir.Constant)
        assert stored.data.tobytes() == value.tobytes()


@pytest.mark.parametrize("dtype", FORMATS)
def test_numbers_that_are_easily_lost(dtype: str) -> None:
    check(dtype, FORMATS[dtype][1])


@pytest.mark.parametrize("dtype", FORMATS)
@settings(max_examples=60)
@given(data=st.data())
def test_any_number(dtype: str, data: st.DataObject) -> None:
    most = np.iinfo(FORMATS[dtype][0]).max
    check(dtype, data.draw(st.lists(st.integers(0, int(most)), min_size=1, max_size=4)))


@settings(max_examples=200)
@given(value=st.floats(allow_nan=False))
@example(-0.0)
@example(5e-324)
@example(float("inf"))
@example(float("-inf"))
@example(0.1)
@example(1e300)
def test_attributes_that_are_doubles(value: float) -> None:
    x = relay_ir.var("x", shape=(2,))
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), op.clip(x, value, value))})
    for read in (relay_ir.parse(mod.astext(exact_floats=True)), relay_ir.load_json(relay_ir.save_json(mod))):
        attrs = attributes(read)
        assert np.float64(attrs.a_min).tobytes() == np.float64(value).tobytes()
        assert np.float64(attrs.a_max).tobytes() == np.float64(value).tobytes()


def test_an_attribute_that_is_no_number() -> None:
    x = relay_ir.var("x", shape=(2,))
    nan = float("nan")
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), op.clip(x, nan, 1.0))})
    for read in (relay_ir.parse(mod.astext(exact_floats=True)), relay_ir.load_json(relay_ir.save_json(mod))):
        assert np.isnan(attributes(read).a_min)


@pytest.mark.parametrize("value", [-(2.0**63), 0.1, 1e-300, 1e300, float(np.float32(0.1))])
def test_attributes_that_are_expressions(value: float) -> None:
    x = relay_ir.var("x", shape=(1, 1, 2))
    body = op.image.resize1d(x, (4,), roi=(0.0, value))
    mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((x,), body)})
    for read in (relay_ir.parse(mod.astext(exact_floats=True)), relay_ir.load_json(relay_ir.save_json(mod))):
        assert attributes(read).roi[1].value == value


@settings(max_examples=200)
@given(value=st.integers(-(2**63), 2**63 - 1), dtype=st.sampled_from(["int16", "int32", "int64", "uint8", "int8"]))
@example(-(2**63), "int64")
@example(2**63 - 1, "int64")
def test_integers(value: int, dtype: str) -> None:
    info = np.iinfo(dtype)
    found = np.array(min(max(value, info.min), info.max), dtype)
    mod = module(found)
    for read in (relay_ir.parse(mod.astext()), relay_ir.load_json(relay_ir.save_json(mod))):
        data = of_type(read["main"].body, relay_ir.Constant).data
        assert (data.dtype, data.tobytes()) == (found.dtype, found.tobytes())
