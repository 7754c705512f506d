"""Modules of TVM, made of the tables when they are imported."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

from relay2relax.compat.table.entry import Absent, Module, Names
from relay2relax.compat.testing import topi
from relay2relax.compat.version import as_version
from relay2relax.core.errors import UnsupportedError

# Programs of TVM's tests, which are read from a folder that is given.
REFERENCES = "tvm.topi.testing."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name is: a module below ``relay2relax``, and what it is called there ("": itself)."""

    source: str
    name: str

    def get(self) -> object:
        """Return what the name stands for."""
        found = import_module(f"relay2relax.{self.source}")
        return getattr(found, self.name) if self.name else found


def places(module: Module, version: tuple[int, ...]) -> dict[str, Place]:
    """Return where the names of ``module`` are found that ``version`` of TVM has."""
    found: dict[str, Place] = {}
    for part in module.parts:
        if isinstance(part, Names) and _in(part, version):
            for word in part.names.split():
                theirs, renamed, ours = word.partition("=")
                found[theirs] = Place(part.source, ours if renamed else theirs)
    return found


def _in(part: Names, version: tuple[int, ...]) -> bool:
    since = not part.since or version >= as_version(part.since)
    return since and (not part.until or version <= as_version(part.until))


class AbsentName:
    """What stands for a name that is not provided: whoever uses it is told why."""

    def __init__(self, name: str, why: str) -> None:
        self._name, self._why = name, why

    def _refuse(self) -> UnsupportedError:
        return UnsupportedError(f"{self._name} is not provided by relay2relax: {self._why}")

    def __call__(self, *args: object, **kwargs: object) -> object:
        raise self._refuse()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        raise self._refuse()

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self._refuse()


class LegacyModule(ModuleType):
    """A module of TVM whose names are looked up when they are used."""

    def __init__(self, name: str, table: Module, version: tuple[int, ...], below: Iterable[str]) -> None:
        super().__init__(name, f"``{name}`` of TVM {'.'.join(map(str, version))}, as relay2relax provides it.")
        self.__path__: list[str] = []
        self._table = table
        self._places = places(table, version)
        self._below = frozenset(below)

    def __getattr__(self, name: str) -> object:
        if name == "__all__":
            return [one for one in sorted(self._places) if not one.startswith("_")]
        if name.startswith("__") and name not in self._places:
            raise AttributeError(name)
        found = self._look_up(name)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._places, *self._below})

    def _look_up(self, name: str) -> object:
        if name in self._places:
            return self._places[name].get()
        if name in self._below:
            return import_module(f"{self.__name__}.{name}")
        for part in self._table.parts:
            if isinstance(part, Absent) and name in part.names.split():
                return AbsentName(f"{self.__name__}.{name}", part.why)
        if self._table.why:
            return AbsentName(f"{self.__name__}.{name}", self._table.why)
        if self._table.fallback:
            source, _, function = self._table.fallback.partition(":")
            return Place(source, function).get()(name)  # type: ignore[operator]
        raise AttributeError(f"module {self.__name__!r} of relay2relax's facade has no attribute {name!r}")


class LegacyFinder(MetaPathFinder, Loader):
    """Finds the modules of TVM that the tables describe, before any that are installed."""

    def __init__(self, modules: Sequence[Module], version: tuple[int, ...]) -> None:
        self._modules: Mapping[str, Module] = {
            one.name: one for one in modules if not one.until or version <= as_version(one.until)
        }
        self._version = version

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return how a module of TVM is made, None for any other.

        Raises ModuleNotFoundError for one of TVM that is not provided.
        """
        if fullname.partition(".")[0] not in self._roots():
            return None
        if fullname.startswith(REFERENCES) and (references := topi.folder()) is not None:
            return PathFinder.find_spec(fullname, [str(references)])
        if fullname not in self._modules:
            raise ModuleNotFoundError(f"{fullname} is not provided by relay2relax", name=fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the module, whose names are looked up later."""
        inside = f"{spec.name}."
        deeper = (one.removeprefix(inside) for one in self._modules if one.startswith(inside))
        below = [one for one in deeper if "." not in one]
        return LegacyModule(spec.name, self._modules[spec.name], self._version, below)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: a module is made of the table alone."""

    def provided(self) -> Iterator[str]:
        """Yield the names of modules that are loaded, of packages that this finder provides."""
        return (name for name in list(sys.modules) if name.partition(".")[0] in self._roots())

    def _roots(self) -> frozenset[str]:
        return frozenset(name.partition(".")[0] for name in self._modules)
