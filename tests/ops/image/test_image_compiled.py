"""Images, boxes and sorting compiled: in a real apache-tvm, as Relax operators and as PrimFuncs.

And as C.

One module holds a function for each case and form, so that there is one compilation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sweep import sampled

from relay2relax import relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.backends.tvm import build
from relay2relax.core.dtype import of_array
from relay2relax.core.tolerance import difference
from relay2relax.ops import TensorType, relay_op
from relay2relax.ops.registry.lower import lower_call
from relay2relax.relax_ir.build.emitter import OpEmitter
from relay2relax.relax_ir.ir.struct_info import from_type
from relay2relax.tir.ir.expr import FloatImm

RANDOM = np.random.default_rng(11)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def few(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Return numbers of which many are equal."""
    return RANDOM.integers(0, 4, shape).astype(dtype)


def floats(*values: float) -> tuple[FloatImm, ...]:
    return tuple(FloatImm(value, "float32") for value in values)


def points(*shape: int) -> np.ndarray:
    return RANDOM.uniform(-1.4, 1.4, shape).astype(np.float32)


def boxes(count: int) -> np.ndarray:
    low = RANDOM.uniform(0, 1, (1, count, 2))
    return np.concatenate([low, low + RANDOM.uniform(0.2, 0.8, (1, count, 2))], axis=2).astype(np.float32)


def rows(count: int) -> np.ndarray:
    """Return boxes with a class and a score in front."""
    head = np.stack([few(1, count), RANDOM.uniform(0.1, 1, (1, count)).astype(np.float32)], axis=2)
    return np.concatenate([head, boxes(count)], axis=2)


