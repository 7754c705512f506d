"""Boxes and regions of detection networks, against ONNX Runtime, numbers by hand, and loops written
here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pytest
from typed import relax_record, relay_record

from relay2relax import backends, translator
from relay2relax.ops import OpError, TensorType, TupleType
from relay2relax.relax_ir import BlockBuilder, TensorStructInfo, Var, call_op
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import FloatImm

Check: TypeAlias = Callable[..., None]
RANDOM = np.random.default_rng(7)


def floats(*values: float) -> tuple[FloatImm, ...]:
    return tuple(FloatImm(value, "float32") for value in values)


def f(values: object) -> np.ndarray:
    return np.array(values, np.float32)


def test_valid_counts(check: Check) -> None:
    data = f([[[1, 0.3, 5], [0, 0.9, 6], [-1, 0.8, 7], [2, 0.5, 8]]])
    boxes = f([[[0, 0.9, 6], [2, 0.5, 8], [-1, -1, -1], [-1, -1, -1]]])
    expected = np.array([2], np.int32), boxes, np.array([[1, 3, -1, -1]], np.int32)
    check("vision.get_valid_counts", [data, f(0.4)], expected, score_threshold=None)
    boxes = f([[[0, 0.9, 6], [-1, 0.8, 7], [2, 0.5, 8], [-1, -1, -1]]])
    expected = np.array([3], np.int32), boxes, np.array([[1, 2, 3, -1]], np.int32)
    check("vision.get_valid_counts", [data, f(0.4)], expected, score_threshold=None, id_index=-1)


# Rows of class, score, corners; the boxes 0 and 2 overlap, as do 1 and 3 with different classes.
BOXES = f([[[0, 0.8, 1, 20, 25, 45], [1, 0.7, 30, 60, 50, 80], [0, 0.4, 4, 21, 19, 40], [2, 0.9, 35, 61, 52, 79],
            [1, 0.5, 100, 60, 70, 110]]])  # fmt: skip
NAMES = np.array([[10, 11, 13, 14, -1]], np.int32)


def suppress(
    check: Check, expected: Any, count: int = 4, most: int = -1, threshold: float = 0.45, **attrs: Any
) -> None:
    counts = np.array([count], np.int32)
    args = [BOXES, counts, NAMES, np.array(most, np.int32), f(threshold)]
    check("vision.non_max_suppression", args, expected, symbols=False, **attrs)


def rows(*numbers: int) -> np.ndarray:
    """Return these boxes, -1 for rows of -1."""
    return np.stack([BOXES[0, n] if n >= 0 else f([-1] * 6) for n in numbers])[None]


def test_suppression_of_one_class(check: Check) -> None:
    suppress(check, rows(3, 0, 1, -1, -1), return_indices=False)
    expected = np.array([[14, 10, 11, -1, -1]], np.int32), np.array([[3]], np.int32)
    suppress(check, expected)


def test_suppression_of_any_class(check: Check) -> None:
    suppress(check, rows(3, 0, -1, -1, -1), return_indices=False, force_suppress=True)
    suppress(check, rows(3, 0, -1, -1, -1), return_indices=False, id_index=-1)
    suppress(check, rows(3, 0, -1, -1, -1), return_indices=False, top_k=2)


def test_suppression_keeps_few(check: Check) -> None:
    suppress(check, rows(3, 0, -1, -1, -1), most=2, return_indices=False)
    suppress(check, (np.array([[14, -1, -1, -1, -1]], np.int32), np.array([[1]], np.int32)), most=1)


def test_suppression_moves_to_the_front(check: Check) -> None:
    # The last box is of class 1 as box 1, but far from it.
    suppress(check, rows(3, 0, 1, 4, -1), count=5, return_indices=False, invalid_to_bottom=True)
    suppress(check, rows(3, 0, 1, 4, -1), count=5, return_indices=False)
    suppress(check, rows(3, 0, -1, 4, -1), count=5, return_indices=False, force_suppress=True)
    suppress(check, rows(3, 0, 4, -1, -1), count=5, return_indices=False, force_suppress=True, invalid_to_bottom=True)


def test_no_threshold_suppresses_nothing(check: Check) -> None:
    suppress(check, rows(0, 1, 2, 3, -1), threshold=0.0, return_indices=False)


def test_suppression_refuses() -> None:
    op = relay_record("vision.non_max_suppression")
    with pytest.raises(OpError, match="an index for each box"):
        op.numpy(op.attrs(), BOXES, np.array([4], np.int32), NAMES[0], np.array(-1, np.int32), f(0.5))
    with pytest.raises(OpError, match="expected one number"):
        op.numpy(op.attrs(), BOXES, np.array([4], np.int32), NAMES, np.zeros(2, np.int32), f(0.5))
    with pytest.raises(OpError, match="boxes has shape"):
        op.infer(op.attrs(), TensorType((2, 6)), *[TensorType(())] * 4)


def corners(count: int, batch: int = 2) -> np.ndarray:
    low = RANDOM.uniform(0, 1, (batch, count, 2))
    return np.concatenate([low, low + RANDOM.uniform(0.1, 0.6, (batch, count, 2))], axis=2).astype(np.float32)


@pytest.mark.parametrize("most", [2, 100])
@pytest.mark.sweep(every=2)
def test_suppression_of_all_classes(run_op: Callable[..., Any], most: int) -> None:
    onnx, runtime = pytest.importorskip("onnx"), pytest.importorskip("onnxruntime")
    boxes, scores = corners(9), RANDOM.uniform(0, 1, (2, 3, 9)).astype(np.float32)
    helper, proto = onnx.helper, onnx.TensorProto
    node = helper.make_node("NonMaxSuppression", ["b", "s", "m", "i", "t"], ["y"])
    values = [
        helper.make_tensor("m", proto.INT64, [1], [most]),
        helper.make_tensor("i", proto.FLOAT, [1], [0.3]),
        helper.make_tensor("t", proto.FLOAT, [1], [0.2]),
    ]
    inputs = [
        helper.make_tensor_value_info("b", proto.FLOAT, boxes.shape),
        helper.make_tensor_value_info("s", proto.FLOAT, scores.shape),
    ]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info("y", proto.INT64, None)], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, {"b": boxes, "s": scores})[0]

    args = (boxes, scores, np.array(most, np.int32), f(0.3), f(0.2))
    indices, number = run_op("vision.all_class_non_max_suppression", {}, *args)
    assert number == len(expected)
    np.testing.assert_array_equal(indices[: len(expected)], expected)
    assert not indices[len(expected) :].any()

    pairs, values, numbers = run_op("vision.all_class_non_max_suppression", {"output_format": "tensorflow"}, *args)
    for image in range(2):
        own = expected[expected[:, 0] == image]
        assert numbers[image] == len(own)
        np.testing.assert_array_equal(pairs[image, : len(own)], own[:, 1:])
        np.testing.assert_array_equal(values[image, : len(own)], scores[image, own[:, 1], own[:, 2]])
        assert not values[image, len(own) :].any()


def test_types_of_all_classes() -> None:
    op = relay_record("vision.all_class_non_max_suppression")
    types = TensorType((1, ANY, 4)), TensorType((1, 80, ANY)), *[TensorType(())] * 3
    expected = TupleType((TensorType((ANY, 3), "int64"), TensorType((1,), "int64")))
    assert op.infer(op.attrs(), *types) == expected
    with pytest.raises(OpError, match="output_format is 'pt'"):
        op.infer(op.attrs(output_format="pt"), *types)


def regular(
    boxes: np.ndarray, scores: np.ndarray, per_class: int, most: int, classes: int, iou: float, least: float
) -> list[tuple[float, int, int]]:
    """TFLite's detection post-processing, box by box."""
    found = []
    background = scores.shape[1] - classes
    for name in range(classes):
        each = scores[:, name + background]
        order = [b for b in sorted(range(len(boxes)), key=lambda b: -each[b]) if each[b] >= least]
        kept: list[int] = []
        for b in order:
            if len(kept) < per_class and all(ratio(boxes[b], boxes[k]) <= iou for k in kept):
                kept.append(b)
        found += [(each[b], name, b) for b in kept]
    return sorted(found, key=lambda one: -one[0])[:most]


