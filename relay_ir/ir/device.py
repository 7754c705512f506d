"""Where an expression is evaluated, as far as a Relay module says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from relay2relax.core.words import check_scope


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A compilation target: kind (``llvm``), tag, keys and the options it was given."""

    kind: str
    tag: str = ""
    keys: tuple[str, ...] = ()
    attrs: Mapping[str, object] = field(default_factory=dict)
    features: Mapping[str, object] = field(default_factory=dict)
    host: Target | None = None


@dataclass(frozen=True, slots=True, eq=False)
class BuildOption:
    """What a module says of how TVM was to build it: its ``Executor`` (``graph``, ``aot``) or
    ``Runtime`` (``crt``).
    """

    kind: str
    name: str
    attrs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class VirtualDevice:
    """A device, or what is known of one: ``-1`` and ``""`` stand for "not constrained".

    ``device_type`` is a DLPack device type. A device without any constraint is written as None
    where an expression carries one.
    """

    device_type: int = -1
    device_id: int = -1
    target: Target | None = None
    memory_scope: str = ""

    def __post_init__(self) -> None:
        check_scope(self.memory_scope)

    def __str__(self) -> str:
        known = {
            "device_type": self.device_type if self.device_type >= 0 else "",
            "virtual_device_id": self.device_id if self.device_id >= 0 else "",
            "memory_scope": f"'{self.memory_scope}'" if self.memory_scope else "",
        }
        shown = ", ".join(f"{name}={value}" for name, value in known.items() if value != "")
        return f"VirtualDevice({shown or '?'})"

    @property
    def constrained(self) -> bool:
        """Whether anything is known of the device."""
        return self != VirtualDevice()


def cpu(index: int = 0) -> VirtualDevice:
    """Return a processor."""
    return VirtualDevice(1, index)


def gpu(index: int = 0) -> VirtualDevice:
    """Return a CUDA device; it need not exist on this machine."""
    return VirtualDevice(2, index)
