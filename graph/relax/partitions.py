"""What Relay says of functions for external compilers, in the words of Relax.

    Relay                                     Relax
    a function with ``Compiler``              one of the module, with ``Codegen``
    a literal with ``Composite``, in it       a local function with ``Composite``
    a literal with ``Composite``, elsewhere   a private one with ``Composite`` and ``Primitive``

That is what TVM's MergeCompositeFunctions and FuseOpsByPattern give, so ``RunCodegen`` finds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.graph.model import MSCGraph
from relay2relax.ops.target.annotation import OWN_COMPILER

# Whether functions for external compilers stay functions, or give way to their bodies.
Partitions: TypeAlias = Literal["keep", "inline"]
_WAYS: tuple[Partitions, ...] = ("keep", "inline")


def check_partitions(way: str) -> None:
    """Raise UnsupportedError for a word that is no way with functions for external compilers."""
    if way not in _WAYS:
        known = ", ".join(map(repr, _WAYS))
        raise UnsupportedError(mistake(translating.CHOICE, what="way with partitions", name=repr(way), known=known))


@dataclass(frozen=True, slots=True)
class Mark:
    """What a function is marked with: the ``compiler`` that it is for, or the name of the pattern
    that it is made of (``composite``), and that pattern as text; one of the first two is empty.
    """

    compiler: str
    composite: str
    pattern: str = ""
    symbol: str = ""

    @property
    def name(self) -> str:
        """What the Relax function is called."""
        return self.symbol or self.composite or self.compiler

    def attrs(self, local: bool = False) -> Mapping[str, object]:
        """Return the attributes of the Relax function, a ``local`` one or one of the module."""
        if self.compiler:
            return {"Codegen": self.compiler}
        said = {"Composite": self.composite, **({"PartitionedFromPattern": self.pattern} if self.pattern else {})}
        return said if local else {**said, "Primitive": True}


def mark_of(graph: MSCGraph) -> Mark | None:
    """Return what a function is marked with, None where it is an ordinary one."""
    attrs = graph.signature.attrs
    compiler, composite, pattern, symbol = (
        value if isinstance(value := attrs.get(name), str) else ""
        for name in ("Compiler", "Composite", "PartitionedFromPattern", "global_symbol")
    )
    if compiler and compiler != OWN_COMPILER:
        return Mark(compiler, "", symbol=symbol)
    return Mark("", composite, pattern) if composite else None
