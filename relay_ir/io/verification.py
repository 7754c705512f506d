"""Whether a file of weights is what its hash says: the SHA-256 beside it, or in its metadata.

    sha256sum model.params > model.params.sha256

A safetensors file may state ``sha256`` in its own metadata, of the bytes behind the header.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from relay2relax.core.errors import FileError, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.weight_files import is_safetensors, safetensors_metadata

# What sha256sum writes: the digits, and the name behind a blank and a blank or star.
_LINE = re.compile(r"\\?([0-9a-fA-F]{64})(?:\s[\s*]?(.*))?")
# A list of the hashes of many files is no longer than this.
_LONGEST = 1_000_000
_KEY = "sha256"


def check_hash(path: str | os.PathLike[str], buffer: memoryview) -> None:
    """See that ``buffer``, which is what ``path`` contains, has the hashes that are stated of it.

    Raises ParseError where it has not, or where nothing states any, FileError where the file beside
    it cannot be read.
    """
    name = os.fspath(path)
    stated = _beside(Path(f"{name}.sha256"), Path(name).name)
    if stated is not None and stated != hashlib.sha256(buffer).hexdigest():
        raise ParseError(
            f"the file is not the one that {Path(name).name}.sha256 was made of: its SHA-256 is another",
            kind=reading.PARAMETERS,
        )
    inside = None
    if is_safetensors(buffer):
        metadata, elements = safetensors_metadata(buffer)
        inside = metadata.get(_KEY)
        if inside is not None and inside.lower() != hashlib.sha256(elements).hexdigest():
            raise ParseError("the tensors do not have the SHA-256 that the metadata states", kind=reading.PARAMETERS)
    if stated is None and inside is None:
        raise ParseError(
            f"nothing states what the file should contain: there is no {Path(name).name}.sha256 beside it. "
            "`sha256sum FILE > FILE.sha256` writes one where the file is known to be right",
            kind=reading.PARAMETERS,
        )


def _beside(path: Path, name: str) -> str | None:
    """Return the hash that the file ``path`` states of ``name``, None where there is no file."""
    try:
        with open(path, encoding="utf-8") as stream:
            text = stream.read(_LONGEST)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise FileError.unread(path, error) from None
    found = [line for line in map(_LINE.fullmatch, text.splitlines()) if line is not None]
    named = [one for one in found if one[2] and os.path.basename(one[2].strip()) == name]
    chosen = named or (found if len(found) == 1 and not found[0][2] else [])
    if not chosen:
        raise ParseError(f"{str(path)!r} states no SHA-256 of {name!r}", kind=reading.PARAMETERS)
    return chosen[0][1].lower()
