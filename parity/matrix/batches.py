"""What programs are compared on: values that are drawn, recorded, or made by a function."""

from __future__ import annotations

import importlib.util
import inspect
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError, mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.table import files, running
from relay2relax.ops.registry.types import TensorType
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.tir.extent import is_any
from relay2relax.translator.arguments import make_arguments, weights_of

# How floats are drawn that nobody gives: as `translator.make_arguments` does, from [-1, 1), all of
# one value, or values at the ends of what floats can hold.
Kind = Literal["normal", "uniform", "zeros", "ones", "extremes"]
KINDS: tuple[Kind, ...] = get_args(Kind)
# Small, large, and in between; 2**63 - 1 overflows where someone multiplies without thought.
SWEPT = (0, 1, 2, 7, 64)


@dataclass(frozen=True, slots=True)
class Batch:
    """Values of one run.

    ``values``  of parameters, by their names. ``expected``  outputs that were recorded elsewhere,
    None for those of Relay. ``seed`` and ``kind``  of what is drawn for the others. ``extents``  of
    parameters whose types leave them open. ``may_fail``  whether Relay may refuse it.
    """

    name: str = ""
    values: Mapping[str, Array] = field(default_factory=dict)
    expected: Mapping[str, Array] | Sequence[Array] | None = None
    seed: int = 0
    kind: Kind = "normal"
    extents: Mapping[str, Sequence[int | None]] = field(default_factory=dict)
    may_fail: bool = False

    def given(self, mod: IRModule, weights: Mapping[str, Array]) -> dict[str, Array]:
        """Return values for parameters of the typed ``mod``: the batch's own, else ``weights``, and
        those that are drawn of another kind than normal.
        """
        found = {**weights, **self.values}
        if self.kind == "normal":
            return found
        own = weights_of(mod)
        pairs = zip(mod["main"].params, make_arguments(mod, found, self.seed, self.extents), strict=True)
        for number, (param, value) in enumerate(pairs):
            if param.name in found or param in own or isinstance(value, tuple) or not is_float(of_array(value)):
                continue
            rng = np.random.default_rng([self.seed, number])
            found[param.name] = _of_kind(self.kind, value, rng)
        return found


def _of_kind(kind: Kind, like: Array, rng: np.random.Generator) -> Array:
    match kind:
        case "zeros":
            return np.zeros_like(like)
        case "ones":
            return np.ones_like(like)
        case "extremes":
            return _extremes(like, rng)
        case _:
            return rng.uniform(-1, 1, like.shape).astype(like.dtype)


def _extremes(like: Array, rng: np.random.Generator) -> Array:
    """Return values at the ends of what a dtype holds, NaN and infinities among them."""
    most, least = {
        "float64": (1e308, 5e-324), "float16": (65504.0, 6e-8),
    }.get(of_array(like), (3e38, 1e-45))  # fmt: skip
    values = np.array([0.0, -0.0, 1.0, -1.0, most, -most, least, -least, math.inf, -math.inf, math.nan])
    return rng.choice(values, like.shape).astype(like.dtype)


def swept(mod: IRModule, sizes: Iterable[int] = SWEPT, seed: int = 0) -> list[Batch]:
    """Return a batch for each of ``sizes``, which every extent has that the typed ``mod`` leaves
    open.

    Relay may refuse some: they are left out. Raises Relay2RelaxError where no extent is open.
    """
    pairs = ((param.name, mod.types[param]) for param in mod["main"].params)
    open_ = {name: one.rank for name, one in pairs if isinstance(one, TensorType) and any(map(is_any, one.shape))}
    if not open_:
        raise Relay2RelaxError("every extent of main has a number: there is nothing to sweep", kind=running.ARGUMENT)
    return [
        Batch(
            f"extent {size}", seed=seed, extents={name: (size,) * rank for name, rank in open_.items()}, may_fail=True
        )
        for size in sizes
    ]


def loaded(text: str) -> list[Batch]:
    """Return the batches that a function of a user makes: ``FILE.py:function``.

    It yields mappings from names of parameters to arrays, or batches. The file is run as Python.
    Raises Relay2RelaxError where there is no such function, or it yields something else, and
    ExtensionError where it raises.
    """
    name, colon, function = text.rpartition(":")
    path = Path(name)
    if not colon or not path.is_file():
        raise Relay2RelaxError(mistake(files.OPTION, name="--loader", value=repr(text), expected="FILE.py:FUNCTION"))
    spec = importlib.util.spec_from_file_location(f"loader_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    ask(spec.loader.exec_module, module, what=str(path))
    made = getattr(module, function, None)
    if not callable(made):
        there = [one for one, value in vars(module).items() if inspect.isfunction(value)]
        title = f"{path} has no function {function!r}; it has: {', '.join(there) or 'none'}"
        raise Relay2RelaxError(Diagnostic(title, kind=files.OPTION))
    return ask(lambda: list(_batches(text, made())), what=text)


def _batches(text: str, yielded: Iterable[object]) -> Iterator[Batch]:
    for number, one in enumerate(yielded):
        if isinstance(one, Batch):
            yield one
        elif isinstance(one, Mapping) and all(isinstance(name, str) for name in one):
            yield Batch(f"loaded {number}", {name: np.asarray(value) for name, value in one.items()})
        else:
            title = f"{text} yields {type(one).__name__}, expected arrays by the names of parameters"
            raise Relay2RelaxError(Diagnostic(title, kind=running.ARGUMENT))
