"""``relay2relax cache``: what is kept of builds, and how to be rid of it."""

from __future__ import annotations

from relay2relax.backends.cache import open_store
from relay2relax.backends.cache.store import size_limit
from relay2relax.cli import outcome
from relay2relax.core.amounts import counted


def info(as_json: bool) -> None:
    """Print where builds are kept, and how much they take."""
    store = open_store()
    place, kept = store.place, store.kept()
    document = {
        "folder": None if place.folder is None else str(place.folder),
        "used": not place.problem,
        "problem": place.problem,
        "entries": kept.entries,
        "bytes": kept.size,
        "limit": size_limit(),
        "left_over": kept.left_over,
    }
    if as_json:
        outcome.deliver(document)
        return
    print(f"folder     {place}{f', not used: {place.problem}' if place.problem else ''}")
    print(f"entries    {kept.entries}")
    print(f"size       {_size(kept.size)} of at most {_size(size_limit())}")
    if kept.left_over:
        print(f"left over  {counted(kept.left_over, 'folder')} of builds that were broken off")


def clear(as_json: bool) -> None:
    """Remove everything that is kept of builds, and print what that was."""
    store = open_store()
    removed = store.clear()
    if as_json:
        outcome.deliver({"entries": removed.entries, "bytes": removed.size, "left_over": removed.left_over})
        return
    what = counted(removed.entries, "entry", "entries")
    print(f"removed {what}, {_size(removed.size)}, from {store.place}")


def _size(count: int) -> str:
    """Return a number of bytes for people."""
    for unit, one in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= one:
            return f"{count / one:.4g} {unit}"
    return counted(count, "byte")
