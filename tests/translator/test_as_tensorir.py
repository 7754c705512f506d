"""Calls that Relax or apache-tvm lacks: named with the reason before anything is built, and run as
TensorIR.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.tensor.indexing import StridedSliceAttrs
from relay2relax.relay_ir.build import op

NEGATIVE = relay_ir.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(4), uint8], %y: Tensor[(4), float32]) {
  (negative(%x), negative(%x), tanh(%y))
}
""")
SORTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "int8"), y: R.Tensor((3,), "float32")):
        with R.dataflow():
            a = R.sort(x)
            b = R.sort(y)
            c = (a, b)
            R.output(c)
        return c
"""
HINTED = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((3,), "float32")) -> R.Tensor((3,), "float32"):
        y: R.Tensor((3,), "float32") = R.hint_on_device(x, R.device(1, 0))
        return y
"""


def test_operators_of_relax_that_do_something_else_are_not_used() -> None:
    image, regions = relay_ir.var("image", shape=(1, 2, 4, 4)), relay_ir.var("regions", shape=(1, 5))
    data, lengths = relay_ir.var("data", shape=(2, 3)), relay_ir.var("lengths", shape=(2,), dtype="int32")
    places = [relay_ir.var(name, shape=(2,), dtype="int64") for name in ("begin", "end", "strides")]
    slices = StridedSliceAttrs(begin=None, end=None, strides=None, axes=None)
    results = (
        op.vision.roi_pool(image, regions, pooled_size=(2, 2), spatial_scale=1.0),
        op.reverse_sequence(data, lengths),
        relay_ir.Call(relay_ir.Op("dyn.strided_slice"), (data, *places), slices),
    )
    program = relay_ir.Function((image, regions, data, lengths, *places), relay_ir.Tuple(results))
    found = {one.operator: one.why for one in translator.calls_as_tensorir(translator.via_graph(program))}
    assert found == {
        "vision.roi_pool": "R.vision.roi_pool rounds negative halves of coordinates up, and does not allow for "
        "rounding at the borders of bins",
        "reverse_sequence": "R.reverse_sequence is not in apache-tvm 0.25, which reads the same scripts",
        "dyn.strided_slice": "R.dynamic_strided_slice makes a negative extent of a slice that runs backwards",
    }


def suppressing(threshold: float, overlap: float, most: int, **attrs: Any) -> relay_ir.Function:
    """Return a program that suppresses boxes among those that count."""
    boxes = relay_ir.var("boxes", shape=(2, 12, 6))
    classes = attrs.get("id_index", 0)
    found = op.vision.get_valid_counts(boxes, threshold, id_index=classes, score_index=1)
    left = op.vision.non_max_suppression(found[1], found[0], found[2], most, overlap, **attrs)
    return relay_ir.Function((boxes,), relay_ir.Tuple(tuple(left)) if attrs.get("return_indices", True) else left)


def detections(seed: int) -> np.ndarray:
    """Return boxes of a few classes, one below zero, with scores of which several are equal."""
    draw = np.random.default_rng(seed)
    boxes = draw.random((2, 12, 6), dtype=np.float32)
    boxes[..., 0] = draw.integers(-1, 3, (2, 12))
    boxes[..., 1] = draw.integers(-2, 10, (2, 12)) / np.float32(10)
    return boxes


SUPPRESSIONS: list[tuple[dict[str, Any], str]] = [
    ({}, ""),
    ({"return_indices": False, "invalid_to_bottom": True, "top_k": 5}, ""),
    ({"id_index": -1, "force_suppress": True}, ""),
    ({"id_index": -1, "return_indices": False}, ""),
    ({"id_index": -1, "return_indices": False, "invalid_to_bottom": True}, "moves boxes to the front by their score"),
]


@pytest.mark.sweep(every=3)
@pytest.mark.parametrize(("attrs", "why"), SUPPRESSIONS, ids=[str(attrs) for attrs, _ in SUPPRESSIONS])
@pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
def test_suppression_of_boxes_that_count_is_the_operator_of_relax(
    backend: str, attrs: dict[str, Any], why: str
) -> None:
    program = relay_ir.IRModule.from_expr(suppressing(0.0, 0.4, 4, **attrs))
    relax = translator.via_graph(program)
    told = [one.why for one in translator.calls_as_tensorir(relax)]
    assert [why in one for one in told] == ([True] if why else [])
    assert ("R.vision.non_max_suppression(" in relax.script()) == (not why)
    machine = backends.VirtualMachine(backends.build(relax, target=backend))
    direct = backends.create_executor("debug", program).evaluate()
    for seed in range(4):
        data = detections(seed)
        for mine, relays in zip(
            translator.flatten(machine["main"](data)), translator.flatten(direct(data)), strict=True
        ):
            np.testing.assert_array_equal(mine, relays)


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ((-0.1, 0.4, 4), "drops boxes without a positive score"),
        ((0.0, 0.0, 4), "suppresses always"),
        ((0.0, 0.4, 0), "suppresses always"),
    ],
)
def test_other_suppression_is_tensorir(limits: tuple[float, float, int], why: str) -> None:
    relax = translator.via_graph(suppressing(*limits))
    (told,) = (one.why for one in translator.calls_as_tensorir(relax))
    assert why in told


def test_dequantisation_is_the_operator_of_relax() -> None:
    program = relay_ir.parse("""#[version = "0.0.5"]
    def @main(%x: Tensor[(2, 3), int8], %y: Tensor[(), uint8]) {
      (qnn.dequantize(%x, 0.25f, 1, out_dtype="float16", axis=-1),
       qnn.dequantize(%y, 0.5f, 3, out_dtype="float32"))
    }""")
    module = translator.via_graph(program)
    assert 'R.dequantize(x, R.const(0.25, "float32"), R.const(1, "int32"), ' in module.script()
    assert translator.calls_as_tensorir(module) == (
        translator.AsTensorIR("dequantize", "apache-tvm 0.25 and 0.26 look for an axis in a tensor of rank 0", 1),
    )


def test_the_translation_names_them() -> None:
    found = translator.calls_as_tensorir(translator.via_graph(NEGATIVE))
    assert found == (translator.AsTensorIR("negative", "apache-tvm cannot lower it for unsigned numbers", 2),)
    read_again = rx.parse(translator.via_graph(NEGATIVE).script())
    assert translator.calls_as_tensorir(read_again) == found
    assert translator.calls_as_tensorir(translator.lower_to_tir(NEGATIVE)) == ()


def test_the_report_names_them() -> None:
    report = translator.compare(NEGATIVE, backends=("numpy",))
    reason = "apache-tvm cannot lower it for unsigned numbers"
    assert report.notes[1:] == (f"via_graph: negative is called as TensorIR, 2 times: {reason}",)


@pytest.mark.tvm
def test_modules_from_elsewhere_are_lowered_where_they_must_be() -> None:
    executable = backends.build(rx.parse(SORTED), target="tvm")
    (found,) = translator.calls_as_tensorir(executable.module)
    assert found == translator.AsTensorIR("sort", "apache-tvm sorts numbers of 32 and 64 bits only", 1)
    small, wide = executable["main"](np.array([3, -1, 2], np.int8), np.array([3, -1, 2], np.float32))
    np.testing.assert_array_equal(small, [-1, 2, 3])
    np.testing.assert_array_equal(wide, [-1, 2, 3])


def test_what_cannot_be_lowered_is_refused_before_the_build() -> None:
    from relay2relax.backends.tvm import within_limits

    with pytest.raises(UnsupportedError, match=r"R\.hint_on_device .*no lowering"):
        within_limits(rx.parse(HINTED))
