"""TVMScript on live classes and functions."""

# Programs are Python in form only: annotations are no types, what is decorated is replaced.
# mypy: disable-error-code="arg-type,attr-defined,call-overload,misc,name-defined"
# mypy: disable-error-code="no-untyped-def,return-value,type-arg,unreachable"
# mypy: disable-error-code="untyped-decorator,valid-type"

from __future__ import annotations

import math
import types

import ml_dtypes
import numpy as np
import pytest

import relay2relax.script
from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError
from relay2relax.script import I, R, T
from relay2relax.script import relax as Rx
from relay2relax.script import tirx as Tensors
from relay2relax.tir.ir.expr import Var
from relay2relax.tir.ir.stmt import PrimFunc

WIDTH = 4


@I.ir_module
class Scaled:
    @T.prim_func(private=True)
    def double(A: T.Buffer((WIDTH,), "float32"), B: T.Buffer((WIDTH,), "float32")):
        for i in range(WIDTH):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((WIDTH,), dtype="float32")) -> R.Tensor((WIDTH,), dtype="float32"):
        cls = Scaled
        y = R.call_tir(cls.double, (x,), R.Tensor((WIDTH,), dtype="float32"))
        return y


@R.function
def alone(x: R.Tensor(("n", 4), dtype="float32")) -> R.Tensor(("n", 4), dtype="float32"):
    return R.nn.relu(x)


