"""``relay2relax inspect``: the graph of a model as text, JSON or DOT."""

from __future__ import annotations

from pathlib import Path

from relay2relax import graph, relax_ir
from relay2relax.cli import files, screen
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as error_kinds
from relay2relax.core.output import marked


def run(model: Path, params: Path | None, dims: list[str], form: str, out: Path | None, force: bool) -> None:
    """Print the graph, or write it to ``out``."""
    extents = files.parse_dims(dims)
    target = None if out is None else files.output_file(out, reads=[model, params], force=force)
    with screen.progress(f"reading {model.name}"):
        script, given = files.load_script(model), files.load_arrays(params)
        if script is None:
            found, _ = graph.from_relay(files.load_model(model, extents), given, dims=extents)
        else:
            if extents:
                raise Relay2RelaxError("--dims is for Relay; of a script, edit the shapes", kind=error_kinds.OPTION)
            found, _ = graph.from_relax(script, given, _entry(script))
        text = {"text": graph.to_text, "json": graph.to_json, "dot": graph.to_dot}[form](found)
    if target is None or target.file is None:
        print((screen.json_that_shows(text) if form == "json" else text).rstrip("\n"))
    else:
        target.write(_with_mark(text, form))


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
