"""``relay2relax export``: a Relay module becomes a library that runs without Python, an ONNX model,
or a library for apache-tvm's runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from relay2relax import backends, graph, relay_ir, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.core.dtype import Array


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
    arch: str | None = None,
) -> None:
    """Write what ``model`` becomes into ``out``, or ``<name>_c``, ``<name>_onnx`` or
    ``<name>_tvm``, and say which files it is.

    ``form`` is what kind of files, ``arch`` the GPUs that apache-tvm builds for, None for this
    processor. Functions for external compilers are part of them like others.
    """
    extents, stem = files.parse_dims(dims), files.model_stem(model)
    if out is None and form != "c":
        out = Path(f"{stem}_{form}")
    folder = files.output_folder("export", model, out, others=[params], force=force)
    folder.check([])
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        values = files.load_params(params, module, allow_missing).weights
    with screen.progress("translating"):
        if form == "onnx":
            found, weights = graph.from_relay(module, dims=extents)
            contents = graph.onnx_files(found, {**weights, **values}, f"{stem}.onnx", extents)
        elif form == "tvm":
            contents = {f"{stem}.so": _runtime_library(module, via, values, extents, arch)}
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


def _runtime_library(
    module: relay_ir.IRModule,
    via: translator.Via,
    values: Mapping[str, Array],
    extents: Mapping[str, tuple[str | int | None, ...]],
    arch: str | None,
) -> bytes:
    """Return a module with its weights, scheduled, as a library that apache-tvm's runtime loads."""
    from relay2relax.backends.tvm.bundle import runtime_library

    schedule = "cpu" if arch is None else f"cuda:{arch}"
    relax = translator.translate(module, via, params=values, dims=extents, partitions="inline", schedule=schedule)
    return runtime_library(relax, arch)
