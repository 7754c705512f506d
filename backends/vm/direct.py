"""Functions that are one kernel: called without the machine's loop, once it has seen the shapes of
the arguments.

The machine checks arguments, computes extents, allocates results, calls the kernel and checks
results. For arguments of shapes that have passed through it before, all of that is known but the
kernel's work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relay2relax.backends.vm.bytecode import (
    Builtin,
    Call,
    FunctionEntry,
    Kernel,
    Register,
    Ret,
    ShapeFunction,
    VMFunction,
)

# So many different shapes are remembered.
_MOST_SHAPES = 256
_CHECKS = ("check_tensor_info", "match_shape", "alloc_shape_heap", "make_shape", "null_value")


class DirectCall:
    """A function of the machine, ``through``, with a short way for shapes that have been seen."""

    def __init__(
        self,
        through: Callable[..., Any],
        kernel: Callable[..., None],
        dtypes: Sequence[Any],
        order: Sequence[int] | None,
    ) -> None:
        """``dtypes`` of the parameters.

        ``order`` of the kernel's results in the function's, None for a single one.
        """
        self._through = through
        self._kernel = kernel
        self._dtypes = tuple(dtypes)
        self._order = order
        self._seen: dict[Any, tuple[tuple[tuple[int, ...], Any], ...]] = {}

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; results share memory with nothing."""
        dtypes = self._dtypes
        if named or len(args) != len(dtypes):
            return self._through(*args, **named)
        for value, dtype in zip(args, dtypes):  # noqa: B905  (the lengths have been compared)
            if type(value) is not np.ndarray or value.dtype is not dtype:
                return self._through(*args)
        shapes = args[0].shape if len(args) == 1 else tuple([value.shape for value in args])
        plan = self._seen.get(shapes)
        if plan is None:
            return self._first(args, shapes)
        if self._order is None:
            result = np.empty(*plan[0])
            self._kernel(*args, result)
            return result
        results = [np.empty(shape, dtype) for shape, dtype in plan]
        self._kernel(*args, *results)
        return tuple([results[place] for place in self._order])

    def _first(self, args: Sequence[Any], shapes: Any) -> Any:
        result = self._through(*args)
        if len(self._seen) >= _MOST_SHAPES:
            self._seen.clear()
        if self._order is None:
            self._seen[shapes] = ((result.shape, result.dtype),)
        else:
            made = {place: (one.shape, one.dtype) for place, one in zip(self._order, result, strict=True)}
            self._seen[shapes] = tuple(made[place] for place in range(len(made)))
        return result


def direct_call(
    info: VMFunction,
    entries: Sequence[FunctionEntry],
    kernels: Sequence[Callable[..., Any] | None],
    dtypes: Sequence[Any],
    through: Callable[..., Any],
) -> Callable[..., Any]:
    """Return ``through`` with a short way where the function is nothing but one kernel on its
    tensors in order.
    """
    params = len(info.params)
    made: dict[int, int] = {}
    storages: set[int] = set()
    called: tuple[int, list[int]] | None = None
    returned: tuple[int, ...] | None = None
    tuples: dict[int, tuple[int, ...]] = {}
    for instruction in info.code:
        match instruction:
            case Call(destination, function, args):
                entry = entries[function]
                match entry:
                    case Kernel() if called is None and all(isinstance(arg, Register) for arg in args):
                        called = function, [arg.number for arg in args if isinstance(arg, Register)]
                    case Builtin("vm.builtin.alloc_storage"):
                        storages.add(destination.number)
                    case Builtin("vm.builtin.alloc_tensor") if isinstance(args[0], Register):
                        if args[0].number not in storages:
                            return through
                        # Results that share a storage are not all results of the function.
                        storages.discard(args[0].number)
                        made[destination.number] = len(made)
                    case Builtin("vm.builtin.make_tuple") if all(isinstance(arg, Register) for arg in args):
                        tuples[destination.number] = tuple(arg.number for arg in args if isinstance(arg, Register))
                    case Builtin(name) if name.rpartition(".")[2] in _CHECKS:
                        pass
                    case ShapeFunction():
                        pass
                    case _:
                        return through
            case Ret(register):
                returned = (register.number,)
            case _:
                return through
    if called is None or returned is None or any(dtype is None for dtype in dtypes) or not params:
        return through
    function, places = called
    kernel = kernels[function]
    results = tuples.get(returned[0], returned)
    if kernel is None or places[:params] != list(range(params)) or sorted(results) != sorted(places[params:]):
        return through
    if any(place not in made for place in results) or len(set(results)) != len(results):
        return through
    order = [places[params:].index(place) for place in results] if returned[0] in tuples else None
    return DirectCall(through, kernel, dtypes, order)
