"""Handlers of a user for single operators, in place of what the records say.

    with ops.handlers(relax={"nn.relu": mine}):
        relax = translator.via_graph(mod)

They hold for translations that are made while the block runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import types
from relay2relax.ops.registry.record import Definition, Expand, Expanded
from relay2relax.ops.registry.table import relay_names, relay_op


@dataclass(frozen=True, slots=True)
class _Handlers:
    relax: Mapping[str, Expanded[Any]] = field(default_factory=dict)
    tensorir: Mapping[str, Definition[Any]] = field(default_factory=dict)


_NONE = _Handlers()
_ACTIVE: ContextVar[_Handlers] = ContextVar("_ACTIVE", default=_NONE)


@contextmanager
def handlers(
    *, relax: Mapping[str, Expand[Any]] | None = None, tensorir: Mapping[str, Definition[Any]] | None = None
) -> Iterator[None]:
    """Translate operators, by their names in Relay, as these handlers say while the block runs.

    One in ``relax`` is what ``OpDef.relax`` expands to: ``(emit, attrs, *args) -> value`` writes
    Relax operators, for translations via the graph. One in ``tensorir`` is an ``OpDef.compute``:
    ``(attrs, out, *tensors) -> tensor`` defines the PrimFunc, for translations to TensorIR, where
    Relax has no operator, and where ``LegalizeOps`` and builds write operators as PrimFuncs. Relay
    itself, which results are compared with, stays as it is.
    Blocks nest; inner handlers come first. Raises Relay2RelaxError for an unknown operator, and
    translating ExtensionError where a handler raises something else.

    >>> with ops.handlers(relax={"nn.relu": lambda emit, attrs, x: emit.call("nn.silu", x)}):
    ...     print(translator.compare(mod).agrees)
    False
    """
    names = [*(relax or ()), *(tensorir or ())]
    for name in names:
        if relay_op(name) is None:
            raise Relay2RelaxError(
                replace(mistake(types.UNKNOWN_OPERATOR, name=name), help=nearest(name, relay_names()))
            )
    outer = _ACTIVE.get()
    expanded = {name: Expanded(partial(ask, one, what=_what(name))) for name, one in (relax or {}).items()}
    defined = {name: partial(ask, one, what=_what(name)) for name, one in (tensorir or {}).items()}
    token = _ACTIVE.set(_Handlers({**outer.relax, **expanded}, {**outer.tensorir, **defined}))
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def _what(name: str) -> str:
    return f"the handler of {name}"


def relax_handler(name: str) -> Expanded[Any] | None:
    """Return a user's way of writing the operator ``name`` in Relax, None without one."""
    return _ACTIVE.get().relax.get(name)


def tensorir_handler(name: str) -> Definition[Any] | None:
    """Return a user's definition of the operator ``name``, None without one."""
    return _ACTIVE.get().tensorir.get(name)
