"""``relay2relax inspect``: the graph of a model as text, JSON or DOT."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.converted import folder
from relay2relax.cli.summary import summary_text
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as error_kinds
from relay2relax.core.output import marked
from relay2relax.translator import Dims
from relay2relax.translator.summary import Summary, summarize


@dataclass(frozen=True, slots=True)
class View:
    """What is shown of a model: its graph in a format, or a summary; or one of the two in the
    command's JSON document.

    ``weights`` are nodes of their own in a picture, where that is asked.
    """

    form: str
    summary: bool
    weights: bool
    as_json: bool


def run(model: Path, params: Path | None, dims: list[str], view: View, out: Path | None, force: bool) -> None:
    """Print what is asked for, or write it to ``out``, in its format beside the JSON document."""
    extents = files.parse_dims(dims)
    target = None if out is None else files.output_file(out, reads=[model, params], force=force)
    if target is not None and target.file is None and view.as_json:
        raise Relay2RelaxError("standard output takes the graph, or the document: not both", kind=error_kinds.OPTION)
    if model.is_dir():
        model = folder.find(model).script
    with screen.progress(f"reading {model.name}"):
        script, given = files.load_script(model), files.load_arrays(params)
        compiled = files.load_compiled(model) if script is None else None
        if compiled is not None:
            script, given = compiled.module, {**compiled.weights, **given}
        if script is None:
            module = files.load_model(model, extents)
            found = _found(view, module, given, extents)
        else:
            if extents:
                raise Relay2RelaxError("--dims is for Relay; of a script, edit the shapes", kind=error_kinds.OPTION)
            found = _found(view, script, given, None)
    if view.as_json:
        outcome.deliver(json.loads(_text(found, view, "json")))
        if target is None:
            return
    text = _text(found, view, view.form)
    if target is None or target.file is None:
        print((screen.json_that_shows(text) if view.form == "json" else text).rstrip("\n"))
    else:
        target.write(_with_mark(text, view.form))
        if not view.as_json:
            screen.tell(f"wrote {out}")


def _found(
    view: View, module: relay_ir.IRModule | relax_ir.IRModule, given: Mapping[str, Array], extents: Dims | None
) -> graph.MSCGraph | Summary:
    if view.summary:
        return summarize(module, given, extents)
    if isinstance(module, relax_ir.IRModule):
        made, _ = graph.from_relax(module, given, _entry(module))
    else:
        made, _ = graph.from_relay(module, given, dims=extents)
    return made


def _text(found: graph.MSCGraph | Summary, view: View, form: str) -> str:
    """Return a graph or summary as text in a format."""
    if isinstance(found, Summary):
        return json.dumps(found.to_json(), indent=2) if form == "json" else summary_text(found)
    match form:
        case "json":
            return graph.to_json(found)
        case "dot":
            return graph.to_dot(found, weights=view.weights)
    return graph.to_text(found, msc=form == "msc")


def _with_mark(text: str, form: str) -> bytes:
    """Return the file, with the mark by which it is known."""
    match form:
        case "json":
            return marked(text.rstrip().removesuffix("}").rstrip().encode() + b',\n "written_by": "', b'"\n}\n')
        case "dot":
            return marked(text.encode() + b"// ", b"\n")
    return marked(text.encode() + b"# ", b"\n")


def _entry(mod: relax_ir.IRModule) -> str:
    """Return the name of the function to show: the only one that others may call, or else
    ``main``.
    """
    public = [var.name for var, f in mod.functions.items() if isinstance(f, relax_ir.Function) and not f.private]
    return public[0] if len(public) == 1 else "main"
