"""Operators whose result's shape depends on data: extents are computed first, then the result.

On every backend.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.core.errors import ExecutionError
from relay2relax.relax_ir.transform import LegalizeOps
from relay2relax.tir.ir.stmt import PrimFunc

X = np.arange(12, dtype="float32").reshape(3, 4)
MASK = np.array([[0, 2, 0], [3, 0, 1]], "float32")


def i64(*values: int) -> np.ndarray:
    return np.array(values, "int64")


# A call of tensors, and what numpy says it gives; the types of the parameters are those of the
# arguments.
CASES: dict[str, tuple[str, list[Any], Any]] = {
    "reshape": ("dyn.reshape(%a, %b, newshape=[])", [X, i64(2, -1)], X.reshape(2, 6)),
    "reshape with codes": ("dyn.reshape(%a, %b, newshape=[])", [X, i64(0, 2, -1)], X.reshape(3, 2, 2)),
    "reshape merging": ("dyn.reshape(%a, %b, newshape=[])", [X, i64(-3)], X.reshape(12)),
    "broadcast_to": ("dyn.broadcast_to(%a, %b, shape=None, dtype=\"\")", [X[:, :1], i64(2, 3, 4)],
                     np.broadcast_to(X[:, :1], (2, 3, 4))),
    "tile": ("dyn.tile(%a, %b, reps=[])", [X, i64(2, 1, 3)], np.tile(X, (2, 1, 3))),
    "zeros": ("dyn.zeros(%a, shape=None, dtype=\"int32\")", [i64(2, 3)], np.zeros((2, 3), "int32")),
    "ones": ("dyn.ones(%a, shape=None, dtype=\"float32\")", [i64(4)], np.ones(4, "float32")),
    "full": ("dyn.full(%a, %b, shape=None, dtype=\"float32\")", [np.float32(7), np.array([2, 2], "int32")],
             np.full((2, 2), 7, "float32")),
    "one_hot": ("dyn.one_hot(%a, %b, %c, %d, axis=-1, dtype=\"float32\")",
                [i64(2, 0), np.float32(1), np.float32(0), np.array(3, "int64")], np.eye(3, dtype="float32")[[2, 0]]),
    "strided_slice": ("dyn.strided_slice(%a, %b, %c, %d, begin=[], end=[])", [X, i64(0, -1), i64(3, 0), i64(2, -2)],
                      X[0:3:2, -1:0:-2]),
    "strided_slice that is empty": ("dyn.strided_slice(%a, %b, %c, %d, begin=[], end=[])",
                                    [X, i64(2), i64(1), i64(1)], X[2:1]),
    "squeeze": ("dyn.squeeze(%a, %b)", [X.reshape(3, 1, 4, 1), i64(1, -1)], X),
    "expand_dims": ("dyn.expand_dims(%a, %b)", [X, np.array(1, "int64")], X[:, None]),
    "pad": ("dyn.nn.pad(%a, %b, %c, pad_width=[])", [X, np.array([[1, 0], [2, 1]], "int64"), np.float32(9)],
            np.pad(X, [(1, 0), (2, 1)], constant_values=9)),
    "pad reflecting": ("dyn.nn.pad(%a, %b, %c, pad_width=[], pad_mode=\"reflect\")",
                       [X, np.array([[1, 0], [2, 1]], "int64"), np.float32(9)],
                       np.pad(X, [(1, 0), (2, 1)], mode="reflect")),
    "topk": ("dyn.topk(%a, %b, axis=1, ret_type=\"values\")", [X, i64(2)], X[:, :1:-1]),
    "argwhere": ("argwhere(%a)", [MASK], np.argwhere(MASK).astype("int32")),
    "argwhere of nothing": ("argwhere(%a)", [np.zeros((2, 2), "int32")], np.zeros((0, 2), "int32")),
    "arange": ("arange(%a, %b, %c, start=%a, stop=%b, step=%c, dtype=\"float32\")",
               [np.float32(1), np.float32(2), np.float32(0.3)], np.arange(1, 2, 0.3, dtype="float32")),
    "arange downwards": ("arange(%a, %b, %c, start=%a, stop=%b, step=%c, dtype=\"int32\")",
                         [np.int32(7), np.int32(0), np.int32(-3)], np.array([7, 4, 1], "int32")),
}  # fmt: skip


def module(call: str, args: list[Any]) -> relay_ir.IRModule:
    params = ", ".join(
        f"%{name}: Tensor[({', '.join(map(str, arg.shape))}{',' if arg.ndim == 1 else ''}), {arg.dtype}]"
        for name, arg in zip("abcd", map(np.asarray, args), strict=False)
    )
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {call} }}'))


def check(actual: Any, expected: np.ndarray) -> None:
    assert actual.shape == expected.shape
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.fixture(params=["lower_to_tir", "via_graph"])
def translate(request: pytest.FixtureRequest) -> Any:
    return getattr(translator, request.param)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.sweep(every=2)
def test_translated(name: str, translate: Any) -> None:
    call, args, expected = CASES[name]
    relax = translate(module(call, args))
    relax_ir.check_well_formed(relax)
    assert relax_ir.parse(relax.script()).script() == relax.script()
    check(backends.VirtualMachine(backends.build(relax))["main"](*args), expected)


@pytest.mark.sweep(every=2)
@pytest.mark.compiler
def test_compiled(translate: Any) -> None:
    for call, args, expected in CASES.values():
        executable = backends.build(translate(module(call, args)), target="c")
        check(backends.VirtualMachine(executable)["main"](*args), expected)


@pytest.mark.compiler
@pytest.mark.parametrize("name", ["strided_slice", "argwhere", "pad"])
def test_relay_executor_on_c(name: str) -> None:
    call, args, expected = CASES[name]
    check(backends.create_executor("debug", module(call, args), backend="c").evaluate()(*args), expected)


def test_the_program_without_records(translate: Any) -> None:
    """Each tensor program by itself gives what numpy gives, whatever the record's numpy function
    says.
    """
    for call, args, expected in CASES.values():
        relax = LegalizeOps()(translate(module(call, args)))
        bare = {
            var: func.with_body(func.body) if isinstance(func, PrimFunc) else func
            for var, func in relax.functions.items()
        }
        machine = backends.VirtualMachine(backends.build(relax_ir.IRModule(bare)))
        check(machine["main"](*args), expected)


def test_extents_that_follow_from_computed_ones(translate: Any) -> None:
    """A shape that data decide is a shape like any other for what comes after."""
    text = """#[version = "0.0.5"]
    def @main(%a: Tensor[(2, 3), float32]) {
      %0 = argwhere(%a);
      %1 = cast(%0, dtype="float32");
      %2 = concatenate((%1, %1), axis=1);
      sum(%2, axis=[0])
    }"""
    relax = translate(relay_ir.infer_type(relay_ir.parse(text)))
    relax_ir.check_well_formed(relax)
    found = np.argwhere(MASK).astype("float32")
    expected = np.concatenate([found, found], 1).sum(0)
    check(backends.VirtualMachine(backends.build(relax))["main"](MASK), expected)


def test_a_result_of_no_shape_is_refused() -> None:
    """A negative extent stops the program with a message."""
    relax = translator.lower_to_tir(module('dyn.zeros(%a, shape=None, dtype="float32")', [i64(1, 1)]))
    machine = backends.VirtualMachine(backends.build(relax))
    with pytest.raises(ExecutionError, match="not below 0"):
        machine["main"](i64(2, -3))


@pytest.mark.tvm
@pytest.mark.parametrize("name", ["reshape with codes", "argwhere", "topk"])
@pytest.mark.sweep(every=2)
def test_in_tvm(name: str, translate: Any) -> None:
    call, args, expected = CASES[name]
    executable = backends.build(translate(module(call, args)), target="tvm")
    check(backends.VirtualMachine(executable)["main"](*args), expected)
