"""The table of operators: family files are found in the folders, records by their names."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module, resources
from types import ModuleType

from relay2relax.core.limits import suspended
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.record import OpDef

# Rooms without operators: what a record is, and what records share.
_SUPPORT = ("registry", "common")


@lru_cache(maxsize=None)
def families() -> tuple[str, ...]:
    """Return the family files as ``room.file``, in alphabetical order.

    A family is a file in a room of ``ops/`` that has ``OPS``, its records.
    """
    root = resources.files("relay2relax.ops")
    rooms = sorted(one.name for one in root.iterdir() if one.joinpath("__init__.py").is_file())
    files = [
        f"{room}.{one.name.removesuffix('.py')}"
        for room in rooms
        if room not in _SUPPORT
        for one in sorted(root.joinpath(room).iterdir(), key=lambda file: file.name)
        if one.name.endswith(".py")
    ]
    return tuple(one for one in files if hasattr(_module(one), "OPS"))


def records_of(family: str) -> tuple[OpDef, ...]:
    """Return the records of a family, such as ``math.elementwise``."""
    found: tuple[OpDef, ...] = _module(family).OPS
    return found


@lru_cache(maxsize=None)
def all_ops() -> tuple[OpDef, ...]:
    """Return every record, family by family."""
    return tuple(op for family in families() for op in records_of(family))


def _module(family: str) -> ModuleType:
    with suspended():
        return import_module(f"relay2relax.ops.{family}")


@lru_cache(maxsize=None)
def _relay() -> dict[str, OpDef]:
    table: dict[str, OpDef] = {}
    for op in all_ops():
        for name in (op.relay, *op.aliases):
            if name is not None:
                assert name not in table, f"two records for {name}"
                table[name] = op
    return table


@lru_cache(maxsize=None)
def _relax() -> dict[str, OpDef]:
    table: dict[str, OpDef] = {}
    for op in all_ops():
        if op.script is not None:
            assert op.script.name not in table, f"two records for R.{op.script.name}"
            table[op.script.name] = op
    return table


def relay_op(name: str) -> OpDef | None:
    """Return the record of the Relay operator ``name`` (aliases of older versions included)."""
    return _relay().get(name)


def fusion_of(name: str) -> Fusion:
    """Return how Relay's fusion may treat the operator ``name``; one without a record is opaque."""
    op = relay_op(name)
    return OPAQUE if op is None else op.fusion


def relax_op(name: str) -> OpDef | None:
    """Return the record of ``R.<name>``."""
    return _relax().get(name)


def relay_names() -> tuple[str, ...]:
    """Return the names of all Relay operators that have a record."""
    return tuple(_relay())
