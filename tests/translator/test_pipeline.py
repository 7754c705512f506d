"""One pipeline, two forms, and names for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.core.errors import UnsupportedError

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(4, 3), float32]) { nn.relu(nn.dense(%x, %w, units=None)) }
"""
PARAMS = {"w": np.ones((4, 3), np.float32)}
DIMS = {"x": ("batch", None)}


@pytest.mark.parametrize(("via", "named"), [("tir", translator.lower_to_tir), ("graph", translator.via_graph)])
@pytest.mark.parametrize(
    "given", [{}, {"params": PARAMS}, {"weights": ["w"], "dims": DIMS}, {"params": PARAMS, "dims": DIMS}]
)
def test_the_names_are_the_pipeline(
    via: Literal["tir", "graph"], named: Callable[..., relax_ir.IRModule], given: dict[str, Any]
) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(TEXT))
    made = translator.translate(mod, via, **given)
    assert made.script() == named(mod, **given).script()
    calls = "R.call_tir(" if via == "tir" else "R.nn.relu("
    assert calls in made.script()
    assert ("batch" in made.script()) == ("dims" in given)


def test_the_graph_that_a_translation_went_through_is_that_of_its_source() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(TEXT))
    made = translator.translation(mod, params=PARAMS, dims=DIMS)
    assert made.source is mod
    assert graph.to_json(made.graph) == graph.to_json(graph.from_relay(mod, PARAMS, dims=DIMS)[0])


def test_the_default_form_is_relax_operators() -> None:
    mod = relay_ir.parse(TEXT)
    assert translator.translate(mod).script() == translator.via_graph(mod).script()


def test_a_function_alone() -> None:
    mod = relay_ir.parse(TEXT)
    assert isinstance(translator.translate(mod["main"], "tir"), relax_ir.IRModule)


def test_what_there_is_not() -> None:
    mod = relay_ir.parse(TEXT)
    with pytest.raises(UnsupportedError, match="no way into Relax 'te'; there are: 'tir', 'graph'"):
        translator.translate(mod, "te")  # type: ignore[arg-type]  # refused at run time too
    with pytest.raises(UnsupportedError, match="no schedule 'gpu'; there are: 'cpu'"):
        translator.translate(mod, schedule="gpu")
