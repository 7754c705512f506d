"""What the readers of saved executables ask of code, and say where it is not so.

Places (``at $.code``) are added by ``archive.read_at``.
"""

from __future__ import annotations

from relay2relax.core.dtype import DTypeError, numpy_dtype
from relay2relax.core.errors import ParseError, mistake
from relay2relax.core.errors.table import running


def unlike(found: object, expected: str) -> ParseError:
    """Return the error for something else than a place of a saved executable holds."""
    return ParseError(mistake(running.SAVED_FILE, found=found, expected=expected))


def check_below(number: int, limit: int, what: str) -> int:
    """Return ``number``; raises ParseError where it is not below ``limit``."""
    if number >= limit:
        raise unlike(number, f"{what} below {limit}")
    return number


def check_array_dtype(name: str) -> str:
    """Return ``name``; raises ParseError where it is not the dtype of an array."""
    try:
        numpy_dtype(name)
    except DTypeError as problem:
        raise unlike(f"{name!r:.40}", "a dtype") from problem
    return name


def endless() -> ParseError:
    """Return the error for code whose last instruction goes on to one that is not there."""
    return ParseError("the code has no end at $.code", kind=running.SAVED_FILE)


def never_reached(position: int) -> ParseError:
    """Return the error for an instruction to which no other leads."""
    return ParseError(f"the instruction is never reached at $.code[{position}]", kind=running.SAVED_FILE)


def not_written(register: int) -> ParseError:
    """Return the error for a register that is read where no instruction has written it."""
    return ParseError(f"the register {register} is read before it is written", kind=running.SAVED_FILE)
