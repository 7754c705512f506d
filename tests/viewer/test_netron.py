"""Exported models in Netron, in a browser."""

from __future__ import annotations

import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from browser.driver import Browser

from relay2relax import graph, relay_ir

netron = pytest.importorskip("netron")
pytest.importorskip("onnx")

LOOP = """#[version = "0.0.5"]
def @main(%n: int32, %x: Tensor[(1, 2, 8, 8), float32]) {
  let %while = fn (%i: int32, %acc: Tensor[(1, 2, 8, 8), float32]) -> Tensor[(1, 2, 8, 8), float32] {
    if (less(%i, %n)) { %while(add(%i, 1), add(%acc, %x)) } else { %acc }
  };
  let %r = %while(0, %x);
  %0 = nn.correlation(%r, %x, kernel_size=1, max_displacement=1, padding=[0, 0, 0, 0], layout="NCHW");
  nn.relu(%0)
}
"""
PLAIN = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) { nn.relu(nn.dense(%x, %w, units=3)) }
"""
# The texts in the boxes of the picture.
BOXES = "return [...document.querySelectorAll('.node-item text')].map((one) => one.textContent)"
ACCEPT = """
const found = [...document.querySelectorAll("button")].find((one) => one.textContent === "Accept");
if (!found || !found.offsetParent) return null;
const area = found.getBoundingClientRect();
return [area.x + area.width / 2, area.y + area.height / 2];
"""


def shown(window: Browser, path: Path) -> list[str]:
    """Return what stands in the boxes of a model that Netron shows."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = netron.start(str(path), address=("127.0.0.1", port), browse=False)
    try:
        window.visit(f"http://127.0.0.1:{port}/")
        window.click(*window.wait(ACCEPT))
        window.wait("return document.querySelectorAll('.node-item text').length")
        found: list[str] = window.run(BOXES)
        return found
    finally:
        netron.stop(address)


@pytest.mark.golden
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", ["loop", "bert_tiny"])
def test_netron_shows_what_is_exported(window: Browser, tmp_path: Path, name: str, get_model_case: Any) -> None:
    text = LOOP if name == "loop" else get_model_case(name).text
    found, weights = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    model = graph.to_onnx(found, weights)
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    boxes = shown(window, tmp_path / "net.onnx")
    # Constants stand in the boxes of those that take them, and each operator has a box.
    for kind in {one.op_type for one in model.graph.node}:
        assert boxes.count(kind.rpartition(".")[2]) == sum(one.op_type == kind for one in model.graph.node), kind
    assert {one.name for one in model.graph.input} <= set(boxes)


@pytest.mark.sweep(every=2)
def test_netron_shows_the_text_of_a_graph(window: Browser, tmp_path: Path) -> None:
    """As a network of Caffe, a layer for each node."""
    found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(PLAIN)))
    (tmp_path / "net.prototxt").write_text(graph.to_prototxt(found))
    assert Counter(shown(window, tmp_path / "net.prototxt")) == {"input": 2, "nn_dense": 1, "nn_relu": 1}
