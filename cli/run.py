"""``relay2relax run``: run a model, or a translation of it, on one backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.cli import files, outcome, screen
from relay2relax.cli.loudness import is_quiet
from relay2relax.cli.profile import Profile, measured
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.table.files import OPTION
from relay2relax.core.npz import npz_bytes
from relay2relax.relax_ir.transform import DispatchCalls, FoldConstant, Sequential

Program: TypeAlias = Literal["relay", "tir", "graph"]


@dataclass(frozen=True, slots=True)
class How:
    """Which program runs where: on a ``backend``, with a ``library`` for some operators."""

    via: Program
    backend: str
    library: str | None
    profile: bool

    def __post_init__(self) -> None:
        if self.library and (self.backend == "tvm" or self.via != "graph"):
            raise Relay2RelaxError(
                "libraries compute Relax operators on numpy and c: add --via graph, and --backend c", kind=OPTION
            )
        if self.profile and (self.backend != "c" or self.via == "relay"):
            raise Relay2RelaxError(
                "kernels are measured where there are any: add --backend c, and --via tir or --via graph", kind=OPTION
            )


def chosen_via(via: Program | None, backend: str) -> Program:
    """Return which program runs where none is asked for: Relay itself on all backends that have
    it.
    """
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

    Translations have the params that are given bound, so that what depends on them alone is not
    computed when they run. Products and convolutions of Relax operators go to the library where one
    is named.
    """
    target = None if out is None else files.output_file(out, reads=[model, params, inputs], force=force)
    if out is not None and target is not None and target.file is not None and out.suffix not in ("", ".npz"):
        help = f"name a file that ends so: --out {out.with_suffix('.npz')}"
        title = f"outputs are written as .npz, not as {out.suffix}"
        raise Relay2RelaxError(Diagnostic(title, help=help, kind=OPTION))
    if target is not None and target.file is None and (as_json or how.profile):
        raise Relay2RelaxError("standard output takes outputs, or what else is printed: not both", kind=OPTION)
    extents = files.parse_dims(dims)
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model, extents)
        found = files.load_params(params, module, allow_missing)
        bound = found.weights
        given = bound | files.load_inputs(inputs, module, found)
        arguments, drawn = files.arguments(module, given, seed, require_params)
    with screen.progress(f"running on {how.backend}"):
        result, profile = _computed(module, bound, arguments, how)
    outputs = translator.flatten(result)
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


def _computed(
    module: relay_ir.IRModule, bound: Mapping[str, Array], arguments: Sequence[translator.Argument], how: How
) -> tuple[object, Profile]:
    """Return what the program gives for the arguments of ``main``, and what its kernels took."""
    if how.via == "relay":
        executor = backends.create_executor("debug", module, backend=how.backend)
        return executor.evaluate()(*arguments), Profile()
    program = translator.translate(module, how.via, params=bound)
    if how.library:
        program = _dispatched(program, how.library)
    executable = backends.build(program, target=how.backend)
    names = [param.name for param in module["main"].params]
    given = [value for name, value in zip(names, arguments, strict=True) if name not in bound]
    main = backends.VirtualMachine(executable)["main"]
    result = main(*given)
    if how.profile and isinstance(executable, backends.Executable) and executable.native is not None:
        return result, measured(executable.native, lambda: main(*given))
    return result, Profile()


def _dispatched(program: relax_ir.IRModule, library: str) -> relax_ir.IRModule:
    """Return ``program`` with calls of ``library``.

    Weights that are turned for a product are turned once: what a library is given is made on every
    call.
    """
    return Sequential([FoldConstant(), DispatchCalls(getattr(backends.libraries, library)())])(program)
