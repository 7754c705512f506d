"""Calls of open extents that a shape rule refuses are refused by every way to run them, and what
fits is computed by every way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError

HEAD = '#[version = "0.0.5"]\n'


def ways(text: str) -> dict[str, Callable[..., Any]]:
    """Return each way to run a Relay program, by its name."""
    mod = relay_ir.infer_type(relay_ir.parse(HEAD + text))
    found: dict[str, Callable[..., Any]] = {}
    for target in ("numpy", "c"):
        found[f"debug {target}"] = backends.create_executor("debug", mod, target).evaluate()
        for translated in (translator.via_graph, translator.lower_to_tir):
            machine = backends.VirtualMachine(backends.build(translated(mod), target))
            found[f"{translated.__name__} {target}"] = machine["main"]
    return found


def answer(run: Callable[..., Any], *args: Any) -> Any:
    try:
        return np.asarray(run(*args)).tolist()
    except Relay2RelaxError:
        return "refused"


def answers(text: str, *args: Any) -> dict[str, Any]:
    return {name: answer(run, *args) for name, run in ways(text).items()}


DIAGONALS = (
    "def @main(%x: Tensor[(?, ?), float32], %d: Tensor[(?, ?), float32]) "
    "{ matrix_set_diag(%x, %d, k1=KLOW, k2=KHIGH, super_diag_right_align=True, sub_diag_right_align=False) }"
)


@pytest.mark.parametrize(
    ("shape", "low", "high", "lines"),
    [
        ((3, 4), 0, 3, (4, 3)),
        ((3, 4), -2, 1, (4, 3)),
        ((4, 3), -1, 1, (3, 3)),
        ((3, 5), 1, 2, (2, 3)),
        ((3, 3), 0, 3, None),  # beyond the last column
        ((2, 3), 0, 3, None),
        ((3, 4), 0, 3, "long"),
        ((3, 4), 0, 3, "many"),
    ],
)
def test_diagonals(shape: tuple[int, int], low: int, high: int, lines: Any) -> None:
    count = high - low + 1
    given = {None: (count, min(shape)), "long": (count, 4), "many": (count + 1, 3)}.get(lines, lines)
    data = np.zeros(shape, np.float32)
    diagonals = np.arange(1, 1 + np.prod(given), dtype=np.float32).reshape(given)
    text = DIAGONALS.replace("KLOW", str(low)).replace("KHIGH", str(high))
    expected: Any = "refused"
    if isinstance(lines, tuple):
        # As TVM's documentation of matrix_set_diag says: line m is diagonal k2 - m; those above
        # the main one stand at the right, the others at the left.
        whole = np.zeros(shape, np.float32)
        for k in range(low, high + 1):
            places = [(i, i + k) for i in range(shape[0]) if 0 <= i + k < shape[1]]
            line = diagonals[high - k]
            line = line[len(line) - len(places) :] if k >= 0 else line[: len(places)]
            for place, value in zip(places, line, strict=True):
                whole[place] = value
        expected = whole.tolist()
    found = answers(text, data, diagonals)
    assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize(
    ("dtype", "count"), [("int8", 127), ("int8", 128), ("int8", 256), ("uint8", 255), ("uint8", 256)]
)
def test_means_of_few_bits(dtype: str, count: int) -> None:
    # A dtype that cannot hold the number of elements cannot be divided by it.
    text = f"def @main(%x: Tensor[(?, 2), {dtype}]) {{ mean(%x, axis=[0]) }}"
    data = np.zeros((count, 2), dtype)
    data[:3] = 40
    expected = [120 // count] * 2 if count <= np.iinfo(dtype).max else "refused"
    found = answers(text, data)
    assert found == dict.fromkeys(found, expected)
