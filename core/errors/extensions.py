"""Functions that users give: what they raise and return reaches the reader in the one form."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from relay2relax.core.errors.exceptions import Relay2RelaxError, mistake
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.source import SourceRange, SourceText

T = TypeVar("T")


class ExtensionError(Relay2RelaxError):
    """A function that a user gave raised something, or returned what it should not."""

    kind = kinds.EXTENSION_RAISED


def ask(
    function: Callable[..., T],
    *given: object,
    what: str,
    where: SourceRange | None = None,
    source: SourceText | None = None,
) -> T:
    """Return what a user's function makes of ``given``.

    ``what`` names the function, ``where`` is the place of the program it is asked about. Raises
    ExtensionError where the function raises; errors of the product stay what they are.
    """
    try:
        return function(*given)
    except Relay2RelaxError:
        raise
    except Exception as error:
        raised = mistake(kinds.EXTENSION_RAISED, where, what=what, error=type(error).__name__, text=str(error))
        raise ExtensionError(raised, source) from error


def returned(
    what: str, expected: str, found: object, where: SourceRange | None = None, source: SourceText | None = None
) -> ExtensionError:
    """Return the error for a function that returned ``found`` where ``expected`` is."""
    given = mistake(kinds.EXTENSION_RETURNED, where, what=what, expected=expected, found=type(found).__name__)
    return ExtensionError(given, source)
