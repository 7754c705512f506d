"""Options that hold around a command, declared once for all commands that have them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, TypeAlias, get_type_hints

# What is entered around a command: of the values of its own options, and of those that are added.
Around: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], AbstractContextManager[object]]


def with_options(command: Callable[..., None], options: Mapping[str, Any], around: Around) -> Callable[..., None]:
    """Return ``command`` with more ``options``, annotations by name, which it does not see.

    They are off, or None, where they are not given. ``around`` holds while the command runs.
    """
    defaults = {name: False if option.__origin__ is bool else None for name, option in options.items()}

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        added = {name: given.pop(name, default) for name, default in defaults.items()}
        with around(given, added):
            command(*args, **given)

    # The command's own annotations are text, which nobody evaluates once there is a signature.
    signature = inspect.signature(command, eval_str=True)
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=option)
        for name, option in options.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *more])  # type: ignore[attr-defined]
    run.__annotations__ = {**get_type_hints(command, include_extras=True), **options}
    return run
