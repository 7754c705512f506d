"""Recorded programs with floats for which numpy and C give results that are apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from passes_swept.programs import InC, OnNumpy, Recorded, Way
from recorded_cases import arguments, called, entry, has_data, typed_case

from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.translator.arguments import flatten, make_arguments

# Names of operators that add many terms, or whose functions are those of a library.
_ROUNDS = re.compile(
    "conv|dense|matmul|sum|mean|variance|std|norm|prod|softmax|exp|log|sin|cos|tan|erf|sigmoid|gelu|pow|sqrt|pool|lrn"
    "|einsum|resize|upsampling|grid|interp|affine|roi|proposal|fft|dft|stft|silu|mish|elu|divide|loss|entropy"
)
# Bits behind the point of each dtype, and the exponent of its least normal number.
_FORMATS = {"float64": (52, -1022), "float32": (23, -126), "float16": (10, -14), "bfloat16": (7, -126)}


@dataclass(frozen=True)
class Run:
    """One set of values of a recorded case: those that were recorded (``seed`` is None), or drawn
    ones.
    """

    case: Mapping[str, Any]
    seed: int | None
    recorded: Recorded


def runs(case: Mapping[str, Any], seeds: Iterable[int]) -> Iterator[Run]:
    """Yield a case with its recorded values, where it has some, and with others: each recorded
    float times a number of 0.5 to 1.5, or what is drawn of its type.
    """
    if entry(case) != "main":
        return
    mod, function = typed_case(case)
    if has_data(case):
        given = arguments(case, function)
        yield Run(case, None, Recorded(case, mod, "main", given))
        for seed in seeds:
            rng = np.random.default_rng(seed)
            yield Run(case, seed, Recorded(case, mod, "main", [_other(one, rng) for one in given]))
    else:
        for seed in seeds:
            yield Run(case, seed, Recorded(case, mod, "main", make_arguments(mod, {}, seed)))


def _other(given: Any, rng: np.random.Generator) -> Any:
    if isinstance(given, tuple):
        return tuple(_other(one, rng) for one in given)
    if not isinstance(given, np.ndarray) or not is_float(of_array(given)):
        return given
    return (given.astype(np.float64) * rng.uniform(0.5, 1.5, given.shape)).astype(given.dtype)


def both(run: Run, in_c: InC) -> Mapping[str, list[Array]]:
    """Return the results on numpy and in C."""
    ways: Mapping[str, Way] = {"numpy": OnNumpy(), "c": in_c}
    return {name: flatten(way(run.recorded.module, run.recorded)) for name, way in ways.items()}


def ulps(results: Mapping[str, Sequence[Array]], output: int) -> float:
    """Return by how many units in the last place, of the larger value, an output is apart."""
    one, other = (results[name][output] for name in ("numpy", "c"))
    dtype = of_array(one)
    if not is_float(dtype) or one.shape != other.shape:
        return 0.0
    bits, least = _FORMATS[dtype]
    a, b = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(a), np.abs(b))
        exponent = np.maximum(np.where(size > 0, np.floor(np.log2(np.where(size > 0, size, 1.0))), least), least)
        gap = np.abs(a - b) / np.exp2(exponent - bits)
    return float(np.max(gap, initial=0.0, where=np.isfinite(a) & np.isfinite(b)))


def may_be_apart(case: Mapping[str, Any]) -> bool:
    """Whether a case speaks of floats, and calls what rounds in more than one way."""
    return "float" in case["text"] and any(_ROUNDS.search(name) for name in called(case["text"]))


def of_group(group: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> tuple[list[Run], InC]:
    """Return the runs of some cases, whose operators are compiled together; cases that are refused
    have none.
    """
    found: list[Run] = []
    for case in group:
        with suppress(Relay2RelaxError, KeyError):
            found += runs(case, seeds)
    in_c = InC()
    # Where together they are refused they are compiled one by one.
    with suppress(Relay2RelaxError):
        in_c.prepare({id(one.recorded.module): one.recorded.module for one in found}.values())
    return found, in_c
