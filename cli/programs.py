"""What commands read that take a program of either kind: Relay, a TVMScript of Relax, or the folder
of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.cli import files
from relay2relax.cli.converted import folder
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import files as error_kinds
from relay2relax.translator import Dims


@dataclass(frozen=True, slots=True)
class Program:
    """A module, values for its parameters, and ``dims`` for those of a Relay module."""

    module: relay_ir.IRModule | relax_ir.IRModule
    params: Mapping[str, Array]
    dims: Dims | None

    def graph(self) -> tuple[graph.MSCGraph, dict[str, Array]]:
        """Return the graph of the program, and its weights."""
        if isinstance(self.module, relax_ir.IRModule):
            return graph.from_relax(self.module, self.params, entry(self.module))
        return graph.from_relay(self.module, self.params, dims=self.dims)


def read(model: Path, params: Path | None, dims: Dims) -> Program:
    """Return the program in ``model``; raises what reading it raises, and Relay2RelaxError where
    ``dims`` are for a script.
    """
    if model.is_dir():
        model = folder.find(model).script
    script, given = files.load_script(model), files.load_arrays(params)
    compiled = files.load_compiled(model) if script is None else None
    if compiled is not None:
        script, given = compiled.module, {**compiled.weights, **given}
    if script is None:
        return Program(files.load_model(model, dims), given, dims)
    if dims:
        raise Relay2RelaxError("--dims is for Relay; of a script, edit the shapes", kind=error_kinds.OPTION)
    return Program(script, given, None)


def entry(mod: relax_ir.IRModule) -> str:
    """Return the name of the function to show: the only one that others may call, or else
    ``main``.
    """
    public = [var.name for var, f in mod.functions.items() if isinstance(f, relax_ir.Function) and not f.private]
    return public[0] if len(public) == 1 else "main"
