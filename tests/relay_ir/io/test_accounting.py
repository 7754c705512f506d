"""Which parameters have values, which values have a parameter; and names that are told apart."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.io.accounting import Account, account, names_apart, require_complete

MODEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %b: Tensor[(3), float32],
          %y: Tensor[(2, 3), float32], %unused: Tensor[(1), float32]) {
  %0 = nn.dense(%x, %w, units=3);
  add(nn.bias_add(%0, %b, axis=-1), %y)
}
"""


def found(*names: str) -> Account:
    return account(relay_ir.parse(MODEL), {name: np.zeros(1, "float32") for name in names})


def test_parameters_and_values_are_told_apart() -> None:
    assert found("w", "other") == Account(("w",), ("x", "b", "y", "unused"), ("b",), ("other",))
    assert found("b", "w").missing_weights == ()
    assert found("b", "w").warnings == ()
    assert found("w", "other").warnings == ("no parameter takes these values of the params: other",)


def test_a_weight_that_is_computed_with_may_be_an_input() -> None:
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(3, 4), float32], %w: Tensor[(3, 4), float32]) {'
    mod = relay_ir.parse(text + " add(nn.dense(%x, %w, units=3), nn.dense(%w, %x, units=3)) }")
    assert account(mod, {}).missing_weights == ()


def test_a_file_of_another_model_is_refused() -> None:
    with pytest.raises(Relay2RelaxError, match="none of the model's parameters: it takes x, w, b, y, unused; they"):
        require_complete(found("weight", "bias"))
    require_complete(found())


def test_a_weight_without_a_value_is_refused() -> None:
    with pytest.raises(Relay2RelaxError, match=r"no values for these weights: b\n\nhelp: --allow-missing"):
        require_complete(found("w"))
    require_complete(found("w"), allow_missing=True)
    require_complete(found("w", "b"))


def test_a_name_that_is_near_is_named() -> None:
    mod = relay_ir.parse(MODEL.replace("%b", "%conv_bias"))
    given = {"w": np.zeros(1), "conv.bias": np.zeros(1)}
    with pytest.raises(Relay2RelaxError, match=r"help: is it conv\.bias for conv_bias\?"):
        require_complete(account(mod, given))


def test_parameters_of_one_name_get_the_names_of_the_text() -> None:
    x, y, z = (relay_ir.var("data", shape=(2,)) for _ in range(3))
    other = relay_ir.var("data1", shape=(2,))
    mod = relay_ir.IRModule.from_expr(relay_ir.Function((x, y, other, z), x + y * other - z))
    apart = names_apart(mod)
    names = [param.name for param in apart["main"].params]
    read = relay_ir.parse(mod.astext())
    assert names == [param.name for param in read["main"].params]
    assert len(set(names)) == 4
    assert relay_ir.structural_equal(relay_ir.infer_type(apart), relay_ir.infer_type(read))
    assert names_apart(apart) is apart
