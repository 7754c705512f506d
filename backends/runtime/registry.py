"""Functions that programs call by name: registered from Python, they write into their last
arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running

F = TypeVar("F", bound=Callable[..., object])

_functions: dict[str, Callable[..., object]] = {}


def register_func(name: str, override: bool = False) -> Callable[[F], F]:
    """Register the decorated function as ``name``, for ``R.call_dps_packed`` and ``R.call_packed``.

    It takes numpy arrays, which carry ``__dlpack__``, without copies; for ``call_dps_packed`` the
    results are its last arguments, to be written in place. Raises ExecutionError where the name is
    taken and ``override`` is not set.
    """

    def register(function: F) -> F:
        if name in _functions and not override:
            raise ExecutionError(f"a function {name!r} is registered already; pass override=True to replace it")
        _functions[name] = function
        return function

    return register


def registered(name: str) -> Callable[..., object] | None:
    """Return the function registered as ``name``, None where there is none."""
    return _functions.get(name)


def find_func(name: str) -> Callable[..., object]:
    """Return the function registered as ``name``, TVM's of that name, or the one that it means in
    another library.

    Called with arguments that it does not take, it raises ExecutionError; what it raises itself
    comes as it is, with its name as a note where exceptions have notes. Raises ExecutionError where
    there is none, UnsupportedError where the library is missing.
    """
    found = _found(name)
    if found is None:
        raise missing_functions([name])
    return partial(_call, name, found)


def missing(names: Iterable[str]) -> list[str]:
    """Return those of ``names`` for which there is no function.

    Raises UnsupportedError where a library is missing.
    """
    return [name for name in names if _found(name) is None]


def missing_functions(names: Sequence[str]) -> ExecutionError:
    """Return the error that says that nobody registered ``names``."""
    known = ", ".join(sorted(_functions)) or "none"
    first, *others = names
    problem = f"no function {first!r} is registered (registered: {known}); use backends.register_func({first!r})"
    if others:
        problem += f"; there are no functions {', '.join(map(repr, others))} either"
    return ExecutionError(problem)


def _found(name: str) -> Callable[..., object] | None:
    from relay2relax.backends.libraries import library_function
    from relay2relax.backends.runtime.runtime_functions import RUNTIME_FUNCTIONS

    return _functions.get(name) or RUNTIME_FUNCTIONS.get(name) or library_function(name)


def _call(name: str, function: Callable[..., object], *args: object) -> object:
    try:
        return function(*args)
    except TypeError as error:
        if not _takes(function, args):
            raise ExecutionError(
                f"{name} does not take the arguments it is called with: {error}", kind=running.ARGUMENT
            ) from error
        _note(error, name)
        raise
    except Exception as error:
        _note(error, name)
        raise


def _note(error: Exception, name: str) -> None:
    """Say on ``error`` which function raised it; exceptions have notes from Python 3.11 on."""
    if hasattr(error, "add_note"):
        error.add_note(f"raised by {name}, which the program calls")


def _takes(function: Callable[..., object], args: Sequence[object]) -> bool:
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # Functions of C may have no signature; what they raise is about more than counts.
        return True
    return True
