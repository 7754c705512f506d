"""Figures as SVG in pages without a script: escaped text, colours of the page's style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

_WIDE, _HIGH, _LEFT, _LOW = 360, 190, 46, 30
# So many points are drawn of a scatter.
_POINTS = 1500


def number(value: float) -> str:
    """Return a number in three digits."""
    return f"{value:.3g}"


def bars(labels: Sequence[str], counts: Sequence[int], title: str, axis: str) -> str:
    """Return a bar for each label, as high as its count; ``axis`` says what labels are."""
    most = max([*counts, 1])
    step = (_WIDE - _LEFT) / max(len(counts), 1)
    parts = []
    for at, (label, count) in enumerate(zip(labels, counts, strict=True)):
        high = (_HIGH - _LOW - 16) * count / most
        x, y = _LEFT + at * step, _HIGH - _LOW - high
        parts.append(f'<rect x="{x + 2:.1f}" y="{y:.1f}" width="{step - 4:.1f}" height="{high:.1f}"/>')
        middle = x + step / 2
        if count:
            parts.append(f'<text x="{middle:.1f}" y="{y - 3:.1f}" text-anchor="middle">{count:,}</text>')
        parts.append(f'<text x="{middle:.1f}" y="{_HIGH - _LOW + 12}" text-anchor="middle">{escape(label)}</text>')
    said = ", ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True) if count)
    return _figure("".join(parts), f"{title}. {said}", axis)


def scatter(expected: NDArray[np.float64], actual: NDArray[np.float64], bad: NDArray[np.bool_], title: str) -> str:
    """Return what was expected against what there is, of some of the elements.

    Those that are ``bad`` are all shown, as far as there is room, and as crosses. Arrays are flat.
    """
    finite = np.isfinite(expected) & np.isfinite(actual)
    x, y, wrong = expected[finite], actual[finite], bad[finite]
    if not x.size:
        return f'<p class="dim">{escape(title)}: no value is finite on both sides</p>'
    crosses = np.flatnonzero(wrong)[:_POINTS]
    dots = np.flatnonzero(~wrong)
    dots = dots[:: max(1, dots.size // _POINTS)]
    chosen = np.concatenate([crosses, dots])
    low, high = float(min(x[chosen].min(), y[chosen].min())), float(max(x[chosen].max(), y[chosen].max()))
    if not high > low:
        low, high = low - 1, high + 1

    def across(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _LEFT + (values - low) / (high - low) * (_WIDE - _LEFT - 8)

    def up(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return _HIGH - _LOW - (values - low) / (high - low) * (_HIGH - _LOW - 8)

    def marks(at: NDArray[np.intp], shape: str) -> str:
        return "".join(f"M{px:.1f} {py:.1f}{shape}" for px, py in zip(across(x[at]), up(y[at]), strict=True))

    ends = np.array([low, high])
    (x0, x1), (y0, y1) = across(ends), up(ends)
    parts = [f'<path class="line" d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"/>']
    parts.append(f'<path class="dots" d="{marks(dots, "h0")}"/>')
    parts.append(f'<path class="crosses" d="{marks(crosses, "m-3 -3l6 6m0 -6l-6 6")}"/>')
    for value, px in ((low, x0), (high, x1)):
        anchor = "start" if px == x0 else "end"
        parts.append(f'<text x="{px:.1f}" y="{_HIGH - _LOW + 12}" text-anchor="{anchor}">{number(value)}</text>')
    parts.append(f'<text x="{_LEFT - 4}" y="{y1 + 8:.1f}" text-anchor="end">{number(high)}</text>')
    parts.append(f'<text x="{_LEFT - 4}" y="{y0:.1f}" text-anchor="end">{number(low)}</text>')
    said = f"{title}. {len(dots)} elements near, {int(wrong.sum())} off by more than a thousandth"
    return _figure("".join(parts), said, "expected across, actual upwards; crosses are off by more than a thousandth")


def _figure(content: str, said: str, axis: str) -> str:
    lines = f'<path class="line" d="M{_LEFT} 4V{_HIGH - _LOW}H{_WIDE}"/>'
    return (
        f'<figure><svg viewBox="0 0 {_WIDE} {_HIGH}" role="img" aria-label="{escape(said)}">{lines}{content}</svg>'
        f"<figcaption>{escape(axis)}</figcaption></figure>"
    )
