"""Spectra of signals."""

from __future__ import annotations

import math

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import records


def _stft(at: Conversion) -> Value:
    """``stft(data, n_fft, hop, window's length, window, normalized, onesided, complex, …)``; real
    and imaginary parts are the last axis.
    """
    data, size = at.tensor(0), at.integer(1)
    hop, length = at.integer(2, size // 4), at.integer(3, size)
    if bool(at.number(7, False)):
        at.refuse("its numbers are complex, which Relay has not; ask for `return_complex=False`")
    window = at.optional(4)
    if window is None:
        window = at.const([1.0] * length, at.dtype(data))
    if not is_float(at.dtype(window)):
        window = at.cast(window, at.dtype(data))
    if length < size:
        # A short window stands in the middle.
        before = (size - length) // 2
        window = at.call("nn.pad", window, ((before, size - length - before),), at.const(0, at.dtype(window)))
    row = at.rank(data) == 1
    rows = at.call("expand_dims", data, axis=0) if row else data
    made = at.call("stft", rows, size, hop, size, window, False, bool(at.number(6, True)))
    if at.number(5, False):
        made = at.call("multiply", made, at.const(1 / math.sqrt(size), at.dtype(data)))
    return at.call("squeeze", made, axis=[0]) if row else made


RECORDS = records({"stft": _stft})
