"""How an operator is written in TVMScript, and what TVM's releases can do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, TypeAlias

from relay2relax.ops.registry.types import Type
from relay2relax.tir.extent import Shape

# The argument types of a call; an argument that is a shape is a tuple of extents.
Types: TypeAlias = tuple["Type | Shape", ...]

# What TVM 0.18 has, it may have had before.
OLDEST = "0.18"


class Spread(Enum):
    """Which axes of an operator's arguments become which of its result's, so that a result is cut
    over a mesh of devices as its arguments are.

    Named are the operators for which TVM has ``dist.FInferStructInfo``
    (src/relax/op/distributed).
    """

    # Axis by axis.
    ELEMENTS = auto()
    # Axis by axis from the last one on, those that are stretched aside.
    BROADCAST = auto()
    # All but ``attrs.axis``, a set of axes, which ``attrs.keepdims`` keeps as 1.
    REDUCTION = auto()
    # All but ``attrs.axis``, one axis, which stays uncut.
    ALONG_OTHERS = auto()
    # The rows of the first, the columns of the second, and the batches of both.
    MATMUL = auto()
    # In the order of ``attrs.axes``.
    PERMUTATION = auto()
    # Those at which as many elements lie behind in both shapes.
    RESHAPE = auto()


@dataclass(frozen=True, slots=True)
class Limit:
    """Calls of an operator that apache-tvm 0.25 to 0.27 cannot build, or computes otherwise than it
    says, and ``why``.

    ``applies`` is asked with the attributes and the argument types.
    """

    why: str
    applies: Callable[[Any, Types], bool] = lambda attrs, types: True


@dataclass(frozen=True, slots=True)
class Script:
    """How ``R.<name>(…)`` is written in TVMScript.

    ``params`` are the parameters as TVM's Python function has them, with their defaults:
    ``"x, axis=None, keepdims=False"``. Attributes are written as keywords in field order, unless
    they are None or "" (TVM's "not given"). ``rename`` maps a field to TVMScript's keyword;
    ``omit`` lists fields TVMScript does not have (they are reset to their defaults when a Relay
    call becomes a Relax call); ``positional`` lists fields written without a keyword, after the
    arguments.

    ``since`` is the first release of TVM that has the operator. ``limits`` are the calls that
    apache-tvm is not given, the first that applies says why; ``gpu_limits`` those of which it makes
    no kernels for GPUs, with its default pipeline of 0.27. ``spread`` says how results lie on a
    mesh of devices, None where TVM does not spread them.
    """

    name: str
    params: str
    rename: Mapping[str, str] = field(default_factory=dict)
    omit: tuple[str, ...] = ()
    positional: tuple[str, ...] = ()
    since: str = OLDEST
    limits: tuple[Limit, ...] = ()
    gpu_limits: tuple[Limit, ...] = ()
    spread: Spread | None = None
