"""``relay2relax run``: run a model, or a translation of it, on one backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, Union

import numpy as np

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.runtime.virtual_machine import AnyExecutable
from relay2relax.cli import files, outcome, ready, screen
from relay2relax.cli.converted import folder
from relay2relax.cli.devices import require_tvm_for
from relay2relax.cli.loudness import is_quiet
from relay2relax.cli.profile import Profile, measured
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.npz import npz_bytes

if TYPE_CHECKING:
    from relay2relax.backends.ready.kept import Place

Way: TypeAlias = Literal["relay", "tir", "graph"]
Program: TypeAlias = Union[Way, Literal["script"]]


@dataclass(frozen=True, slots=True)
class How:
    """Which program runs where: on a ``backend``, with a ``library`` for some operators.

    ``chart`` is the file that a profile is written to. apache-tvm runs on a ``device``. With
    ``strict_nan`` C transforms no convolution.
    """

    via: Program
    backend: str
    library: str | None
    profile: bool
    chart: Path | None = None
    device: str = "cpu"
    strict_nan: bool = False

    def __post_init__(self) -> None:
        if self.library and (self.backend == "tvm" or self.via not in ("graph", "script")):
            raise Relay2RelaxError(
                "libraries compute Relax operators on numpy and c: add --via graph, and --backend c", kind=OPTION
            )
        require_tvm_for(self.device, [self.backend])
        if self.profile and (self.backend != "c" or self.via == "relay"):
            raise Relay2RelaxError(
                "kernels are measured where there are any: add --backend c, and --via tir or --via graph", kind=OPTION
            )


def chosen_via(model: Path, via: Way | None, backend: str) -> Program:
    """Return which program runs: a script where ``model`` is one, what is asked for, or else Relay
    itself on all backends that have it.
    """
    if folder.is_translated(model):
        if via is not None:
            title = f"--via {via} says how Relay is translated, and {str(model)!r} is translated already"
            raise Relay2RelaxError(title, kind=OPTION)
        return "script"
    return via or ("graph" if backend == "tvm" else "relay")


def run(
    model: Path,
    params: Path | None,
    inputs: Path | None,
    how: How,
    seed: int,
    dims: list[str],
    out: Path | None,
    allow_missing: bool,
    require_params: bool,
    force: bool,
    as_json: bool,
) -> None:
    """Run and print a line per output, or write the outputs to ``out``; with a profile also what
    each kernel took.

    A script runs as it is, with the weights beside it. Translations have the params that are given
    bound, so that what depends on them alone is not computed when they run. Products and
    convolutions of Relax operators go to the library where one is named.
    """
    target = None if out is None else files.output_file(out, reads=[model, params, inputs], force=force)
    if out is not None and target is not None and target.file is not None and out.suffix not in ("", ".npz"):
        help = f"name a file that ends so: --out {out.with_suffix('.npz')}"
        title = f"outputs are written as .npz, not as {out.suffix}"
        raise Relay2RelaxError(Diagnostic(title, help=help, kind=OPTION))
    if target is not None and target.file is None and (as_json or how.profile):
        raise Relay2RelaxError("standard output takes outputs, or what else is printed: not both", kind=OPTION)
    chart = None if how.chart is None else _chart_file(how.chart, [model, params, inputs], force)
    values = _Values(params, inputs, seed, allow_missing, require_params)
    read = _read_script(model, dims, values, how) if how.via == "script" else _read_relay(model, dims, values, how)
    with screen.progress(f"running on {how.backend}"):
        outputs, profile = read.compute()
    if chart is not None and how.chart is not None:
        chart.write(profile.chart(how.chart.suffix, model.name))
    drawn = read.drawn
    if target is not None:
        target.write(npz_bytes({f"out{i}": array for i, array in enumerate(outputs)}))
        if target.file is None:  # where text would follow it
            return
    if as_json:
        shown = [{"shape": list(o.shape), "dtype": str(o.dtype), "values": o.ravel()[:16].tolist()} for o in outputs]
        document = {"outputs": shown, "via": how.via, "backend": how.backend, "drawn": drawn and drawn.to_json()}
        outcome.deliver({**document, **profile.to_json()} if how.profile else document)
        return
    for index, array in enumerate([] if out is not None and is_quiet() else outputs):
        print(f"output {index}: {array.dtype}{list(array.shape)}")
        print(np.array2string(array, threshold=64))
    if out is not None:
        screen.tell(f"wrote {out}")
    if how.profile:
        print(f"\n{profile}")


def _chart_file(chart: Path, reads: Sequence[Path | None], force: bool) -> files.Output:
    """Return the file of a profile; raises Relay2RelaxError for one of another kind."""
    if chart.suffix not in (".html", ".json"):
        raise Relay2RelaxError("--profile-out is a page, .html, or Chrome's trace, .json", kind=OPTION)
    return files.output_file(chart, reads=reads, force=force)


@dataclass(frozen=True, slots=True)
class _Values:
    """Where values come from: files, and what is drawn from a ``seed`` unless all are required."""

    params: Path | None
    inputs: Path | None
    seed: int
    allow_missing: bool
    required: bool


@dataclass(frozen=True, slots=True)
class _Read:
    """A program with its arguments, of which some were ``drawn``."""

    compute: Callable[[], tuple[Sequence[Array], Profile]]
    drawn: translator.Drawn | None


def _read_relay(model: Path, dims: list[str], values: _Values, how: How) -> _Read:
    where = _place(model, dims, values, how)
    found = None if where is None else _read_ready(where, values)
    if found is not None:
        return found
    extents = files.parse_dims(dims)
    before = outcome.said()
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        bound = files.load_params(values.params, module, values.allow_missing)
        given = bound.weights | files.load_inputs(values.inputs, module, bound)
        # What was said of the model is to be said again; what of it is data is not the model.
        silent = outcome.said() == before and not bound.inputs
        arguments, drawn = files.arguments(module, given, values.seed, values.required)

    def keep(executable: AnyExecutable) -> None:
        # What was read has to be what was looked at before.
        kept = where is not None and silent and _place(model, dims, values, how) == where
        if where is not None and kept and isinstance(executable, backends.Executable):
            ready.keep(where, model, module, bound.weights, executable)

    return _Read(lambda: _computed(module, bound.weights, arguments, how, keep), drawn)


def _place(model: Path, dims: list[str], values: _Values, how: How) -> Place | None:
    """Return where the program is kept that runs; None for one that is not."""
    if how.backend != "c" or how.via == "relay" or how.library or how.profile or dims:
        return None
    return ready.place(model, values.params, f"{how.via} {how.strict_nan} {values.allow_missing}")


def _read_ready(where: Place, values: _Values) -> _Read | None:
    """Return the program that was kept; None where there is none for these values."""
    found = where.load()
    given = None if found is None else ready.arguments(found, values.inputs, values.seed, values.required)
    if found is None or given is None:
        return None
    arguments, drawn = given
    result = found.run(arguments)
    if result is None:
        return None
    if drawn:
        outcome.note(str(drawn))
    outputs = result if isinstance(result, tuple) else (result,)
    return _Read(lambda: (outputs, Profile()), drawn)


def _read_script(path: Path, dims: list[str], values: _Values, how: How) -> _Read:
    """Return the script in ``path``, or in that folder, with its weights beside it."""
    if dims:
        title = "--dims is for Relay; a script takes extents from its inputs: give those, with --inputs"
        raise Relay2RelaxError(title, kind=OPTION)
    found = folder.find(path)
    with screen.progress(f"reading {found.script.name}"):
        script = found.load()
        for said in found.changes():
            outcome.warn(said)
        params, inputs = files.load_arrays(values.params), files.load_arrays(values.inputs)
        files.require_verified(script.weights or params or inputs)
        given = translator.values_for_script(script, params, inputs, values.allow_missing)
        if values.required:
            files.require_all(param.name for param in script.main.params if param.name not in given)
        arguments, drawn = translator.script_arguments(script, given, values.seed)
    if drawn:
        outcome.note(str(drawn))
    return _Read(lambda: _run_relax(script.module, script.entry, arguments, how), drawn)


def _computed(
    module: relay_ir.IRModule,
    bound: Mapping[str, Array],
    arguments: Sequence[translator.Argument],
    how: How,
    keep: Callable[[AnyExecutable], None],
) -> tuple[Sequence[Array], Profile]:
    """Return the outputs for the arguments of ``main``, and what the program's kernels took."""
    assert how.via != "script"
    if how.via == "relay":
        executor = backends.create_executor("debug", module, backend=how.backend)
        return translator.flatten(executor.evaluate()(*arguments)), Profile()
    program = translator.translate(module, how.via, params=bound)
    names = [param.name for param in module["main"].params]
    given = [value for name, value in zip(names, arguments, strict=True) if name not in bound]
    return _run_relax(program, "main", given, how, keep)


