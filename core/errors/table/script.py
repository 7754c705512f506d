"""Kinds of mistakes in TVMScript."""

from relay2relax.core.errors.kind import ErrorKind
