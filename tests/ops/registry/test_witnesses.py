"""Values from outside: every record has a witness that is no part of this project.

Witnesses are what TVM 0.18 recorded, ONNX's own node tests (tests/support/onnx_counterparts.py says
which record means the same; what differs is listed here by name), numpy and PyTorch
(tests/support/outside_values.py), and numbers that a file of tests holds.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_counterparts import COUNTERPARTS
from operator_calls import EXAMPLES, RECORDS, arrays, tensors, type_of
from operator_draws import Draw
from outside_values import ELSEWHERE, OUTSIDE
from recorded_cases import VALUED_FILES, called
from sweep import FULL

from relay2relax.backends.c import compile_prim_funcs
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.tolerance import difference
from relay2relax.ops.registry.lower import lower_call
from relay2relax.tir.extent import static
from relay2relax.tir.ir.stmt import PrimFunc

TERMS = 4096
# Node tests that mean something else than the record does.
DIFFERENT: dict[str, str] = {
    **{
        f"test_mod_float_edge_cases_fmod_0_float{bits}": "`a - floor(a / b) * b` has no value for an infinite operand"
        for bits in (16, 32, 64)
    },
    **{
        f"test_bitshift_{side}_int32_{distance}": "shifts by the width or more, or by less than nothing, have no value"
        for side in ("left", "right")
        for distance in ("shift_ge_width", "negative_shift")
    },
    "test_nonmaxsuppression_iou_threshold_boundary": "an overlap that is just the threshold suppresses in TVM",
    "test_reduce_max_empty_set": "the identity is the lowest finite number in TVM",
    "test_reduce_min_empty_set": "the identity is the largest finite number in TVM",
    "test_split_zero_size_splits_opset13": "Relay's places to cut at grow",
    "test_split_zero_size_splits_opset18": "Relay's places to cut at grow",
}


@dataclass(frozen=True)
class NodeTest:
    """A node test as a call of a record, with the outputs that ONNX gives."""

    name: str
    record: str
    attrs: dict[str, Any]
    args: list[Any]
    finish: Any
    expected: list[np.ndarray]


@pytest.fixture(scope="module")
def node_tests() -> list[NodeTest]:
    pytest.importorskip("onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        found = collect_testcases(None)
    return [one for case in found for one in converted(case)]


def converted(case: Any) -> Iterator[NodeTest]:
    """Yield the call that a node test is, where there is one."""
    import onnx

    nodes = case.model.graph.node
    if len(nodes) != 1 or nodes[0].op_type not in COUNTERPARTS or nodes[0].domain or case.name in DIFFERENT:
        return
    (inputs, outputs), *_ = case.data_sets
    if not all(isinstance(one, np.ndarray) and one.dtype.kind in "fiub" for one in (*inputs, *outputs)):
        return
    if any(one.dtype.name.startswith(("float8", "float4", "int4", "uint4", "int2", "uint2")) for one in inputs):
        return
    known = dict(zip((one.name for one in case.model.graph.input), inputs, strict=True))
    given = [known.get(name) for name in nodes[0].input]
    attrs = {one.name: onnx.helper.get_attribute_value(one) for one in nodes[0].attribute}
    attrs = {name: value.decode() if isinstance(value, bytes) else value for name, value in attrs.items()}
    call = COUNTERPARTS[nodes[0].op_type](attrs, given)
    if call is not None and not any(one is None for one in call[2]):
        yield NodeTest(case.name, *call, list(outputs))


def wrong(test: NodeTest, value: Any) -> list[str]:
    """Return what is wrong with a value.

    The record may leave out what ONNX gives besides (places, statistics).
    """
    found = [np.asarray(one) for one in arrays(test.finish(value))]
    result = []
    for one, wanted in zip(found, test.expected, strict=False):
        gap = difference(one, wanted, TERMS)
        if not gap.agrees:
            result.append(f"{test.name}: {test.record} {test.attrs}: {gap.reason}")
    return result


@pytest.mark.sweep(every=2)
def test_values_of_node_tests(node_tests: list[NodeTest]) -> None:
    mistakes = []
    for test in node_tests:
        op = RECORDS[test.record]
        with np.errstate(all="ignore"):
            mistakes += wrong(test, op.numpy(op.attrs(**test.attrs), *test.args))
    assert not mistakes, "\n".join(mistakes)
    assert len(node_tests) > 400
    assert len({test.record for test in node_tests}) > 100


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_values_of_node_tests_in_c(node_tests: list[NodeTest]) -> None:
    functions: list[PrimFunc] = []
    calls: list[tuple[NodeTest, list[np.ndarray], list[np.ndarray]]] = []
    times = dict.fromkeys(RECORDS, 0)
    for test in node_tests:
        op = RECORDS[test.record]
        attrs, types = op.attrs(**test.attrs), [type_of(arg) for arg in test.args]
        out = op.infer(attrs, *types)
        # Two tests of each record, unless all are asked for.
        times[test.record] += 1
        if any(static(e) is None for one in tensors(out) for e in one.shape) or (times[test.record] > 2 and not FULL):
            continue
        functions.append(lower_call(op, attrs, types, out, f"call_{len(functions)}"))
        results = [np.empty([static(e) or 0 for e in one.shape], numpy_dtype(one.dtype)) for one in tensors(out)]
        calls.append((test, arrays(test.args), results))
    module = compile_prim_funcs(functions)
    mistakes = []
    for function, (test, inputs, results) in zip(functions, calls, strict=True):
        module.call(function.name, *inputs, *results)
        mistakes += wrong(test, results[0] if len(results) == 1 else tuple(results))
    assert not mistakes, "\n".join(mistakes)


@pytest.mark.parametrize("name", OUTSIDE)
def test_values_of_numpy_and_torch(name: str) -> None:
    """A value of a quantised function may be one apart: float32 and float64 round halves to
    different sides.
    """
    pytest.importorskip("torch")
    op, mistakes, compared = RECORDS[name], [], 0
    for seed in range(200 if FULL else 20):
        given, args = EXAMPLES[name](Draw(seed))
        attrs = op.attrs(**given)
        # Those libraries know neither NaN in all places nor all attributes left out.
        given = {field.name: getattr(attrs, field.name) for field in fields(attrs)}
        if any(0 in one.shape for one in arrays(args)) or any("bfloat16" in str(v) for v in given.values()):
            continue
        if any(one.dtype.name == "bfloat16" for one in arrays(args)):
            continue
        with np.errstate(all="ignore"):
            value, expected = op.numpy(attrs, *args), OUTSIDE[name](given, *args)
        compared += 1
        if isinstance(value, tuple) and not arrays(value):
            assert value == expected
            continue
        for one, wanted in zip(arrays(value), arrays(expected), strict=True):
            if name.startswith("qnn."):
                assert np.abs(one.astype(int) - wanted).max(initial=0) <= 1
                continue
            found = difference(one, np.asarray(wanted), TERMS)
            # Where numbers cancel, last bits are left.
            if not found.agrees and found.max_abs > 1e-15:
                mistakes.append(f"seed {seed}, {given}: {found.reason}")
    assert not mistakes, "\n".join(mistakes)
    assert compared > 2


def test_files_of_tests_hold_what_they_are_named_for() -> None:
    for name, file in ELSEWHERE.items():
        text = next(Path(__file__).parents[1].rglob(file)).read_text(encoding="utf-8")
        assert f'"{name.removeprefix("R.")}"' in text, f"{file} does not call {name}"


@pytest.mark.sweep(every=2)
def test_every_record_has_a_witness(node_tests: list[NodeTest], recorded: Any) -> None:
    known = {*(test.record for test in node_tests), *OUTSIDE, *ELSEWHERE}
    for file in VALUED_FILES:
        for case in recorded(file):
            if "out" in case and not case.get("data_dropped"):
                known |= called(case["text"])
    assert sorted(set(RECORDS) - known) == []
