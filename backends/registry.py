"""Functions that programs call by name: registered from Python, they write into their last arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from relay2relax.core.errors import ExecutionError

F = TypeVar("F", bound=Callable[..., Any])

_functions: dict[str, Callable[..., Any]] = {}


def register_func(name: str, override: bool = False) -> Callable[[F], F]:
    """Register the decorated function as ``name``, for ``R.call_dps_packed`` and ``R.call_packed``.

    It takes numpy arrays, which carry ``__dlpack__``, without copies; for ``call_dps_packed`` the results are its last
    arguments, to be written in place. Raises ExecutionError where the name is taken and ``override`` is not set.
    """

    def register(function: F) -> F:
        if name in _functions and not override:
            raise ExecutionError(f"a function {name!r} is registered already; pass override=True to replace it")
        _functions[name] = function
        return function

    return register


def registered(name: str) -> Callable[..., Any] | None:
    """Return the function registered as ``name``, None where there is none."""
    return _functions.get(name)


def find_func(name: str) -> Callable[..., Any]:
    """Return the function registered as ``name``, TVM's of that name, or the one that it means in another library.

    Called with arguments that it does not take, it raises ExecutionError; what it raises itself comes as it is. Raises
    ExecutionError where there is none, UnsupportedError where the library is missing.
    """
    from relay2relax.backends.libraries import library_function
    from relay2relax.backends.runtime_functions import RUNTIME_FUNCTIONS

    found = _functions.get(name) or RUNTIME_FUNCTIONS.get(name) or library_function(name)
    if found is None:
        known = ", ".join(sorted(_functions)) or "none"
        raise ExecutionError(
            f"no function {name!r} is registered (registered: {known}); use backends.register_func({name!r})"
        )
    return partial(_call, name, found)


def _call(name: str, function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except TypeError as error:
        if _takes(function, args):
            raise
        raise ExecutionError(f"{name} does not take the arguments it is called with: {error}") from error


def _takes(function: Callable[..., Any], args: Sequence[Any]) -> bool:
    try:
        inspect.signature(function).bind(*args)
    except TypeError:
        return False
    except ValueError:  # Functions of C may have no signature; what they raise is about more than counts.
        return True
    return True
