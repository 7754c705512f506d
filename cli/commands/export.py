"""``relay2relax export``: a Relay module becomes a library that runs without Python."""

from __future__ import annotations

from pathlib import Path

from relay2relax import backends, translator
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
    """Write the library of ``model`` into ``out``, or ``<name>_c``, and say which files it is.

    ``form`` is what kind of library. Functions for external compilers are part of it like others.
    """
    extents = files.parse_dims(dims)
    make = {"c": backends.library_files}[form]
    folder = files.output_folder("export", model, out, others=[params], force=force)
    folder.check([])
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        values = files.load_params(params, module, allow_missing).weights
    with screen.progress("translating"):
        bound = values if bind_params else None
        relax = translator.translate(module, via, params=bound, dims=extents, partitions="inline")
    with screen.progress("writing"):
        written = folder.write(make(relax, files.model_stem(model), march, checked))
    files.tell_stem(model)
    outcome.deliver({"model": model.name, "folder": str(folder.path), "files": [path.name for path in written]})
    for path in () if as_json else written:
        screen.tell(f"wrote {path}")
