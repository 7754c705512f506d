"""What may stand in a dataflow block is gathered in one."""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relax_ir
from relay2relax.relax_ir.transform import ConvertToDataflow, ToNonDataflow

SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(c: R.Tensor((), dtype="bool"), x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        a: R.Tensor((2,), dtype="float32") = R.add(x, x)
        b: R.Tensor((2,), dtype="float32") = R.multiply(a, x)
        d: R.Tensor((2,), dtype="float32") = R.add(b, x)
        if c:
            e: R.Tensor((2,), dtype="float32") = R.negative(d)
            f: R.Tensor((2,), dtype="float32") = R.add(e, b)
            r: R.Tensor((2,), dtype="float32") = f
        else:
            r: R.Tensor((2,), dtype="float32") = d
        s: R.Tensor((2,), dtype="float32") = R.add(r, d)
        return s
"""


def test_blocks_and_what_comes_out_of_them() -> None:
    mod = relax_ir.parse(SCRIPT)
    found = ConvertToDataflow()(mod)
    relax_ir.check_well_formed(found)
    # The last binding alone is fewer than two.
    first, rest = of_type(found["main"], relax_ir.Function).body.blocks
    assert first.dataflow
    assert [(b.var.name, b.var.dataflow) for b in first.bindings] == [("a", True), ("b", False), ("d", False)]
    assert not rest.dataflow
    (inner,) = of_type(rest.bindings[0].value, relax_ir.If).true_branch.blocks
    assert inner.dataflow
    assert [b.var.dataflow for b in inner.bindings] == [True, False]


def test_smaller_blocks() -> None:
    found = ConvertToDataflow(min_size=1)(relax_ir.parse(SCRIPT))
    relax_ir.check_well_formed(found)
    assert [block.dataflow for block in of_type(found["main"], relax_ir.Function).body.blocks] == [True, False, True]


def test_nothing_changes_where_all_is_dataflow() -> None:
    found = ConvertToDataflow()(relax_ir.parse(SCRIPT))
    assert ConvertToDataflow()(found) is found


@pytest.mark.parametrize("taken", [True, False])
def test_the_values_stay(taken: bool) -> None:
    mod = relax_ir.parse(SCRIPT)
    x = np.array([1, 2], "float32")
    expected = backends.VirtualMachine(backends.build(mod))["main"](np.array(taken), x)
    for changed in (ConvertToDataflow()(mod), ToNonDataflow()(ConvertToDataflow()(mod))):
        np.testing.assert_array_equal(
            backends.VirtualMachine(backends.build(changed))["main"](np.array(taken), x), expected
        )
    by_hand = 2 * x * x + x
    np.testing.assert_array_equal(expected, (-by_hand + 2 * x * x if taken else by_hand) + by_hand)


def test_effects_stay_outside() -> None:
    script = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        a: R.Tensor((2,), dtype="float32") = R.add(x, x)
        b: R.Tensor((2,), dtype="float32") = R.add(a, x)
        c: R.Tensor((2,), dtype="float32") = R.call_packed("env.f", b)
        d: R.Tensor((2,), dtype="float32") = R.add(c, x)
        e: R.Tensor((2,), dtype="float32") = R.add(d, x)
        return e
"""
    found = ConvertToDataflow()(relax_ir.parse(script))
    relax_ir.check_well_formed(found)
    assert [block.dataflow for block in of_type(found["main"], relax_ir.Function).body.blocks] == [True, False, True]
