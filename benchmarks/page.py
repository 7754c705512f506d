"""The page of a run: its tables as Markdown between two marks of docs/benchmarks.md, and plots.

Colours and greys of the plots are chosen to be read on light and on dark pages.
"""

from __future__ import annotations

import platform
import shlex
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from common import Table
from marks import Verdict, of_best
from roofline import draw_roofline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN, END = "<!-- results of `make bench` -->", "<!-- end of the results -->"
# The larger models are measured by themselves, and have a place of their own.
BEGIN_LARGE, END_LARGE = "<!-- results of the larger models -->", "<!-- end of the larger models -->"
GREY = "#808080"
COLOURS = {
    "onnxruntime": "#4575b4",
    "openvino": "#3a9a5b",
    "pytorch": "#d9822b",
    "tvm_scheduled": "#9467bd",
    "inductor": "#b3423a",
}
NAMES = {
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "pytorch": "PyTorch",
    "tvm_scheduled": "TVM, our schedules",
    "inductor": "torch.compile",
}
# How what was measured of an instruction set is called, and how its keys end.
INSTRUCTIONS = {"this processor's instructions": "", "held to AVX2": " avx2"}


def write(page: Path, results: Mapping[str, Any], tables: Sequence[Table], verdicts: Sequence[Verdict]) -> list[Path]:
    """Put the results of a run into ``page``, plots beside it; return the paths of all files.

    Raises ValueError where the page lacks the marks between which results stand.
    """
    text = page.read_text(encoding="utf-8")
    first, last = (BEGIN_LARGE, END_LARGE) if "large" in results else (BEGIN, END)
    before, begin, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{page} has no {first} … {last}")
    plots = list(_plots(page.parent / "images", results))
    shown = [f"![{title}](images/{path.name})" for title, path in plots]
    lines = [_machine(), *shown, *_promises(verdicts), *map(_markdown, tables)]
    page.write_text(before + begin + "\n\n" + "\n\n".join(lines) + "\n\n" + end + after, encoding="utf-8")
    return [page, *(path for _, path in plots)]


def _machine() -> str:
    """Return what was run, when, and on which processor."""
    command = shlex.join(["python", "benchmarks/run.py", *sys.argv[1:]])
    return f"Measured on {date.today()} on {_processor()}, by\n\n```text\n{command}\n```"


def _processor() -> str:
    """Return the processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.machine()


def _promises(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if verdicts:
        words = {True: "holds", False: "**does not hold**", None: "open"}
        rows = [[one.promise, one.seen, words[one.holds]] for one in verdicts]
        yield _markdown(Table("What is promised, and what was seen", ["promise", "seen", ""], rows))


def _markdown(table: Table) -> str:
    """Return a table under its title; what the title adds in brackets is prose."""
    lines = [
        "| " + " | ".join(one.replace("|", "\\|") for one in table.head) + " |",
        "|" + "|".join(["---", *("---:" for _ in table.head[1:])]) + "|",
        *("| " + " | ".join(one.replace("|", "\\|") for one in row) + " |" for row in table.rows),
    ]
    head, _, rest = " ".join(table.title.split()).partition(" (")
    remark = textwrap.fill(f"({rest}", 100) + "\n\n" if rest else ""
    return f"### {head}\n\n{remark}" + "\n".join(lines)


def _plots(folder: Path, results: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Draw what was measured; yield title and path of each picture."""
    for section, name in (("speed", "benchmarks"), ("large", "benchmarks-large")):
        yield from _of_models(folder / name, results.get(section, {}))
    chain = results.get("chain", {})
    if chain:
        path = folder / "benchmarks-chain.svg"
        _draw(path, lambda axes: _growth(axes, chain), (9, 3.4))
        yield "Microseconds per node of each stage, by operators", path


