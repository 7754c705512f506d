"""The same program in float64 says which result is right."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from relay2relax import parity, relay_ir, translator
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError

HEAD = '#[version = "0.0.5"]\n'


def _parsed(text: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(HEAD + text))


SUM = "def @main(%x: Tensor[(64), float16]) { sum(%x) }"


@pytest.mark.parametrize("seed", range(4))
def test_the_exact_sum_decides(seed: int) -> None:
    x = np.random.default_rng(seed).standard_normal(64).astype(np.float16)
    exact = float(sum(Fraction(float(one)) for one in x))
    near, far = (np.float16(exact), np.float16(exact * 1.01))
    (found,) = parity.judge(_parsed(SUM), [x], {"far": [np.asarray(far)], "near": [np.asarray(near)]})
    assert found.nearest == ("near",)
    assert found.errors["near"] == abs(float(near) - exact) / abs(exact)
    assert found.errors["far"] == abs(float(far) - exact) / abs(exact)
    assert str(found).index("(near)") < str(found).index("(far)")


LANGUAGE = """
def @twice(%x: Tensor[(2), float32]) -> Tensor[(2), float32] { add(%x, %x) }
def @main(%x: Tensor[(2), float32], %c: bool, %i: Tensor[(2), int32]) {
  let %y: Tensor[(2), float32] = cast(cast(%x, dtype="float16"), dtype="float32");
  let %f = fn (%a: Tensor[(2), float32]) -> Tensor[(2), float32] { multiply(%a, %y) };
  let %p = (@twice(%y), cast(%i, dtype="float32"));
  if (%c) { add(%f(%p.0), %p.1) } else { full_like(%y, 0.1f) }
}
"""


def test_programs_with_functions_lets_and_branches() -> None:
    x, i = np.array([0.1, 3.3], np.float32), np.array([1, 2], np.int32)
    wide = x.astype(np.float64)
    right = 2 * wide * wide + i
    results: dict[str, list[Array]] = {"right": [right], "relay": [right.astype(np.float16)]}
    (found,) = parity.judge(_parsed(LANGUAGE), [x, np.array(True), i], results)
    assert (found.errors["right"], found.nearest) == (0.0, ("right",))
    assert "float32" not in relay_ir.print_module(parity.in_float64(_parsed(LANGUAGE)))


def test_what_is_not_finite() -> None:
    mod = _parsed("def @main(%x: Tensor[(3), float32]) { log(%x) }")
    right = np.array([-np.inf, np.nan, 0], np.float32)
    results = {"right": [right], "clamped": [np.array([-1e30, np.nan, 0], np.float32)]}
    (found,) = parity.judge(mod, [np.array([0, -1, 1], np.float32)], results)
    assert (found.errors, found.nearest) == ({"right": 0.0, "clamped": np.inf}, ("right",))
    assert found.to_json()["errors"] == {"right": 0.0, "clamped": None}


def test_integers_are_not_judged() -> None:
    mod = _parsed("def @main(%x: Tensor[(3), float32]) { argmax(%x) }")
    assert parity.judge(mod, [np.ones(3, np.float32)], {"relay": [np.array(0)]}) == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('def @main(%x: Tensor[(2), float32]) { reinterpret(%x, dtype="int32") }', "bits"),
        ('def @main(%x: Tensor[(2), float32]) { qnn.quantize(%x, 0.5f, 0, out_dtype="int8") }', "qnn.quantize"),
    ],
)
def test_other_programs_are_refused(text: str, problem: str) -> None:
    with pytest.raises(UnsupportedError, match=f"float64: .*{problem}"):
        parity.in_float64(_parsed(text))


def test_a_comparison_is_judged() -> None:
    mod = _parsed("def @main(%x: Tensor[(2, 9), float32]) { nn.softmax(%x) }")
    x = np.linspace(-3, 3, 18, dtype=np.float32).reshape(2, 9)
    wide = np.exp(x.astype(np.float64))
    collected = parity.Collected()
    with translator.outputs_shown(collected.add):
        assert translator.compare(mod, inputs={"x": x}, backends=("numpy",)).agrees
    collected.results["exact"] = [wide / wide.sum(1, keepdims=True)]
    (found,) = parity.judge(mod, [x], collected.results)
    assert [*found.errors] == ["the reference", "lower_to_tir on numpy", "via_graph on numpy", "exact"]
    assert found.errors["exact"] < 1e-15
    assert all(0 < error < 1e-6 for name, error in found.errors.items() if name != "exact")


def test_what_is_defined_by_narrow_floats_has_no_verdict() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(1, 4, 4), float32]) {
      image.resize1d(%x, size=[8], roi=[0f, 0f], method="cubic", rounding_method="")
    }"""
    with pytest.raises(UnsupportedError, match=r"image\.resize1d is defined by float32 within"):
        parity.in_float64(relay_ir.infer_type(relay_ir.parse(text)))


def test_open_extents_are_those_of_the_arguments() -> None:
    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(?, 4, 4), float32]) {
      image.resize1d(%x, size=[8], roi=[0f, 0f], method="cubic", rounding_method="")
    }"""
    mod, x = relay_ir.infer_type(relay_ir.parse(text)), np.ones((2, 4, 4), np.float32)
    with pytest.raises(UnsupportedError, match=r"image\.resize1d is defined by float32 within"):
        parity.judge(mod, [x], {"some": [np.ones((2, 4, 8), np.float32)]})
