"""``relay2relax extract`` and ``split``: parts of a model as models of their own, with the values
that go in and come out.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from relay2relax import relay_ir
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.options.values import Values
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.npz import npz_bytes
from relay2relax.core.output import Content
from relay2relax.core.words import code
from relay2relax.relay_ir.subgraphs import Part, extract, join, named_nodes, split
from relay2relax.relay_ir.text.printer import print_module
from relay2relax.relay_ir.text.types import TypeWriter
from relay2relax.translator.subgraphs import RecordedPart, outputs_of, record_parts


def run_extract(
    values: Values, node: str | None, between: tuple[str, str] | None, out: Path | None, force: bool, as_json: bool
) -> None:
    """Write one part of a model, or without ``node`` and ``between`` show its nodes."""
    if node is not None and between is not None:
        raise Relay2RelaxError("extract takes --node, or --between, not both", kind=OPTION)
    if node is None and between is None:
        _list(values, as_json)
        return
    folder = files.output_folder("extract", values.model, out, others=[values.params, values.inputs], force=force)
    folder.check([])
    module, arguments = values.read()
    part = extract(module, node) if node is not None else extract(module, *(between or ("", ""))[::-1])
    with screen.progress("running the model"):
        (recorded,) = record_parts(module, [part], arguments)
    name = files.model_stem(values.model)
    written = folder.write(_files(name, recorded))
    _tell(values, folder.path, written, [_described(name, part, recorded)], as_json)


def run_split(values: Values, at: Sequence[str], out: Path | None, force: bool, as_json: bool) -> None:
    """Write the parts into which ``at`` cuts a model; together they compute the same bits."""
    if not at:
        raise Relay2RelaxError("split takes --at once for each node that the model is cut at", kind=OPTION)
    folder = files.output_folder("split", values.model, out, others=[values.params, values.inputs], force=force)
    folder.check([])
    module, arguments = values.read()
    parts = split(module, at)
    with screen.progress("running the model and its parts"):
        recorded = record_parts(module, parts, arguments)
        whole, joined = outputs_of(module, arguments), outputs_of(join(module, parts), arguments)
    if [one.tobytes() for one in whole] != [one.tobytes() for one in joined]:
        raise AssertionError("the parts compute something else than the model")
    stem = files.model_stem(values.model)
    names = [f"{stem}_part_{number}" for number in range(len(parts))]
    contents: dict[str, Content] = {}
    for name, one in zip(names, recorded, strict=True):
        contents.update(_files(name, one))
    written = folder.write(contents)
    described = [_described(name, part, one) for name, part, one in zip(names, parts, recorded, strict=True)]
    _tell(values, folder.path, written, described, as_json)


def _list(values: Values, as_json: bool) -> None:
    module = files.load_model(values.model, files.parse_dims(values.dims))
    types = TypeWriter(lambda _: code("…"))
    rows = [(name, _what(node), types.write(module.types[node])) for name, node in named_nodes(module).items()]
    outcome.deliver({"nodes": [{"name": name, "computes": what, "type": kind} for name, what, kind in rows]})
    if not as_json:
        print(screen.table(("node", "computes", "type"), rows))


def _what(node: relay_ir.Expr) -> str:
    match node:
        case relay_ir.Call(relay_ir.Op(name)):
            return name
        case relay_ir.Var():
            return "given"
    return type(node).__name__


def _files(name: str, part: RecordedPart) -> dict[str, Content]:
    """Return the files of a part: its text, what goes in, and what comes out."""
    return {
        f"{name}.relay": print_module(part.module, exact_floats=True).encode(),
        f"{name}_inputs.npz": npz_bytes(dict(part.inputs)),
        f"{name}_expected.npz": npz_bytes({f"out{place}": array for place, array in enumerate(part.expected)}),
    }


def _described(name: str, part: Part, recorded: RecordedPart) -> dict[str, object]:
    params = recorded.module["main"].params
    types = TypeWriter(lambda _: code("…"))
    inputs = {param.name: types.write(recorded.module.types[param]) for param in params}
    return {"name": name, "inputs": inputs, "outputs": len(part.outputs)}


def _tell(
    values: Values, folder: Path, written: Sequence[Path], parts: Sequence[dict[str, object]], as_json: bool
) -> None:
    names = [path.name for path in written]
    outcome.deliver({"model": values.model.name, "folder": str(folder), "files": names, "parts": parts})
    for path in () if as_json else written:
        screen.tell(f"wrote {path}")
