"""What a function's result has to do with its parameters holds in the extents of the caller."""

from __future__ import annotations

import re

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.core.words import word
from relay2relax.relax_ir.ir.struct_info import StructInfo
from relay2relax.relax_ir.ir.text import info_text

HEADER = """
# from tvm.script import ir as I
# from tvm.script import tirx as T
# from tvm.script import relax as R
"""

CHAIN = (
    HEADER
    + """
@I.ir_module
class Module:
    @R.function(private=True)
    def flat(
        x: R.Tensor(("n", "m"), dtype="float32"),
        y: R.Tensor(("m",), dtype="float32"),
    ) -> R.Tensor(("n * m",), dtype="float32"):
        n = T.int64()
        m = T.int64()
        s: R.Tensor((n, m), dtype="float32") = R.add(x, y)
        r: R.Tensor((n * m,), dtype="float32") = R.reshape(s, R.shape([n * m]))
        return r

    @R.function(private=True)
    def twice(
        v: R.Tensor(("m",), dtype="float32"),
    ) -> R.Tuple(R.Tensor(("m * 2",), dtype="float32"), R.Tensor(("m",), dtype="float32")):
        m = T.int64()
        both: R.Tensor((m * 2,), dtype="float32") = R.concat((v, v), axis=0)
        return (both, v)

    @R.function
    def main(
        a: R.Tensor(("b", 4), dtype="float32"),
        c: R.Tensor((4,), dtype="float32"),
    ) -> R.Tensor(("b * 12 + 4",), dtype="float32"):
        b = T.int64()
        cls = Module
        f = cls.flat(a, c)
        pair = cls.twice(f)
        g = pair[0]
        h = pair[1]
        out = R.concat((g, h, c), axis=0)
        return out
"""
)


def infos(mod: rx.IRModule, name: str = "main") -> dict[str, StructInfo]:
    """Return the struct info of what ``main`` binds, by name."""
    blocks = of_type(mod[name], rx.Function).body.blocks
    return {binding.var.name: binding.var.info for block in blocks for binding in block.bindings}


def test_results_come_back_in_the_callers_extents() -> None:
    mod = rx.parse(CHAIN)
    rx.check_well_formed(mod)
    first = of_type(mod["main"], rx.Function).params[0]
    b = present(of_type(first.info, rx.TensorStructInfo).shape)[0]
    tensor = rx.TensorStructInfo
    found = infos(mod)
    assert found["f"] == tensor((b * 4,), "float32")
    assert found["pair"] == rx.TupleStructInfo((tensor((b * 8,), "float32"), tensor((b * 4,), "float32")))
    assert found["out"] == tensor((b * 12 + 4,), "float32")


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_calls_run_for_every_extent(target: str) -> None:
    vm = backends.VirtualMachine(backends.build(rx.parse(CHAIN), target=target))
    c = np.array([1, 2, 3, 4], np.float32)
    for rows in (1, 3, 5):
        a = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)
        flat = (a + c).ravel()
        np.testing.assert_array_equal(vm["main"](a, c), np.concatenate([flat, flat, flat, c]))


CALLS = (
    HEADER
    + """
@I.ir_module
class Module:
    @R.function(private=True)
    def callee({params}) -> {result}:
        n = T.int64()
        m = T.int64()
        return {value}

    @R.function
    def main({arguments}):
        k = T.int64()
        j = T.int64()
        cls = Module
        r = cls.callee({names})
        return r
"""
)


def calling(params: str, result: str, value: str, arguments: str, names: str) -> rx.IRModule:
    given = {"params": params, "result": result, "value": value, "arguments": arguments, "names": names}
    return rx.parse(CALLS.format(**given))


def vector(*extents: str) -> str:
    return f'R.Tensor(({", ".join(map(repr, extents))},), dtype="float32")'


UNKNOWN = 'R.Tensor(dtype="float32", ndim=2)'