CROP = {"size": (3, 4), "roi": floats(0.1, 0.2, 1.1, 0.9), "coordinate_transformation_mode": "tf_crop_and_resize"}
NEAREST = {"size": (7, 5), "method": "nearest_neighbor"}
ROIS = np.array([[0, 1.3, 0.7, 9.2, 6.1], [0, -4, -3, 5.5, 4]], np.float32)
NMS = [rows(7), np.array([6], np.int32), np.arange(7, dtype=np.int32)[None], np.array(4, np.int32), np.array(0.2, "f")]
ALL = [boxes(6), RANDOM.uniform(0, 1, (1, 2, 6)).astype("f"), np.array(2), np.array(0.3, "f"), np.array(0.1, "f")]
CASES: list[tuple[str, dict[str, Any], list[np.ndarray]]] = [
    ("sort", {"axis": 0, "is_ascend": False}, [few(5, 3)]),
    ("sort", {}, [few(2, 9, dtype="int8")]),
    ("argsort", {"dtype": "int32", "is_ascend": False}, [few(2, 9)]),
    ("argsort", {"dtype": "int64", "axis": 0}, [few(9, dtype="int64")]),
    ("topk", {"k": 3, "axis": 1, "dtype": "int64"}, [few(2, 7, 2)]),
    ("topk", {"k": 2, "ret_type": "values", "is_ascend": True}, [few(3, 7, dtype="int32")]),
    ("topk", {"k": 2, "ret_type": "indices", "dtype": "int32"}, [few(3, 7)]),
    ("topk", {"k": 0, "dtype": "int32"}, [few(3, 7)]),
    ("searchsorted", {}, [np.sort(few(6)), few(2, 3)]),
    ("searchsorted", {"right": True, "dtype": "int64"}, [np.sort(few(6, dtype="int32")), few(2, 3, dtype="int32")]),
    ("searchsorted", {"dtype": "int64"}, [np.sort(few(2, 6)), few(2, 3)]),
    ("unique", {"return_counts": True}, [few(9, dtype="int32")]),
    ("unique", {"sorted": False}, [few(9)]),
    ("image.resize1d", {"size": (9,), "layout": "NWC"}, [normal(1, 4, 2)]),
    ("image.resize1d", {"size": (9,), "method": "cubic", "cubic_exclude": 1}, [normal(1, 2, 4)]),
    ("image.resize1d", {"size": (9,), "coordinate_transformation_mode": "align_corners"}, [normal(1, 2, 4)]),
    ("image.resize2d", {"size": (7, 3)}, [normal(1, 2, 4, 5)]),
    ("image.resize2d", {"size": (7, 3), "method": "cubic", "layout": "NHWC"}, [normal(1, 4, 5, 2)]),
    ("image.resize2d", {**NEAREST, "rounding_method": ""}, [normal(1, 2, 4, 6)]),
    ("image.resize2d", {**NEAREST, "rounding_method": "round"}, [normal(1, 2, 4, 6)]),
    ("image.resize2d", {**NEAREST, "coordinate_transformation_mode": "align_corners"}, [normal(1, 2, 4, 6)]),
    ("image.resize2d", {**NEAREST, "rounding_method": "ceil"}, [normal(1, 2, 4, 6)]),
    ("image.resize2d", {**CROP, "extrapolation_value": 3.0}, [normal(1, 2, 4, 5)]),
    ("image.resize2d", {"size": (8, 8), "method": "cubic", "cubic_exclude": 1}, [normal(1, 1, 4, 4)]),
    ("image.resize2d", {"size": (7, 3), "out_dtype": "int8"}, [10 * normal(1, 2, 4, 5)]),
    ("image.resize2d", {"size": (3, 3)}, [few(1, 2, 4, 5, dtype="uint8")]),
    ("image.resize3d", {"size": (4, 3, 5)}, [normal(1, 1, 3, 4, 2)]),
    ("image.resize3d", {"size": (2, 4, 3), "method": "cubic"}, [normal(1, 1, 3, 4, 2)]),
    ("image.grid_sample", {}, [normal(2, 2, 4, 5), points(2, 2, 3, 3)]),
    (
        "image.grid_sample",
        {"align_corners": False, "padding_mode": "reflection"},
        [normal(1, 2, 4, 5), points(1, 2, 3, 3)],
    ),
    ("image.grid_sample", {"method": "bicubic", "padding_mode": "border"}, [normal(1, 2, 4, 5), points(1, 2, 3, 3)]),
    ("image.grid_sample", {"method": "nearest"}, [normal(1, 2, 4, 5), points(1, 2, 3, 3)]),
    ("image.grid_sample", {"layout": "NCDHW"}, [normal(1, 2, 3, 4, 5), points(1, 3, 2, 3, 3)]),
    ("image.affine_grid", {"target_shape": (4, 5)}, [normal(2, 2, 3)]),
    (
        "image.crop_and_resize",
        {"crop_size": (3, 4)},
        [normal(2, 2, 5, 6), np.array([[0.1, 0.2, 0.9, 1.2]], np.float32), np.array([1], np.int32)],
    ),
    ("image.dilation2d", {"padding": (1, 0), "strides": (2, 1)}, [normal(1, 2, 5, 6), normal(2, 3, 2)]),
    ("vision.multibox_prior", {"sizes": floats(0.5, 0.2), "ratios": floats(1, 2), "clip": True}, [normal(1, 2, 3, 4)]),
    (
        "vision.multibox_transform_loc",
        {"threshold": 0.4},
        [RANDOM.uniform(0, 1, (1, 3, 4)).astype(np.float32), normal(1, 16), boxes(4)],
    ),
    ("vision.yolo_reorg", {"stride": 2}, [normal(1, 8, 4, 4)]),
    ("vision.roi_align", {"pooled_size": (2, 3), "spatial_scale": 0.75}, [normal(1, 2, 6, 7), ROIS]),
    (
        "vision.roi_align",
        {"pooled_size": (2, 3), "spatial_scale": 0.5, "sample_ratio": 2, "mode": "max", "layout": "NHWC"},
        [normal(1, 6, 7, 2), ROIS],
    ),
    ("vision.roi_pool", {"pooled_size": (2, 3), "spatial_scale": 0.75}, [normal(1, 2, 6, 7), ROIS]),
    (
        "vision.proposal",
        {"scales": floats(0.5, 2), "ratios": floats(1), "rpn_post_nms_top_n": 7, "rpn_min_size": 4, "threshold": 0.3},
        [RANDOM.uniform(0, 1, (1, 4, 3, 2)).astype("f"), 0.1 * normal(1, 8, 3, 2), np.array([[48, 32, 1]], "f")],
    ),
    ("vision.get_valid_counts", {"score_threshold": None}, [rows(5), np.array(0.4, np.float32)]),
    ("vision.non_max_suppression", {}, NMS),
    ("vision.non_max_suppression", {"return_indices": False, "invalid_to_bottom": True, "top_k": 5}, NMS),
    ("vision.all_class_non_max_suppression", {}, ALL),
    ("vision.all_class_non_max_suppression", {"output_format": "tensorflow"}, ALL),
    (
        "vision.regular_non_max_suppression",
        {
            "max_detections_per_class": 2, "max_detections": 5, "num_classes": 2, "iou_threshold": 0.3,
            "score_threshold": 0.2,
        },
        [boxes(6), RANDOM.uniform(0, 1, (1, 6, 3)).astype(np.float32)],
    ),
]  # fmt: skip


