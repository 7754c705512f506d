"""Programs of PyTorch's in files."""

from __future__ import annotations

import io
import os
import warnings
from typing import Any

from relay2relax.core.errors import FileError, ParseError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.core.file_kinds import archive_names, describe_content, torch_program
from relay2relax.core.limits import read_file
from relay2relax.relay_ir.frontend.pytorch.archive import check_exported, check_script
from relay2relax.relay_ir.frontend.pytorch.torchscript import library


def in_memory(model: object) -> object:
    """Return ``model`` itself, or what PyTorch reads of the file that it names, or that it is.

    Raises FileError where the file cannot be read, ParseError where it is no program of PyTorch's,
    is damaged, or would run something when it is read.
    """
    if isinstance(model, (bytes, bytearray, memoryview)):
        return read_program(bytes(model), "the program")
    if not isinstance(model, (str, os.PathLike)):
        return model
    name = os.fspath(model)
    try:
        content = read_file(name)
    except OSError as error:
        raise FileError.unread(name, error) from None
    return read_program(content, name)


def read_program(content: bytes, name: str) -> object:
    """Return the program that ``content`` is; errors call it ``name``."""
    kind = torch_program(memoryview(content))
    if not kind:
        what = describe_content(memoryview(content), "model") or "something else"
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=f"it is {what}"))
    torch: Any = library()
    (check_exported if kind == "exported" else check_script)(content, name)
    try:
        with warnings.catch_warnings():
            # PyTorch warns that what it reads was not checked.
            warnings.simplefilter("ignore")
            if kind == "exported":
                return torch.export.load(io.BytesIO(content))
            # What was traced has the shapes of its inputs, which else are not known.
            traced = any(one.endswith("/traced_inputs.pkl") for one in archive_names(memoryview(content)))
            return torch.jit.load(io.BytesIO(content), map_location="cpu", _restore_shapes=traced)
    except Exception as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        problem = f"PyTorch {torch.__version__} does not read it: {said[:200]}"
        raise ParseError(mistake(frontends.TORCH_FILE, name=repr(name), problem=problem)) from error
