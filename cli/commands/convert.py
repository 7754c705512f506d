"""``relay2relax convert``: a Relay module becomes a script that TVM reads, with its params and
graph beside it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.converted import check as checking
from relay2relax.cli.converted import dry_run as showing
from relay2relax.cli.loudness import is_quiet
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, FileError
from relay2relax.core.output import Content, OutputFolder, digest, file_digest
from relay2relax.core.source import visible
from relay2relax.core.weight_files import safetensors_parts
from relay2relax.graph.relax.partitions import Partitions
from relay2relax.graph.relax.quantised import Quantised
from relay2relax.relay_ir.io.binding import Bound

# Bound params become text, several characters for every byte; from so many bytes on that is said.
_MANY_BYTES = 16_000_000


@dataclass(frozen=True, slots=True)
class Form:
    """What form the Relax module is to have, in the words of ``translator.translate``."""

    via: translator.Via
    schedule: str | None = None
    partitions: Partitions = "keep"
    qnn: Quantised = "integer"

    def translated(
        self,
        module: relay_ir.IRModule,
        params: Mapping[str, Array] | None,
        weights: Collection[str],
        dims: translator.Dims | None,
    ) -> translator.Traced:
        """Return ``module`` in this form, which is well-formed, the graph of the module that was
        given, and what became what.
        """
        made = translator.translate_with_map(
            module, self.via, params=params, weights=weights, dims=dims, schedule=self.schedule,
            partitions=self.partitions, qnn=self.qnn,
        )  # fmt: skip
        relax_ir.check_well_formed(made.module)
        if made.source is module:
            return made
        return replace(made, graph=graph.from_relay(module, params, translator.entry_of(module), dims)[0])


@dataclass(frozen=True, slots=True)
class Conversion:
    """What is converted to what, as the command line says it.

    ``out``  the folder to write into, ``<name>_relax`` without it.
    ``dims``  names of open extents, or the numbers that they are to be.
    ``bind_params``  whether params become constants of the script.
    ``allow_missing``  whether weights without a value stay parameters.
    ``force``  whether files that the command did not write are written over.
    """

    model: Path
    form: Form
    params: Path | None = None
    out: Path | None = None
    bind_params: bool = False
    dims: Sequence[str] = ()
    allow_missing: bool = False
    force: bool = False

    @property
    def stem(self) -> str:
        """What the files are called."""
        return files.model_stem(self.model)

    @property
    def extents(self) -> translator.Dims:
        """Raises a usage error for dims that say nothing."""
        return files.parse_dims(list(self.dims))

    @property
    def folder(self) -> OutputFolder:
        """Where the files go; raises FileError where they would lie upon what is read."""
        return files.output_folder("convert", self.model, self.out, others=[self.params], force=self.force)

    def read(self) -> tuple[relay_ir.IRModule, Bound]:
        """Return the module, and the params that fit it."""
        with screen.progress(f"reading {self.model.name}"):
            module = files.load_model(self.model, self.extents, library=True)
            return module, files.load_params(self.params, module, self.allow_missing)


def run(asked: Conversion, check: bool | None, as_json: bool) -> None:
    """Write ``<name>.py``, ``<name>.safetensors``, ``<name>.graph.json``, ``<name>.map.json`` and
    ``<name>.summary.json`` into ``out``, or ``<name>_relax``.

    Params that are not bound are parameters of ``main`` behind its inputs, and the arrays of the
    ``.safetensors`` file have the parameters' names in the script. With a schedule that fuses they
    are what ``main_transform_params`` makes of the params.

    With ``check`` the files are read anew and compared with Relay; with None where that is quick.
    """
    start, form = time.perf_counter(), asked.form
    model, extents, stem, folder = asked.model, asked.extents, asked.stem, asked.folder
    folder.check(_names(stem))
    module, given = asked.read()
    values = given.weights
    if asked.bind_params:
        _note_length(values, stem)
    with screen.progress("translating"):
        bound, weights = (values, ()) if asked.bind_params else (None, values)
        made = form.translated(module, bound, weights, extents)
        relax, found, traced = made.module, made.graph, made.map
        floats = translator.relay_in_floats(made.source, form.via) if form.qnn == "qdq" else None
    with screen.progress("preparing files"):
        beside = _beside(relax, module, {} if asked.bind_params else values, form.schedule)
        contents = _contents(stem, relax, graph.to_json(found), translator.map_to_json(traced), beside)
        summary = {
            "model": model.name,
            "via": form.via,
            "entry": files.entry.get(),
            **_source(asked.params, folder.path, given, module, asked.bind_params),
            "schedule": form.schedule,
            "relay_calls": sum(isinstance(node, relay_ir.Call) for node in module.types),
            **_described(made, beside),
            "qnn": form.qnn,
            "receipt": traced.counts(),
            "files": [*sorted(contents), _names(stem)[-1]],
            "seconds": round(time.perf_counter() - start, 3),
        }
    whole, checked, written = _delivered(folder, stem, contents, summary, module, values, check, floats, form.via)
    files.tell_stem(model)
    if as_json:
        outcome.deliver(whole)
    elif not is_quiet():
        _show(whole, made, beside, written, checked)
    checked.end(_names(stem)[0])


def dry_run(asked: Conversion, as_json: bool) -> None:
    """Say what :func:`run` would do with the same options; nothing is written.

    Raises what it would raise.
    """
    form, extents, folder = asked.form, asked.extents, asked.folder
    module, given = asked.read()
    bound, weights = (given.weights, ()) if asked.bind_params else (None, given.weights)
    script, graph_json, map_json, saved, digest, summary = _names(asked.stem)
    names = [script, graph_json, map_json, *([saved, digest] if weights else []), summary]

    def translated() -> tuple[relax_ir.IRModule, graph.MSCGraph]:
        made = form.translated(module, bound, weights, extents)
        return made.module, made.graph

    lowered = form.via == "tir" or translator.fuses(form.schedule)
    showing.show(asked.model, folder, names, module, given, translated, lowered, as_json)


def _delivered(
    folder: OutputFolder,
    stem: str,
    contents: Mapping[str, Content],
    summary: Mapping[str, object],
    module: relay_ir.IRModule,
    values: Mapping[str, Array],
    check: bool | None,
    floats: relay_ir.IRModule | None,
    via: translator.Via,
) -> tuple[Mapping[str, object], checking.Check, Sequence[Path]]:
    """Write all files, check them, and write what the check found into the summary.

    Return that, the check and the paths.
    """
    script, *_, last = _names(stem)
    begun = checking.NOT_ASKED if check is False else checking.NOT_DONE
    whole = {**summary, "check": begun.to_json()}
    with screen.progress("writing"):
        pending = {**contents, last: _text(whole)}
        written = folder.write(pending)
        _read_back(dict(zip(pending, written, strict=True)), pending)
    if check is False:
        return whole, begun, written
    with screen.progress("checking what was written"):
        found = checking.check(folder.path / script, module, values, check is True, floats, via)
        whole = {**summary, "check": found.to_json()}
        folder.write({last: _text(whole)}, stay=tuple(contents))
    return whole, found, written


def _read_back(paths: Mapping[str, Path], contents: Mapping[str, Content]) -> None:
    """Raise FileError where what lies in the files is not what was written."""
    for name, path in paths.items():
        if file_digest(path) != digest(contents[name]):
            title = f"{path} was written, and reading it gives something else"
            raise FileError(Diagnostic(title, file=str(path)))


def _text(summary: Mapping[str, object]) -> bytes:
    return (json.dumps(summary, indent=2) + "\n").encode()


def _names(stem: str) -> tuple[str, str, str, str, str, str]:
    """Return what the files are called: script, graph, map, weights, their hash, summary."""
    weights = f"{stem}.safetensors"
    return f"{stem}.py", f"{stem}.graph.json", f"{stem}.map.json", weights, f"{weights}.sha256", f"{stem}.summary.json"


def _contents(
    stem: str, relax: relax_ir.IRModule, graph_text: str, map_text: str, beside: _Weights
) -> dict[str, Content]:
    """Return all files but the summary, by their names."""
    script, graph_json, map_json, weights, weights_hash, _ = _names(stem)
    contents: dict[str, Content] = {
        script: relax_ir.script_file(relax).encode(),
        graph_json: graph_text.encode(),
        map_json: map_text.encode(),
    }
    if beside.arrays:
        contents[weights] = beside.saved(relax_ir.script_names(_main(relax)))
        # As sha256sum writes it, for --verify.
        contents[weights_hash] = f"{digest(contents[weights])}  {weights}\n".encode()
    return contents


def _source(
    params: Path | None, folder: Path, given: Bound, module: relay_ir.IRModule, bound: bool
) -> dict[str, object]:
    """Return what the summary says of the params, whose file is named as ``folder`` sees it, and of
    the parameters: which are weights, which are asked for when the program runs, and which of those
    are weights without a value.
    """
    return {
        "params": None if params is None else files.seen_from(params, folder),
        # A pipe is read once.
        "params_sha256": file_digest(params) if params is not None and params.is_file() else "",
        "params_bound": bool(given.weights) and bound and not given.missing,
        "weights": [*given.weights],
        "inputs": files.inputs(module, given.weights),
        "missing_weights": [*given.missing],
        "warnings": list(given.warnings),
    }


def _main(relax: relax_ir.IRModule) -> relax_ir.Function:
    """Return the function ``main`` of what is no library."""
    found = relax["main"]
    assert isinstance(found, relax_ir.Function)
    return found


def _signature(function: relax_ir.Function) -> dict[str, object]:
    """Return what the summary says of a function of the Relax module."""
    names = relax_ir.script_names(function)
    return {
        "parameters": [
            {"name": p.name, "script_name": names[p.name], "struct_info": relax_ir.print_struct_info(p.info)}
            for p in function.params
        ],
        "result": relax_ir.print_struct_info(function.ret),
    }


def _described(made: translator.Traced, beside: _Weights) -> dict[str, object]:
    """Return what the summary says of the Relax module: of ``main``, or of all functions of a
    library.
    """
    kept = translator.partitions(made.module)
    entries = {name: _signature(one) for name, one in translator.entry_functions(made.module).items()}
    return {
        "functions": len(made.module.functions),
        **entries.pop("main", {"parameters": [], "result": ""}),
        "library": entries,
        "transform_params": beside.packed,
        "partitions": [asdict(one) for one in kept],
        "partitions_inlined": [] if kept else list(translator.compilers(made.graph)),
        "as_tensorir": [asdict(one) for one in translator.calls_as_tensorir(made.module)],
        "quantised": [asdict(one) for one in made.quantised],
    }


def _show(
    summary: Mapping[str, object],
    made: translator.Traced,
    beside: _Weights,
    written: Sequence[Path],
    checked: checking.Check,
) -> None:
    """Print the summary for a person."""
    counts = f"Relay calls: {summary['relay_calls']}, functions of the Relax module: {summary['functions']}"
    print(f"{visible(str(summary['model']))}: {counts}, via {summary['via']}")
    entries = translator.entry_functions(made.module)
    library = f"without main; functions: {', '.join(entries)}"
    print(f"result: {summary['result']}" if "main" in entries else visible(library))
    if beside.packed:
        print(
            f"weights: {beside.nbytes / 1e6:.1f} MB as main takes them; "
            f"main_transform_params makes them of {len(beside.packed)} params"
        )
    inlined = summary["partitions_inlined"]
    if isinstance(inlined, list) and inlined:
        print(f"functions for external compilers are inlined: {visible(', '.join(inlined))}")
    for partition in translator.partitions(made.module):
        print(visible(str(partition)))
    for line in (*translator.calls_as_tensorir(made.module), *made.quantised):
        print(visible(str(line)))
    if changed := made.map.changed():
        print(f"{changed}; {visible(written[2].name)} says where and why")
    for path in written:
        print(f"wrote {visible(str(path))}")
    for line in checked.lines():
        print(line)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Arrays to save beside a script, by the names of parameters.

    ``packed`` params went into some of them.
    """

    arrays: Mapping[str, Array]
    packed: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        return sum(one.nbytes for one in self.arrays.values())

    def saved(self, names: Mapping[str, str]) -> Content:
        """Return the safetensors file with the arrays by the script's ``names``, the parameters'
        own as metadata.
        """
        stored = {names[name]: value for name, value in self.arrays.items() if name in names}
        renamed = {names[name]: name for name in self.arrays if names.get(name, name) != name}
        return safetensors_parts(stored, renamed)


def _beside(
    relax: relax_ir.IRModule,
    module: relay_ir.IRModule,
    values: Mapping[str, Array],
    schedule: str | None,
) -> _Weights:
    """Return what ``main`` takes in the place of ``values``: with a schedule that fuses some as
    they are, the others packed.
    """
    if not values or not translator.fuses(schedule):
        return _Weights(values)
    main = _main(relax)
    inputs = {param.name for param in main.params[: main.num_input]}
    packed = [p.name for p in module["main"].params if p.name in values and p.name not in inputs]
    arrays = {name: value for name, value in values.items() if name in inputs}
    arrays |= backends.transform_params(relax, [values[name] for name in packed])
    return _Weights(arrays, tuple(packed))


def _note_length(values: Mapping[str, Array], stem: str) -> None:
    """Say on stderr that bound params make the script long, where they do."""
    size = _Weights(values).nbytes
    if size > _MANY_BYTES:
        note = f"--bind-params prints {size / 1e6:.0f} MB of params into the script, as text"
        outcome.note(f"{note}; without it they are in {stem}.safetensors")
