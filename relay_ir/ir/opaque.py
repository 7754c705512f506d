"""Functions of a module that are not Relay: kept as the nodes that their document stores, and never
looked into.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay2relax.relay_ir.ir.expr import GlobalVar
from relay2relax.relay_ir.ir.types import Type


@dataclass(frozen=True, slots=True)
class OpaqueNode:
    """A node as it was stored.

    ``fields`` are texts; ``references`` are fields that refer to nodes, and ``items`` the elements
    of an array or a map, by their places in the function. Place 0, the function itself, to which
    nothing in it can refer, is null.
    """

    type_key: str
    text: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    references: tuple[tuple[str, int], ...] = ()
    keys: tuple[str, ...] = ()
    items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OpaqueFunction:
    """A function such as a ``tir.PrimFunc``: itself and all that it reaches, in the order in which
    it is reached.

    ``nodes``  the function first; global variables are those of the module. ``type``   what its
    global variable is recorded to be, which is how Relay sees it; None where nothing is recorded.
    """

    nodes: tuple[OpaqueNode | GlobalVar, ...] = field(repr=False)
    type: Type | None = None

    @property
    def type_key(self) -> str:
        """The type of the function, e.g. ``tir.PrimFunc``."""
        first = self.nodes[0]
        return first.type_key if isinstance(first, OpaqueNode) else ""
