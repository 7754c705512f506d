"""What nodes are called: by their names, those without one by their operator and a number."""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from pathlib import Path

from relay2relax.relay_ir.frontend.onnx import protos
from relay2relax.relay_ir.frontend.onnx.protos import Message


def names_of(graph: Message) -> list[str]:
    """Return the names of a graph's nodes, as spans have them."""
    counts: Counter[str] = Counter()
    found = []
    for node in graph.node:
        operator = protos.text(node.op_type)
        found.append(protos.text(node.name) or f"{operator}_{counts[operator]}")
        counts[operator] += not node.name
    return found


def first_takers(graph: Message) -> dict[str, str]:
    """Return the name of the first node that takes each value of a graph."""
    found: dict[str, str] = {}
    for node, name in zip(graph.node, names_of(graph), strict=True):
        for one in node.input:
            found.setdefault(protos.text(one), name)
    return found


def save_named(model: Message, folder: str | os.PathLike[str]) -> Path:
    """Write ``model`` into a folder, which is made, and return its path; its nodes all have names
    there, those that spans have.
    """
    made = type(model)()
    made.CopyFrom(model)
    for node, name in zip(made.graph.node, names_of(made.graph), strict=True):
        node.name = name
    path = Path(folder) / f"tvm_exported_model_{datetime.now():%m_%d_%Y_%H_%M_%S}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(made.SerializeToString())
    return path
