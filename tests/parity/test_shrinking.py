"""Parts that fail become smaller in their extents, too, and stay programs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay2relax import backends, parity, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.analysis import list_op_freqs
from relay2relax.translator.arguments import flatten, make_arguments

HEAD = '#[version = "0.0.5"]\n'
CONVOLUTION = (
    HEAD
    + """def @main(%x: Tensor[(8, 64, 28, 28), float32], %w: Tensor[(32, 64, 3, 3), float32],
          %b: Tensor[(32), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = reshape(%1, newshape=[8, 25088]);
  nn.relu(%2)
}"""
)
# A branch has variables with types of their own, and what is added has the extents in attributes.
NESTED = (
    HEAD
    + """def @main(%x: Tensor[(6, 4), float32], %c: bool) {
  %0 = if (%c) {
    let %y: Tensor[(6, 4), float32] = exp(%x);
    add(%y, ones(shape=[6, 4], dtype="float32"))
  } else {
    %x
  };
  tanh(%0)
}"""
)


def reduced(text: str, check: parity.Check) -> parity.Reduced:
    module = relay_ir.infer_type(relay_ir.parse(text))
    return parity.reduce(module, make_arguments(module, {}, 0), check)


def calling(*names: str) -> parity.Check:
    return lambda module, _: "bad" if set(names) <= set(list_op_freqs(module)) else ""


def shapes(found: parity.Reduced) -> dict[str, tuple[int, ...]]:
    return {name: value.shape for name, value in found.inputs.items()}


def test_attributes_follow_their_extents() -> None:
    found = reduced(CONVOLUTION, calling("nn.conv2d", "nn.relu"))
    assert shapes(found) == {"x": (1, 1, 1, 1), "w": (1, 1, 1, 1), "b": (1,)}
    assert found.calls == 4
    # It still runs.
    (result,) = flatten(backends.create_executor("debug", found.module).evaluate()(*found.inputs.values()))
    assert result.shape == (1, 9)


def test_what_needs_an_extent_keeps_it() -> None:
    def wide(module: IRModule, inputs: Mapping[str, Array]) -> str:
        return "bad" if any(value.shape[1:] == (64, 28, 28) for value in inputs.values()) else ""

    assert shapes(reduced(CONVOLUTION, wide))["x"] == (1, 64, 28, 28)


def test_an_extent_is_halved_as_far_as_it_goes() -> None:
    text = HEAD + "def @main(%x: Tensor[(100, 2), float32]) { exp(%x) }"

    def tall(module: IRModule, inputs: Mapping[str, Array]) -> str:
        return "bad" if inputs["x"].shape[0] > 20 else ""

    assert shapes(reduced(text, tall)) == {"x": (25, 1)}


def test_extents_that_are_alike_by_chance_are_told_apart() -> None:
    text = HEAD + "def @main(%x: Tensor[(8, 8), float32], %w: Tensor[(8, 8), float32]) { nn.dense(%x, %w, units=8) }"

    def square(module: IRModule, inputs: Mapping[str, Array]) -> str:
        return "bad" if inputs["w"].shape == (8, 8) else ""

    assert shapes(reduced(text, square)) == {"x": (1, 8), "w": (8, 8)}


def test_values_are_the_first_of_those_that_were() -> None:
    module = relay_ir.infer_type(relay_ir.parse(HEAD + "def @main(%x: Tensor[(5, 3), float32]) { exp(%x) }"))
    given = np.arange(15, dtype=np.float32).reshape(5, 3) + 7.5

    def first(module: IRModule, inputs: Mapping[str, Array]) -> str:
        return "bad" if inputs["x"].flat[0] == np.float32(7.5) else ""

    found = parity.reduce(module, [given], first)
    np.testing.assert_array_equal(np.asarray(found.inputs["x"]), np.array([[7.5]], np.float32))


def test_open_extents_stay_open() -> None:
    text = HEAD + "def @main(%x: Tensor[(?, 8), float32]) { exp(%x) }"
    found = reduced(text, calling("exp"))
    assert shapes(found) == {"x": (1, 1)}
    assert "Tensor[(?, 1), float32]" in str(found.module)


def test_what_fails_in_a_branch_is_taken_out_of_it() -> None:
    found = reduced(NESTED, lambda module, _: "bad" if "exp(" in str(module) else "")
    assert (found.calls, shapes(found)) == (1, {"x": (1, 1)})


def test_a_choice_that_fails_itself_stays_and_becomes_smaller() -> None:
    found = reduced(NESTED, lambda module, _: "bad" if "if (" in str(module) else "")
    assert shapes(found) == {"x": (1, 1), "c": ()}
    assert "ones(shape=[1, 1]" in str(found.module)
