"""The map: Relay nodes, the nodes of the graph that they are, and where those are in Relax.

    relay[i].graph  ->  graph[j].relax  ->  relax[k]

The three are lists that refer to each other by index. A Relay node that the graph does not have
says why not, and so does one of which no place in Relax is left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from relay2relax.core.amounts import counted
from relay2relax.core.source import SourceRange


class Fate(Enum):
    """What became of something that a Relay program says.

    ``kept``  it stands in the result. ``moved``  it stands elsewhere than one would look for it.
    ``implied``  the rest of the result says it. ``dropped``  it is gone.
    """

    KEPT = "kept"
    MOVED = "moved"
    IMPLIED = "implied"
    DROPPED = "dropped"


class PlaceKind(Enum):
    """What a place in Relax is."""

    PARAMETER = "parameter"
    BINDING = "binding"
    CONSTANT = "constant"
    FUNCTION = "function"


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a Relax program.

    ``function`` is the function of the module that it is in, ``name`` the variable's, both as they
    stand in the script; of a constant, the name of its weight in the graph. ``prim_func`` is the
    PrimFunc that a binding calls, or "".
    """

    kind: PlaceKind
    function: str
    name: str
    prim_func: str = ""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of the graph, a weight that a node holds, or a whole function of the module.

    ``op`` is its operator or the word for its kind; ``weight`` and ``graph`` are words of the map.
    ``relax`` are indices of places.
    """

    name: str
    op: str
    relax: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RelayNode:
    """An expression of the Relay program, or a variable that one binds.

    ``kind`` is its class (``Call``, ``Var``, …), ``name`` the name of its operator, function or
    variable, ``function`` the function of the module that it stands in. ``text`` is its place in
    the text that it was read of, ``json`` its node in a document of ``save_json``, ``span`` the
    span that it carries. ``graph`` are indices of graph nodes. ``fate`` is kept where a place in
    Relax stands for it; ``note`` says why it is not.
    """

    kind: str
    name: str
    function: str
    text: SourceRange | None = None
    json: int | None = None
    span: str = ""
    graph: tuple[int, ...] = ()
    fate: Fate = Fate.KEPT
    note: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """What became of one thing that the Relay node ``node`` says.

    ``aspect`` is what kind of thing it is (``attribute``, ``name``, ``span``, …), ``name`` which
    one. ``note`` says where it was moved to, what implies it, or why it was dropped. What the
    module itself says has the node -1.
    """

    node: int
    aspect: str
    name: str
    fate: Fate
    note: str = ""


@dataclass(frozen=True, slots=True)
class Map:
    """What became of every part of a Relay program.

    ``via`` is the form of the translation, ``entry`` the Relay function that it began with, "" for
    a library, of which all are carried over.
    ``schedule`` is that of the result, or ""; with one, operators share the PrimFuncs that it fuses
    them into. ``receipt`` says what was kept of what the nodes say.
    """

    via: str
    entry: str
    schedule: str
    relay: tuple[RelayNode, ...]
    graph: tuple[GraphNode, ...]
    relax: tuple[Place, ...]
    receipt: tuple[Item, ...] = ()

    def counts(self) -> dict[str, int]:
        """Return how many items of the receipt were kept, moved, implied and dropped."""
        fates = Counter(item.fate for item in self.receipt)
        return {fate.value: fates[fate] for fate in Fate}

    def changed(self) -> str:
        """Return in one line what was moved and dropped: ``moved: 3 attributes, 1 name; dropped: 1
        device``. Empty where nothing was.
        """
        parts = []
        for fate in (Fate.MOVED, Fate.DROPPED):
            aspects = Counter(item.aspect for item in self.receipt if item.fate is fate)
            if aspects:
                said = ", ".join(counted(count, aspect) for aspect, count in sorted(aspects.items()))
                parts.append(f"{fate.value}: {said}")
        return "; ".join(parts)

    def places(self, node: int) -> Iterator[Place]:
        """Yield the places in Relax of the Relay node ``node``, each once."""
        for place in dict.fromkeys(one for graph in self.relay[node].graph for one in self.graph[graph].relax):
            yield self.relax[place]
