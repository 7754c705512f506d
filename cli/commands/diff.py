"""``relay2relax diff``: the graphs of two models beside each other."""

from __future__ import annotations

import sys
from pathlib import Path

from relay2relax import graph
from relay2relax.cli import files, outcome, programs, screen, streams
from relay2relax.cli.loudness import is_quiet
from relay2relax.core.errors import ExitCode


def run(
    model: Path, other: Path, params: Path | None, other_params: Path | None, dims: list[str], as_json: bool
) -> None:
    """Print what differs from ``model`` to ``other``; exit with 1 where anything does."""
    extents = files.parse_dims(dims)
    with screen.progress(f"reading {model.name} and {other.name}"):
        before, old = programs.read(model, params, extents).graph()
        after, new = programs.read(other, other_params, extents).graph()
    with screen.progress("comparing graphs"):
        found = graph.diff(before, after, old, new)
    if as_json:
        outcome.deliver(found.to_json())
    elif not is_quiet():
        print(found.text(streams.shows_colours(sys.stdout)).rstrip("\n"))
    if not found.is_equal:
        sys.exit(ExitCode.DIFFERS)
