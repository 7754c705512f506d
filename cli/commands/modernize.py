"""``relay2relax modernize``: a legacy script in names of this package."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from relay2relax.cli import files, modernize, outcome, screen
from relay2relax.cli.modernize.remarks import BY_HAND, RENAMED, REPLACED
from relay2relax.core.errors import FileError, ParseError


def run(script: Path, in_place: bool, to: str, as_json: bool) -> None:
    """Print how the script changes and what becomes of each line, or change the file.

    Raises FileError where it cannot be read or written, ParseError where it is neither Python nor a
    notebook.
    """
    if in_place and not script.is_file():
        raise FileError(f"{files.shown(script)} is not a file that can be changed in place")
    try:
        text = files.read_content(script).decode("utf-8")
    except UnicodeDecodeError as error:
        raise ParseError(f"{files.shown(script)} is not UTF-8: {error.reason} at byte {error.start}") from None
    found = modernize.rewrite(text, files.shown(script), to)
    if in_place and found.after != found.before:
        files.output_file(script, reads=(), force=True).write(found.after.encode("utf-8"))
    counts = {kind: found.count(kind) for kind in (RENAMED, REPLACED, BY_HAND)}
    outcome.deliver({"remarks": [asdict(one) for one in found.remarks], "counts": counts, "diff": found.diff()})
    if as_json:
        return
    if not in_place:
        print(found.diff(), end="")
    for one in found.remarks:
        screen.tell(f"{found.name}:{one}")
    screen.tell(", ".join(f"{count} {kind}" for kind, count in counts.items()))
