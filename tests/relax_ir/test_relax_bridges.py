"""Modules go to a live apache-tvm and come back the same; what TVM makes of them is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx

pytestmark = pytest.mark.tvm


def test_there_and_back(mlp: rx.IRModule, everything: rx.IRModule) -> None:
    for mod in (mlp, everything):
        assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mlp_dynamic_batch", "unet", "bert_tiny"])
@pytest.mark.parametrize("translate", [translator.lower_to_tir, translator.via_graph])
def test_models_there_and_back(get_model_case: Any, name: str, translate: Any) -> None:
    mod = translate(relay_ir.infer_type(relay_ir.parse(get_model_case(name).text, name)))
    assert rx.first_difference(rx.from_tvm(rx.to_tvm(mod)), mod) is None


@pytest.mark.golden
@pytest.mark.parametrize("name", ["mlp_dynamic_batch", "dqn", "lstm_relay", "bert_tiny"])
def test_what_tvm_lowers_and_fuses_computes_the_same(get_model_case: Any, name: str) -> None:
    from tvm import relax

    case = get_model_case(name)
    mod = translator.via_graph(relay_ir.infer_type(relay_ir.parse(case.text, name)))
    expected = translator.flatten(backends.VirtualMachine(backends.build(mod))["main"](*case.arguments()))
    module = rx.to_tvm(mod)
    lowered = relax.transform.LegalizeOps()(module)
    fused = relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(lowered))
    for stage in (lowered, fused, relax.transform.FuseTIR()(fused)):
        read = rx.from_tvm(stage)
        result = translator.flatten(backends.VirtualMachine(backends.build(read))["main"](*case.arguments()))
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
