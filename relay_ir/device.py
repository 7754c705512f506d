"""Where an expression is evaluated, as far as a Relay module says so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """A compilation target: kind (``llvm``), tag, keys and the options it was given."""

    kind: str
    tag: str = ""
    keys: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=dict)
    host: Target | None = None


@dataclass(frozen=True, slots=True)
class VirtualDevice:
    """A device, or what is known of one: ``-1`` and ``""`` stand for "not constrained".

    ``device_type`` is a DLPack device type. A device without any constraint is written as None where an
    expression carries one.
    """

    device_type: int = -1
    device_id: int = -1
    target: Target | None = None
    memory_scope: str = ""

    @property
    def constrained(self) -> bool:
        """Whether anything is known of the device."""
        return self != VirtualDevice()
