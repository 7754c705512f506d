"""The roofline: operations per second over operations per byte, on axes of logarithms.

A roof is what the machine was measured to do: so many bytes per second, from a cache or from
memory, up to so many operations per second. A model's roof is that of as many bytes as a run of it
moves; its share says how near it comes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GREY = "#808080"
NEAR, FAR = "#4575b4", "#d9822b"
# Below this share a model is drawn in another colour.
LOW = 0.4


def draw_roofline(axes: Axes, models: Mapping[str, Mapping[str, float]], machine: Mapping[str, Any]) -> None:
    """Draw a dot for each model, and its name at the right, in the order of heights.

    ``models`` has ``operations``, ``bytes``, ``run`` in seconds and ``share``; ``machine`` has
    ``operations`` per second, and ``bytes`` per second by the bytes that are moved.
    """
    points = {name: (one["operations"] / one["bytes"], one["operations"] / one["run"] / 1e9)
              for name, one in models.items()}  # fmt: skip
    left, right = min(x for x, _ in points.values()) / 2, max(x for x, _ in points.values()) * 2
    low = min(y for _, y in points.values()) / 2
    _roofs(axes, machine, left, right)
    for far, title in ((False, f"{LOW:.0%} of its roof or more"), (True, f"less than {LOW:.0%}")):
        chosen = [point for name, point in points.items() if (models[name]["share"] < LOW) is far]
        if chosen:
            xs, ys = zip(*chosen, strict=True)
            axes.scatter(xs, ys, 26, color=FAR if far else NEAR, label=title, zorder=3)
    _names(axes, points, models)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(left, right)
    axes.set_ylim(low, machine["operations"] / 1e9 * 1.5)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("{x:g}")
    axes.tick_params(which="minor", labelsize="x-small")
    axes.set_xlabel("floating-point operations per byte of weights, inputs and results")
    axes.set_ylabel("GFLOP/s")
    # The column of names is where other plots have it.
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.13), ncols=2, fontsize="small")


def _roofs(axes: Axes, machine: Mapping[str, Any], left: float, right: float) -> None:
    """Draw the roofs of the fewest and of the most bytes that were moved."""
    most = machine["operations"] / 1e9
    rates = {int(size): rate / 1e9 for size, rate in machine["bytes"].items()}
    for size, style in ((min(rates), ":"), (max(rates), "-")):
        edge = most / rates[size]
        xs = [left, *([edge] if left < edge < right else []), right]
        ys = [min(most, x * rates[size]) for x in xs]
        title = f"{most:.0f} GFLOP/s, {rates[size]:.0f} GB/s of {_amount(size)}"
        axes.plot(xs, ys, style, color=GREY, linewidth=1.4, label=title)


def _amount(size: int) -> str:
    """Return bytes in words."""
    return f"{size >> 20} MB" if size >> 20 else f"{size >> 10} KB"


def _names(axes: Axes, points: Mapping[str, tuple[float, float]], models: Mapping[str, Mapping[str, float]]) -> None:
    """Write names and shares in a column right of the axes, each with a line to its dot."""
    order = sorted(points, key=lambda name: -points[name][1])
    for place, name in enumerate(order):
        height = 1 - (place + 0.5) / len(order)
        axes.annotate(
            f"{name}  {models[name]['share']:.0%}", points[name], (1.06, height), textcoords="axes fraction",
            va="center", fontsize="small", color=GREY,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "alpha": 0.6, "relpos": (0, 0.5)},
        )  # fmt: skip
