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
from marks import Verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEGIN, END = "<!-- results of `make bench` -->", "<!-- end of the results -->"
GREY = "#808080"
COLOURS = {"onnxruntime": "#4575b4", "openvino": "#3a9a5b", "pytorch": "#d9822b", "tvm_scheduled": "#9467bd"}
NAMES = {
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
    "pytorch": "PyTorch",
    "tvm_scheduled": "TVM, our schedules",
}


def write(page: Path, results: Mapping[str, Any], tables: Sequence[Table], verdicts: Sequence[Verdict]) -> list[Path]:
    """Put the results of a run into ``page``, plots beside it; return the paths of all files.

    Raises ValueError where the page lacks the marks between which results stand.
    """
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{page} has no {BEGIN} … {END}")
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
    models = results.get("speed", {}).get("models", {})
    runs = {}
    for name, row in models.items():
        found = {peer: row[peer]["run"] for peer in NAMES if "run" in row.get(peer, {})}
        if found and "run" in row.get("c", {}):
            runs[name] = {peer: seconds / row["c"]["run"] for peer, seconds in found.items()}
    if runs:
        path = folder / "benchmarks-runs.svg"
        _draw(path, lambda axes: _bars(axes, runs), (9, 0.42 * len(runs) + 1.6))
        yield "Time of a run against relay2relax's C backend, by model", path
    shares = {name: row["c"]["share"] for name, row in models.items() if "share" in row.get("c", {})}
    if shares:
        path = folder / "benchmarks-limits.svg"
        _draw(path, lambda axes: _shares(axes, shares), (9, 0.3 * len(shares) + 1.2))
        yield "Share of the physical limit that the C backend reaches, by model", path
    chain = results.get("chain", {})
    if chain:
        path = folder / "benchmarks-chain.svg"
        _draw(path, lambda axes: _growth(axes, chain), (9, 3.4))
        yield "Microseconds per node of each stage, by operators", path


def _bars(axes: Axes, runs: Mapping[str, Mapping[str, float]]) -> None:
    """Draw how many times as long as C each peer takes, model by model."""
    peers = [peer for peer in NAMES if any(peer in row for row in runs.values())]
    height = 0.8 / len(peers)
    for number, peer in enumerate(peers):
        places = [place - 0.4 + (number + 0.5) * height for place, row in enumerate(runs.values()) if peer in row]
        ratios = [row[peer] for row in runs.values() if peer in row]
        axes.barh(places, ratios, height * 0.9, color=COLOURS[peer], label=NAMES[peer])
    axes.set_yticks(range(len(runs)), list(runs))
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g} ×")
    axes.xaxis.set_minor_formatter("{x:g}")
    axes.tick_params(axis="x", which="minor", labelsize="x-small")
    axes.axvline(1.0, color=GREY, linewidth=1.2)
    axes.set_xlabel("time of a run against relay2relax's C backend: right of the line is slower")


def _shares(axes: Axes, shares: Mapping[str, float]) -> None:
    """Draw the share of what the machine can do, model by model, the lowest last."""
    order = sorted(shares, key=lambda name: -shares[name])
    axes.barh(range(len(order)), [shares[name] for name in order], 0.6, color=COLOURS["onnxruntime"], label="C")
    axes.set_yticks(range(len(order)), order)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("least time by operations or bytes, as a share of the time of a run")


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
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
