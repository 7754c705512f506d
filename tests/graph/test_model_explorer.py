"""Graphs in the format of Model Explorer, by its own classes where it is installed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from commands import run_here

from relay2relax import graph, relay_ir

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32], %flag: bool) {
  %0 = nn.dense(%x, %w, units=3) /* span=/encoder/layer.0/MatMul:0:0 */;
  %1 = split(%0, indices_or_sections=3, axis=1);
  %2 = %1.2;
  if (%flag) { nn.relu(%2) } else { add(%2, 1f) }
}
"""
# What the page of Model Explorer's JSON lists; the fields of its data classes.
FIELDS = {"id", "label", "namespace", "subgraphIds", "attrs", "incomingEdges", "outputsMetadata"}


def collection(text: str = TEXT) -> Any:
    made, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
    return json.loads(graph.to_model_explorer(made, "net"))


def test_nodes_edges_and_groups() -> None:
    found = collection()
    assert found["label"] == "net"
    main, *inner = found["graphs"]
    nodes = {one["id"]: one for one in main["nodes"]}
    assert all(set(one) == FIELDS for one in nodes.values())
    dense = next(one for one in nodes.values() if one["label"] == "nn.dense")
    assert dense["namespace"] == "encoder/layer.0"
    assert {"key": "units", "value": "3"} in dense["attrs"]
    assert dense["outputsMetadata"][0]["attrs"][0] == {"key": "tensor_shape", "value": "float32[2,3]"}
    assert [edge["sourceNodeId"] for edge in dense["incomingEdges"]] == ["x", "w"]
    # Of a node with several outputs, edges say which one.
    field = next(one for one in nodes.values() if one["label"] == "get_item")
    assert [edge["sourceNodeOutputId"] for edge in field["incomingEdges"]] == ["0", "1", "2"]
    branch = next(one for one in nodes.values() if one["label"] == "if")
    assert branch["subgraphIds"] == [one["id"] for one in inner]
    for part in found["graphs"]:
        own = {one["id"] for one in part["nodes"]}
        assert all(edge["sourceNodeId"] in own for one in part["nodes"] for edge in one["incomingEdges"])


def test_the_command_writes_it(tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(TEXT)
    done = run_here(["inspect", "net.relay", "--format", "model-explorer"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["graphs"][0]["id"] == "main"


def test_the_adapter_gives_its_classes(tmp_path: Path) -> None:
    pytest.importorskip("model_explorer", reason="ai-edge-model-explorer is absent")
    from relay2relax.cli.model_explorer.main import RelayAdapter

    (tmp_path / "net.relay").write_text(TEXT)
    made = RelayAdapter().convert(str(tmp_path / "net.relay"), {})
    graphs = [dataclasses.asdict(one) for one in made["graphs"]]
    wanted = collection()["graphs"]
    assert [one["id"] for one in graphs] == [one["id"] for one in wanted]
    for one, other in zip(graphs, wanted, strict=True):
        assert [{key: node[key] for key in FIELDS} for node in one["nodes"]] == other["nodes"]
