"""What commands have that run a model on given or drawn values, and write parts of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relay2relax.cli.options import DimsOption, Inputs, Model, Params, Seed

if TYPE_CHECKING:
    from relay2relax import relay_ir, translator

# Each with what it is where it is not given.
_OPTIONS: Mapping[str, tuple[object, object]] = {
    "model": (Model, inspect.Parameter.empty),
    "params": (Params, None),
    "inputs": (Inputs, None),
    "seed": (Seed, 0),
    "dims": (DimsOption, None),
}


@dataclass(frozen=True, slots=True)
class Values:
    """Where the model and its values come from."""

    model: Path
    params: Path | None
    inputs: Path | None
    dims: list[str]
    seed: int

    def read(self) -> tuple[relay_ir.IRModule, list[translator.Argument]]:
        """Return the module, and an argument for each parameter of ``main``."""
        from relay2relax.cli import files, screen

        with screen.progress(f"reading {self.model.name}"):
            module = files.load_model(self.model, files.parse_dims(self.dims))
            found = files.load_params(self.params, module, allow_missing=True)
            given = found.weights | files.load_inputs(self.inputs, module, found)
            return module, files.arguments(module, given, self.seed, False)[0]


def reads_values(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command``, which takes :class:`Values` first, with the options that say what is in
    them.
    """

    @wraps(command)
    def run(
        *, model: Path, params: Path | None, inputs: Path | None, seed: int, dims: list[str] | None, **own: Any
    ) -> None:
        command(Values(model, params, inputs, dims or [], seed), **own)

    kind = inspect.Parameter.KEYWORD_ONLY
    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    params = [
        inspect.Parameter(name, kind, default=default, annotation=option)
        for name, (option, default) in _OPTIONS.items()
    ] + [one.replace(kind=kind) for one in own]
    run.__signature__ = inspect.Signature(params)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in params} | {"return": None}
    return run
