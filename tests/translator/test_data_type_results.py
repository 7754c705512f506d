"""A result of a data type becomes tuples of fields, where the program says its constructors."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import UnsupportedError

HEAD = """#[version = "0.0.5"]
type Chain[A] { End, Link(A, Chain[A]) }
"""
PAIR = (
    HEAD
    + """def @main(%x: Tensor[(2), float32]) -> Chain[Tensor[(2), float32]] {
  Link(add(%x, %x), Link(%x, End))
}
"""
)
BRANCH = (
    HEAD
    + """def @main(%c: bool, %x: Tensor[(2), float32]) -> Chain[Tensor[(2), float32]] {
  if (%c) { Link(%x, End) } else { End }
}
"""
)
X = np.array([1, 2], "float32")


@pytest.mark.parametrize("via", ["tir", "graph"])
@pytest.mark.parametrize("target", ["numpy", "c"])
def test_a_chain_is_nested_tuples_of_its_fields(via: translator.Via, target: str) -> None:
    built = backends.build(translator.translate(relay_ir.parse(PAIR), via), target=target)
    first, (second, end) = backends.VirtualMachine(built)["main"](X)
    np.testing.assert_array_equal(first, [2, 4])
    np.testing.assert_array_equal(second, [1, 2])
    assert end == ()


def test_such_a_result_is_compared_field_by_field() -> None:
    assert translator.compare(relay_ir.parse(PAIR), inputs={"x": X}).agrees


def test_a_result_whose_constructor_data_decides_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a branch gives a value of the data type Chain"):
        translator.translate(relay_ir.parse(BRANCH))


def test_a_result_with_too_many_parts_is_refused() -> None:
    lines = "\n".join(f"  let %p{n + 1} = Both(%p{n}, %p{n});" for n in range(40))
    text = f"""#[version = "0.0.5"]
type Pair[A] {{ One(A), Both(Pair[A], Pair[A]) }}
def @main(%x: Tensor[(2), float32]) -> Pair[Tensor[(2), float32]] {{
  let %p0 = One(%x);
{lines}
  %p40
}}
"""
    with pytest.raises(UnsupportedError, match="a value of the data type Pair"):
        translator.via_graph(relay_ir.parse(text))