def flat(value: Any) -> list[np.ndarray]:
    return list(value) if isinstance(value, tuple) else [value]


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_images_in_tvm() -> None:
    cases = list(sampled(CASES, 2))
    builder = relax_ir.BlockBuilder()
    emitter = OpEmitter(builder)
    expected: dict[str, Any] = {}
    for number, (name, given, arrays) in enumerate(cases):
        op = relay_op(name)
        assert op is not None
        attrs = op.attrs(**given)
        for form in ("relax", "tir") if op.relax is not None else ("tir",):
            # Numbers are constants, as in the models that importers make.
            args = [
                relax_ir.Var(f"x{i}", from_type(TensorType(array.shape, of_array(array))))
                if array.ndim
                else relax_ir.Constant(array)
                for i, array in enumerate(arrays)
            ]
            params = [arg for arg in args if isinstance(arg, relax_ir.Var)]
            function = f"{form}_{number}"
            with builder.function(function, params):
                with builder.dataflow():
                    emit = emitter.as_relax if form == "relax" else emitter.as_tir
                    result = builder.emit_output(emit(op, attrs, args))
                builder.emit_func_output(result)
            expected[function] = op.numpy(attrs, *arrays)
    module = builder.get()
    relax_ir.check_well_formed(module)
    executable = build(module)
    wrong = []
    for function, value in expected.items():
        name, given, arrays = cases[int(function.split("_")[1])]
        actual = flat(executable[function](*(array for array in arrays if array.ndim)))
        for number, (one, wanted) in enumerate(zip(actual, flat(value), strict=True)):
            found = difference(one, wanted, 256)
            if not found.agrees:
                wrong.append(f"{function}: {name} {given}: result {number}: {found}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.compiler
def test_images_in_c() -> None:
    functions, values = [], []
    cases = list(sampled(CASES, 1))
    for number, (name, given, arrays) in enumerate(cases):
        op = relay_op(name)
        assert op is not None
        attrs = op.attrs(**given)
        types = [TensorType(array.shape, of_array(array)) for array in arrays]
        functions.append(lower_call(op, attrs, types, op.infer(attrs, *types), f"call_{number}"))
        values.append(flat(op.numpy(attrs, *arrays)))
    module = compile_prim_funcs(functions)
    for function, wanted, (name, given, arrays) in zip(functions, values, cases, strict=True):
        results = [np.full(one.shape, 7, one.dtype) for one in wanted]
        module.call(function.name, *(np.ascontiguousarray(one).reshape(one.shape) for one in arrays), *results)
        for number, (one, value) in enumerate(zip(results, wanted, strict=True)):
            found = difference(one, value, 256)
            assert found.agrees, f"{name} {given}: result {number}: {found}"
