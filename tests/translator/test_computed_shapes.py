"""Shapes that a Relay program computes of other shapes: told beforehand, they are dimensions of the
Relax program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator

BROADCAST = """#[version = "0.0.5"]
def @main(%a: Tensor[(?, 3), float32], %b: Tensor[(?, 1, 3), float32]) {
  %0 = shape_of(%a, dtype="int64");
  %1 = shape_of(%b, dtype="int64");
  %2 = strided_slice(%1, begin=[0], end=[1], strides=[1], axes=None);
  %3 = (%2, %0);
  %4 = concatenate(%3);
  %5 = dyn.broadcast_to(%a, %4, shape=None);
  add(%5, %b)
}
"""
RESHAPED = """#[version = "0.0.5"]
def @main(%a: Tensor[(?, 4), float32]) {
  %0 = shape_of(%a, dtype="int32");
  %1 = take(%0, 0, axis=0);
  %2 = multiply(%1, 2);
  %3 = expand_dims(%2, axis=0);
  %4 = cast(%3, dtype="int64");
  %5 = dyn.full(1f, %4, shape=None, dtype="float32");
  %6 = prod(%0);
  %7 = reshape(%6, newshape=[1]);
  %8 = dyn.reshape(%a, %7, newshape=[]);
  (%5, %8)
}
"""


@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_shapes_of_shapes_are_symbolic(translate: Any, target: str) -> None:
    module = translate(relay_ir.parse(BROADCAST))
    machine = backends.VirtualMachine(backends.build(module, target=target))
    for rows, batch in ((2, 5), (4, 1)):
        a = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        b = np.ones((batch, 1, 3), np.float32)
        np.testing.assert_array_equal(machine["main"](a, b), np.broadcast_to(a, (batch, rows, 3)) + b)


@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
def test_arithmetic_of_extents_is_carried_along(translate: Any) -> None:
    module = translate(relay_ir.parse(RESHAPED), dims={"a": ("n", None)})
    machine = backends.VirtualMachine(backends.build(module, target="numpy"))
    for rows in (1, 3):
        a = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        ones, flat = machine["main"](a)
        np.testing.assert_array_equal(ones, np.ones(rows * 2, np.float32))
        np.testing.assert_array_equal(flat, a.reshape(-1))
