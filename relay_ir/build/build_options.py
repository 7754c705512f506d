"""``tvm.relay.backend.Executor`` and ``Runtime``: how TVM runs a program, with checked options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from relay2relax.core.errors import Relay2RelaxError

_TYPES = {bool: "runtime.BoxBool", str: "runtime.String", int: "runtime.BoxInt"}


class Option:
    """The name of a way to run programs, and its options; they are the same as TVM's.

    ``link-params`` says that parameters belong to the library; the others say nothing here.
    """

    kind: ClassVar[str] = ""
    known: ClassVar[Mapping[str, Mapping[str, type]]] = {}
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {}

    def __init__(self, name: str, options: Mapping[str, object] | None = None) -> None:
        """Take a name and its options; raises Relay2RelaxError for what TVM does not have."""
        known = self._options(name)
        for option, value in (options or {}).items():
            if option not in known:
                raise Relay2RelaxError(f'Attribute "{option}" is not available on this {self.kind}')
            if type(value) is not known[option]:
                wanted, found = _TYPES[known[option]], _TYPES.get(type(value), type(value).__name__)
                raise Relay2RelaxError(f'Attribute "{option}" should have type "{wanted}" but instead found "{found}"')
        self.name = name
        self.options: dict[str, object] = {**self.defaults.get(name, {}), **(options or {})}

    @classmethod
    def _options(cls, name: object) -> Mapping[str, type]:
        if str(name) not in cls.known:
            raise Relay2RelaxError(f'{cls.kind} "{name}" is not defined')
        return cls.known[str(name)]

    @classmethod
    def list_registered(cls) -> list[str]:
        """Return the names that there are."""
        return list(cls.known)

    @classmethod
    def list_registered_options(cls, name: object) -> dict[str, str]:
        """Return the types of a name's options; raises Relay2RelaxError for an unknown name."""
        return {option: _TYPES[one] for option, one in cls._options(name).items()}

    def __getitem__(self, name: str) -> object:
        return self.options[name]

    def __contains__(self, name: object) -> bool:
        return name in self.options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Option) and (self.name, self.options) == (other.name, other.options)

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


class Executor(Option):
    """What runs a program: ``graph`` or ``aot``."""

    kind = "Executor"
    known: ClassVar[Mapping[str, Mapping[str, type]]] = {
        "aot": {
            "link-params": bool, "unpacked-api": bool, "interface-api": str, "workspace-byte-alignment": int,
            "constant-byte-alignment": int,
        },
        "graph": {"link-params": bool},
    }  # fmt: skip
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "aot": {"link-params": True},
        "graph": {"link-params": False},
    }


class Runtime(Option):
    """What a library finds where it runs: ``cpp`` or ``crt``."""

    kind = "Runtime"
    known: ClassVar[Mapping[str, Mapping[str, type]]] = {"cpp": {"system-lib": bool}, "crt": {"system-lib": bool}}
