"""How long the sums of a program are, and so how far its results may be off."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.tolerance import LONGEST_CHAIN
from relay2relax.translator.chains import longest_chain
from relay2relax.translator.report import Sheet

HEADER = '#[version = "0.0.5"]\n'

# The terms of each sum along the longest way, counted by hand; 1 for an operator without one. The
# maximum of a softmax is no sum, so it adds up its row once.
PROGRAMS = {
    "elementwise": ("def @main(%x: Tensor[(4, 5), float32]) { nn.relu(add(%x, %x)) }", [1, 1]),
    "integers": ("def @main(%x: Tensor[(4, 5), int32]) { sum(%x) }", [1]),
    "row": ("def @main(%x: Tensor[(4, 5), float32]) { sum(%x, axis=[1]) }", [5]),
    "all": ("def @main(%x: Tensor[(4, 5), float32]) { sum(%x) }", [20]),
    "maximum": ("def @main(%x: Tensor[(4, 5), float32]) { max(%x, axis=[1]) }", [1]),
    "running": ("def @main(%x: Tensor[(4, 5), float32]) { cumsum(%x, axis=1) }", [5]),
    "softmax": ("def @main(%x: Tensor[(4, 7), float32]) { nn.softmax(%x) }", [7]),
    "layers": (
        """def @main(%x: Tensor[(2, 11), float32], %w: Tensor[(5, 11), float32], %v: Tensor[(3, 5), float32]) {
            %0 = nn.dense(%x, %w, units=5);
            %1 = nn.relu(%0);
            nn.dense(%1, %v, units=3)
        }""",
        [11, 1, 5],
    ),
    "convolution": (
        """def @main(%x: Tensor[(1, 6, 8, 8), float32], %w: Tensor[(4, 6, 3, 3), float32]) {
            nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3])
        }""",
        [6 * 3 * 3],
    ),
    "branches of a sum": (
        """def @main(%x: Tensor[(4, 5), float32]) {
            %0 = sum(%x, axis=[1], keepdims=True);
            %1 = exp(%x);
            add(%0, %1)
        }""",
        [5, 1],
    ),
    "symbolic": ("def @main(%x: Tensor[(4, ?), float32]) { sum(%x, axis=[1]) }", [9]),
    "the longer branch": (
        """def @main(%x: Tensor[(4, 5), float32], %c: bool) {
            if (%c) { sum(%x, axis=[0, 1]) } else { sum(sum(%x, axis=[1]), axis=[0]) }
        }""",
        [20],
    ),
    "a function": (
        """def @row(%x: Tensor[(4, 5), float32]) -> Tensor[(4), float32] { sum(%x, axis=[1]) }
        def @main(%x: Tensor[(4, 5), float32]) { sum(@row(%x)) }""",
        [5, 4],
    ),
}

# A loop that data end, and a sum over what data choose.
UNDECIDED = {
    "recursion": """def @down(%n: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
        if (less(%n, 1)) { %x } else { @down(subtract(%n, 1), add(%x, %x)) }
    }
    def @main(%n: int32, %x: Tensor[(4), float32]) -> Tensor[(4), float32] { @down(%n, %x) }""",
    "chosen": """def @main(%x: Tensor[(9), float32]) {
        %0 = argwhere(%x);
        sum(cast(%0, dtype="float32"))
    }""",
}


def arguments(mod: relay_ir.IRModule) -> list[Any]:
    extents = {"x": (None, 9)}
    return translator.make_arguments(mod, extents=extents)


@pytest.mark.parametrize(("text", "terms"), PROGRAMS.values(), ids=list(PROGRAMS))
def test_the_terms_of_all_sums_on_the_longest_way_are_counted(text: str, terms: list[int]) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + text))
    assert longest_chain(mod, arguments(mod)) == sum(terms)


@pytest.mark.parametrize("text", UNDECIDED.values(), ids=list(UNDECIDED))
def test_where_data_decide_there_is_room_for_the_longest(text: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + text))
    values = arguments(mod)
    assert longest_chain(mod, values) is None
    report = translator.compare(mod, backends=("numpy",))
    assert report.agrees
    assert report.rows[0].difference.allowed.endswith(
        "float32, room for sums of 65,536 terms: their length is not known"
    )


def test_what_is_judged_has_no_say_in_the_tolerance() -> None:
    """A script that adds up more than Relay does gets no more room."""
    row = "def @main(%x: Tensor[(4, 5), float32]) { sum(%x, axis=[1]) }"
    report = translator.compare(relay_ir.parse(HEADER + row), backends=("numpy",))
    assert {one.difference.allowed.split(": ")[1] for one in report.rows} == {"float32, sums of 5 terms in a row"}


def test_longer_chains_get_no_more_room() -> None:
    lines = [f"%{i + 1} = nn.dense(%{i}, %w, units=300);" for i in range(300)]
    text = f"""def @main(%x: Tensor[(1, 300), float32], %w: Tensor[(300, 300), float32]) {{
        %0 = nn.relu(%x);
        {" ".join(lines)}
        %300
    }}"""
    mod = relay_ir.parse(HEADER + text)
    report = translator.compare(mod, backends=("numpy",))
    tolerance = report.rows[0].difference.tolerance
    assert tolerance is not None
    assert tolerance.why == "float32, sums of 90,001 terms in a row, room for 65,536"
    assert tolerance.relative == 2.0**-23 * (16 + 4 * 256)


@pytest.mark.sweep(every=3)
@pytest.mark.golden
def test_small_errors_are_found_in_every_recorded_model(model_case: Any) -> None:
    """What Relay gives here agrees with what TVM gave, and no longer where the largest value is off
    by a thousandth.
    """
    mod, values = relay_ir.infer_type(relay_ir.parse(model_case.text, model_case.name)), model_case.arguments()
    length = longest_chain(mod, values)
    assert length is not None
    assert length < LONGEST_CHAIN
    sheet = Sheet(model_case.expected(), None, length)
    found = translator.flatten(backends.create_executor("graph", mod).evaluate()(*values))
    for factor in (1.0, 1.001, 0.999):
        off = [array.copy() for array in found]
        for array in off:
            array.flat[np.abs(array).argmax()] *= np.float32(factor)
        sheet.add(f"times {factor}", "numpy", tuple(off))
    assert {(row.program, row.difference.agrees) for row in sheet.rows} == {
        ("times 1.0", True),
        ("times 1.001", False),
        ("times 0.999", False),
    }
