"""The error of tensor programs that are not legal."""

from __future__ import annotations

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import tensor_programs


class TIRError(Relay2RelaxError):
    """A tensor program, its definition, or a requested transformation of it is not legal."""

    kind = tensor_programs.ILLEGAL
