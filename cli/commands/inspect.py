"""``relay2relax inspect``: the graph of a model as text, JSON or DOT."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from relay2relax import graph
from relay2relax.cli import files, outcome, programs, screen
from relay2relax.cli.summary import summary_text
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as error_kinds
from relay2relax.core.output import marked
from relay2relax.translator.summary import Summary, summarize


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a model: its graph in a format, or a summary; or one of the two in the
    command's JSON document. Without a format the graph is a tree on a terminal, text elsewhere.

    ``weights`` are nodes of their own in a picture, where that is asked.
    """

    form: str | None
    summary: bool
    weights: bool
    as_json: bool


def run(model: Path, params: Path | None, dims: list[str], view: View, out: Path | None, force: bool) -> None:
    """Print what is asked for, or write it to ``out``, in its format beside the JSON document."""
    extents = files.parse_dims(dims)
    target = None if out is None else files.output_file(out, reads=[model, params], force=force)
    if target is not None and target.file is None and view.as_json:
        raise Relay2RelaxError("standard output takes the graph, or the document: not both", kind=error_kinds.OPTION)
    with screen.progress(f"reading {model.name}"):
        program = programs.read(model, params, extents)
        found = _found(view, program)
    if view.as_json:
        outcome.deliver(json.loads(_text(found, view, "json")))
        if target is None:
            return
    on_screen = target is None or target.file is None
    form = view.form or ("tree" if on_screen and shows_trees() else "text")
    text = _text(found, view, form)
    if target is None or target.file is None:
        print((screen.json_that_shows(text) if form == "json" else text).rstrip("\n"))
    else:
        target.write(_with_mark(text, form))
        if not view.as_json:
            screen.tell(f"wrote {out}")


def shows_trees() -> bool:
    """Whether a graph is shown as a tree: where a person reads it."""
    return sys.stdout.isatty()


def _found(view: View, program: programs.Program) -> graph.MSCGraph | Summary:
    if view.summary:
        return summarize(program.module, program.params, program.dims)
    return program.graph()[0]


def _text(found: graph.MSCGraph | Summary, view: View, form: str) -> str:
    """Return a graph or summary as text in a format."""
    if isinstance(found, Summary):
        return json.dumps(found.to_json(), indent=2) if form == "json" else summary_text(found)
    match form:
        case "json":
            return graph.to_json(found)
        case "model-explorer":
            return graph.to_model_explorer(found)
        case "dot":
            return graph.to_dot(found, weights=view.weights)
        case "tree":
            return graph.to_tree(found, screen.columns())
    return graph.to_text(found, msc=form == "msc")


def _with_mark(text: str, form: str) -> bytes:
    """Return the file, with the mark by which it is known."""
    match form:
        case "json" | "model-explorer":
            return marked(text.rstrip().removesuffix("}").rstrip().encode() + b',\n "written_by": "', b'"\n}\n')
        case "dot":
            return marked(text.encode() + b"// ", b"\n")
    return marked(text.encode() + b"# ", b"\n")
