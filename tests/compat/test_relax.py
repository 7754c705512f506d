"""``tvm.relax`` of the facade: translating, building by hand, running."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import compat, relax_ir
from relay2relax.relay_ir import testing
from relay2relax.tir.ir.stmt import PrimFunc

HALF = """
@I.ir_module
class Module:
    @T.prim_func
    def multiply(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = A[vi] * B[vi] * T.float32(0.5)
"""


@pytest.mark.compiler
def test_the_translator_takes_kernels_of_the_script_and_tells_instruments() -> None:
    half = relax_ir.parse(HALF)["multiply"]
    assert isinstance(half, PrimFunc)
    with compat.installed("0.18"):
        import tvm
        from tvm import relax, relay
        from tvm.relax.testing import relay_translator

        seen: list[str] = []

        @tvm.instrument.pass_instrument
        class Looking:
            def run_before_pass(self, mod: object, info: tvm.transform.PassInfo) -> None:
                seen.append(info.name)

        a = relay.var("a", shape=(4,))
        mod = tvm.IRModule.from_expr(relay.Function([a], relay.nn.relu(a) * a))
        plain = relay_translator.from_relay(mod["main"], "llvm")
        own = relay_translator.from_relay(
            mod["main"],
            "llvm",
            instruments=[Looking()],
            translate_op_with_tir={"multiply": half},
            append_op_attrs=True,
        )
        assert "op_attrs" not in plain["relu"].attrs
        assert own["relu"].attrs["op_name"] == "nn.relu"
        tvm.ir.assert_structural_equal(own["multiply"], half)
        assert {"SimplifyInference", "FoldConstant"} <= set(seen)
        value = np.array([-1, 0, 0.5, 2], "float32")
        for made, factor in ((plain, 1.0), (own, 0.5)):
            machine = relax.VirtualMachine(relax.build(made, "llvm"), tvm.cpu())
            found = machine["main"](tvm.nd.array(value)).numpy()
            np.testing.assert_allclose(found, factor * np.maximum(value, 0) * value, rtol=1e-6)


def test_the_translator_runs_the_passes_that_tvm_runs() -> None:
    mod, params = testing.resnet.get_workload(1, 10, num_layers=8, image_shape=(3, 16, 16))
    with compat.installed("0.18"):
        from tvm.relax.testing import relay_translator

        names = [var.name for var in relay_translator.from_relay(mod["main"], "llvm", params).functions]
        unchanged = relay_translator.from_relay(
            mod["main"], "llvm", params, opt_level=0, disabled_pass=["SimplifyInference"]
        )
    assert not any("batch_norm" in name for name in names)
    assert any("batch_norm" in var.name for var in unchanged.functions)


@pytest.mark.compiler
def test_programs_are_built_by_hand() -> None:
    with compat.installed("0.18"):
        import tvm
        from tvm import relax

        x = relax.Var("x", relax.TensorStructInfo([2, 3], "float32"))
        y = relax.Var("y", relax.TensorStructInfo(relax.ShapeExpr((2, 3))))
        assert x.info == y.info
        builder = relax.BlockBuilder()
        with builder.function("main", [x, y]):
            with builder.dataflow():
                total = builder.emit(relax.op.add(x, y))
                out = builder.emit_output(relax.Tuple((relax.op.nn.relu(total), total)))
            builder.emit_func_output(out)
        with pytest.raises(AttributeError, match="no operator missing"):
            _ = relax.op.missing
        machine = relax.VirtualMachine(relax.build(builder.get(), "llvm"), tvm.cpu())
        first, second = machine["main"](
            tvm.nd.array(np.full((2, 3), -2, "float32")), tvm.nd.array(np.eye(2, 3, dtype="float32"))
        )
        assert first.numpy().max() == 0
        np.testing.assert_array_equal(second.numpy(), np.eye(2, 3) - 2)
