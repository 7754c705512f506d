"""Fourier transforms: dft and stft, as sums over the samples.

Complex numbers are two real ones: two tensors in ``dft``, the last axis in ``stft``.
Source of the semantics: TVM 0.18, ``python/tvm/topi/signal.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import ask_at_least, check_float, tensor
from relay2relax.ops.registry.attributes import Bool, Int, OptionalBool
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir import te
from relay2relax.tir.extent import add, as_prim, floordiv, static, sub
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.18 python/tvm/topi/signal.py"


@dataclass(frozen=True, slots=True)
class DFTAttrs:
    """Whether the transform goes back to the samples."""

    inverse: OptionalBool = False


@dataclass(frozen=True, slots=True)
class StftAttrs:
    """The samples of a frame, the samples from frame to frame, the samples of the window.

    The scale; the frequencies.

    ``normalized`` divides by the root of ``n_fft``; ``onesided`` leaves out the frequencies that
    mirror others.
    """

    n_fft: Int = -1
    hop_length: Int = -1
    win_length: Int = -1
    normalized: Bool = False
    onesided: Bool = True


def _turn(step: PrimExpr, count: PrimExpr, dtype: str) -> tuple[PrimExpr, PrimExpr]:
    """Return cosine and sine of ``step / count`` of a full turn; whole turns are left out first."""
    angle = cast(dtype, step % count) * const(2 * math.pi, dtype) / cast(dtype, count)
    return call("cos", angle), call("sin", angle)


def _sum_pairs(x: Sequence[PrimExpr], y: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
    return x[0] + y[0], x[1] + y[1]


# dft


def dft_type(attrs: DFTAttrs, re_data: Type, im_data: Type) -> Type:
    """Return the real and the imaginary part, each of the type of its input."""
    real, imaginary = tensor(re_data, 0), tensor(im_data, 1)
    if not real.rank or imaginary.rank != real.rank:
        raise OpError(
            f"the parts have ranks {real.rank} and {imaginary.rank}; samples lie along an axis", 1, kind=operators.RANK
        )
    return TupleType((real, imaginary))


def dft_numpy(attrs: DFTAttrs, re_data: Array, im_data: Array) -> tuple[Array, Array]:
    """Return the transform along the last axis; the inverse divides by the number of samples."""
    check_float("dft", of_array(re_data))
    samples: NDArray[np.complex128] = re_data.astype(np.float64) + 1j * im_data.astype(np.float64)
    found = np.fft.ifft(samples) if attrs.inverse else np.fft.fft(samples)
    odd = ~np.isfinite(samples).all(axis=-1)
    if odd.any():
        found[odd] = _summed(samples[odd], bool(attrs.inverse))
    return found.real.astype(re_data.dtype), found.imag.astype(re_data.dtype)


def _summed(samples: NDArray[np.complex128], inverse: bool) -> NDArray[np.complex128]:
    """Return the transform by its definition: infinities reach every frequency."""
    count = samples.shape[-1]
    angle = 2 * np.pi * (np.outer(np.arange(count), np.arange(count)) % count) / count
    cosine, sine = np.cos(angle), np.sin(angle if inverse else -angle)
    found = np.empty_like(samples)
    with np.errstate(all="ignore"):
        found.real = samples.real @ cosine - samples.imag @ sine
        found.imag = samples.real @ sine + samples.imag @ cosine
        return found / count if inverse else found


def dft_compute(attrs: DFTAttrs, out: TupleType, re_data: te.Tensor, im_data: te.Tensor) -> tuple[te.Tensor, ...]:
    """Return the sums of the samples turned, one for each frequency."""
    dtype = re_data.dtype
    check_float("dft", dtype)
    count = re_data.shape[-1]

    def element(*i: PrimExpr) -> te.Reduce:
        loop = te.reduce_axis(count, "k")
        place = (*i[:-1], loop.var)
        cosine, sine = _turn(i[-1] * loop.var, count, dtype)
        if not attrs.inverse:
            sine = -sine
        real, imaginary = re_data[place], im_data[place]
        sources = (real * cosine - imaginary * sine, real * sine + imaginary * cosine)
        return te.Reduce(_sum_pairs, (const(0, dtype),) * 2, sources, (loop,))

    found = te.compute_several(re_data.shape, element, name="T_dft")
    if not attrs.inverse:
        return found

    def scaled(part: te.Tensor) -> te.Tensor:
        return te.compute(part.shape, lambda *i: part[i] / cast(dtype, count), name="T_dft_scale")

    return tuple(map(scaled, found))


# stft


def stft_type(attrs: StftAttrs, data: Type, window: Type) -> Type:
    """Return [batch], frequencies, frames, 2 in the dtype of the data."""
    found, shape = tensor(data), tensor(window, 1)
    if found.rank not in (1, 2):
        raise OpError(
            mistake(operators.RANK, what="the tensor of samples", rank=found.rank, expected="1, or 2 with a batch"), 0
        )
    if shape.rank != 1:
        raise OpError(mistake(operators.RANK, what="the window", rank=shape.rank, expected="1"), 1)
    if attrs.hop_length < 1 or attrs.n_fft < 1:
        raise OpError(
            f"n_fft and hop_length are {attrs.n_fft} and {attrs.hop_length}; they are at least 1",
            kind=operators.ATTRIBUTE,
        )
    samples = static(found.shape[-1])
    if samples is not None and samples < attrs.n_fft:
        raise OpError(f"{samples} samples do not fill a frame of {attrs.n_fft}", 0)
    ask_at_least(found.shape[-1], attrs.n_fft)
    frames = add(floordiv(sub(found.shape[-1], attrs.n_fft), attrs.hop_length), 1)
    return TensorType((*found.shape[:-1], _frequencies(attrs), frames, 2), found.dtype)


def _frequencies(attrs: StftAttrs) -> int:
    return attrs.n_fft // 2 + 1 if attrs.onesided else attrs.n_fft


def stft_numpy(attrs: StftAttrs, data: Array, window: Numbers) -> Array:
    """Return the transform of each frame, weighted by the window."""
    check_float("stft", of_array(data))
    length = attrs.win_length
    frames = np.lib.stride_tricks.sliding_window_view(data, attrs.n_fft, axis=-1)
    frames = frames[..., :: attrs.hop_length, :length].astype(np.float64) * window[:length]
    steps = np.outer(np.arange(length), np.arange(_frequencies(attrs)))
    found = np.moveaxis(frames @ np.exp(-2j * math.pi * (steps % length) / length), -1, -2)
    if attrs.normalized:
        found = found / math.sqrt(attrs.n_fft)
    return np.stack([found.real, found.imag], axis=-1).astype(data.dtype)


def stft_compute(attrs: StftAttrs, out: TensorType, data: te.Tensor, window: te.Tensor) -> te.Tensor:
    """Return the sums over the window, real and imaginary, then both beside each other."""
    dtype = data.dtype
    check_float("stft", dtype)
    length = as_prim(attrs.win_length)

    def element(*i: PrimExpr) -> te.Reduce:
        frequency, frame = i[-2:]
        loop = te.reduce_axis(length, "w")
        cosine, sine = _turn(frequency * loop.var, length, dtype)
        place = (*i[:-2], frame * attrs.hop_length + loop.var)
        sample = data[place] * cast(dtype, window[loop.var])
        return te.Reduce(_sum_pairs, (const(0, dtype),) * 2, (sample * cosine, -(sample * sine)), (loop,))

    real, imaginary = te.compute_several(out.shape[:-1], element, name="T_stft_sum")
    scale = 1 / math.sqrt(attrs.n_fft) if attrs.normalized else 1.0

    def part(*i: PrimExpr) -> PrimExpr:
        return Select(i[-1].equal(0), real[i[:-1]], imaginary[i[:-1]]) * const(scale, dtype)

    return te.compute(out.shape, part, name="T_stft")


dft = OpDef(
    relay="dft",
    doc="The discrete Fourier transform along the last axis, or its inverse; real and imaginary parts apart.",
    source=SOURCE,
    inputs=("re_data", "im_data"),
    attrs=DFTAttrs,
    infer=dft_type,
    numpy=dft_numpy,
    compute=dft_compute,
    declares_attrs=False,
)

stft = OpDef(
    relay="stft",
    doc="The Fourier transforms of overlapping frames, weighted by a window; both parts in the last axis.",
    source=SOURCE,
    inputs=("data", "window"),
    attrs=StftAttrs,
    infer=stft_type,
    numpy=stft_numpy,
    compute=stft_compute,
    declares_attrs=False,
    fusion=Fusion(reads_shape=True),
)

OPS = (dft, stft)
