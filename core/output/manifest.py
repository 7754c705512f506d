"""What a folder says of the files that were written into it: ``.relay2relax.json``.

It lists each file with its SHA-256, the command that wrote it, and what that was made of. A file
that is listed with the hash that it has is one that was written here and not changed since.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from relay2relax.core.errors import ParseError
from relay2relax.core.output.content import mode_of
from relay2relax.core.schema import Form, read_json, to_plain

MANIFEST = ".relay2relax.json"
_FORMAT = "relay2relax outputs"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """What made files: a ``command``, of a ``model`` that has the SHA-256 ``sha256``.

    Files of one model are those of one name or of one content; "" is a content that is not known.
    """

    command: str
    model: str
    sha256: str = ""

    def is_model_of(self, other: Origin) -> bool:
        """Whether both are made of one model."""
        return self.model == other.model or (self.sha256 != "" and self.sha256 == other.sha256)


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written."""

    sha256: str
    origin: Origin


class _Entry(Form):
    sha256: str
    command: str
    model: str
    model_sha256: str


class _Manifest(Form):
    format: str
    version: int
    files: dict[str, _Entry]


def read_manifest(folder: Path) -> dict[str, Written] | None:
    """Return the files that ``folder`` lists, by name, none where there is no list.

    None where what stands in the list's place is something else. Raises OSError where it cannot be
    looked at.
    """
    path = folder / MANIFEST
    mode = mode_of(path)
    if mode is None:
        return {}
    # A FIFO of that name would never end.
    if not stat.S_ISREG(mode):
        return None
    try:
        found = read_json(path.read_bytes(), _Manifest, MANIFEST)
    except ParseError:
        return None
    if found.format != _FORMAT or found.version != _VERSION:
        return None
    return {
        name: Written(one.sha256, Origin(one.command, one.model, one.model_sha256)) for name, one in found.files.items()
    }


def manifest_text(files: Mapping[str, Written]) -> bytes:
    """Return the list of ``files``."""
    entries = {
        name: _Entry(
            sha256=one.sha256, command=one.origin.command, model=one.origin.model, model_sha256=one.origin.sha256
        )
        for name, one in sorted(files.items())
    }
    document = _Manifest(format=_FORMAT, version=_VERSION, files=entries)
    return (json.dumps(to_plain(document), indent=1) + "\n").encode()
