"""Words that every package uses: dtypes, source text and spans, errors, iterative walks.

Nothing here knows a tensor program or an operator. Begin reading with ``errors.py``.
"""

import time

from relay2relax.core.errors import (
    CompilerError,
    Diagnostic,
    ExecutionError,
    FileError,
    LimitError,
    OutOfMemoryError,
    ParseError,
    Relay2RelaxError,
    UnsupportedError,
)
from relay2relax.core.limits import Limits
from relay2relax.core.source import SourceRange, SourceText, Span
from relay2relax.core.walk import post_order

# Sources that are younger than this are not those that run: every package begins with this one.
IMPORTED = time.time()

__all__ = [
    "IMPORTED",
    "CompilerError",
    "Diagnostic",
    "ExecutionError",
    "FileError",
    "LimitError",
    "Limits",
    "OutOfMemoryError",
    "ParseError",
    "Relay2RelaxError",
    "SourceRange",
    "SourceText",
    "Span",
    "UnsupportedError",
    "post_order",
]
