"""What things are called in the C text of one stage, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from relay2relax.backends.c.codegen.positions import Unrolled
from relay2relax.backends.c.dtypes import c_type
from relay2relax.tir.arith.overflow import MOST_EXTENT
from relay2relax.tir.ir.expr import (
    Buffer,
    Var,
)


@dataclass(frozen=True, slots=True)
class Site:
    """A place where a program may leave a tensor: the tensor's name, and which dimension.

    Without one it is the number of an element in all of the memory; or there may be no ``memory``
    for the tensor. ``function`` is the one whose place it is, "" where that is all of the program.
    """

    tensor: str
    dimension: int | None
    memory: bool = False
    function: str = ""


class Names:
    """The names of buffers and variables in one C function, made by position.

    ``buffers`` and ``scalars`` are those that the function is given; ``local`` are its own buffers,
    ``registers`` the extents of those that are vector variables. ``extents`` are extents of
    tensors, ``naturals`` variables that are never negative, each with a number that
    it does not exceed. ``sites`` are where indices are looked
    at: with ``checked``, at every access; and where memory is asked for. ``asks`` says whether the
    function is given ``wrong``: it has sites, or asks whether it is to end.
    """

    def __init__(
        self,
        extents: Iterable[Var],
        memory: Callable[[Buffer], Buffer],
        begin: Callable[[Buffer], int],
        checked: bool = False,
    ) -> None:
        self.checked = checked
        self.memory = memory
        self.begin = begin
        self.begins: dict[Buffer, int] = {}
        self.extents = frozenset(extents)
        self.naturals = dict.fromkeys(self.extents, MOST_EXTENT)
        self.unrolled = Unrolled()
        self.buffers: dict[Buffer, str] = {}
        self.scalars: dict[Var, str] = {}
        self.written: set[Buffer] = set()
        self.variables: dict[Var, str] = {}
        self.local: dict[Buffer, str] = {}
        self.registers: dict[Buffer, tuple[int, ...]] = {}
        self.sites: dict[Site, int] = {}
        self.asks = False
        self._count = 0

    def parameters(self) -> str:
        """Return the parameters of the function."""
        return ", ".join(self.declared(restrict=True)) or "void"

    def declared(self, restrict: bool) -> list[str]:
        """Return the declarations of the buffers and variables that are given to the function."""
        found = []
        for buffer, name in self.buffers.items():
            const = "" if buffer in self.written else "const "
            found.append(f"{const}{c_type(buffer.dtype)}*{' restrict' if restrict else ''} {name}")
        found += [f"{c_type(var.dtype)} {name}" for var, name in self.scalars.items()]
        return [*found, "int64_t* wrong"] if self.asks else found

    def given(self) -> list[str]:
        """Return the names of all that is given to the function, in the order of their
        declarations.
        """
        found = [*self.buffers.values(), *self.scalars.values()]
        return [*found, "wrong"] if self.asks else found

    def site(self, tensor: str, dimension: int | None, memory: bool = False, function: str = "") -> int:
        """Return the number of a place, from 1 on, which ``wrong`` begins with where an index is
        outside, or memory is lacking.
        """
        self.asks = True
        return self.sites.setdefault(Site(tensor, dimension, memory, function), len(self.sites) + 1)

    def fresh(self, prefix: str) -> str:
        """Return a new name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def base(self, buffer: Buffer) -> str:
        """Return the name of the memory in which a buffer lies."""
        found = self.local.get(buffer)
        if found is None:
            memory = self.memory(buffer)
            found = self.buffers.setdefault(memory, f"b{len(self.buffers)}")
            begin = self.begin(buffer)
            first = self.begins.setdefault(memory, begin)
            # All that a stage reads of one memory begins at one place.
            assert first == begin
        return found

    def named(self, var: Var, prefix: str) -> str:
        """Give ``var`` a new name and return it."""
        if var in self.variables:
            self.unrolled.forget()
        self.variables[var] = self.fresh(prefix)
        return self.variables[var]

    def variable(self, var: Var) -> str:
        """Return the name of a variable; the function is given what nothing defines."""
        found = self.variables.get(var) or self.scalars.get(var)
        if found is None:
            found = self.scalars[var] = f"n{len(self.scalars)}"
        return found
