"""What commands read that take a program of either kind: Relay, a TVMScript of Relax, or the folder
of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relay2relax import graph, relax_ir, relay_ir, translator
from relay2relax.cli import files
from relay2relax.cli.converted import folder
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as error_kinds


@dataclass(frozen=True, slots=True)
class Program:
    """A module, values for its parameters, and ``dims`` for those of a Relay module."""

    module: relay_ir.IRModule | relax_ir.IRModule
    params: Mapping[str, Array]
    dims: translator.Dims | None

    def graph(self) -> tuple[graph.MSCGraph, dict[str, Array]]:
        """Return the graph of the program, and its weights."""
        if isinstance(self.module, relax_ir.IRModule):
            return graph.from_relax(self.module, self.params, entry(self.module))
        return graph.from_relay(self.module, self.params, translator.entry_of(self.module), self.dims)


def read(model: Path, params: Path | None, dims: translator.Dims) -> Program:
    """Return the program in ``model``, which may be a library; raises what reading it raises, and
    Relay2RelaxError where ``dims`` are for a script.
    """
    if model.is_dir():
        model = folder.find(model).script
    script, given = files.load_script(model), files.load_arrays(params)
    compiled = files.load_compiled(model) if script is None else None
    if compiled is not None:
        script, given = compiled.module, {**compiled.weights, **given}
    if script is None:
        return Program(files.load_model(model, dims, library=True), given, dims)
    if dims:
        raise Relay2RelaxError("--dims is for Relay; of a script, edit the shapes", kind=error_kinds.OPTION)
    return Program(script, given, None)


def entry(mod: relax_ir.IRModule) -> str:
    """Return the name of the function to show first: ``main``, or else the first one that others
    may call.
    """
    return next(iter(translator.entry_functions(mod)), "main")
