"""Operators that are read, typed and carried along, but cannot be run: whoever asks hears the name
and why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators

# Names that TVM 0.18 lists among its operators and that no program can call; they have no records.
WITHOUT_RECORD: Mapping[str, str] = {
    "hardswish": "a name without a type; programs call qnn.hardswish, or clip and multiply",
    "scatter": "a name without a type since scatter_elements took its place",
    "parser.MetaRef": "TVM's parser puts it where a text refers to its metadata, and takes it away again",
    "torch_op": "it holds a serialised PyTorch function, and exists only in builds of TVM with libtorch",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """A facet of a record that raises UnsupportedError: ``name`` cannot be run, and why."""

    name: str
    reason: str

    def __call__(self, *args: object) -> NoReturn:
        raise UnsupportedError(mistake(operators.NOT_RUN, name=self.name, reason=self.reason))