def _of_models(start: Path, found: Mapping[str, Any]) -> Iterator[tuple[str, Path]]:
    """Draw what was measured of models; names of pictures begin with ``start``."""
    models = found.get("models", {})
    runs = {}
    for name, row in models.items():
        times = {peer: row[peer]["run"] for peer in NAMES if "run" in row.get(peer, {})}
        if times and "run" in row.get("c", {}):
            runs[name] = {peer: seconds / row["c"]["run"] for peer, seconds in times.items()}
    if runs:
        path = start.with_name(f"{start.name}-runs.svg")
        _draw(path, lambda axes: _bars(axes, runs), (9, 0.42 * len(runs) + 1.6))
        yield "Time of a run against relay2relax's C backend, by model", path
    best = {}
    for name, row in models.items():
        ratios = {title: of_best(row, ending) for title, ending in INSTRUCTIONS.items()}
        if known := {title: ratio for title, ratio in ratios.items() if ratio is not None}:
            best[name] = known
    if best:
        path = start.with_name(f"{start.name}-best.svg")
        _draw(path, lambda axes: _against_best(axes, best), (9, 0.3 * len(best) + 1.4))
        yield "The C backend's time of a run against the best peer's, by model", path
    limited = {name: row["c"] for name, row in models.items() if "share" in row.get("c", {})}
    if limited and found.get("machine"):
        path = start.with_name(f"{start.name}-roofline.svg")
        _draw(path, lambda axes: draw_roofline(axes, limited, found["machine"]), (9, 0.24 * len(limited) + 3.2))
        yield "Roofline: operations per second and per byte", path


def _bars(axes: Axes, runs: Mapping[str, Mapping[str, float]]) -> None:
    """Draw how many times as long as C each peer takes, model by model."""
    peers = [peer for peer in NAMES if any(peer in row for row in runs.values())]
    height = 0.8 / len(peers)
    for number, peer in enumerate(peers):
        places = [place - 0.4 + (number + 0.5) * height for place, row in enumerate(runs.values()) if peer in row]
        ratios = [row[peer] for row in runs.values() if peer in row]
        axes.barh(places, ratios, height * 0.9, color=COLOURS[peer], label=NAMES[peer])
    _ratios_of(axes, list(runs), "time of a run against relay2relax's C backend: right of the line is slower")


def _ratios_of(axes: Axes, names: Sequence[str], label: str) -> None:
    """Let a plot have a row for each name, and ratios along a logarithmic axis with a line at 1."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g} ×")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="minor", labelsize="x-small")
    axes.axvline(1.0, color=GREY, linewidth=1.2)
    axes.set_xlabel(label)


def _against_best(axes: Axes, best: Mapping[str, Mapping[str, float]]) -> None:
    """Draw C's share of the best peer's time, a dot for each instruction set."""
    for title, colour in zip(INSTRUCTIONS, (COLOURS["onnxruntime"], COLOURS["pytorch"]), strict=True):
        places = [place for place, row in enumerate(best.values()) if title in row]
        ratios = [row[title] for row in best.values() if title in row]
        if ratios:
            axes.scatter(ratios, places, 34, color=colour, label=title, zorder=3)
    for place, row in enumerate(best.values()):
        axes.plot([min(row.values()), max(row.values())], [place, place], color=GREY, linewidth=1)
    _ratios_of(axes, list(best), "time of a run against the best peer's: left of the line the C backend is ahead")


def _growth(axes: Axes, chain: Mapping[str, Any]) -> None:
    """Draw microseconds per node over the length of the chain, stage by stage."""
    for stage, found in chain.items():
        lengths = sorted(int(one) for one in found if str(one).isdigit())
        axes.plot(lengths, [found[str(one)] for one in lengths], marker="o", linewidth=1.4, label=stage)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("operators in the chain")
    axes.set_ylabel("µs per node")


def _draw(path: Path, draw: Callable[[Axes], None], size: tuple[float, float]) -> None:
    """Write one picture as SVG, the same bytes for the same numbers."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot

    mpl.rcParams.update({
        "svg.hashsalt": "relay2relax", "svg.fonttype": "none", "text.color": GREY, "axes.labelcolor": GREY,
        "axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "legend.labelcolor": GREY,
    })  # fmt: skip
    figure, axes = pyplot.subplots(figsize=size, layout="constrained")
    draw(axes)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend() is None:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
