"""Modules go to a live apache-tvm and come back the same; what TVM makes of them is read."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError
from relay2relax.core.tvm_installation import TvmError

pytestmark = pytest.mark.tvm


def test_there_and_back(mlp: rx.IRModule, everything: rx.IRModule) -> None:
    for mod in (mlp, everything):
        assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


@pytest.mark.golden
@pytest.mark.sweep(every=3)
@pytest.mark.parametrize("name", ["mlp_dynamic_batch", "unet", "bert_tiny"])
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
def test_models_there_and_back(get_model_case: Any, name: str, translate: Any) -> None:
    mod = translate(relay_ir.infer_type(relay_ir.parse(get_model_case(name).text, name)))
    assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


@pytest.mark.golden
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", ["mlp_dynamic_batch", "dqn", "lstm_relay", "bert_tiny"])
def test_what_tvm_lowers_and_fuses_computes_the_same(get_model_case: Any, name: str) -> None:
    from tvm import relax

    case = get_model_case(name)
    mod = translator.via_graph(relay_ir.infer_type(relay_ir.parse(case.text, name)))
    expected: list[Any] = translator.flatten(backends.VirtualMachine(backends.build(mod))["main"](*case.arguments()))
    module = rx.to_tvm(mod)
    lowered = relax.transform.LegalizeOps()(module)
    fused = relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(lowered))
    for stage in (lowered, fused, relax.transform.FuseTIR()(fused)):
        read = rx.from_tvm(stage)
        result: list[Any] = translator.flatten(backends.VirtualMachine(backends.build(read))["main"](*case.arguments()))
        for one, other in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)


PASSES = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32"), w: R.Tensor((4, 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.matmul(x, w)
            b = R.nn.softmax(R.nn.gelu(a), axis=-1)
            c = R.reshape(b, R.shape([n * 2, 2]))
            d = R.reshape(R.add(c, R.const([1, 2], "float32")), R.shape([n, 4]))
            R.output(d)
        return d
"""


def test_every_stage_of_lowering_is_read() -> None:
    """What the passes print, down to allocated tensors, is read and printed by us without loss."""
    import tvm
    from tvm import relax

    module = tvm.script.from_source(PASSES)
    stages = [
        relax.transform.LegalizeOps(),
        relax.transform.RewriteDataflowReshape(),
        relax.transform.ToNonDataflow(),
        relax.transform.RemovePurityChecking(),
        relax.transform.CallTIRRewrite(),
    ]
    for stage in stages:
        module = stage(module)
        read = rx.from_tvm(module)
        again = rx.parse(read.script())
        assert rx.first_difference(read, again) is None


def giving(*constants: np.ndarray) -> rx.IRModule:
    """A function that gives constants back."""
    builder = rx.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(rx.Tuple(tuple(map(rx.Constant, constants)))))
    return builder.get()


def given_by(module: rx.IRModule) -> list[np.ndarray]:
    main = module["main"]
    assert isinstance(main, rx.Function)
    (value,) = [binding.value for block in main.body.blocks for binding in block.bindings]
    assert isinstance(value, rx.Tuple)
    return [field.data for field in value.fields if isinstance(field, rx.Constant)]


DTYPES = [
    *["float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64"],
    *["uint8", "uint16", "uint32", "uint64"],
    *[ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2],
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_constants_of_every_dtype(dtype: Any) -> None:
    shapes = [(2, 3), (), (0,), (0, 2), (1, 1, 1)]
    constants = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) for shape in shapes]
    found = given_by(rx.from_tvm(rx.to_tvm(giving(*constants))))
    for one, other in zip(constants, found, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_constants_are_not_copied() -> None:
    """Where their memory is aligned as TVM wants it.

    What comes back is TVM's own memory in any case.
    """
    memory = np.ones(1032, "float32")
    first = -memory.ctypes.data // 4 % 16
    aligned, moved = memory[first : first + 1000], memory[first + 1 : first + 1001]
    module = rx.to_tvm(giving(aligned, moved))
    found = given_by(rx.from_tvm(module))
    assert np.shares_memory(found[0], memory)
    assert not np.shares_memory(found[1], memory)
    assert np.shares_memory(found[1], given_by(rx.from_tvm(module))[1])
    np.testing.assert_array_equal(found[1], moved)


ORDERED = """
@I.ir_module
class Module:
    @R.function
    def zz(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, Z)

    @R.function(private=True)
    def aa(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(A, B)

    @R.function
    def main(x: R.Tensor((2,), "float32"), c: R.Tensor((), "bool")) -> R.Tuple(
        R.Tensor((2,), "float32"), R.Tensor((2,), "float32"), R.Tensor((), "uint8")
    ):
        @R.function
        def inner(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
            return R.add(y, C)

        if c:
            u = R.add(x, D)
            v = R.add(u, A)
        else:
            u = R.where(E, F, A)
            v = u
        w = (F, inner(v), G)
        return w
"""


def test_constants_of_many_functions() -> None:
    """TVM numbers them as it prints; each is found again where it stood."""
    import tvm
    from tvm import relax

    values = {name: np.array([index, 100 + index], "float32") for index, name in enumerate("ABCDFZ")}
    values |= {"E": np.array([True, False]), "G": np.array(7, "uint8")}
    names = {"I": tvm.script.ir, "R": tvm.script.relax, **{name: relax.const(one) for name, one in values.items()}}
    read = rx.from_tvm(tvm.script.from_source(ORDERED, extra_vars=names))
    assert rx.first_difference(read, rx.parse(ORDERED, constants=values)) is None


def test_what_attributes_cannot_hold() -> None:
    import tvm

    module = rx.to_tvm(giving(np.ones(2, "float32")))
    tensor = tvm.runtime.tensor(np.ones(2, "float32"))
    func = module["main"].with_attr("params", [tensor])
    module.update_func(module.get_global_var("main"), func)
    with pytest.raises(ParseError, match="an attribute holds an object of apache-tvm") as caught:
        rx.from_tvm(module)
    assert "detach_params" in str(caught.value) or tvm.__version__.startswith("0.25")
    with pytest.raises(TvmError, match="this is a Function"):
        rx.from_tvm(func)
