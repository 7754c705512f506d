"""Outputs that were recorded elsewhere, put in the order of the model's results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from relay2relax.core import Relay2RelaxError
from relay2relax.core.dtype import Array
from relay2relax.core.errors.table import running

_NUMBER = re.compile(r"(\d+)\D*$")


def in_order(given: Mapping[str, Array] | Sequence[Array], count: int) -> list[Array]:
    """Return the recorded outputs, one for each of the ``count`` results.

    Results of Relay have places and no names. Where the names of the arrays hold the numbers from 0
    or from 1 on (``out0``, ``arr_1``, ``output_2``), those say the places; else the order in which
    the arrays are given. Raises Relay2RelaxError for another number of arrays.
    """
    if not isinstance(given, Mapping):
        found = list(given)
    else:
        numbers = [int(match[1]) if (match := _NUMBER.search(name)) else -1 for name in given]
        numbered = sorted(numbers) in ([*range(len(given))], [*range(1, len(given) + 1)])
        arrays = list(given.values())
        found = [array for _, array in sorted(zip(numbers, arrays, strict=True), key=lambda one: one[0])]
        found = found if numbered else arrays
    if len(found) != count:
        names = ", ".join(given) if isinstance(given, Mapping) else f"{len(found)} arrays"
        raise Relay2RelaxError(
            f"{len(found)} outputs are expected ({names or 'none'}), the model has {count}", kind=running.ARGUMENT
        )
    return found
