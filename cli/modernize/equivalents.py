"""What a name of TVM is called here, as the tables have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module

from relay2relax.compat.table import all_modules
from relay2relax.compat.table.entry import Absent, Module, Names

# The rooms that users import; what stands elsewhere is found in them, too.
_PUBLIC = ("relay_ir", "relax_ir", "backends", "graph", "translator")
_NO_FORM = "there is no function of this form here; `relay2relax python` runs it as it is"


@dataclass(frozen=True, slots=True)
class Equivalent:
    """What a name of TVM becomes.

    ``ours``  the dotted name, "" where there is none.
    ``same``  whether it is the same thing under another name; else its arguments are its own.
    ``why``  what a person has to do, and why.
    """

    ours: str
    same: bool = False
    why: str = ""


@lru_cache(maxsize=1)
def _modules() -> Mapping[str, Module]:
    return {one.name: one for one in all_modules()}


def is_module(name: str) -> bool:
    """Whether the tables have a module of TVM of this name."""
    return name in _modules()


def equivalent(dotted: str) -> tuple[Equivalent, str] | None:
    """Return what the longest beginning of a dotted name becomes, and what is left of the name.

    None where it is a module, or no name of TVM.
    """
    words = dotted.split(".")
    for end in range(len(words) - 1, 0, -1):
        module = _modules().get(".".join(words[:end]))
        if module is not None:
            return _named(module, words[end]), ".".join(words[end + 1 :])
    return None


def _named(module: Module, name: str) -> Equivalent:
    for part in module.parts:
        if isinstance(part, Absent):
            if name in part.names.split():
                return Equivalent("", why=part.why)
            continue
        theirs = {word.partition("=")[0]: word.partition("=")[2] for word in part.names.split()}
        if name in theirs:
            return _placed(module, part, name, theirs[name] or name)
    if module.why:
        return Equivalent("", why=module.why)
    found = _below(module.today, name)
    return Equivalent(found, same=True) if found else Equivalent("", why=f"{module.name} has no such name here")


def _placed(module: Module, part: Names, name: str, ours: str) -> Equivalent:
    today = dict(word.split("=") for word in part.today.split())
    if name in today:
        return Equivalent(today[name])
    if not part.source.startswith("compat.") and not part.by_hand:
        rooms = (module.today, part.source.partition(".")[0])
        public = next(filter(None, (_below(room, ours) for room in rooms)), f"{part.source}.{ours}".rstrip("."))
        return Equivalent(public, same=True)
    found = _below(module.today, name)
    return Equivalent(found) if found else Equivalent("", why=part.by_hand or _NO_FORM)


def room_exists(dotted: str) -> bool:
    """Whether a dotted name of this package, or of numpy, is there."""
    room, _, name = dotted.rpartition(".")
    return bool(_below(room, name)) or hasattr(import_module(room), name)


def _below(room: str, name: str) -> str:
    """Return the name in a room, "" where the room does not have it."""
    if not room or room.partition(".")[0] not in _PUBLIC:
        return ""
    words = room.split(".")
    for end in range(len(words), 0, -1):
        try:
            found: object = import_module(f"relay2relax.{'.'.join(words[:end])}")
        except ModuleNotFoundError:
            continue
        for word in words[end:]:
            found = getattr(found, word, None)
        return f"{room}.{name}" if hasattr(found, name) else ""
    return ""