@T.prim_func
def copy(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.serial(n):
        B[i] = A[i]


def test_module() -> None:
    assert isinstance(Scaled, rx.IRModule)
    machine = backends.VirtualMachine(backends.build(Scaled))
    np.testing.assert_array_equal(machine["main"](np.ones(4, "float32")), np.full(4, 2, "float32"))


def test_functions_alone() -> None:
    assert isinstance(alone, rx.Function)
    assert rx.print_struct_info(alone.ret) == 'R.Tensor(("n", 4), dtype="float32")'
    assert isinstance(copy, PrimFunc)


def test_arrays_of_the_surrounding_code() -> None:
    weight = np.arange(4, dtype="float32")

    @R.function
    def shifted(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        return R.add(x, weight)

    assert isinstance(shifted, rx.Function)
    call = shifted.body.blocks[0].bindings[0].value
    assert isinstance(call, rx.Call)
    assert isinstance(call.args[1], rx.Constant)
    assert call.args[1].data is weight


def test_plain_values_of_the_surrounding_code() -> None:
    class Maker:
        @staticmethod
        def module(width: int, dtype: str) -> rx.IRModule:
            axes, shape, options = [1, 0], (width, 2), {"width": width, "names": ["a", None]}

            @I.ir_module(check_well_formed=True)
            class Made:
                I.module_attrs(options)

                @R.function(private=False, pure=True)
                def main(x: R.Tensor(shape, dtype)) -> R.Tensor((2, width), dtype):
                    R.func_attr({"num_input": 1, "made": options})
                    turned = R.permute_dims(x, axes=axes)
                    return R.add(turned, R.const(width, dtype))

            return Made

    made = Maker.module(3, "float16")
    main = made["main"]
    assert isinstance(main, rx.Function)
    assert rx.print_struct_info(main.ret) == 'R.Tensor((2, 3), dtype="float16")'
    assert made.attrs == {"width": 3, "names": ["a", None]}
    assert main.attrs["made"] == made.attrs
    result = backends.VirtualMachine(backends.build(made))["main"](np.zeros((3, 2), "float16"))
    np.testing.assert_array_equal(result, np.full((2, 3), 3, "float16"))


def test_names_of_the_script_come_before_those_around_it() -> None:
    y = "a string"

    @R.function
    def doubled(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
        y = R.add(x, x)
        return y

    assert y == "a string"
    assert isinstance(doubled, rx.Function)


def test_mistakes_are_pointed_at_in_the_file() -> None:
    with pytest.raises(ParseError) as caught:

        @R.function
        def wrong(x: R.Tensor((4,), dtype="float32")) -> R.Tensor((4,), dtype="float32"):
            return R.add(x, y)  # noqa: F821

    where = caught.value.diagnostics[0].where
    assert where is not None
    assert where.name == __file__
    with open(__file__, encoding="utf-8") as stream:
        assert "R.add(x, y)  # noqa" in stream.read().splitlines()[where.line - 1]


def run(module: rx.IRModule, *args: np.ndarray) -> np.ndarray:
    result: np.ndarray = backends.VirtualMachine(backends.build(module))["main"](*args)
    return result


@relay2relax.script.ir_module
class Again:
    @Rx.function
    def main(x: Rx.Tensor((WIDTH,), dtype="float32")) -> Rx.Tensor((WIDTH,), dtype="float32"):
        return Rx.add(x, x)


FIRST = Again


# As a notebook has it: the same name again, with another meaning.
@relay2relax.script.ir_module
class Again:  # type: ignore[no-redef]
    @Tensors.prim_func(private=True)
    def triple(A: Tensors.Buffer((WIDTH,), "float32"), B: Tensors.Buffer((WIDTH,), "float32")):
        for i in range(WIDTH):
            with Tensors.sblock("B"):
                vi = Tensors.axis.remap("S", [i])
                B[vi] = A[vi] * Tensors.float32(3)

    @Rx.function
    def main(x: Rx.Tensor((WIDTH,), dtype="float32")) -> Rx.Tensor((WIDTH,), dtype="float32"):
        cls = Again
        y = Rx.call_tir(cls.triple, (x,), Rx.Tensor((WIDTH,), dtype="float32"))
        return y


def test_the_same_name_again() -> None:
    np.testing.assert_array_equal(run(FIRST, np.ones(4, "float32")), np.full(4, 2, "float32"))
    np.testing.assert_array_equal(run(Again, np.ones(4, "float32")), np.full(4, 3, "float32"))


def test_expressions_of_the_surrounding_code() -> None:
    config = types.SimpleNamespace(heads=2, width=8, dtype=np.float32, names=["a", "b"])
    weight = np.arange(16, dtype="float32").reshape(2, 8)
    shape = (3, config.heads)
    place = R.Tensor((3, 8), "float32")

    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((shape[0], config.width // 4), config.dtype)) -> place:
            R.func_attr({"names": config.names, "scale": 1 / math.sqrt(config.width), "label": f"h{config.heads}"})
            y = R.matmul(x, R.const(weight * 2, config.dtype))
            z = R.add(y, R.const(np.full(len(weight[0]), -math.inf), "float32"))
            return R.maximum(z, weight.mean(axis=0))

    main = Module["main"]
    assert isinstance(main, rx.Function)
    assert rx.print_struct_info(main.params[0].info) == 'R.Tensor((3, 2), dtype="float32")'
    assert main.attrs == {"names": ["a", "b"], "scale": 1 / math.sqrt(8), "label": "h2"}
    expected = np.tile(weight.mean(axis=0), (3, 1))
    np.testing.assert_array_equal(run(Module, np.ones((3, 2), "float32")), expected)


def test_dimensions_of_the_surrounding_code() -> None:
    n = Var("n", "int64")

    @R.function
    def twice(x: R.Tensor((n, 4), "float32")) -> R.Tensor((2 * n, 4), "float32"):
        return R.concat([x, x], axis=0)

    assert isinstance(twice, rx.Function)
    assert twice.params[0].info.shape[0] is n


def test_names_in_quotes_are_dimensions() -> None:
    n = 5

    @R.function
    def same(x: R.Tensor(("n", n), "float32")) -> R.Tensor(("n", n), "float32"):
        return R.nn.relu(x)

    assert isinstance(same, rx.Function)
    assert rx.print_struct_info(same.ret) == 'R.Tensor(("n", 5), dtype="float32")'


def test_names_that_another_function_defines() -> None:
    size = 3

    @I.ir_module
    class Module:
        @R.function
        def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            size = R.add(x, x)
            return size

        @R.function
        def main(x: R.Tensor((size,), "float32")) -> R.Tensor((size,), "float32"):
            return R.nn.relu(x)

    main = Module["main"]
    assert isinstance(main, rx.Function)
    assert rx.print_struct_info(main.ret) == 'R.Tensor((3,), dtype="float32")'


@pytest.mark.parametrize("dtype", [np.dtype("int8"), ml_dtypes.bfloat16, "uint32", np.bool_], ids=str)
def test_constants_of_any_dtype(dtype: object) -> None:
    table = np.array([[0, 1], [1, 0]]).astype(dtype)
    element = table[0, 1]

    @R.function
    def both(x: R.Tensor((2, 2), dtype)) -> R.Tensor((2, 4), dtype):
        y = R.concat([x, table], axis=1)
        z = R.full((2, 4), R.const(element, dtype), dtype)
        return R.minimum(y, z)

    assert isinstance(both, rx.Function)
    result = run(rx.IRModule({rx.GlobalVar("main"): both}), np.zeros((2, 2), dtype))
    np.testing.assert_array_equal(result, np.concatenate([np.zeros((2, 2), dtype), table], axis=1))


def test_functions_of_the_surrounding_code() -> None:
    @T.prim_func
    def increment(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + T.float32(1)

    @I.ir_module
    class Module:
        successor = increment

        @R.function
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            cls = Module
            return R.call_tir(cls.successor, (x,), R.Tensor((4,), "float32"))

    assert sorted(var.name for var in Module.functions) == ["main", "successor"]
    np.testing.assert_array_equal(run(Module, np.zeros(4, "float32")), np.ones(4, "float32"))


class Holder:
    """A class that is no module."""

    @R.function
    def before(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return R.nn.relu(x)


def test_functions_in_classes_that_are_no_modules() -> None:
    assert isinstance(Holder.before, rx.Function)


def test_what_python_cannot_evaluate() -> None:
    shape = (4,)
    with pytest.raises(ParseError, match="IndexError: tuple index out of range") as caught:

        @R.function
        def wrong(x: R.Tensor((shape[0],), "float32")) -> R.Tensor((shape[1],), "float32"):
            return x

    assert caught.value.diagnostics[0].where is not None


def test_texts_are_not_evaluated() -> None:
    text = """
@R.function
def main(x: R.Tensor((width,), "float32")) -> R.Tensor((width,), "float32"):
    return R.reshape(x, (open(path),))
"""
    with pytest.raises(ParseError, match="open"):
        rx.parse(text, constants={"width": 4, "path": "/nowhere"})