def ratio(a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray) -> float:
    sides = [max(0.0, min(a[2 + d], b[2 + d]) - max(a[d], b[d])) for d in range(2)]
    both = sides[0] * sides[1]
    areas = [(x[2] - x[0]) * (x[3] - x[1]) for x in (a, b)]
    return both / (sum(areas) - both)


def test_regular_suppression(run_op: Callable[..., Any]) -> None:
    boxes, scores = corners(8), RANDOM.uniform(0, 1, (2, 8, 4)).astype(np.float32)
    attrs = {
        "max_detections_per_class": 2, "max_detections": 5, "num_classes": 3, "iou_threshold": 0.3,
        "score_threshold": 0.4,
    }  # fmt: skip
    found, names, values, numbers = run_op("vision.regular_non_max_suppression", attrs, boxes, scores)
    for image in range(2):
        expected = regular(boxes[image], scores[image], 2, 5, 3, 0.3, 0.4)
        count = len(expected)
        assert numbers[image] == count
        np.testing.assert_array_equal(values[image, :count], f([one[0] for one in expected]))
        np.testing.assert_array_equal(names[image, :count], f([one[1] for one in expected]))
        np.testing.assert_array_equal(found[image, :count], boxes[image, [one[2] for one in expected]])
        assert not found[image, count:].any()


