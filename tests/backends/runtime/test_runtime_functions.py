"""Shapes that data decide, and functions of TVM's runtime: on numpy and in C, against numpy and by
hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.backends.runtime.runtime_functions import RUNTIME_FUNCTIONS
from relay2relax.core.errors import ExecutionError

X = np.array([[1, 0, 2], [2, 1, 0]], "float32")
TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]


def run(text: str, *arguments: Any, target: str = "numpy", check: bool = True) -> Any:
    module = rx.parse(text, check_well_formed=check)
    return backends.VirtualMachine(backends.build(module, target))["main"](*arguments)


@pytest.mark.parametrize("target", TARGETS)
def test_coordinates_and_distinct_elements(target: str) -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32")):
    places = R.nonzero(x)
    all = R.unique(x, True, True, True, True)
    first = R.unique(x, False, False, False, False)
    return (places, all, first)
"""
    places, everything, first = run(text, X, target=target)
    np.testing.assert_array_equal(places, np.array(np.nonzero(X)))
    wanted = np.unique(X, return_index=True, return_inverse=True, return_counts=True)
    for one, other in zip(everything, wanted, strict=True):
        np.testing.assert_array_equal(one, other.reshape(-1))
    np.testing.assert_array_equal(first, [1, 0, 2])


@pytest.mark.parametrize("target", TARGETS)
def test_slices_and_shapes(target: str) -> None:
    text = """
@R.function
def main(x: R.Tensor(("n", 3), dtype="float32"), b: R.Tensor((2,), dtype="int64"), e: R.Tensor((2,), dtype="int64"),
         s: R.Tensor((2,), dtype="int64")):
    part = R.dynamic_strided_slice(x, b, e, s)
    shape = R.shape_of(x)
    whole = R.broadcast_to(R.const(1.5, "float32"), shape)
    again: R.Tensor(shape, dtype="float32") = whole
    return (part, R.shape_to_tensor(shape), again, R.size(x))
"""
    places = [np.array(one) for one in ([0, -1], [9, -9], [1, -2])]
    part, extents, whole, size = run(text, X, *places, target=target)
    np.testing.assert_array_equal(part, X[:, ::-2])
    assert extents.tolist() == [2, 3]
    np.testing.assert_array_equal(whole, np.full((2, 3), 1.5, "float32"))
    assert size == 6


@pytest.mark.parametrize("target", TARGETS)
def test_unique_slices_along_an_axis(target: str) -> None:
    text = """
@R.function
def main(x: R.Tensor((2, "n", 2), dtype="float32")):
    y = R.unique(x, True, True, True, True, -2)
    z = R.unique(x, False, False, True, False, 1)
    return (y, z)
"""
    rows = np.array([[2, 1], [0, 5], [2, 1], [0, 4], [0, 5]], "float32")
    data = np.stack([rows, rows * 0 + 1])
    (slices, places, inverse, counts), (met, which) = run(text, data, target=target)
    np.testing.assert_array_equal(slices[0], [[0, 4], [0, 5], [2, 1]])
    assert (places.tolist(), inverse.tolist(), counts.tolist()) == ([3, 1, 0], [2, 1, 2, 0, 1], [1, 2, 2])
    np.testing.assert_array_equal(met, data[:, [0, 1, 3]])
    assert which.tolist() == [0, 1, 0, 2, 1]


@pytest.mark.parametrize("target", TARGETS)
def test_packed_functions_of_the_runtime(target: str) -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32")):
    places: R.Tensor(dtype="int64", ndim=2) = R.call_pure_packed("relax.run.nonzero", x, ty_args=(R.Tensor(dtype="int64", ndim=2),))
    shape: R.Shape(ndim=2) = R.call_pure_packed("vm.builtin.shape_of", x, ty_args=(R.Shape(ndim=2),))
    found: R.Tensor((2,), dtype="int64") = R.call_pure_packed("relax.run.shape_to_tensor", shape, ty_args=(R.Tensor((2,), dtype="int64"),))
    return (places, found)
"""  # noqa: E501 - TVM prints such lines
    places, found = run(text, X, target=target)
    np.testing.assert_array_equal(places, np.array(np.nonzero(X)))
    assert found.tolist() == [2, 3]


@pytest.mark.parametrize("form", ["", ', format="{} is not enough"'])
def test_assertions_and_prints(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = f"""
@R.function(pure=False)
def main(ok: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="int64")):
    _ = R.assert_op(ok, x{form})
    _1 = R.print(x, format="x: {{}}")
    return x
"""
    x = np.array([3, 4])
    assert run(text, np.array(True), x).tolist() == [3, 4]
    assert capsys.readouterr().out == "x: [3 4]\n"
    with pytest.raises(ExecutionError, match=r"\[3 4\] is not enough" if form else r"Assertion Failed: \[3 4\]"):
        run(text, np.array(False), x)


@pytest.mark.tvm
@pytest.mark.parametrize("ascending", [True, False])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sorting_functions_do_what_those_of_tvm_do(axis: int, ascending: bool) -> None:
    tvm = pytest.importorskip("tvm")
    data = np.random.default_rng(3).integers(-3, 4, (4, 5)).astype("float32")
    other = data.shape[1 - axis % 2]
    taken = (2, 5) if axis == 0 else (4, 2)
    calls: list[tuple[str, list[np.ndarray], list[np.ndarray], tuple[Any, ...]]] = [
        ("sort", [data], [np.empty_like(data)], (axis, ascending)),
        ("argsort", [data], [np.empty(data.shape, "int32")], (axis, ascending)),
        ("argsort", [data], [np.empty(data.shape, "float32")], (axis, ascending)),
        ("argsort_nms", [data, np.arange(other, dtype="int32")], [np.empty(data.shape, "int32")], (axis, ascending)),
        ("topk", [data], [np.empty(taken, "float32"), np.empty(taken, "int64")], (2, axis, "both", ascending)),
        ("topk", [data], [np.empty(taken, "int32")], (2, axis, "indices", ascending)),
        ("topk", [data], [np.empty(data.shape, "float32")], (0, axis, "values", ascending)),
    ]
    for name, inputs, results, rest in calls:
        theirs = [*map(tvm.runtime.tensor, (*inputs, *results))]
        tvm.get_global_func(f"tvm.contrib.sort.{name}")(*theirs, *rest)
        RUNTIME_FUNCTIONS[f"tvm.contrib.sort.{name}"](*inputs, *results, *rest)
        for ours, one in zip(results, theirs[len(inputs) :], strict=True):
            np.testing.assert_array_equal(ours, one.numpy(), err_msg=name)


CALLED = """
@R.function(pure=False)
def main(x: R.Tensor((4,), dtype="float32")) -> R.Object:
    y = R.call_packed("{name}", x, sinfo_args=R.Object)
    return y
"""


def test_arguments_that_a_function_does_not_take() -> None:
    with pytest.raises(ExecutionError, match=r"tvm\.contrib\.sort\.sort does not take the arguments .*'ascending'"):
        run(CALLED.format(name="tvm.contrib.sort.sort"), np.ones(4, "float32"))


def test_what_a_function_raises_comes_as_it_is() -> None:
    @backends.register_func("test.refusing", override=True)
    def refuse(x: np.ndarray) -> None:
        raise TypeError(f"not {x.dtype}")

    with pytest.raises(TypeError, match=r"^not float32(\nraised by test\.refusing, which the program calls)?$"):
        run(CALLED.format(name="test.refusing"), np.ones(4, "float32"))
