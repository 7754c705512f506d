"""The table of operators: family files are found in the folders, records by their names."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module, resources
from types import ModuleType

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.core.limits import suspended
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.record import OpDef, OpError

# Operators of users, in the order in which they came.
_REGISTERED: list[OpDef] = []
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
    """Return every record, family by family, and behind them those of users."""
    return (*(op for family in families() for op in records_of(family)), *_REGISTERED)


def register(op: OpDef) -> None:
    """Let programs call ``op``, an operator of yours, by its name in Relay, ours, or Relax.

    It is read, typed, run, translated and compared as those of the package. Register operators
    before the first program that calls them is read; the functions of ``relay_ir.op`` are those of
    the package. Raises Relay2RelaxError for a name that an operator has.

    >>> twice = dataclasses.replace(
    ...     ops.relay_op("negative"), relay="mine.twice", numpy=lambda attrs, x: x * 2,
    ...     compute=lambda attrs, out, x: te.compute(out.shape, lambda *i: x[i] * 2),
    ...     relax=None, script=None)
    >>> ops.register(twice)
    """
    names = [name for name in (op.relay, *op.aliases) if name is not None]
    taken = [name for name in names if relay_op(name) is not None]
    if op.script is not None and relax_op(op.script.name) is not None:
        taken.append(f"R.{op.script.name}")
    if taken or not (names or op.script):
        reason = f"there is an operator {taken[0]}" if taken else "it has no name"
        raise Relay2RelaxError(mistake(operators.NOT_REGISTERED, reason=reason))
    _REGISTERED.append(op)
    for table in (all_ops, _relay, _relax):
        table.cache_clear()


def registered() -> int:
    """Return how many operators of users there are, for tables that are made of all."""
    return len(_REGISTERED)


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
    return _relay().get(name) or _registered.get(name)


# Operators of users, which are known in this process only.
_registered: dict[str, OpDef] = {}


def register_op(op: OpDef, replace: bool = True) -> None:
    """Let Relay know an operator of a user's, or another record of one; its name is ``op.relay``.

    Raises OpError where one of Relay's own has the name, without ``replace`` any.
    """
    name = op.name
    if name in _relay() or (name in _registered and not replace):
        raise OpError(f"Operator {name} is registered before")
    _registered[name] = op


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
