"""``relay2relax export``: a Relay module becomes a library that runs without Python, an ONNX model,
or a library for apache-tvm's runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relay2relax import backends, graph, relay_ir, translator, viewer
from relay2relax.cli import files, outcome, screen
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as kinds
from relay2relax.core.output import Content

# What apache-tvm builds for.
_OF_TVM = ("llvm", "cuda")


@dataclass(frozen=True, slots=True)
class Place:
    """What the files are for: of a C library instruction set, machine and processor; of one for
    apache-tvm its GPUs, None for this processor.
    """

    march: str = "native"
    target: str = ""
    cpu: str = ""
    arch: str | None = None


def place_of(form: str, target: str | None, cpu: str | None, arch: str | None, march: str) -> Place:
    """Return what files of a form are for, from the options.

    Raises Relay2RelaxError where they do not go together.
    """
    problem = ""
    if arch is not None and target != "cuda":
        problem = "--arch is for --target cuda"
    elif cpu is not None and (form != "c" or march != "native"):
        problem = "--cpu is for C libraries, and in the place of --march"
    elif form == "tvm" and target not in (None, *_OF_TVM):
        problem = f"with --format tvm --target is one of {', '.join(_OF_TVM)}; found {target!r}"
    elif form == "onnx" and target is not None:
        problem = "an ONNX model is for no --target"
    elif form == "c" and target in _OF_TVM:
        problem = f"--target {target} is for --format tvm"
    if problem:
        raise Relay2RelaxError(problem, kind=kinds.OPTION)
    if form == "c":
        return Place(march, target or "", cpu or "")
    return Place(arch=arch or "sm_80" if target == "cuda" else None)


def run(
    model: Path,
    params: Path | None,
    form: str,
    out: Path | None,
    via: translator.Via,
    bind_params: bool,
    dims: list[str],
    place: Place,
    allow_missing: bool,
    force: bool,
    checked: bool,
    as_json: bool,
    strict_nan: bool = False,
) -> None:
    """Write what ``model`` becomes into ``out``, or ``<name>_c``, ``<name>_onnx`` or
    ``<name>_tvm``, and say which files it is.

    ``form`` is what kind of files, and ``place`` what they are for. Functions for external
    compilers are part of them like others.
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
            contents = {f"{stem}.so": _runtime_library(module, via, values, extents, place.arch)}
        else:
            bound = values if bind_params else None
            relax = translator.translate(module, via, params=bound, dims=extents, partitions="inline")
            made = backends.library_files(
                relax, stem, place.march, checked, target=place.target, cpu=place.cpu, strict_nan=strict_nan
            )
            contents = {**made, **_pages(made, module, values, extents, model.name)}
    with screen.progress("writing"):
        written = folder.write(contents)
    files.tell_stem(model)
    outcome.deliver({"model": model.name, "folder": str(folder.path), "files": [path.name for path in written]})
    for path in () if as_json else written:
        screen.tell(f"wrote {path}")


def _pages(
    files: Mapping[str, Content],
    module: relay_ir.IRModule,
    values: Mapping[str, Array],
    extents: Mapping[str, tuple[str | int | None, ...]],
    title: str,
) -> dict[str, Content]:
    """Return the page that runs a library for WebAssembly and the page of its graph, which that one
    shows; nothing for others.
    """
    script = next((name for name in files if name.endswith(".js")), None)
    if script is None:
        return {}
    name = script.removesuffix(".js")
    with screen.progress("making the pages"):
        graph_page = viewer.page_of([viewer.relay_subject(module, title, dict(values), extents)])
        return {"index.html": viewer.running_page(name, title), f"{name}_graph.html": graph_page}


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
