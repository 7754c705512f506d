"""The pass that changes what a program computes is named."""

from __future__ import annotations

import numpy as np
from seeded.renamed_pass import Renamed

from relay2relax import parity, relay_ir
from relay2relax.core.passes import Pass
from relay2relax.relay_ir import pipeline, transform

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 4), float32]) { nn.relu(add(%x, add(1f, 2f))) }
"""
X = np.linspace(-6, 2, 12, dtype=np.float32).reshape(3, 4)


def compared(*passes: Pass[relay_ir.IRModule]) -> tuple[parity.PassResult, ...]:
    module = relay_ir.infer_type(relay_ir.parse(TEXT))
    return parity.compare_passes(pipeline.apply(module, passes), [X])


def test_passes_that_keep_values_agree() -> None:
    found = compared(transform.FoldConstant(), transform.FuseOps())
    assert [one.agrees for one in found] == [True, True]
    assert [str(one) for one in found] == ["equal", "equal"]


def test_the_first_pass_that_changes_values_is_found() -> None:
    found = compared(transform.FoldConstant(), Renamed("nn.relu", "negative"), transform.FuseOps())
    assert [one.agrees for one in found] == [True, False, False]
    gap = np.max(np.abs(-(X + 3) - np.maximum(X + 3, 0)))
    assert found[1].rows[0].difference.max_abs == gap
    assert str(found[1]).startswith("DIFFERS: ")


def test_a_program_that_is_ill_typed_behind_a_pass_does_not_agree() -> None:
    found = compared(transform.ToMixedPrecision(), transform.ChangeBatch({"x": 0}, 5))
    assert "it takes other arguments" in str(found[1])
    assert not found[1].agrees
