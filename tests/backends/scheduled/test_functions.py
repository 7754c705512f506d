"""Functions that scheduled scripts have as arithmetic: as good as the C library's, on C and on a
real TVM, and calls where a condition guards what they read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.c.machine import Machine

EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 88.72, 89.0, -103.9, -104.5, 3e38, -3e38, 0.0, 0.0]
VALUES = np.concatenate([np.linspace(-100, 100, 20001), np.linspace(-6, 6, 20001), EDGES]).astype(np.float32)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


FUNCTIONS: Mapping[str, Callable[[float], float]] = {
    "exp": _exp,
    "sigmoid": lambda x: 1 / (1 + _exp(-x)),
    "tanh": math.tanh,
    "erf": math.erf,
}


@pytest.mark.parametrize(
    "target",
    [pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
def test_all_numbers_are_next_to_the_right_ones(target: Any) -> None:
    calls = ", ".join(f"{name}(%x)" for name in FUNCTIONS)
    text = f'#[version = "0.0.5"] def @main(%x: Tensor[({len(VALUES)}), float32]) {{ ({calls}) }}'
    mod = relay_ir.parse(text)
    program = backends.schedule_module(translator.via_graph(mod), Machine(64, 32))
    words = relax_ir.print_module(program)
    assert "T.let" in words
    assert not any(f"T.{name}(" in words for name in FUNCTIONS)
    found = backends.VirtualMachine(backends.build(program, target=target))["main"](VALUES)
    for (name, exact), result in zip(FUNCTIONS.items(), found, strict=True):
        right = np.array([exact(float(x)) for x in VALUES])
        with np.errstate(over="ignore"):
            nearest = right.astype(np.float32)
        finite = np.isfinite(nearest) & (np.abs(nearest) > 1e-37)
        apart = np.abs(result[finite] - right[finite]) / np.spacing(np.abs(nearest[finite]))
        assert apart.max() < 2.5, (name, VALUES[finite][apart.argmax()])
        np.testing.assert_array_equal(result[~np.isfinite(nearest)], nearest[~np.isfinite(nearest)])
        np.testing.assert_allclose(result, nearest, rtol=1e-5, atol=1e-37, err_msg=name)
        assert (np.signbit(result) == np.signbit(nearest))[~np.isnan(nearest)].all(), name


def test_what_a_condition_guards_stays_a_call() -> None:
    mod = relay_ir.parse(
        '#[version = "0.0.5"] def @main(%x: Tensor[(40), float32]) { exp(nn.pad(tanh(%x), 0f, pad_width=[[2, 3]])) }'
    )
    words = relax_ir.print_module(backends.schedule_module(translator.via_graph(mod), Machine()))
    assert "T.exp(" not in words
    guarded = [line for line in words.splitlines() if "T.tanh(" in line]
    assert all("T.if_then_else(" in line for line in guarded)
