"""What a comparison says beside its rows: values that are drawn, and outputs that prove little."""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir, translator

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
    assert notes(text) == ()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, -1.0, 4.0], "output 0: only 2 of 3 values are finite; give --params, or other inputs"),
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
