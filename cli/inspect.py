"""``relay2relax inspect``: the graph of a model as text, JSON or DOT."""

from __future__ import annotations

from pathlib import Path

from relay2relax import graph
from relay2relax.cli import files, screen


def run(model: Path, params: Path | None, form: str, out: Path | None) -> None:
    """Print the graph, or write it to ``out``."""
    with screen.progress(f"reading {model.name}"):
        found, _ = graph.from_relay(files.load_model(model), files.load_params(params))
        text = {"text": graph.to_text, "json": graph.to_json, "dot": graph.to_dot}[form](found)
    if out is None:
        print(text.rstrip("\n"))
    else:
        files.write_all({out: text.encode()})
