"""Outputs that were recorded elsewhere, put in the order of the model's results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from relay2relax.core import Relay2RelaxError
from relay2relax.core.dtype import Array
from relay2relax.core.errors.table import running

_NUMBER = re.compile(r"(\d+)\D*$")


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recorded outputs, one for each result of a model.

    ``names`` are what the arrays are called, "" where they have none. ``by`` says what put them in
    order: the numbers in their names, or the order in which they were given.
    """

    arrays: tuple[Array, ...]
    names: tuple[str, ...]
    by: Literal["names", "order"]

    def __str__(self) -> str:
        pairs = (f"output {place} is {name}" if name else f"output {place}" for place, name in enumerate(self.names))
        how = "by the numbers in the names" if self.by == "names" else "by their order"
        return f"recorded outputs are the reference: {', '.join(pairs)}, {how}"

    def to_json(self) -> dict[str, object]:
        """Return what the arrays are called, as plain values."""
        return {"names": list(self.names), "by": self.by}


def recorded(given: Mapping[str, Array] | Sequence[Array], count: int) -> Recorded:
    """Return the recorded outputs, one for each of the ``count`` results.

    Results of Relay have places and no names. Where the names of the arrays hold the numbers from 0
    or from 1 on (``out0``, ``arr_1``, ``output_2``), those say the places; else the order in which
    the arrays are given. Raises Relay2RelaxError for another number of arrays.
    """
    named = list(given.items()) if isinstance(given, Mapping) else [("", one) for one in given]
    if len(named) != count:
        names = ", ".join(given) if isinstance(given, Mapping) else f"{len(named)} arrays"
        raise Relay2RelaxError(
            f"{len(named)} outputs are expected ({names or 'none'}), the model has {count}", kind=running.ARGUMENT
        )
    numbers = [int(match[1]) if (match := _NUMBER.search(name)) else -1 for name, _ in named]
    numbered = count > 0 and sorted(numbers) in ([*range(count)], [*range(1, count + 1)])
    if numbered:
        named = [named[place] for place in sorted(range(count), key=numbers.__getitem__)]
    return Recorded(tuple(one for _, one in named), tuple(name for name, _ in named), "names" if numbered else "order")
