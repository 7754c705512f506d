"""Classes of TVM that scripts ask about with ``isinstance``, and containers that are Python's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from relay2relax.compat.vocabulary.teaching import face
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir.ir import device as device_words
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.tir.ir import expr as tir

_PATTERNS = (ir.PatternWildcard, ir.PatternVar, ir.PatternConstructor, ir.PatternTuple)

Array = face("Array", (tuple, list), lambda given=(): tuple(given))
Map = face("Map", Mapping, lambda given=None: dict(given or {}))
Pattern = face("Pattern", _PATTERNS)
Node = face("Node", (ir.RelayExpr, Type, IRModule, tir.PrimExpr, *_PATTERNS))
PrimExpr = face("PrimExpr", (tir.PrimExpr, int, float))
Attrs = face("Attrs", object)
DictAttrs = face("DictAttrs", Mapping, lambda given=None: dict(given or {}))
Range = face("Range", range, range)


def virtual_device(device: object = None, target: object = None, memory_scope: str = "") -> device_words.VirtualDevice:
    """Return what is known of where a value is kept."""
    kind = getattr(device, "device_type", -1)
    index = getattr(device, "device_id", -1)
    host = getattr(target, "host", None)
    given = None if target is None else _target(str(target), None if host is None else str(host))
    return device_words.VirtualDevice(kind, index, given, memory_scope)


@lru_cache(maxsize=None)
def _target(text: str, host: str | None) -> device_words.Target:
    """Return the target of a text; targets of Relay are equal to themselves only."""
    return device_words.Target(text.split()[0], host=None if host is None else _target(host, None))


VirtualDevice = face("VirtualDevice", device_words.VirtualDevice, virtual_device)


class EnvFunc(str):
    """The name of a function of the registry, which can be called."""

    @staticmethod
    def get(name: str) -> EnvFunc:
        """Return the function ``name``."""
        return EnvFunc(name)

    def __call__(self, *args: object) -> object:
        from relay2relax.compat.running.functions import get_global_func

        found = get_global_func(str(self))
        assert found is not None
        return found(*args)
