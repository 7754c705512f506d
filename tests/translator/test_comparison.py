"""What a comparison says beside its rows: values that are drawn, and outputs that prove little."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir, translator
from relay2relax.cli.screen import report_table
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.tolerance import Tolerance

HEADER = '#[version = "0.0.5"]\n'


def notes(text: str, **inputs: np.ndarray) -> tuple[str, ...]:
    report = translator.compare(relay_ir.parse(HEADER + text), inputs=inputs, backends=("numpy",))
    assert report.agrees
    return report.notes


def test_variances_that_are_drawn_are_positive() -> None:
    text = """def @main(%x: Tensor[(1, 3, 4, 4), float32], %gamma: Tensor[(3), float32], %beta: Tensor[(3), float32],
                        %mean: Tensor[(3), float32], %var: Tensor[(3), float32]) {
        %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var);
        %0.0
    }"""
    assert notes(text) == ("drawn from seed 0: x (1, 3, 4, 4), gamma (3,), beta (3,), mean (3,), var (3,)",)


def test_what_is_behind_a_bias_is_drawn_on_both_sides_of_zero() -> None:
    mod = relay_ir.infer_type(
        relay_ir.parse(
            HEADER
            + """def @main(%x: Tensor[(8, 64), float32], %w: Tensor[(64, 64), float32], %b: Tensor[(64), float32],
                          %s: Tensor[(64), float32]) {
        nn.relu(multiply(nn.bias_add(nn.dense(%x, %w, units=64), %b), %s))
    }"""
        )
    )
    x, w, b, s = (np.asarray(one, np.float32) for one in translator.make_arguments(mod))
    sums = (x @ w.T + b) * s
    # As many elements are below zero as above, so that a clamp that is missing is seen.
    assert 0.25 < (sums < 0).mean() < 0.75
    assert (s > 0).all()
    # A vector that does something else as well may have to be positive.
    both = relay_ir.parse(HEADER + "def @main(%x: Tensor[(2, 9), float32], %b: Tensor[(9), float32]) { "
                          "divide(add(%x, %b), sqrt(%b)) }")  # fmt: skip
    assert (np.asarray(translator.make_arguments(relay_ir.infer_type(both))[1], np.float32) > 0).all()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            [1.0, -1.0, 4.0],
            "output 0: only 2 of 3 values are finite (`view --run` says where it begins); "
            "give --params, or other inputs",
        ),
        ([4.0, 4.0, 4.0], "output 0: every value is 2.0; give --params, or other inputs"),
    ],
)
def test_outputs_that_prove_little(values: list[float], said: str) -> None:
    x = np.array(values, np.float32)
    assert notes("def @main(%x: Tensor[(3), float32]) { sqrt(%x) }", x=x) == (said,)


def test_drawn_values_depend_on_name_and_seed_alone() -> None:
    mod = relay_ir.infer_type(
        relay_ir.parse(HEADER + "def @main(%a: Tensor[(2, 2), float32], %b: Tensor[(4), int32]) { (%a, %b) }")
    )
    first, again, other = (translator.make_arguments(mod, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first[0], again[0])
    assert not np.array_equal(first[0], other[0])
    assert set(of_type(first[1], np.ndarray).tolist()) <= {0, 1, 2, 3}


LINEAR = """def @main(%x: Tensor[(2, 3), float32]) { (nn.relu(%x), negative(%x)) }"""
X = np.array([[1, -2, 3], [4, 5, -6]], "float32")


def recorded(first: np.ndarray, second: np.ndarray, **options: Any) -> translator.Report:
    mod = relay_ir.parse(HEADER + LINEAR)
    given = {"out1": second, "out0": first}
    return translator.compare(mod, inputs={"x": X}, backends=("numpy",), expected=given, **options)


def test_extents_below_zero_are_refused() -> None:
    # TVM's checker of types takes them.
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + "def @main(%x: Tensor[(2, -1), float32]) { %x }"))
    with pytest.raises(Relay2RelaxError, match="parameter 'x' has an extent below zero"):
        translator.make_arguments(mod)


def test_recorded_outputs_are_the_reference() -> None:
    report = recorded(np.maximum(X, 0), -X)
    assert report.agrees
    assert [(row.program, row.output) for row in report.rows[:2]] == [("relay", 0), ("relay", 1)]
    other = recorded(np.maximum(X, 0) + np.float32(0.5), -X)
    assert [row.difference.agrees for row in other.rows] == [False, True] * 3
    assert other.rows[0].difference.max_abs == 0.5
    assert other.rows[0].difference.of_scale == 0.5 / 5.5
    with pytest.raises(Relay2RelaxError, match=r"1 outputs are expected .*, the model has 2"):
        translator.compare(relay_ir.parse(HEADER + LINEAR), inputs={"x": X}, expected=[X])


def test_a_tolerance_may_be_asked_for() -> None:
    off = np.maximum(X, 0) + np.float32(0.25)
    assert recorded(off, -X, tolerance=Tolerance(0.0, 0.25)).agrees
    assert not recorded(off, -X, tolerance=Tolerance(0.0, 0.2)).agrees
    row = recorded(off, -X, tolerance=Tolerance(0.1, 0.2)).rows[0].difference
    assert not row.agrees
    assert row.reason == "beyond 0.2 + 0.1 of |x|: as asked for"


def test_every_row_says_what_is_allowed() -> None:
    report = recorded(np.maximum(X, 0), -X)
    assert {row.difference.allowed for row in report.rows} == {
        "2.4e-06 of |x|+5: float32, sums of 1 term in a row",
        "2.4e-06 of |x|+6: float32, sums of 1 term in a row",
    }
    plain = json.loads(json.dumps(report.to_json()))
    assert plain["rows"][0]["of_scale"] == 0.0
    assert plain["rows"][0]["allowed"] == "2.4e-06 of |x|+5: float32, sums of 1 term in a row"
    assert plain["rows"][0]["tolerance"]["why"] == "float32, sums of 1 term in a row"
    assert plain["expected"] == {"names": ["out0", "out1"], "by": "names"}


def test_small_values_are_judged_by_the_scale_of_their_output() -> None:
    first, second = np.maximum(X, 0), -X
    off = first.copy()
    off[0, 1] = 1e-5  # beside a 0 that is off by infinitely many units in the last place
    report = recorded(off, second)
    assert report.agrees
    assert [row.difference.verdict for row in report.rows[:2]] == ["agrees of scale", "equal"]
    assert not recorded(off, second, tolerance=Tolerance(1e-4)).agrees
    assert "beside the largest value" in report_table(report)
    assert "beside the largest value" not in report_table(recorded(first, second))
    near = recorded(first * np.float32(1 + 1e-6), second)
    assert near.rows[0].difference.verdict == "agrees"


def test_recorded_outputs_without_numbers_are_in_order() -> None:
    mod = relay_ir.parse(HEADER + LINEAR)
    given = {"prob": np.maximum(X, 0), "logit": -X}
    report = translator.compare(mod, inputs={"x": X}, backends=("numpy",), expected=given)
    assert report.agrees
    assert report.notes == ("recorded outputs are the reference: output 0 is prob, output 1 is logit, by their order",)
    drawn = translator.compare(mod, backends=("numpy",), expected=given)
    assert "values are drawn here, so whoever recorded the outputs had others: give --inputs" in drawn.notes


def test_what_is_drawn_is_data() -> None:
    text = "def @main(%x: (Tensor[(?, 2), float32], Tensor[(4), int32])) { %x.0 }"
    drawn = translator.compare(relay_ir.parse(HEADER + text), backends=("numpy",), seed=3).drawn
    assert drawn is not None
    assert str(drawn) == "drawn from seed 3: x.0 (?=3, 2), x.1 (4,)"
    assert drawn.to_json()["values"] == [
        {"name": "x.0", "shape": [3, 2], "dtype": "float32", "open": [0]},
        {"name": "x.1", "shape": [4], "dtype": "int32", "open": []},
    ]
