"""What an entry of the tables says of names of TVM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Names:
    """Names that are found here.

    ``source``  the module that has them, below ``relay2relax``.
    ``names``   the names, with spaces between; ``theirs=ours`` where ours is called otherwise.
        ``theirs=`` is the module itself.
    ``differs`` how they differ from TVM's; "" where they do not, as far as is known.
    ``today``  what names that are adapters become in a script that is rewritten, ``theirs=ours``
        with ours dotted; ``by_hand`` what a person does instead.
    ``since``, ``until``  the first and the last version of TVM that has them, where not all do.
    """

    source: str
    names: str
    differs: str = ""
    today: str = ""
    by_hand: str = ""
    since: str = ""
    until: str = ""


@dataclass(frozen=True, slots=True)
class Absent:
    """Names that are not provided, and why."""

    names: str
    why: str


@dataclass(frozen=True, slots=True)
class Module:
    """A module of TVM.

    ``fallback``  ``module:function`` that is asked for names that are not listed; it raises
        AttributeError for those that it does not know.
    ``today``  the room of this package that has the names of ``fallback``.
    ``until``  the last version of TVM that has the module, where not all do.
    ``why``  why nothing of the module is provided; it can be imported, and names of it, but not
        used.
    """

    name: str
    parts: tuple[Union[Names, Absent], ...] = ()
    fallback: str = ""
    why: str = ""
    today: str = ""
    until: str = ""


Table: TypeAlias = tuple[Module, ...]