def _run_relax(
    program: relax_ir.IRModule,
    entry: str,
    given: Sequence[translator.Argument],
    how: How,
    keep: Callable[[AnyExecutable], None] | None = None,
) -> tuple[Sequence[Array], Profile]:
    """Return the outputs of the function ``entry``, and what its kernels took.

    ``keep`` gets what was built.
    """
    if how.library:
        program = _dispatched(program, how.library)
    executable = _built(program, how)
    if keep is not None:
        keep(executable)
    main = backends.VirtualMachine(executable)[entry]
    outputs = translator.flatten(main(*given))
    if how.profile and isinstance(executable, backends.Executable) and executable.native is not None:
        return outputs, measured(executable.native, lambda: main(*given))
    return outputs, Profile()


def _built(program: relax_ir.IRModule, how: How) -> AnyExecutable:
    if how.device == "cpu":
        return backends.build(program, target=how.backend, strict_nan=how.strict_nan)
    from relay2relax.backends import tvm

    return tvm.build(program, device=how.device)


def _dispatched(program: relax_ir.IRModule, library: str) -> relax_ir.IRModule:
    """Return ``program`` with calls of ``library``.

    Weights that are turned for a product are turned once: what a library is given is made on every
    call.
    """
    from relay2relax.relax_ir.transform import DispatchCalls, FoldConstant, Sequential

    return Sequential([FoldConstant(), DispatchCalls(getattr(backends.libraries, library)())])(program)
