"""Extents that a program asserts to be one number."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.fixed_extents import with_fixed_extents
from relay2relax.backends.c.shape_checks import with_extent_checks
from relay2relax.core import ExecutionError
from relay2relax.relax_ir import IRModule
from relay2relax.relax_ir.transform import LegalizeOps


def joined() -> IRModule:
    """Return a program that joins its batch to a constant of one row: only one row fits."""
    x, w = relay_ir.var("x", shape=(relay_ir.Any(), 3)), relay_ir.var("w", shape=(2, 5))
    rows = relay_ir.op.concatenate((relay_ir.op.tanh(x), relay_ir.const(np.ones((1, 2), np.float32))), axis=1)
    main = relay_ir.Function((x, w), relay_ir.op.nn.dense(rows, w, units=2))
    return translator.via_graph(relay_ir.IRModule.from_expr(main), dims={"x": ("batch", None)})


def test_what_follows_an_assertion_is_made_for_the_number() -> None:
    checked = with_extent_checks(LegalizeOps()(joined()))
    before, after = checked.script(), with_fixed_extents(checked).script()
    assert 'R.Tensor(("batch", 3), dtype="float32"), w' in after
    assert after.count("match_cast") == before.count("match_cast") + 1
    assert "batch, 5" in before
    assert "batch, 5" not in after
    assert "(1, 5)" in after


def test_results_and_refusals_are_the_same() -> None:
    x, w = np.array([[0.5, -1.0, 2.0]], np.float32), np.arange(10, dtype=np.float32).reshape(2, 5)
    program = backends.VirtualMachine(backends.build(joined(), target="c"))["main"]
    wanted = np.concatenate([np.tanh(x), np.ones((1, 2), np.float32)], axis=1) @ w.T
    np.testing.assert_allclose(program(x, w), wanted, rtol=1e-6)
    with pytest.raises(ExecutionError, match="batch = 2"):
        program(np.concatenate([x, x]), w)


def test_a_program_without_such_an_assertion_stays_as_it_is() -> None:
    x = relay_ir.var("x", shape=(relay_ir.Any(), 3))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x,), relay_ir.op.tanh(x)))
    lowered = LegalizeOps()(translator.via_graph(mod))
    assert with_fixed_extents(lowered) is lowered
