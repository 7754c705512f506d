"""Extents of two widths that meet: ``2i64`` and ``2`` are equal, and which one is kept shows in
print.
"""

from __future__ import annotations

import pytest

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
    # As TVM 0.18 prints such a module: unification replaces the parameter's type, not its part of
    # the function type.
    text = relay_ir.infer_type(relay_ir.parse(PARAMETER)).astext(show_meta_data=False)
    assert "%q: Tensor[(2), int64] /* ty=Tensor[(2), int64] */" in text
    assert "ty=fn (Tensor[(10i64), float32], Tensor[(2i64), int64]) -> Tensor[(2i64), float32]" in text


def test_a_declared_result_takes_the_width_of_the_body() -> None:
    text = relay_ir.infer_type(relay_ir.parse(RESULT)).astext(show_meta_data=False)
    assert "-> Tensor[(2), float32] {" in text


def test_broadcast_to_looks_at_a_declared_result() -> None:
    # TVM broadcasts the data to the declared result once more; of two equal extents the data's is
    # kept.
    head = '#[version = "0.0.5"]\ndef @main(%in: Tensor[(3, 1), float32])'
    body = " {\n  broadcast_to(%in, shape=[2i64, 3i64, 6i64])\n}\n"
    declared = relay_ir.infer_type(relay_ir.parse(f"{head} -> Tensor[(2i64, 3, 6i64), float32]{body}"))
    assert "-> Tensor[(2i64, 3, 6i64), float32] {" in declared.astext(show_meta_data=False)
    found = relay_ir.infer_type(relay_ir.parse(head + body))
    assert "-> Tensor[(2i64, 3i64, 6i64), float32] {" in found.astext(show_meta_data=False)


def test_an_unknown_extent_is_written_as_it_was_computed() -> None:
    # TVM writes `? // 4`, rounded up, as an object of the metadata.
    text = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, ?, 8, ?), float32]) {
  %0 = layout_transform(%data, src_layout="NCHW", dst_layout="NCHW4c");
  nn.relu(%0)
}
"""
    mod = relay_ir.infer_type(relay_ir.parse(text))
    assert "-> Tensor[(?, meta[tir.FloorDiv][0], 8, ?, 4), float32] {" in mod.astext(show_meta_data=False)
    for again in (relay_ir.load_json(relay_ir.save_json(mod)), relay_ir.parse(mod.astext())):
        assert "-> Tensor[(?, meta[tir.FloorDiv][0], 8, ?, 4), float32] {" in again.astext(show_meta_data=False)
        assert relay_ir.structural_equal(relay_ir.infer_type(again), mod)


@pytest.mark.parametrize("extent", ["9223372036854775807", "9223372036854775807i64"])
def test_an_extent_beyond_64_bits_is_refused(extent: str) -> None:
    text = f'#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, {extent}, 2), float32]) {{ nn.batch_flatten(%x) }}'
    with pytest.raises(relay_ir.TypeInferenceError, match="does not fit 64 bits"):
        relay_ir.infer_type(relay_ir.parse(text))
