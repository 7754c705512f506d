"""Reading what a command names and writing what it makes: whole files or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from relay2relax.core import FileError, Relay2RelaxError
from relay2relax.core.dtype import Array

if TYPE_CHECKING:
    from relay2relax.relay_ir import IRModule


def load_model(path: Path) -> IRModule:
    """Return the Relay module in ``path`` with its types inferred."""
    from relay2relax import relay_ir

    return relay_ir.infer_type(relay_ir.load(path), declare_results=True)


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


def write_all(files: Mapping[Path, bytes]) -> None:
    """Write every file or none: contents go to temporary files beside their targets, which are then renamed."""
    written: list[tuple[str, Path]] = []
    try:
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            written.append((temporary, path))
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            os.chmod(temporary, 0o666 & ~_umask())
        for temporary, path in written:
            os.replace(temporary, path)
        written.clear()
    except OSError as error:
        raise FileError(f"cannot write {error.filename or 'the results'}: {error.strerror}") from error
    finally:
        for temporary, _ in written:
            if os.path.exists(temporary):
                os.unlink(temporary)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
