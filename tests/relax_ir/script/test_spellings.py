"""What authors of scripts and TVM's releases write in other ways than our printer: it is read as
what it means.

Each pair holds a body and the body that it means; both are read and compared as programs.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError

FUNCTION = """
@R.function(pure=False)
def main({params}):
{body}
"""
X = 'x: R.Tensor((4, 3), "float32")'
N = 'n: R.Prim("int64")'


def read(params: str, body: str) -> rx.IRModule:
    lines = "\n".join(f"    {line}" for line in body.strip("\n").splitlines())
    return rx.parse(FUNCTION.format(params=params, body=lines))


MEANINGS = {
    "struct info of a value, classic": (
        X, 'y = R.call_packed("f", x, sinfo_args=[x.struct_info])\nreturn y',
        'y = R.call_packed("f", x, sinfo_args=[R.Tensor((4, 3), "float32")])\nreturn y'),
    "struct info of a value": (
        X, 'y = R.call_dps_packed("f", x, out_ty=x.ty)\nreturn y',
        'y = R.call_dps_packed("f", x, out_ty=R.Tensor((4, 3), "float32"))\nreturn y'),
    "what the machine asks a tensor for": (
        "x: R.Tensor", "a = x.dtype.bits\nb = x.ndim\nc = x.shape[1]\nd = x.strides[0]\nreturn (a, b, c, d)",
        "a = R.inspect.tensor_dtype_bits(x)\nb = R.inspect.tensor_ndim(x)\n"
        "c = R.inspect.tensor_shape_i(x, R.prim_value(1))\nd = R.inspect.tensor_stride_i(x, R.prim_value(0))\n"
        "return (a, b, c, d)"),
    "a dtype by a method": (X, 'y = x.astype("float16")\nreturn y', 'y = R.astype(x, "float16")\nreturn y'),
    "one result without a list": (
        X, 'y = R.call_pure_packed("f", x, ty_args=R.Tensor((4, 3), "float32"))\nreturn y',
        'y = R.call_pure_packed("f", x, ty_args=[R.Tensor((4, 3), "float32")])\nreturn y'),
    "relu6": (X, "y = R.nn.relu6(x)\nreturn y", "y = R.clip(x, 0, 6)\nreturn y"),
    "linear": (
        f'{X}, w: R.Tensor((2, 3), "float32"), b: R.Tensor((2,), "float32")', "y = R.linear(x, w, b)\nreturn y",
        "t = R.permute_dims(w)\nm = R.matmul(x, t)\ny = R.add(m, b)\nreturn y"),
    "emit": (X, "y = R.emit(R.exp(x))\nreturn y", "y = R.exp(x)\nreturn y"),
    "emit with struct info": (
        X, 'y = R.emit_with_sinfo("relax.exp", (x,), (R.Tensor((4, 3), "float32"),))\nreturn y',
        "y = R.exp(x)\nreturn y"),
    "variables of the reader": (
        X, "eps = I.meta_var(3)\ny = R.reshape(x, R.shape([4, eps]))\nreturn y",
        "y = R.reshape(x, R.shape([4, 3]))\nreturn y"),
    "numbers that are computed": (
        X, 'y = R.multiply(x, R.const(3.0 / 4.0, "float32"))\nreturn y',
        'y = R.multiply(x, R.const(0.75, "float32"))\nreturn y'),
    "return inside a dataflow block": (
        X, "with R.dataflow():\n    y = R.exp(x)\n    z = R.negative(y)\n    return z",
        "with R.dataflow():\n    y = R.exp(x)\n    z = R.negative(y)\n    R.output(z)\nreturn z"),
    "branches that are dataflow blocks": (
        f'{X}, c: R.Tensor((), "bool")',
        "if c:\n    with R.dataflow():\n        y = R.exp(x)\n        R.output(y)\nelse:\n"
        "    y = R.negative(x)\nreturn y",
        "if c:\n    with R.dataflow():\n        z = R.exp(x)\n        R.output(z)\n    y = z\nelse:\n"
        "    y = R.negative(x)\nreturn y"),
    "branches with effects alone": (
        f'{X}, c: R.Tensor((), "bool")',
        'if c:\n    R.print(x, format="yes {}")\nelse:\n    R.print(x, format="no {}")\nreturn x',
        'if c:\n    R.print(x, format="yes {}")\n    _ = R.tuple()\nelse:\n    R.print(x, format="no {}")\n'
        "    _ = R.tuple()\nreturn x"),
    "a function by a variable": (
        X, 'f = R.ExternFunc("g")\ny = f(x)\nreturn y', 'f = R.ExternFunc("g")\ny = R.call_packed("g", x)\nreturn y'),
    "arguments by name": (
        X, 'y = R.ccl.allreduce(x, in_group=True, op_type="max")\nreturn y',
        'y = R.ccl.allreduce(x, "max", True)\nreturn y'),
    "arguments that are left out": (X, "y = R.ccl.allreduce(x)\nreturn y", 'y = R.ccl.allreduce(x, "sum")\nreturn y'),
    "an annotation that says more is a cast": (
        'x: R.Tensor(("n",), "float32")', 'n = T.int64()\ny: R.Tensor((8,), "float32") = R.exp(x)\nreturn y',
        'n = T.int64()\nt = R.exp(x)\ny = R.match_cast(t, R.Tensor((8,), "float32"))\nreturn y'),
}  # fmt: skip


@pytest.mark.parametrize("name", MEANINGS)
def test_meaning(name: str) -> None:
    params, written, meant = MEANINGS[name]
    found = read(params, written)
    assert rx.first_difference(found, read(params, meant)) is None
    printed = found.script("tvm-0.27")
    assert rx.parse(printed).script("tvm-0.27") == printed


def test_a_function_alone_has_the_name_of_its_symbol() -> None:
    mod = read(X, 'R.func_attr({"global_symbol": "forward", "num_input": 1})\nreturn x')
    assert [var.name for var in mod.functions] == ["forward"]
    assert dict(mod["forward"].attrs) == {"num_input": 1}


def test_choices_in_extents() -> None:
    text = 'y = R.zeros(R.shape([T.if_then_else(n < 0, n + 8, n)]), "float32")\nreturn y'
    assert "R.shape([T.if_then_else(n < 0, n + 8, n)])" in read(N, text).script()


def test_another_name_of_a_scalar_is_a_dimension_too() -> None:
    mod = read(N, 'm: R.Prim("int64") = n\ny = R.zeros(R.shape([m]), "float32")\nreturn y')
    main = of_type(mod["main"], rx.Function)
    size = of_type(main.params[0].info, rx.PrimStructInfo).value
    assert main.ret == rx.TensorStructInfo((present(size),), "float32")


FACTORIAL = """
@I.ir_module
class Module:
    @R.function
    def main(n: R.Prim("int64")) -> R.Prim("int64"):
        cls = Module
        last = R.less(n, R.prim_value(2))
        if last:
            r = R.prim_value(1)
        else:
            m = R.subtract(n, R.prim_value(1))
            k = cls.main(m)
            r = R.multiply(n, k)
        return r
