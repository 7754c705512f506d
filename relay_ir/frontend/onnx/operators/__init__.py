"""The ONNX operators that are imported: a table for every family, by name.

A table has a conversion under an operator's name, or several by the opset since which they hold.
Names of other domains have the domain before them, ``com.microsoft.BiasGelu``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import TypeAlias, Union

from relay2relax.relay_ir.frontend.onnx.conversion import Convert

FAMILIES = (
    "activation", "arithmetic", "casting", "contrib", "control", "convolution", "creation", "image", "indexing",
    "matmul", "normalisation", "pooling", "quantised", "recurrent", "reduction", "sequence", "shaping",
    "signal", "training", "ml.classes", "ml.features", "ml.trees", "ml.vectors",
)  # fmt: skip
# One conversion for all opsets, or those that hold since an opset.
Entry: TypeAlias = Union[Convert, Mapping[int, Convert]]
_registered: dict[str, Entry] = {}


@lru_cache(maxsize=None)
def onnx_operators() -> dict[str, Entry]:
    """Return the entries by name."""
    found: dict[str, Entry] = {}
    for family in FAMILIES:
        table: Mapping[str, Entry] = import_module(f"{__name__}.{family}").OPERATORS
        found.update(table)
    return found


def register_onnx_operator(name: str, convert: Entry) -> None:
    """Let ``convert`` make Relay of the ONNX operator ``name`` from now on, in all imports.

    It takes a :class:`Conversion`, and returns an expression, or a tuple of as many as the operator
    has outputs. A name of another domain has that before it: ``my.domain.Operator``.
    """
    _registered[name] = convert


def find_operator(domain: str, name: str, opset: int) -> Convert | None:
    """Return the conversion of an operator in an opset, None where it is not imported."""
    spelled = f"{domain}.{name}" if domain else name
    entry = _registered.get(spelled) or onnx_operators().get(spelled)
    if entry is None or callable(entry):
        return entry
    versions = [since for since in entry if since <= opset]
    return entry[max(versions)] if versions else None