@pytest.mark.parametrize(
    ("params", "result", "value", "arguments", "names", "expected"),
    [
        # A shape tells its extents.
        (
            's: R.Shape(["n", "m"])', 'R.Shape(["m", "n"])', "R.shape([m, n])",
            f"x: {vector('k', 'j')}", "R.shape([k * 2, j + 1])", "R.Shape([j + 1, k * 2])",
        ),
        # So do the fields of a tuple.
        (
            f"x: R.Tuple({vector('n')}, {vector('m')})", f"R.Tuple({vector('m')}, {vector('n * m')})",
            '(x[1], R.zeros(R.shape([n * m]), dtype="float32"))',
            f"a: {vector('k')}, b: {vector('j')}", "(a, b)",
            'R.Tuple(R.Tensor((j,), dtype="float32"), R.Tensor((j * k,), dtype="float32"))',
        ),
        # What the caller does not relate may hold; the first place that tells decides.
        (
            f"x: {vector('n')}, y: {vector('n * 2', 'm')}", vector("n * 2", "m"), "y",
            f"a: {vector('k')}, b: {vector('j', 'j')}", "a, b", 'R.Tensor((k * 2, j), dtype="float32")',
        ),
        # An extent that the argument does not tell is not known afterwards, others are.
        (
            f"x: {vector('n', 'm')}, y: {vector('m')}", f"R.Tuple({vector('n', 'm')}, {vector('m')})", "(x, y)",
            f"a: {UNKNOWN}, b: {vector('k')}, c: {vector('j')}", "a, b",
            f'R.Tuple({UNKNOWN}, R.Tensor((k,), dtype="float32"))',
        ),
    ],
)  # fmt: skip
def test_arguments_tell_extents(
    params: str, result: str, value: str, arguments: str, names: str, expected: str
) -> None:
    mod = calling(params, result, value, arguments, names)
    assert info_text(infos(mod)["r"], lambda var: word(var.name)) == expected


@pytest.mark.parametrize(
    ("first", "second", "arguments", "message"),
    [
        (vector("n", "n"), vector("m"), (vector("k", "k + 1"), vector("j")), "0: dimension 1 is k + 1, expected k"),
        (vector("n"), vector("n * 2", "m"), (vector("k"), vector("k * 2 + 1", "j")),
         "1: dimension 0 is k * 2 + 1, expected k * 2"),
        (vector("n"), vector("m"), (vector("k"), vector("k", "j")), "1: rank 2, expected 1"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_fit_are_refused(
    first: str, second: str, arguments: tuple[str, str], message: str
) -> None:
    with pytest.raises(Relay2RelaxError, match=re.escape(f"callee: argument {message}")):
        calling(f"x: {first}, y: {second}", first, "x", "a: {}, b: {}".format(*arguments), "a, b")


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_calls_check_what_nothing_proved(target: str) -> None:
    """The caller knows nothing of ``j``: that it is ``2 k`` is checked as the callee is entered."""
    mod = calling(
        f"x: {vector('n')}, y: {vector('n * 2', 'm')}", vector("n * 2", "m"), "y",
        f"a: {vector('k')}, b: {vector('j', 'j')}", "a, b",
    )  # fmt: skip
    vm = backends.VirtualMachine(backends.build(mod, target=target))
    a, b = np.ones(2, np.float32), np.ones((4, 4), np.float32)
    np.testing.assert_array_equal(vm["main"](a, b), b)
    with pytest.raises(ExecutionError, match="dimension 0 is 5, expected 4") as caught:
        vm["main"](a, np.ones((5, 5), np.float32))
    assert "fn=callee, loc=param[1], param=y" in str(caught.value)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_messages_name_parameter_and_dimension(target: str) -> None:
    vm = backends.VirtualMachine(backends.build(rx.parse(CHAIN), target=target))
    a, c = np.ones((2, 4), np.float32), np.ones(4, np.float32)
    for args, problem, place in [
        (
            (a[:, :3], c),
            "dimension 1 is 3, expected 4",
            'param[0], param=a, annotation=R.Tensor((b, 4), dtype="float32")',
        ),
        ((a, c[:3]), "dimension 0 is 3, expected 4", 'param[1], param=c, annotation=R.Tensor((4,), dtype="float32")'),
        ((c, c), "expected a tensor of 2 dimensions, found shape (4,)", "param[0], param=a"),
    ]:
        with pytest.raises(ExecutionError, match=re.escape(problem)) as caught:
            vm["main"](*args)
        assert f"fn=main, loc={place}" in str(caught.value)