@pytest.mark.parametrize("clip", [False, True])
def test_prior_boxes(check: Check, clip: bool) -> None:
    sizes, ratios = (0.5, 0.25), (1.0, 2.0, 0.5)
    expected = []
    for i, j in itertools.product(range(2), range(3)):
        y, x = (i + 0.5) / 2, (j + 0.5) / 3
        shapes = [(s * 2 / 3 / 2, s / 2) for s in sizes]
        shapes += [(0.5 * 2 / 3 * math.sqrt(r) / 2, 0.5 / math.sqrt(r) / 2) for r in ratios[1:]]
        expected += [[x - w, y - h, x + w, y + h] for w, h in shapes]
    wanted = np.clip(f([expected]), 0, 1) if clip else f([expected])
    image = np.zeros((1, 4, 2, 3), np.float32)
    attrs = {"sizes": floats(*sizes), "ratios": floats(*ratios), "clip": clip}
    check("vision.multibox_prior", [image], wanted, **attrs)
    op = relay_record("vision.multibox_prior")
    found = op.infer(op.attrs(sizes=floats(1, 2), ratios=floats(1, 2, 3)), TensorType((ANY, 3, ANY, 5), "float16"))
    assert found == TensorType((1, ANY, 4), "float16")


def test_decoding_of_prior_boxes(check: Check) -> None:
    scores = f([[[0.2, 0.5, 0.3], [0.25, 0.3, 0.45], [0.7, 0.1, 0.2]]])
    places = f([[0.1, -0.2, 0.3, 0.2, 0.2, 0.4, 0.5, -0.3, 0.7, -0.2, -0.4, -0.8]])
    anchors = f([[[-0.1, -0.1, 0.1, 0.1], [-0.2, -0.2, 0.2, 0.2], [1.2, 1.2, 1.5, 1.5]]])
    variances = (0.1, 0.1, 0.2, 0.2)
    boxes = []
    for place, anchor in zip(places.reshape(3, 4), anchors[0], strict=True):
        middle = [
            place[d] * variances[d] * (anchor[2 + d] - anchor[d]) + (anchor[d] + anchor[2 + d]) / 2 for d in (0, 1)
        ]
        reach = [math.exp(place[2 + d] * variances[2 + d]) * (anchor[2 + d] - anchor[d]) / 2 for d in (0, 1)]
        boxes.append([m - r for m, r in zip(middle, reach, strict=True)])
        boxes[-1] += [m + r for m, r in zip(middle, reach, strict=True)]
    args = [scores, places, anchors]
    clipped = np.clip(boxes, 0, 1)
    best = f([[[1, 0.7, *clipped[0]], [0, 0.3, *clipped[1]], [0, 0.45, *clipped[2]]]])
    count = np.array([3], np.int32)
    check("vision.multibox_transform_loc", args, (best, count), symbols=False)
    best = f([[[2, 0.7, *boxes[0]], [0, 0.5, *boxes[1]], [1, 0.45, *boxes[2]]]])
    check("vision.multibox_transform_loc", args, (best, count), symbols=False, clip=False, keep_background=True)
    best = f([[[1, 0.7, *clipped[0]], [0, 0.45, *clipped[2]], [0] * 6]])
    count = np.array([2], np.int32)
    check("vision.multibox_transform_loc", args, (best, count), symbols=False, threshold=0.4)


