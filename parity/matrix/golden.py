"""Inputs and outputs of a comparison in one file, for another machine to compare with."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import running
from relay2relax.core.npz import npz_bytes
from relay2relax.parity.matrix.batches import Batch
from relay2relax.parity.matrix.model import Matrix

_KEY = re.compile(r"(\d+)\.(input|output)\.(.*)", re.DOTALL)


def golden_bytes(matrix: Matrix) -> bytes:
    """Return what ``matrix`` was computed of, and what was expected, as the content of a .npz file:
    ``0.input.NAME`` and ``0.output.0`` of the first batch.

    Weights are not in it.
    """
    arrays: dict[str, Array] = {}
    for number, batch in enumerate(one for one in matrix.batches if one.outputs):
        arrays |= {f"{number}.input.{name}": np.asarray(value) for name, value in batch.inputs.items()}
        arrays |= {f"{number}.output.{place}": value for place, value in enumerate(batch.outputs)}
    return npz_bytes(arrays)


def golden_batches(arrays: Mapping[str, Array]) -> list[Batch]:
    """Return the batches of such a file; their outputs are what is expected.

    Raises Relay2RelaxError where the arrays are called otherwise.
    """
    inputs: dict[int, dict[str, Array]] = {}
    outputs: dict[int, dict[int, Array]] = {}
    for key, value in arrays.items():
        found = _KEY.fullmatch(key)
        if found is None or (found[2] == "output" and not found[3].isdecimal()):
            title = f"{key!r} is no array of a file that compare --save wrote: expected 0.input.NAME or 0.output.0"
            raise Relay2RelaxError(title, kind=running.ARGUMENT)
        if found[2] == "input":
            inputs.setdefault(int(found[1]), {})[found[3]] = value
        else:
            outputs.setdefault(int(found[1]), {})[int(found[3])] = value
    return [
        Batch(f"saved {number}", inputs.get(number, {}), [one for _, one in sorted(outputs[number].items())])
        for number in sorted(outputs)
    ]