"""


@pytest.mark.compiler
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_operators_of_scalars_give_scalars(target: str) -> None:
    mod = rx.parse(FACTORIAL)
    assert backends.VirtualMachine(backends.build(mod, target))["main"](5) == 120


@pytest.mark.tvm
def test_tvm_takes_scalars_alike() -> None:
    mod = rx.parse(FACTORIAL)
    assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


def test_a_cast_of_an_annotation_is_looked_at_when_it_runs() -> None:
    mod = read(MEANINGS["an annotation that says more is a cast"][0],
               'n = T.int64()\ny: R.Tensor((8,), "float32") = R.exp(x)\nreturn y')  # fmt: skip
    machine = backends.VirtualMachine(backends.build(mod))
    assert machine["main"](np.zeros(8, "float32")).shape == (8,)
    with pytest.raises(Relay2RelaxError):
        machine["main"](np.zeros(7, "float32"))


def test_what_tvm_infers_is_left_to_tvm() -> None:
    """Of an operator without a record nothing is known here.

    An annotation would hide what TVM knows of it.
    """
    text = read(X, "y = R.ccl.allreduce(x)\nreturn y").script()
    assert "y = R.ccl.allreduce(x)" in text
    said = read(X, 'y: R.Tensor((4, 3), "float32") = R.ccl.allreduce(x)\nreturn y').script()
    assert 'y: R.Tensor((4, 3), dtype="float32") = R.ccl.allreduce(x)' in said


CONTRADICTIONS = [
    ('y: R.Tensor((5, 3), "float32") = R.exp(x)\nreturn y', "is not what it is said to be"),
    ('y = R.match_cast(x, R.Tensor((5, 3), "float32"))\nreturn y', "the cast cannot succeed"),
]


@pytest.mark.parametrize(("body", "message"), CONTRADICTIONS, ids=[message for _, message in CONTRADICTIONS])
def test_contradictions_are_read_where_nobody_looks(body: str, message: str) -> None:
    text = FUNCTION.format(params=X, body="\n".join(f"    {line}" for line in body.splitlines()))
    with pytest.raises(Relay2RelaxError, match=message):
        rx.parse(text)
    mod = rx.parse(text, check_well_formed=False)
    printed = mod.script()
    assert "R.Tensor((5, 3)" in printed
    assert rx.parse(printed, check_well_formed=False).script() == printed


CALLED = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(n: T.int64) -> T.int64:
        T.func_attr({{"tirx.noalias": True}})
        return n * T.int64(2)

    @T.prim_func(private=True, s_tir=True)
    def write(x: T.Buffer((4,), "float32")):
        for i in range(4):
            x[i] = T.float32(0)

    @R.function
    def main(n: R.Prim("int64"), x: R.Tensor((4,), "float32")):
        cls = Module
        {call}
        return x
"""


def test_a_tensor_program_that_only_returns_is_pure() -> None:
    rx.parse(CALLED.format(call='y: R.Prim("int64") = cls.twice(n)'))
    with pytest.raises(Relay2RelaxError, match="a pure function contains a call that may have effects"):
        rx.parse(CALLED.format(call="cls.write(x)"))
