"""Sorted rows on GPUs: numpy's stable order, a thread for each element, nothing found."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.core.dtype import Array


def run(text: str, *arrays: Array) -> tuple[list[Array], list[KernelReport]]:
    script = translator.via_graph(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'), schedule="cuda:sm_80")
    machine = backends.VirtualMachine(backends.build(script, target="numpy"))
    with watching() as reports:
        found: Any = machine["main"](*arrays)
    return [np.asarray(one) for one in (found if isinstance(found, (tuple, list)) else [found])], reports


def keys(*shape: int) -> Array:
    """Return numbers of which many are equal, and some are NaN."""
    rng = np.random.default_rng(6)
    found = rng.integers(-5, 6, shape).astype("float32")
    found[rng.random(shape) < 0.05] = np.nan
    return found


def nothing_is_found(reports: list[KernelReport], threads: int) -> None:
    assert [str(finding) for report in reports for finding in report.findings] == []
    assert reports[0].blocks * reports[0].threads >= threads


@pytest.mark.parametrize("extent", ["?", "150"])
def test_indices_are_those_of_numpys_stable_order(extent: str) -> None:
    x = keys(5, 150)
    found, reports = run(f'def @main(%x: Tensor[(5, {extent}), float32]) {{ argsort(%x, axis=1, dtype="int32") }}', x)
    assert (found[0] == np.argsort(x, axis=1, kind="stable")).all()
    nothing_is_found(reports, 5 * 150)


def test_columns_are_sorted_and_a_row_of_its_own() -> None:
    x, y = keys(70, 3), keys(200)
    found, reports = run(
        "def @main(%x: Tensor[(70, 3), float32], %y: Tensor[(200), float32]) { (sort(%x, axis=0), sort(%y, axis=0)) }",
        x,
        y,
    )
    for one, other in zip(found, (x, y), strict=True):
        np.testing.assert_array_equal(one, np.sort(other, axis=0))
    nothing_is_found(reports, 200)


def test_the_first_of_equal_ones_are_the_earlier_ones() -> None:
    x = np.random.default_rng(7).integers(0, 9, (4, 90))
    found, reports = run(
        "def @main(%x: Tensor[(4, 90), int64]) { "
        'topk(%x, k=7, axis=1, ret_type="both", is_ascend=False, dtype="int32") }',
        x,
    )
    order = np.argsort(-x, axis=1, kind="stable")[:, :7]
    np.testing.assert_array_equal(found[0], np.take_along_axis(x, order, axis=1))
    np.testing.assert_array_equal(found[1], order)
    nothing_is_found(reports, 4 * 90)


@pytest.mark.parametrize(("extent", "exclusive"), [("600", False), ("?", True)])
def test_running_sums_have_a_block_for_each_row(extent: str, exclusive: bool) -> None:
    x = np.random.default_rng(8).integers(-(2**30), 2**30, (3, 600)).astype("int32")
    text = f"def @main(%x: Tensor[(3, {extent}), int32]) {{ cumsum(%x, axis=1, exclusive={exclusive}) }}"
    (found,), reports = run(text, x)
    # Integers wrap around alike in any order.
    wanted = np.cumsum(x, axis=1, dtype="int32")
    np.testing.assert_array_equal(found, wanted - x if exclusive else wanted)
    nothing_is_found(reports, 3 * 256)
    assert reports[0].coalescing <= 1.2


def test_running_products_of_floats_are_those_of_float64() -> None:
    x = np.random.default_rng(9).uniform(0.9, 1.1, (2, 300)).astype("float32")
    (found,), reports = run("def @main(%x: Tensor[(2, 300), float32]) { cumprod(%x, axis=-1) }", x)
    assert np.allclose(found, np.cumprod(x.astype(np.float64), axis=1), rtol=300 * 2.0**-23)
    nothing_is_found(reports, 2 * 256)


def suppressed(boxes: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Return boxes (class, score, corners) by their scores, -1 for those of which an earlier one of
    their class covers half.
    """
    found: npt.NDArray[np.float32] = boxes[np.argsort(-boxes[:, 1], kind="stable")].copy()
    for i, (kind, _, *one) in enumerate(found):
        for other_kind, score, *other in found[:i]:
            x, y = (min(one[d + 2], other[d + 2]) - max(one[d], other[d]) for d in (0, 1))
            common = max(x, 0) * max(y, 0)
            areas = sum((b[2] - b[0]) * (b[3] - b[1]) for b in (one, other)) - common
            if score > 0 and kind == other_kind and common / areas >= 0.5:
                found[i] = -1
    return found


def test_boxes_are_suppressed_by_a_block() -> None:
    rng = np.random.default_rng(10)
    corners = rng.integers(0, 24, (60, 2))
    sizes = rng.integers(8, 17, (60, 2))
    scores = rng.permutation(60) / 64 + 0.01
    boxes = np.column_stack([rng.integers(0, 2, 60), scores, corners, corners + sizes]).astype("float32")
    (found,), reports = run(
        """
def @main(%d: Tensor[(1, 60, 6), float32], %n: Tensor[(1), int32], %i: Tensor[(1, 60), int32]) {
  vision.non_max_suppression(%d, %n, %i, -1, 0.5f, force_suppress=False, top_k=-1, coord_start=2, score_index=1,
    id_index=0, return_indices=False, invalid_to_bottom=False)
}""",
        boxes[None],
        np.array([60], "int32"),
        np.arange(60, dtype="int32")[None],
    )
    wanted = suppressed(boxes)
    assert 0 < np.count_nonzero(wanted[:, 1] < 0) < 60
    np.testing.assert_array_equal(found[0], wanted)
    nothing_is_found(reports, 256)


def kept(boxes: npt.NDArray[np.float32], scores: npt.NDArray[np.float32], most: int) -> list[int]:
    """Return the numbers of boxes by their scores, without those of which a kept one covers a
    third.
    """
    found: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        covered = False
        for other in found:
            pairs = [(boxes[i][d], boxes[i][d + 2], boxes[other][d], boxes[other][d + 2]) for d in (0, 1)]
            common = np.prod([max(min(b, e) - max(a, c), 0) for a, b, c, e in pairs])
            areas = sum(np.prod(box[2:] - box[:2]) for box in (boxes[i], boxes[other])) - common
            covered |= bool(common / areas > 1 / 3)
        if scores[i] > 0.25 and not covered and len(found) < most:
            found.append(int(i))
    return found


@pytest.mark.sweep(every=2)
def test_boxes_of_each_class_are_sorted_apart_and_suppressed_by_a_thread() -> None:
    rng = np.random.default_rng(11)
    corners, sizes = rng.integers(0, 24, (2, 40, 2)), rng.integers(8, 17, (2, 40, 2))
    boxes = np.concatenate([corners, corners + sizes], axis=2).astype("float32")
    scores = (rng.permutation(240).reshape(2, 3, 40) / 256).astype("float32")
    (rows, number), reports = run(
        """
def @main(%b: Tensor[(2, 40, 4), float32], %s: Tensor[(2, 3, 40), float32]) {
  vision.all_class_non_max_suppression(%b, %s, 5, 0.3333333f, 0.25f)
}""",
        boxes,
        scores,
    )
    wanted = [[n, c, i] for n in range(2) for c in range(3) for i in kept(boxes[n], scores[n, c], 5)]
    assert int(number[0]) == len(wanted) > 6
    assert rows[: len(wanted)].tolist() == wanted
    nothing_is_found(reports, 2 * 3 * 40)
    assert [report.blocks * report.threads for report in reports[1:]] == [32, 1]
