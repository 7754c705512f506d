"""Checkpoints of PyTorch: a state dict as ``torch.save`` writes it.

PyTorch itself reads them, with ``weights_only=True``: nothing in them is run but what makes
tensors.
"""

from __future__ import annotations

import io
import pickle
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, ParseError, UnsupportedError, mistake
from relay2relax.core.errors.table import reading, running
from relay2relax.core.file_kinds import archive_names
from relay2relax.core.npz import is_npz
from relay2relax.core.torch_tensors import array_of

# What PyTorch up to 1.5 wrote in front of its checkpoints.
_OLD = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19"
# Under which keys programs for training keep a state dict beside other things.
_NESTED = ("state_dict", "model_state_dict", "model")
# What PyTorch says of a class or a function that a file names, and that is none of tensors.
_ASKED = re.compile(r"GLOBAL ([\w.]+)")
_MEND = "save model.state_dict() and nothing else, or the tensors with safetensors.torch.save_file"


def is_checkpoint(buffer: memoryview) -> bool:
    """Whether ``buffer`` begins as a checkpoint does; a TorchScript program is none."""
    if bytes(buffer[: len(_OLD)]) == _OLD:
        return True
    parts = {name.rpartition("/")[2] for name in archive_names(buffer)} if is_npz(buffer) else set()
    return "data.pkl" in parts and "constants.pkl" not in parts


def read_checkpoint(buffer: memoryview) -> dict[str, Array]:
    """Return the tensors of a state dict by name.

    Raises ParseError where the file holds something else, UnsupportedError where PyTorch is not
    installed.
    """
    try:
        import torch
    except ImportError as error:
        lacking = mistake(running.LIBRARY, what="PyTorch, by which a PyTorch checkpoint is read,", problem=error)
        advice = "pip install torch, or save the tensors with safetensors.torch.save_file"
        raise UnsupportedError(replace(lacking, help=advice)) from error
    try:
        with warnings.catch_warnings():
            # What it warns of is how the file was pickled, and whom to tell.
            warnings.simplefilter("ignore")
            found = torch.load(io.BytesIO(buffer), map_location="cpu", weights_only=True)
    except (RuntimeError, ValueError, TypeError, KeyError, EOFError, OSError, pickle.UnpicklingError) as error:
        raise _refused(error) from error
    state = next((found[key] for key in _NESTED if _is_state(found, key)), found)
    tensors = (
        {str(name): one for name, one in state.items() if isinstance(one, torch.Tensor)}
        if isinstance(state, Mapping)
        else {}
    )
    if not tensors:
        raise ParseError(
            f"the checkpoint holds no state dict, but a {type(found).__name__}: save model.state_dict()",
            kind=reading.PARAMETERS,
        )
    return {name: _array(name, one, torch.int16) for name, one in tensors.items()}


def _refused(error: Exception) -> ParseError:
    """Return what to raise where PyTorch refuses a file.

    Its own text advises to run what the file holds.
    """
    asked = _ASKED.search(str(error))
    problem = f"it asks for {asked[1]:.80}, which is not run" if asked else "it is damaged, or holds more than tensors"
    title = f"PyTorch does not read the checkpoint as weights alone: {problem}"
    return ParseError(Diagnostic(title, help=_MEND), kind=reading.PARAMETERS)


def _is_state(found: object, key: str) -> bool:
    return isinstance(found, Mapping) and isinstance(found.get(key), Mapping)


def _array(name: str, tensor: Any, short: Any) -> Array:
    """Return a tensor as an array; raises ParseError where numpy has no such array."""
    try:
        return array_of(tensor, short)
    except (TypeError, RuntimeError) as error:
        raise ParseError(
            f"tensor {name!r:.80} of the checkpoint is {tensor.dtype}, {tensor.layout}: numpy has no such array",
            kind=reading.PARAMETERS,
        ) from error
