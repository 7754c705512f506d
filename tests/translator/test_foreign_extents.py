"""Extents that an attribute names and no input has: nobody could give them a value."""

from __future__ import annotations

import pytest

from relay2relax import relax_ir, relay_ir, translator
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import op
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import Var


def resized(depth: Extent, *size: Extent) -> relay_ir.IRModule:
    x = relay_ir.var("x", shape=(1, 2, depth, 4, 4), dtype="float32")
    return relay_ir.infer_type(relay_ir.IRModule.from_expr(op.image.resize3d(x, size=size)))


@pytest.mark.parametrize("via", ["graph", "tir"])
def test_extents_of_attributes_alone_are_refused_by_name(via: translator.Via) -> None:
    with pytest.raises(UnsupportedError, match=r"image\.resize3d: its attributes name td, tw, which no input has"):
        translator.translate(resized(4, Var("td", "int32"), 4, Var("tw", "int32")), via)


@pytest.mark.parametrize("via", ["graph", "tir"])
def test_extents_that_an_input_has_too_are_read_back(via: translator.Via) -> None:
    depth = Var("d", "int32")
    made = translator.translate(resized(depth, depth, 8, 2), via)
    assert relax_ir.structural_equal(relax_ir.parse(made.script()), made)
