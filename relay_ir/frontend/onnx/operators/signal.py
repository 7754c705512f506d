"""Spectra."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.protos import dtype_of
from relay2relax.relay_ir.ir.expr import Expr


def _dft(at: Conversion) -> Expr:
    """One axis of complex numbers, which are pairs along the last one."""
    x = at.arg(0)
    axis = at.attr("axis", 1)
    if at.opset >= 20:
        found = at.ints(2)
        axis = -2 if found is None else found[0]
    length = at.ints(1)
    rank = at.rank(x)
    axis %= rank
    half, inverse = bool(at.attr("onesided", 0)), bool(at.attr("inverse", 0))
    order = [one for one in range(rank - 1) if one != axis] + [axis]
    turned = [at.transpose(one, order) for one in _parts(at, x)]
    if half and inverse:
        count = 2 * (at.shape(turned[0])[-1] - 1) if length is None else length[0]
        made = [_real_of_half(at, turned, count)]
    else:
        if length is not None:
            turned = [_fitted(at, one, length[0]) for one in turned]
        made = at.fields(at.call("dft", *turned, inverse))
        if half:
            made = [at.slice(one, rank - 2, 0, at.shape(one)[-1] // 2 + 1) for one in made]
    back = [order.index(one) for one in range(rank - 1)]
    return at.call("stack", at.tuple([at.transpose(one, back) for one in made]), axis=-1)


def _parts(at: Conversion, x: Expr) -> list[Expr]:
    """Return real and imaginary parts; real numbers have no others."""
    last = at.rank(x) - 1
    whole = [x, at.call("zeros_like", x)] if at.shape(x)[-1] == 1 else at.fields(at.call("split", x, 2, axis=-1))
    return [at.squeeze(one, [last]) for one in whole]


def _fitted(at: Conversion, x: Expr, length: int) -> Expr:
    """Return ``x`` with as many elements along its last axis: zeros behind, or less."""
    last = at.rank(x) - 1
    more = length - at.shape(x)[-1]
    if more > 0:
        return at.call("nn.pad", x, tuple([(0, 0)] * last + [(0, more)]), at.like(0, x))
    return at.slice(x, last, 0, length) if more < 0 else x


def _real_of_half(at: Conversion, half: Sequence[Expr], count: int) -> Expr:
    """Return the real numbers of which ``half`` is the first half of the spectrum."""
    kept = count // 2 + 1
    real, imaginary = (_fitted(at, one, kept) for one in half)
    last = at.rank(real) - 1
    # The other half is that one turned round, without what both have.
    behind = at.const(np.arange(count - kept, 0, -1), "int64")
    rest = [at.call("take", one, behind, axis=last) for one in (real, imaginary)]
    whole = [
        at.call("concatenate", at.tuple([real, rest[0]]), axis=last),
        at.call("concatenate", at.tuple([imaginary, at.call("negative", rest[1])]), axis=last),
    ]
    return at.fields(at.call("dft", *whole, True))[0]


def _stft(at: Conversion) -> Expr:
    """Spectra of frames of a signal, which follow each other in steps."""
    signal = at.arg(0)
    window = at.arg(2) if at.has(2) else None
    (step,) = at.wanted_ints(1)
    length = at.wanted_ints(3)[0] if at.has(3) else at.shape(window)[0] if window is not None else None
    if length is None or step < 1:
        at.refuse("neither its window nor the length of its frames is given, or they do not move on")
    count = 1 + (at.shape(signal)[1] - length) // step
    places = np.arange(length) + step * np.arange(len(at.steps(count)))[:, None]
    frames = [at.call("take", one, at.const(places, "int64"), axis=1) for one in _parts(at, signal)]
    if window is not None:
        frames = [at.call("multiply", one, window) for one in frames]
    made = at.fields(at.call("dft", *frames, False))
    if at.attr("onesided", 1):
        made = [at.slice(one, 2, 0, length // 2 + 1) for one in made]
    return at.call("stack", at.tuple(made), axis=-1)


def _mel_weights(at: Conversion) -> Expr:
    """The share of each bin of a spectrum in bands of equal width on the mel scale."""
    given = [at.known(place) for place in range(5)]
    if any(one is None for one in given):
        at.refuse("its inputs are computed")
    bands, length, rate, low, high = (one.item() for one in given if one is not None)
    made = _mel_bands(len(at.steps(bands)), length, rate, low, high)
    dtype = dtype_of(at.attr("output_datatype")) if at.attr("output_datatype", 0) else "float32"
    return at.const(made, dtype)


def _mel_bands(bands: int, length: int, rate: int, low: float, high: float) -> Array:
    low, high = (2595 * np.log10(1 + edge / 700) for edge in (low, high))
    mels = low + np.arange(bands + 2) * (high - low) / (bands + 2)
    bins = ((length + 1) * 700 * (10 ** (mels / 2595) - 1) // rate).astype(np.int64)
    begin, middle, end = bins[:-2], bins[1:-1], bins[2:]
    places = np.arange(length // 2 + 1)[:, None]
    rising = (places - begin) / np.maximum(middle - begin, 1)
    falling = (end - places) / np.maximum(end - middle, 1)
    made = np.where((places >= begin) & (places < middle), rising, 0.0)
    made = np.where((places >= middle) & (places < end), falling, made)
    return np.asarray(np.where(places == middle, 1.0, made))


OPERATORS: dict[str, Convert] = {"DFT": _dft, "STFT": _stft, "MelWeightMatrix": _mel_weights}