def test_reorganisation(check: Check) -> None:
    x = np.arange(8 * 2 * 4, dtype=np.float32).reshape(1, 8, 2, 4)
    flat, listed = x.reshape(-1), []
    for k, j, i in itertools.product(range(8), range(2), range(4)):
        inner = 8 // 4
        offset = k // inner
        listed.append(flat[((k % inner) * 4 * 2 + (j * 2 + offset // 2) * 2) * 4 + i * 2 + offset % 2])
    check("vision.yolo_reorg", [x], f(listed).reshape(1, 32, 1, 2), symbols=False, stride=2)
    op = relay_record("vision.yolo_reorg")
    with pytest.raises(OpError, match="stride is 0, expected at least 1"):
        op.infer(op.attrs(stride=0), TensorType((1, 4, 4, 4)))
    with pytest.raises(OpError, match="fewer than the square"):
        op.numpy(op.attrs(stride=2), x[:, :3])


def bilinear(image: np.ndarray, y: float, x: float) -> float:
    if y < -1 or x < -1 or y > image.shape[0] or x > image.shape[1]:
        return 0.0
    y, x = min(max(y, 0), image.shape[0] - 1), min(max(x, 0), image.shape[1] - 1)
    top, left = math.floor(y), math.floor(x)
    below, beside = min(top + 1, image.shape[0] - 1), min(left + 1, image.shape[1] - 1)
    upper = image[top, left] * (1 - x + left) + image[top, beside] * (x - left)
    lower = image[below, left] * (1 - x + left) + image[below, beside] * (x - left)
    found: float = upper * (1 - y + top) + lower * (y - top)
    return found


ROIS = f([[1, 1.3, 0.7, 9.2, 6.1], [0, -4, -3, 5.5, 4], [0, 7, 7, 7.2, 7.1]])


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("sample_ratio", [2, -1])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.sweep(every=2)
def test_roi_align(check: Check, mode: str, sample_ratio: int, layout: str) -> None:
    x = RANDOM.standard_normal((2, 2, 6, 7)).astype(np.float32)
    size, scale = (2, 3), 0.75
    expected = np.zeros((3, 2, *size), np.float32)
    for r, c, i, j in itertools.product(range(3), range(2), *map(range, size)):
        image, left, top, right, bottom = (float(v) for v in ROIS[r])
        tall, wide = max((bottom - top) * scale, 1) / size[0], max((right - left) * scale, 1) / size[1]
        counts = [sample_ratio if sample_ratio > 0 else math.ceil(v) for v in (tall, wide)]
        samples = [
            bilinear(
                x[int(image), c], top * scale + (i + (a + 0.5) / counts[0]) * tall,
                left * scale + (j + (b + 0.5) / counts[1]) * wide,
            )
            for a, b in itertools.product(*map(range, counts))
        ]  # fmt: skip
        expected[r, c, i, j] = np.mean(samples) if mode == "avg" else max(samples)
    axes = ["NCHW".index(letter) for letter in layout]
    attrs = {"pooled_size": size, "spatial_scale": scale, "sample_ratio": sample_ratio, "mode": mode}
    args = [x.transpose(axes), ROIS]
    check("vision.roi_align", args, expected.transpose(axes), symbols=False, reduction=256, layout=layout, **attrs)


def test_roi_pool(check: Check) -> None:
    x = RANDOM.standard_normal((2, 2, 6, 7)).astype(np.float32)
    size, scale = (2, 3), 0.75
    expected = np.zeros((3, 2, *size), np.float32)
    for r, c, i, j in itertools.product(range(3), range(2), *map(range, size)):
        left, top, right, bottom = (math.floor(float(v) * scale + 0.5) for v in ROIS[r, 1:])
        tall, wide = max(bottom - top + 1, 1) / size[0], max(right - left + 1, 1) / size[1]
        ys = [min(max(v, 0), 6) for v in (math.floor(i * tall) + top, math.ceil((i + 1) * tall) + top)]
        xs = [min(max(v, 0), 7) for v in (math.floor(j * wide) + left, math.ceil((j + 1) * wide) + left)]
        part = x[int(ROIS[r, 0]), c, ys[0] : ys[1], xs[0] : xs[1]]
        expected[r, c, i, j] = part.max() if part.size else 0
    check("vision.roi_pool", [x, ROIS], expected, symbols=False, pooled_size=size, spatial_scale=scale)


@pytest.mark.parametrize("iou_loss", [False, True])
def test_proposal(check: Check, iou_loss: bool) -> None:
    """The scores are far apart and the boxes too, so that the order of the result is that of the
    scores.
    """
    scores = np.zeros((1, 4, 2, 2), np.float32)
    scores[0, 2:] = [[[0.9, 0.1], [0.2, 0.3]], [[0.4, 0.5], [0.6, 0.7]]]
    deltas = RANDOM.uniform(-0.1, 0.1, (1, 8, 2, 2)).astype(np.float32)
    info = f([[40, 50, 1]])
    boxes = []
    for k, (i, j) in itertools.product(range(2), itertools.product(range(2), repeat=2)):
        # A square of 16, ratio 1, scales 0.5 and 2: sides 8 and 32 around 7.5.
        half = 0.5 * (16 * (0.5, 2)[k] - 1)
        anchor = [7.5 - half + 16 * j, 7.5 - half + 16 * i, 7.5 + half + 16 * j, 7.5 + half + 16 * i]
        d = deltas[0, 4 * k : 4 * k + 4, i, j]
        if iou_loss:
            box = [a + v for a, v in zip(anchor, d, strict=True)]
        else:
            side = 2 * half + 1
            middle = [d[0] * side + 7.5 + 16 * j, d[1] * side + 7.5 + 16 * i]
            reach = [0.5 * (math.exp(v) * side - 1) for v in d[2:]]
            box = [middle[0] - reach[0], middle[1] - reach[1], middle[0] + reach[0], middle[1] + reach[1]]
        limits = (49, 39, 49, 39)
        boxes.append((scores[0, 2 + k, i, j], [min(max(v, 0), m) for v, m in zip(box, limits, strict=True)]))
    kept: list[list[float]] = []
    for _, box in sorted(boxes, key=lambda one: -one[0]):
        grown = [[b[0], b[1], b[2] + 1, b[3] + 1] for b in [box, *kept]]
        if all(ratio(grown[0], other) <= 0.3 for other in grown[1:]):
            kept.append(box)
    expected = f([[0, *kept[r % len(kept)]] for r in range(7)])
    attrs = {
        "scales": floats(0.5, 2), "ratios": floats(1), "rpn_post_nms_top_n": 7, "rpn_min_size": 4, "threshold": 0.3,
        "iou_loss": iou_loss,
    }  # fmt: skip
    check("vision.proposal", [scores, deltas, info], expected, symbols=False, reduction=16, **attrs)


def test_types_of_regions() -> None:
    align = relay_record("vision.roi_align")
    attrs = align.attrs(pooled_size=(7, 7), spatial_scale=1.0)
    assert align.infer(attrs, TensorType((1, 4, 9, 9)), TensorType((ANY, 5))) == TensorType((ANY, 4, 7, 7))
    with pytest.raises(OpError, match="regions has shape"):
        align.infer(attrs, TensorType((1, 4, 9, 9)), TensorType((3, 4)))
    proposal = relay_record("vision.proposal")
    types = TensorType((2, 4, 3, 3)), TensorType((2, 8, 3, 3)), TensorType((2, 3))
    assert proposal.infer(proposal.attrs(), *types) == TensorType((600, 5))


RELAX_SUPPRESSIONS: list[dict[str, Any]] = [
    {"iou_threshold": 0.4},
    {"iou_threshold": 0.0, "max_output_size": 3},
    {"iou_threshold": 0.3, "max_output_size": 0, "id_index": -1, "top_k": 6},
    {"iou_threshold": 0.4, "return_indices": False, "invalid_to_bottom": True},
    {"iou_threshold": 0.4, "return_indices": False, "force_suppress": True, "max_output_size": 2},
]


@pytest.mark.tvm
@pytest.mark.compiler
@pytest.mark.parametrize("attrs", RELAX_SUPPRESSIONS, ids=str)
@pytest.mark.sweep(every=3)
def test_relaxs_suppression_is_that_of_tvm(attrs: dict[str, Any]) -> None:
    """Scores and classes are below zero as well, counts are fewer than boxes."""
    boxes, counts = Var("boxes", TensorStructInfo((2, 9, 6), "float32")), Var("n", TensorStructInfo((2,), "int32"))
    names = Var("names", TensorStructInfo((2, 9), "int32"))
    builder = BlockBuilder()
    with builder.function("main", [boxes, counts, names]):
        builder.emit_func_output(builder.emit(call_op("vision.non_max_suppression", boxes, counts, names, **attrs)))
    module = builder.get()
    runs = [backends.VirtualMachine(backends.build(module, target=one))["main"] for one in ("tvm", "numpy", "c")]
    for seed in range(5):
        draw = np.random.default_rng(seed)
        data = draw.random((2, 9, 6), dtype=np.float32)
        data[..., 0] = draw.integers(-1, 2, (2, 9))
        data[..., 1] = draw.integers(-3, 8, (2, 9)) / np.float32(8)
        given = data, np.array([9, 5], np.int32), draw.integers(0, 50, (2, 9)).astype(np.int32)
        wanted, *others = (run(*given) for run in runs)
        for other in others:
            for mine, theirs in zip(translator.flatten(other), translator.flatten(wanted), strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_overlaps_that_lower_scores_are_typed_and_refused() -> None:
    op = relax_record("vision.non_max_suppression")
    types = TensorType((2, 9, 6)), TensorType((2,), "int32"), TensorType((2, 9), "int32")
    attrs = op.attrs(soft_nms_sigma=0.5)
    assert op.infer(attrs, *types) == TupleType((types[0], TensorType((2, 9), "int32"), TensorType((2, 1), "int32")))
    with pytest.raises(OpError, match=r"soft_nms_sigma is 0\.5"):
        op.numpy(attrs, np.zeros((2, 9, 6), np.float32), np.zeros(2, np.int32), np.zeros((2, 9), np.int32))
