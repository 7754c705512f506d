"""Functions that are one kernel: called without the machine's loop, once it has seen the shapes of
the arguments.

The machine checks arguments, computes extents, allocates results, calls the kernel and checks
results. For arguments of shapes that have passed through it before, all of that is known but the
kernel's work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.backends.runtime.virtual_machine import Function
from relay2relax.core.limits import active, out_of_memory

# So many different shapes are remembered.
_MOST_SHAPES = 256
# The shape of the only argument, or the shapes of all.
_Shapes: TypeAlias = Union[tuple[int, ...], tuple[tuple[int, ...], ...]]
# Shape and dtype of each result.
_Plan: TypeAlias = tuple[tuple[tuple[int, ...], np.dtype[np.generic]], ...]


class DirectCall:
    """A function of the machine, ``through``, with a short way for shapes that have been seen."""

    def __init__(
        self,
        through: Function,
        kernel: Callable[..., object],
        dtypes: Sequence[np.dtype[np.generic]],
        order: Sequence[int] | None,
    ) -> None:
        """``dtypes`` of the parameters; ``kernel`` runs on what fits it without looking.

        ``order`` of the kernel's results in the function's, None for a single one.
        """
        self._through = through
        self._kernel = kernel
        self._dtypes = tuple(dtypes)
        self._order = order
        self._seen: dict[_Shapes, _Plan] = {}

    def __call__(self, *args: Any, **named: object) -> object:
        """Run the function; results share memory with nothing."""
        dtypes = self._dtypes
        # Limits are looked at in the machine.
        if named or len(args) != len(dtypes) or active() is not None:
            return self._through(*args, **named)
        for value, dtype in zip(args, dtypes):  # noqa: B905  (the lengths have been compared)
            if type(value) is not np.ndarray or value.dtype is not dtype:
                return self._through(*args)
        shapes: _Shapes = args[0].shape if len(args) == 1 else tuple([value.shape for value in args])
        plan = self._seen.get(shapes)
        if plan is None:
            return self._first(args, shapes)
        try:
            if self._order is None:
                result = np.empty(*plan[0])
                self._kernel(*args, result)
                return result
            results = [np.empty(shape, dtype) for shape, dtype in plan]
            self._kernel(*args, *results)
        except MemoryError as problem:
            raise out_of_memory("the results of a kernel", problem) from problem
        return tuple([results[place] for place in self._order])

    def _first(self, args: Sequence[object], shapes: _Shapes) -> object:
        result = self._through(*args)
        if len(self._seen) >= _MOST_SHAPES:
            self._seen.clear()
        if self._order is None:
            self._seen[shapes] = ((result.shape, result.dtype),)
        else:
            made = {place: (one.shape, one.dtype) for place, one in zip(self._order, result, strict=True)}
            self._seen[shapes] = tuple(made[place] for place in range(len(made)))
        return result
