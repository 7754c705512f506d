"""Dimensions that Relay's types name: Relay counts them in int32, Relax in int64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax import relax_ir as rx
from relay2relax.relay_ir import op, var
from relay2relax.tir.expr import Var, binary

TRANSLATORS = [translator.lower_to_tir, translator.via_graph]


def named() -> relay_ir.Function:
    """Rows of ``n``, spread over ``2 n`` columns that an attribute names."""
    n = Var("n", "int32")
    x = var("x", shape=(n, 1), dtype="float32")
    y = var("y", shape=(binary("*", n, 2),), dtype="float32")
    return relay_ir.Function([x, y], op.add(op.broadcast_to(x, shape=(n, binary("*", n, 2))), y))


@pytest.mark.parametrize("translate", TRANSLATORS)
def test_named_dimensions(translate: Any) -> None:
    mod = translate(named())
    rx.check_well_formed(mod)
    assert "T.int32()" not in mod.script()
    x, y = np.ones((2, 1), np.float32), np.arange(4, dtype=np.float32)
    found = backends.VirtualMachine(backends.build(mod))["main"](x, y)
    np.testing.assert_array_equal(found, [[1, 2, 3, 4], [1, 2, 3, 4]])


@pytest.mark.tvm
@pytest.mark.parametrize("translate", TRANSLATORS)
def test_named_dimensions_in_tvm(translate: Any) -> None:
    executable = backends.build(translate(named()), target="tvm")
    x, y = np.ones((2, 1), np.float32), np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(executable["main"](x, y), [[1, 2, 3, 4], [1, 2, 3, 4]])
