"""What a word was meant to be that is not known, and a file that is not there."""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

# Of so many words the near ones are looked for, by so many letters.
_MOST, _LONGEST = 20_000, 100


def nearest(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """Return ``did you mean `…`?``, "" where no word of ``known`` is near."""
    found = near(word, known, 1, cutoff)
    return f"did you mean `{found[0]}`?" if found else ""


def near(word: str, known: Iterable[str], most: int, cutoff: float = 0.6) -> list[str]:
    """Return so many words of ``known`` that ``word`` may have meant, the nearest first.

    Capitals do not count. Words are near whose letters agree to the share ``cutoff``.
    """
    lowered = {one.lower(): one for one, _ in zip(known, range(_MOST), strict=False)}
    return [lowered[one] for one in get_close_matches(word[:_LONGEST].lower(), lowered, most, cutoff)]


def nearest_file(path: str | os.PathLike[str]) -> str:
    """Return ``did you mean 'model.relay'?`` for a path where nothing is, "" where there is nothing
    of such a name either: the same but for the ending, or one with nearly the same letters.

    What is looked at is the first name on the way that does not exist.
    """
    given = missing = Path(path)
    while not missing.parent.exists():
        missing = missing.parent
    try:
        with os.scandir(missing.parent) as entries:
            names = sorted(entry.name for entry in islice(entries, _MOST))
    except OSError:
        return ""
    alike = [name for name in names if Path(name).stem in (missing.name, missing.stem)]
    found = (alike or near(missing.name, names, 1))[:1]
    meant = missing.with_name(found[0]) if found else missing
    whole = meant / given.relative_to(missing)
    return f"did you mean {str(whole if whole.exists() else meant)!r}?" if found else ""
