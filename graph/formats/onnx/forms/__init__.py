"""What each operator becomes in ONNX: a table ``FORMS`` for every room of ``ops/``.

A form takes the call's site, its attributes and the names of its arguments, and returns the name of
the result. Records of Relay are found by their names, those of Relax alone as ``R.name``. A Relay
operator without a form becomes what its Relax form is made of, and those operators have theirs.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from relay2relax.graph.formats.onnx.builder import Form
from relay2relax.ops.registry.record import OpDef

ROOMS = (
    "arithmetic", "reduction", "matmul", "nn", "convolution", "normalisation", "shape", "indexing", "create", "image",
    "quantized",
)  # fmt: skip


@lru_cache(maxsize=None)
def forms() -> dict[str, Form]:
    """Return all forms by the names of their records."""
    found: dict[str, Form] = {}
    for room in ROOMS:
        table: dict[str, Form] = import_module(f"{__name__}.{room}").FORMS
        twice = found.keys() & table
        assert not twice
        found |= table
    return found


def find_form(op: OpDef) -> Form | None:
    """Return the form of a record, None where it has none."""
    if op.relay is not None:
        return forms().get(op.relay)
    return forms().get(f"R.{op.script.name}") if op.script is not None else None
