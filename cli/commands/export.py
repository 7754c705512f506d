"""``relay2relax export``: a Relay module becomes a library that runs without Python, or an ONNX
model.
"""

from __future__ import annotations

from pathlib import Path

from relay2relax import backends, graph, translator
from relay2relax.cli import files, outcome, screen


def run(
    model: Path,
    params: Path | None,
    form: str,
    out: Path | None,
    via: translator.Via,
    bind_params: bool,
    dims: list[str],
    march: str,
    allow_missing: bool,
    force: bool,
    checked: bool,
    as_json: bool,
) -> None:
    """Write what ``model`` becomes into ``out``, or ``<name>_c`` or ``<name>_onnx``, and say which
    files it is.

    ``form`` is what kind of files. Functions for external compilers are part of them like others.
    """
    extents, stem = files.parse_dims(dims), files.model_stem(model)
    if out is None and form == "onnx":
        out = Path(f"{stem}_onnx")
    folder = files.output_folder("export", model, out, others=[params], force=force)
    folder.check([])
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        values = files.load_params(params, module, allow_missing).weights
    with screen.progress("translating"):
        if form == "onnx":
            found, weights = graph.from_relay(module, dims=extents)
            contents = graph.onnx_files(found, {**weights, **values}, f"{stem}.onnx", extents)
        else:
            bound = values if bind_params else None
            relax = translator.translate(module, via, params=bound, dims=extents, partitions="inline")
            contents = dict(backends.library_files(relax, stem, march, checked))
    with screen.progress("writing"):
        written = folder.write(contents)
    files.tell_stem(model)
    outcome.deliver({"model": model.name, "folder": str(folder.path), "files": [path.name for path in written]})
    for path in () if as_json else written:
        screen.tell(f"wrote {path}")
