"""A dtype that an operator needs is a dtype: no entry takes an empty one."""

from __future__ import annotations

import pytest

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.dtype import DTypeError
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops.math.elementwise import CastAttrs
from relay2relax.relay_ir.ir.expr import Call, Op, Var
from relay2relax.relay_ir.ir.types import TensorType

RELAY = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { cast(%x, dtype="int8") }'
RELAX = """
@R.function
def main(x: R.Tensor((4,), "float32")):
    return R.astype(x, dtype="int8")
"""


def refused(text: str, read: object) -> None:
    assert callable(read)
    assert '"int8"' in text
    read(text)
    for word in ("", "void", "foo"):
        with pytest.raises(Relay2RelaxError, match="dtype"):
            read(text.replace('"int8"', f'"{word}"'))


def test_text() -> None:
    refused(RELAY, relay_ir.parse)


def test_json() -> None:
    refused(relay_ir.save_json(relay_ir.infer_type(relay_ir.parse(RELAY))), relay_ir.load_json)


def test_graph() -> None:
    made, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(RELAY)))
    refused(graph.to_json(made), graph.from_json)


def test_script() -> None:
    refused(RELAX, relax_ir.parse)


@pytest.mark.parametrize("word", ["", "void", "foo"])
def test_built(word: str) -> None:
    with pytest.raises(DTypeError, match="dtype"):
        Call(Op("cast"), (Var("x", TensorType((4,), "float32")),), CastAttrs(word))
