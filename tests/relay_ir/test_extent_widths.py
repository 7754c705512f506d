"""Extents of two widths that meet: ``2i64`` and ``2`` are equal, and which one is kept shows in print."""

from __future__ import annotations

from relay2relax import relay_ir

PARAMETER = """#[version = "0.0.5"]
def @main(%x: Tensor[(10i64), float32], %i: Tensor[(2), int64]) {
  %0 = fn (%p: Tensor[(10i64), float32], %q: Tensor[(2i64), int64]) {
    take(%p, %q, axis=0)
  };
  %0(%x, %i)
}
"""
RESULT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2), float32]) -> Tensor[(2i64), float32] {
  nn.relu(%x)
}
"""


def test_a_parameter_takes_the_width_of_its_argument_and_the_function_type_keeps_its_own() -> None:
    # As TVM 0.18 prints such a module: unification replaces the parameter's type, not its part of the function type.
    text = relay_ir.infer_type(relay_ir.parse(PARAMETER)).astext(show_meta_data=False)
    assert "%q: Tensor[(2), int64] /* ty=Tensor[(2), int64] */" in text
    assert "ty=fn (Tensor[(10i64), float32], Tensor[(2i64), int64]) -> Tensor[(2i64), float32]" in text


def test_a_declared_result_takes_the_width_of_the_body() -> None:
    text = relay_ir.infer_type(relay_ir.parse(RESULT)).astext(show_meta_data=False)
    assert "-> Tensor[(2), float32] {" in text
