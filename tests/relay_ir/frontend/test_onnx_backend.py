"""ONNX's own node tests: what is imported computes the outputs that ONNX recorded."""

from __future__ import annotations

import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from sweep import LEVEL

from relay2relax import backends, relay_ir
from relay2relax.core.errors import Relay2RelaxError

onnx = pytest.importorskip("onnx")

# The first pattern that a name has says why a test does not pass.
REASONS: dict[str, str] = {
    r"string|STRING|strnorm|regex_full|tfidf|label_encoder": "Relay has no strings",
    r"U?INT[24]|u?int[24](_|$)|FLOAT4|float4": "numpy kernels have no elements of less than a byte",
    r"e8m0": "powers of two alone are rounded otherwise",
    r"quantizelinear_e[45]m|dequantizelinear_e[45]m": "floats of eight bits are not quantised to",
    r"image_decoder|ai_onnx_ml|melweightmatrix|test_det_|test_stft|tensorscatter": "Relay has no such operator",
    r"bernoulli|training_dropout": "what is drawn at random differs",
    r"nan_robustness|fullymasked|padded_kv_bf16|empty_set": "TVM's max begins at the lowest finite number",
    r"mod_float_edge": "`a - floor(a / b) * b` has no value for an infinite operand",
    r"einsum.*bfloat16": "numpy's einsum has no bfloat16",
    r"structural_empty|mode3_softmax_precision|local_window_gqa_rank4_mask": "rows of which nothing is looked at",
    r"if_seq|if_opt": "a branch gives a sequence",
    r"affine_grid": "a branch depends on a rank",
    r"unique_(not_)?sorted_with|unique_sorted_with": "Relay's unique has no axis",
    r"irfft": "Relay's transform has no half of a spectrum",
    r"with_argmax|roialign_(aligned|mode_max)|deform_conv_with_mask|iou_threshold_boundary|last_window_starts":
        "another meaning in Relay",
    r"optional_has_element_empty|allowzero_reordered|scan_sum|maxunpool_export": "a form that is not imported",
}  # fmt: skip
# Inputs that say places: Relay has to know them where it has no operator that computes with them.
PLACES: dict[str, tuple[int, ...]] = {
    "Reshape": (1,), "Resize": (1, 2, 3), "Slice": (1, 2, 3, 4), "Unsqueeze": (1,), "Squeeze": (1,), "Split": (1,),
    "SplitToSequence": (1,), "CumSum": (1,), "CumProd": (1,), "Pad": (1, 3), "DFT": (1, 2), "Expand": (1,),
    "TopK": (1,), "ConstantOfShape": (0,), "Upsample": (1,), "CenterCropPad": (1,), "AffineGrid": (1,),
    "Dropout": (1, 2), "SequenceAt": (1,), "SequenceErase": (1,), "SequenceInsert": (2,), "Range": (0, 1, 2),
    "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,), "Col2Im": (1, 2), "Loop": (0, 1),
}  # fmt: skip


@lru_cache(maxsize=1)
def cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return {case.name: case for case in collect_testcases(None)}


def value(given: Any) -> Any:
    if isinstance(given, onnx.TensorProto):
        return onnx.numpy_helper.to_array(given)
    return [value(one) for one in given] if isinstance(given, list) else given


def flat(found: Any) -> list[np.ndarray]:
    if isinstance(found, (tuple, list)):
        return [part for one in found for part in flat(one)]
    return [np.asarray(found)]


def places(case: Any) -> set[str]:
    """Return the inputs of a model that say places."""
    found: set[str] = set()
    for node in case.model.graph.node:
        spots = PLACES.get(node.op_type, (1,) if node.op_type.startswith("Reduce") else ())
        found |= {node.input[spot] for spot in spots if spot < len(node.input)}
    if "_expanded" in case.name:
        found |= {
            one.name
            for one in case.model.graph.input
            if one.type.tensor_type.elem_type in (6, 7) and len(one.type.tensor_type.shape.dim) <= 1
        }
    return found


def imported(case: Any, given: dict[str, Any]) -> tuple[relay_ir.IRModule, dict[str, np.ndarray]]:
    """Import a test's model as it is, or else with the places known that its inputs say."""
    shapes = {
        name: [np.shape(part) for part in one] if isinstance(one, list) else np.shape(one)
        for name, one in given.items()
    }
    try:
        mod, params = relay_ir.frontend.from_onnx(case.model, shapes)
        return relay_ir.infer_type(mod), params
    except Relay2RelaxError:
        fixed = {name: np.asarray(given[name]) for name in places(case) if name in given}
        if not fixed:
            raise
        left = {name: shape for name, shape in shapes.items() if name not in fixed}
        mod, params = relay_ir.frontend.from_onnx(case.model, left, fixed_inputs=fixed)
        return relay_ir.infer_type(mod), params


def problem(case: Any) -> str:
    """Return what is wrong with a test's results, nothing where they are ONNX's."""
    for inputs, outputs in case.data_sets:
        given = {one.name: value(array) for one, array in zip(case.model.graph.input, inputs, strict=True)}
        mod, params = imported(case, given)
        args = [params.get(one.name, given.get(one.name)) for one in mod["main"].params]
        args = [tuple(one) if isinstance(one, list) else np.asarray(one) for one in args]
        results = flat(backends.create_executor("vm", mod).evaluate()(*args))
        for result, expected in zip(results, flat([value(one) for one in outputs]), strict=True):
            if (result.dtype, result.shape) != (expected.dtype, expected.shape):
                return f"{result.dtype} {result.shape}, expected {expected.dtype} {expected.shape}"
            if not _near(result, expected):
                return "other values"
    return ""


def _near(result: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind not in "fV" and expected.dtype.name != "bfloat16":
        return np.array_equal(result, expected)
    wide, wanted = result.astype(np.float64), expected.astype(np.float64)
    least = 1e-5 if expected.dtype.itemsize > 2 else 2e-3
    return np.allclose(wide, wanted, rtol=1e-3, atol=least, equal_nan=True)


def reason(name: str) -> str:
    return next((why for pattern, why in REASONS.items() if re.search(pattern, name)), "")


def said(case: Any) -> str:
    """Return what is wrong with a test, or why it is refused."""
    try:
        with np.errstate(all="ignore"):
            return problem(case)
    except Relay2RelaxError as error:
        return str(error).split("\n", 1)[0]


def test_node_tests() -> None:
    passed, failed, wrong = 0, 0, []
    for name, case in list(cases().items())[:: 12 if LEVEL == "sample" else 1]:
        found = said(case)
        passed, failed = passed + (not found), failed + bool(found)
        if found and not reason(name):
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)
    assert passed / (passed + failed) > 0.85
