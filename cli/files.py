"""Reading what a command names and writing what it makes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relay2relax.core import FileError, Relay2RelaxError
from relay2relax.core.dtype import Array
from relay2relax.core.output import write_all

if TYPE_CHECKING:
    from relay2relax.relay_ir import IRModule

__all__ = ["load_inputs", "load_model", "load_params", "model_stem", "parse_dims", "write_all"]


def load_model(path: Path) -> IRModule:
    """Return the Relay module in ``path`` with its types inferred."""
    from relay2relax import relay_ir

    return relay_ir.infer_type(relay_ir.load(path), declare_results=True)


def model_stem(path: Path) -> str:
    """Return what the files made of the model in ``path`` are called."""
    stem = path.name.split(".")[0]
    # Recorded cases and many exports call the file `model`; the folder says which.
    return path.resolve().parent.name if stem == "model" else stem


def load_params(path: Path | None) -> dict[str, Array]:
    """Return the params in ``path`` as views of the mapped file; empty where no path is given."""
    if path is None:
        return {}
    from relay2relax import relay_ir

    return relay_ir.load_params(path)


def load_inputs(path: Path | None) -> dict[str, Array]:
    """Return the arrays of an .npz file; nothing in it is executed."""
    if path is None:
        return {}
    import zipfile

    import numpy as np

    try:
        with np.load(path, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, zipfile.BadZipFile, AttributeError, TypeError) as error:
        raise FileError(f"cannot read inputs {path}: {error}") from error


def parse_dims(options: list[str]) -> dict[str, tuple[str | None, ...]]:
    """Return ``NAME=DIM,…`` options as the mapping that translators take; ``_`` leaves an extent alone."""
    dims: dict[str, tuple[str | None, ...]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name:
            raise Relay2RelaxError(f"--dims {option!r}: expected NAME=DIM,DIM,… such as data=batch,_,_,_")
        dims[name] = tuple(None if part.strip() in ("", "_") else part.strip() for part in text.split(","))
    return dims
