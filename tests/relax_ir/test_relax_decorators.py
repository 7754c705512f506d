"""TVMScript on live classes and functions."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError
from relay2relax.script import I, R, T
from relay2relax.tir.stmt import PrimFunc

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
