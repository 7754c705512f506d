"""A long chain of operators is read, typed, translated both ways and run without deep recursion."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sweep import ROW

from relay2relax import backends, relay_ir, translator


@pytest.mark.sweep(every=2)
def test_long_chain() -> None:
    lines = [f"  %{i} = add(%{i - 1 if i else 'x'}, %one);" for i in range(ROW - 1)]
    head = ['#[version = "0.0.5"]', "def @main(%x: Tensor[(2), int64], %one: Tensor[(2), int64]) {"]
    text = "\n".join([*head, *lines, f"  add(%{ROW - 2}, %one)", "}", ""])
    limit = sys.getrecursionlimit()
    mod = relay_ir.infer_type(relay_ir.parse(text))
    x, one = np.array([0, 5]), np.array([1, 1])
    expected = np.array([ROW, ROW + 5])
    result = backends.create_executor("graph", mod).evaluate()(x, one)
    np.testing.assert_array_equal(result, expected)
    for translate in (translator.lower_to_tir, translator.via_graph):
        machine = backends.VirtualMachine(backends.build(translate(mod), target="numpy"))
        np.testing.assert_array_equal(machine["main"](x, one), expected)
    assert sys.getrecursionlimit() == limit
