"""Draw docs/assets/data-flow.svg, the picture of docs/architecture.md:
``python tools/architecture_picture.py``.

Boxes bring their own light ground and dark letters, arrows and labels are of a middle grey: the
picture is readable on a light page and on a dark one, and needs nothing from elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "data-flow.svg"
WIDTH, HEIGHT = 480, 800
_GREY = "#7d8590"
_FILLS = {"data": "#fff3d6", "work": "#d7efe9", "side": "#e8e6f5"}


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with lines of text, the first in bold; ``kind`` chooses the colour."""

    left: int
    top: int
    width: int
    height: int
    kind: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line with a head, both ways where ``both``, and a label beside its middle."""

    x1: int
    y1: int
    x2: int
    y2: int
    label: str = ""
    both: bool = False


BOXES = (
    Box(20, 10, 440, 54, "data", ("Relay files", "text 0.6 to 0.19 · JSON · ONNX · params")),
    Box(
        130, 110, 330, 72, "work", ("relay_ir", "text/ json/ frontend/: read", "inference/: types · transform/: passes")
    ),
    Box(130, 240, 330, 54, "work", ("graph", "lossless graph of operators and tensors")),
    Box(
        130,
        352,
        330,
        72,
        "work",
        ("relax_ir", "script/: TVMScript, read and written", "inference/ · transform/: passes"),
    ),
    Box(130, 482, 330, 54, "work", ("tir", "PrimFuncs: loops over buffers")),
    Box(
        130,
        594,
        330,
        90,
        "work",
        (
            "backends",
            "vm/: instructions · relay/: executors",
            "numpy/: kernels and evaluation",
            "c/: stages, loops, C · tvm/: apache-tvm",
        ),
    ),
    Box(20, 736, 210, 54, "data", ("results", "compared by translator")),
    Box(250, 736, 210, 54, "data", ("scripts, C libraries", "for others to build")),
    Box(
        20,
        240,
        88,
        444,
        "side",
        ("ops", "one record", "for each", "operator:", "", "infer", "relax", "compute", "numpy"),
    ),
)
ARROWS = (
    Arrow(295, 64, 295, 108, "parse, load_json"),
    Arrow(295, 182, 295, 238, "from_relay, to_relay", both=True),
    Arrow(295, 294, 295, 350, "to_relax, from_relax", both=True),
    Arrow(295, 424, 295, 480, "LegalizeOps"),
    Arrow(295, 536, 295, 592, "build"),
    Arrow(180, 684, 150, 734, "run"),
    Arrow(355, 684, 355, 734, "export, script"),
    Arrow(108, 267, 128, 267),
    Arrow(108, 388, 128, 388),
    Arrow(108, 509, 128, 509),
    Arrow(108, 639, 128, 639),
    Arrow(64, 240, 128, 150),
)


def picture() -> str:
    """Return the picture as SVG."""
    return "\n".join(_drawn()) + "\n"


def _drawn() -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'font-family="system-ui, sans-serif" font-size="14" role="img">'
    )
    yield "<title>From Relay files through relay_ir, graph, relax_ir and tir to backends and results</title>"
    head = '<path d="M0,0 L8,4 L0,8 z"'
    yield (
        f'<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto-start-reverse">'
        f'{head} fill="{_GREY}"/></marker></defs>'
    )
    for arrow in ARROWS:
        start = ' marker-start="url(#head)"' if arrow.both else ""
        yield (
            f'<line x1="{arrow.x1}" y1="{arrow.y1}" x2="{arrow.x2}" y2="{arrow.y2}" stroke="{_GREY}" '
            f'stroke-width="2" marker-end="url(#head)"{start}/>'
        )
        if arrow.label:
            x, y = (arrow.x1 + arrow.x2) // 2 + 12, (arrow.y1 + arrow.y2) // 2 + 5
            yield f'<text x="{x}" y="{y}" fill="{_GREY}">{escape(arrow.label)}</text>'
    for box in BOXES:
        yield (
            f'<rect x="{box.left}" y="{box.top}" width="{box.width}" height="{box.height}" rx="8" '
            f'fill="{_FILLS[box.kind]}" stroke="{_GREY}"/>'
        )
        y = box.top + (box.height - 18 * len(box.lines)) // 2 + 14
        for number, line in enumerate(box.lines):
            weight = ' font-weight="bold"' if number == 0 else ""
            middle = box.left + box.width // 2
            yield f'<text x="{middle}" y="{y}" text-anchor="middle" fill="#1f2328"{weight}>{escape(line)}</text>'
            y += 18
    yield "</svg>"


if __name__ == "__main__":
    PICTURE.write_text(picture())
