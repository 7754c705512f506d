"""Names with half of a pair of surrogates, which a JSON document may state and no file holds: they
are written by their numbers, or refused by an error of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import pytest

from relay2relax import graph, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) -> Tensor[(2, 4), float32] {
  nn.dense(%x, %w, units=4) /* span=origin:1:2 */
}"""
Weights = dict[str, np.ndarray]
WRITERS: dict[str, Callable[[graph.MSCGraph, Weights], object]] = {
    "text": lambda found, weights: graph.to_text(found),
    "json": lambda found, weights: graph.to_json(found),
    "dot": lambda found, weights: graph.to_dot(found),
    "prototxt": lambda found, weights: graph.to_prototxt(found),
    "onnx": graph.to_onnx,
    "relay": lambda found, weights: graph.to_relay(found, weights).astext(),
    "script": lambda found, weights: graph.to_relax(found, weights).script(),
    "difference": lambda found, weights: str(graph.diff(found, found)),
}


def document(name: str) -> str:
    written = relay_ir.save_json(relay_ir.infer_type(relay_ir.parse(TEXT)))
    assert f'"{name}"' in written
    return written.replace(f'"{name}"', f'"{name}\\ud800"')


@pytest.mark.parametrize("name", ["x", "w", "origin"])
def test_relay(name: str) -> None:
    """Relay's JSON, and arguments that are drawn by the names of parameters."""
    module = relay_ir.infer_type(relay_ir.load_json(document(name)))
    assert len(translator.make_arguments(module)) == 2
    found, weights = graph.from_relay(module)
    for write in WRITERS.values():
        with suppress(Relay2RelaxError):
            write(found, weights)


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("name", ["x", "dense", "nn.dense", "main"])
def test_graphs(name: str, writer: str) -> None:
    found, weights = graph.from_relay(relay_ir.infer_type(relay_ir.parse(TEXT)))
    written = graph.to_json(found)
    assert f'"{name}"' in written
    half = graph.from_json(written.replace(f'"{name}"', f'"{name}\\ud800"'))
    with suppress(Relay2RelaxError):
        WRITERS[writer](half, weights)
