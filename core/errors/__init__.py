"""The exceptions of the product, and the one form in which they reach a reader.

Every mistake is a :class:`Diagnostic`; an exception carries one or several of them and renders them
with the source line, carets under the place, what was expected, and help where there is any. Each
is of a kind (``kind.py``) that has a code, an explanation and an example (``table/``).
"""

from relay2relax.core.errors.exceptions import (
    CompilerError,
    Diagnostic,
    ExecutionError,
    FileError,
    LimitError,
    OutOfMemoryError,
    ParseError,
    Relay2RelaxError,
    UnsupportedError,
    about,
    mistake,
    placed,
)
from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind
from relay2relax.core.errors.table import all_kinds, find_kind

__all__ = [
    "CompilerError",
    "Diagnostic",
    "ErrorKind",
    "ExecutionError",
    "ExitCode",
    "FileError",
    "LimitError",
    "OutOfMemoryError",
    "ParseError",
    "Relay2RelaxError",
    "UnsupportedError",
    "about",
    "all_kinds",
    "find_kind",
    "mistake",
    "placed",
]
