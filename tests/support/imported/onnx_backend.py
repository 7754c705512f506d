"""ONNX's own tests of backends: models, their inputs, and the outputs that ONNX recorded."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError

# What does not pass is named on this page.
PAGE = Path(__file__).parents[3] / "docs/reference/onnx-tests.md"
# The first pattern that a name has says why a test does not pass.
REASONS: dict[str, str] = {
    r"string|STRING|strnorm|regex_full|tfidf|label_encoder": "Relay has no strings",
    r"image_decoder": "Relay reads no files of images",
    r"gradient_of": "`Gradient` of the preview of training is not imported",
    r"bernoulli|training_dropout": "what is drawn at random differs",
    r"test_det_": "Relay has no determinant",
    r"iou_threshold_boundary": "Relay's suppression leaves a box out that overlaps just as much as allowed",
    r"affine_grid": "extents that a branch makes are not known",
    r"unique_(not_)?sorted_with|unique_sorted_with": "Relay's unique has no axis",
    r"deform_conv_with_mask": "Relay's deformable convolution has no mask",
    r"optional_has_element_empty": "an optional that is an input has a value",
}
# Inputs that say places: Relay has to know them where it has no operator that computes with them.
PLACES: dict[str, tuple[int, ...]] = {
    "Reshape": (1,), "Resize": (1, 2, 3), "Slice": (1, 2, 3, 4), "Unsqueeze": (1,), "Squeeze": (1,), "Split": (1,),
    "SplitToSequence": (1,), "CumSum": (1,), "CumProd": (1,), "Pad": (1, 3), "DFT": (1, 2), "Expand": (1,),
    "TopK": (1,), "ConstantOfShape": (0,), "Upsample": (1,), "CenterCropPad": (1,), "AffineGrid": (1,),
    "Dropout": (1, 2), "SequenceAt": (1,), "SequenceErase": (1,), "SequenceInsert": (2,), "Range": (0, 1, 2),
    "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,), "Col2Im": (1, 2), "Loop": (0, 1),
    "If": (0,), "MaxUnpool": (2,), "STFT": (1, 3), "MelWeightMatrix": (0, 1, 2, 3, 4),
}  # fmt: skip
# What holds elements of less than a byte.
HOLDERS = {"int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8", "float4_e2m1fn": "float16"}
# What results may differ by, relative and absolute, by dtype: as much as a few last bits.
NEAR = {"bfloat16": (1.6e-2, 4e-3), "float16": (2e-3, 2e-3)}


@dataclass(frozen=True, slots=True)
class Case:
    """A test: a model, and inputs with the outputs that they have to give."""

    name: str
    kind: str
    model: Any
    data_sets: Sequence[tuple[Sequence[Any], Sequence[Any]]]


@lru_cache(maxsize=1)
def cases() -> dict[str, Case]:
    """Return all tests by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        nodes = [Case(case.name, "node", case.model, case.data_sets) for case in collect_testcases(None)]
    return {case.name: case for case in (*nodes, *_models())}


def _models() -> Iterator[Case]:
    """Yield the tests that are files of ONNX's package."""
    import onnx
    from onnx.backend.test.loader import load_model_tests

    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        for test in load_model_tests(kind=kind):
            folder = Path(test.model_dir)
            model = onnx.load(folder / "model.onnx")
            weights = {one.name for one in model.graph.initializer}
            inputs = [one for one in model.graph.input if one.name not in weights]
            del model.graph.input[:]
            model.graph.input.extend(inputs)
            sets = [
                (_tensors(one, "input", inputs), _tensors(one, "output", model.graph.output))
                for one in sorted(folder.glob("test_data_set_*"))
            ]
            yield Case(test.name, kind, model, sets)


def _tensors(folder: Path, kind: str, infos: Sequence[Any]) -> list[Any]:
    import onnx

    found: list[Any] = []
    for number in range(len(list(folder.glob(f"{kind}_*.pb")))):
        path, info = folder / f"{kind}_{number}.pb", infos[number]
        sequence = onnx.SequenceProto()
        if info.type.HasField("sequence_type"):
            sequence.ParseFromString(path.read_bytes())
            found.append([value(one) for one in sequence.tensor_values])
        else:
            found.append(value(onnx.load_tensor(path)))
    return found


def value(given: Any) -> Any:
    """Return what is recorded as arrays, those of few bits as what holds them."""
    import onnx

    if isinstance(given, onnx.TensorProto):
        given = onnx.numpy_helper.to_array(given)
    if isinstance(given, np.ndarray):
        return given.astype(HOLDERS.get(given.dtype.name, given.dtype))
    return [value(one) for one in given] if isinstance(given, list) else given


def _flat(found: Any) -> list[np.ndarray]:
    if isinstance(found, (tuple, list)):
        return [part for one in found for part in _flat(one)]
    return [np.asarray(found)]


def _places(case: Case) -> set[str]:
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


def _imported(case: Case, given: dict[str, Any]) -> tuple[relay_ir.IRModule, dict[str, np.ndarray]]:
    """Import a test's model as it is, or else with the places known that its inputs say."""
    shapes = {
        name: [np.shape(part) for part in one] if isinstance(one, list) else np.shape(one)
        for name, one in given.items()
    }
    try:
        mod, params = relay_ir.frontend.from_onnx(case.model, shapes)
        return relay_ir.infer_type(mod), params
    except Relay2RelaxError:
        fixed = {name: np.asarray(given[name]) for name in _places(case) if name in given}
        if not fixed:
            raise
        left = {name: shape for name, shape in shapes.items() if name not in fixed}
        mod, params = relay_ir.frontend.from_onnx(case.model, left, fixed_inputs=fixed)
        return relay_ir.infer_type(mod), params


def _results(mod: relay_ir.IRModule, params: dict[str, np.ndarray], given: dict[str, Any], target: str) -> Any:
    inputs = {
        one.name: tuple(found) if isinstance(found := given[one.name], list) else np.asarray(found)
        for one in mod["main"].params
        if one.name not in params
    }
    if target == "numpy":
        return backends.create_executor("vm", mod).evaluate()(**inputs, **params)
    return backends.VirtualMachine(backends.build(translator.via_graph(mod, params), target=target))["main"](
        *inputs.values()
    )


def _problem(case: Case, target: str) -> str:
    for inputs, outputs in case.data_sets:
        given = {one.name: value(array) for one, array in zip(case.model.graph.input, inputs, strict=True)}
        results = _flat(_results(*_imported(case, given), given, target))
        for result, expected in zip(results, _flat([value(one) for one in outputs]), strict=True):
            if (result.dtype, result.shape) != (expected.dtype, expected.shape):
                return f"{result.dtype} {result.shape}, expected {expected.dtype} {expected.shape}"
            if not _near(result, expected):
                return "other values"
    return ""


def _near(result: np.ndarray, expected: np.ndarray) -> bool:
    if expected.dtype.kind not in "fV" and expected.dtype.name != "bfloat16":
        return np.array_equal(result, expected)
    wide, wanted = result.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(wanted[np.isfinite(wanted)])
    # Sums of large terms that cancel out are as exact as the terms.
    relative, least = NEAR.get(expected.dtype.name, (1e-3, 1e-5 + 1e-6 * float(finite.max(initial=0))))
    return np.allclose(wide, wanted, rtol=relative, atol=least, equal_nan=True)


def problem(case: Case, target: str) -> str:
    """Return what is wrong with a test's results, or why it is refused; nothing where they are
    ONNX's.
    """
    try:
        with np.errstate(all="ignore"):
            return _problem(case, target)
    except Relay2RelaxError as error:
        return str(error).split("\n", 1)[0]


def reason(name: str) -> str:
    """Return why a test does not pass, nothing where that is not known."""
    return next((why for pattern, why in REASONS.items() if re.search(pattern, name)), "")


def listed() -> dict[str, str]:
    """Return where each test fails that the page names: everywhere, or on C alone."""
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", PAGE.read_text(), re.MULTILINE)
    return dict(rows)
