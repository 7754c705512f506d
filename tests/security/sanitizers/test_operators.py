"""Every operator on extreme values, under sanitizers: no report, no signal.

The calls are the examples of tests/support, which every operator has, and those of the recorded
cases, with their shapes. All functions of a batch are compiled at once; each is then called with
the values of ``KINDS``, all of one kind or mixed. Where data decide the shape of a result, it is
that of the recorded, or drawn, values: the extreme ones lie about it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sweep
from golden_folder import golden_root
from operator_calls import EXAMPLES, RECORDS, arrays, tensors, type_of
from operator_draws import Draw
from recorded_cases import VALUED_FILES, arguments, called, has_data
from sanitizers import Action, findings

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c import CompiledModule, compile_prim_funcs
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.ops import OpDef, TensorType, Type
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.lower import lower_call, lower_extents, with_extents
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Op
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import AnyExtent
from relay2relax.tir.ir.stmt import PrimFunc

pytestmark = pytest.mark.compiler

KINDS = ("least", "most", "minus one", "zero", "not a number", "random", "mixed", "small")
# Larger tensors take long, and are read and written by the same code.
_MOST_ELEMENTS = 1 << 14
# A sample takes one operator in so many; all of them make so many batches.
_SAMPLE = 20
_BATCHES = 6
# Whose data say how often a loop runs: numbers of any size would keep it running, which limits end.
_COUNTS = ("sparse_fill_empty_rows",)


@dataclass(frozen=True)
class Example:
    """A call with its arguments; ``out`` has no extent that is not known."""

    what: str
    op: OpDef
    attrs: Any
    args: tuple[Any, ...]
    types: tuple[Type, ...]
    out: Type
    open_out: Type


def example(what: str, op: OpDef, attrs: Any, args: Sequence[Any]) -> Example | None:
    """Return a call, None for one that has no result in memory, or large tensors."""
    types = tuple(map(type_of, args))
    out = op.infer(attrs, *types)
    known = out
    if any(static(extent) is None for one in tensors(out) for extent in one.shape):
        with np.errstate(all="ignore"):
            value = arrays(kernel_value(op, attrs, args))
        extents = [
            size
            for one, found in zip(tensors(out), value, strict=True)
            for extent, size in zip(one.shape, found.shape, strict=True)
            if isinstance(extent, AnyExtent)
        ]
        known = with_extents(out, extents)
    every = [one for type_ in (*types, known) for one in tensors(type_)]
    if not tensors(known) or any(_elements(one) > _MOST_ELEMENTS for one in every):
        return None
    return Example(what, op, attrs, tuple(args), types, known, out)


def _elements(type_: TensorType) -> int:
    return int(np.prod([static(extent) or 0 for extent in type_.shape]))


def drawn(names: Sequence[str], seeds: Sequence[int]) -> Iterator[Example]:
    """Yield examples of operators."""
    for name in names:
        for seed in seeds:
            given, args = EXAMPLES[name](Draw(seed))
            op = RECORDS[name]
            found = example(f"{name}, seed {seed}", op, op.attrs(**given), args)
            if found is not None:
                yield found


def recorded(cases: Iterable[dict[str, Any]], most: int) -> Iterator[Example]:
    """Yield at most so many calls of each operator among the recorded programs of one call."""
    counts: dict[str, int] = {}
    for case in cases:
        names = called(case["text"])
        if len(names) != 1 or not has_data(case) or counts.get(min(names), 0) >= most:
            continue
        module = relay_ir.infer_type(relay_ir.parse(case["text"]), declare_results=True)
        function = module["main"]
        match function.body:
            case Call(Op(name), args, attrs) if args == function.params:
                op = relay_op(name)
                if op is None or op.passes_through:
                    continue
                found = example(f"{name}, case {case['id']}", op, attrs, arguments(case, function))
                if found is not None:
                    counts[name] = counts.get(name, 0) + 1
                    yield found


def values(kind: str, like: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Return an array of the dtype and shape of ``like``."""
    dtype, shape = like.dtype, like.shape
    if kind == "mixed":
        parts = [values(one, like, random) for one in KINDS if one != "mixed"]
        return np.choose(random.integers(0, len(parts), shape), parts).astype(dtype)
    if kind == "small":
        return random.integers(-3 if dtype.kind in "if" else 0, 4, shape).astype(dtype)
    if dtype.kind == "b":
        # Bytes other than 0 and 1 are true.
        byte = {"least": 128, "most": 255, "minus one": 2, "zero": 0}.get(kind)
        found = random.integers(0, 256, shape) if byte is None else np.full(shape, byte)
        return found.astype(np.uint8).view(np.bool_)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if kind in ("random", "not a number"):
            return random.integers(info.min, info.max, shape, dtype, endpoint=True)
        number = {"least": info.min, "most": info.max, "zero": 0}.get(kind, info.max if dtype.kind == "u" else -1)
        return np.full(shape, number, dtype)
    if kind == "random":
        with np.errstate(over="ignore"):
            return (random.standard_normal(shape) * 10.0 ** random.integers(-5, 39, shape)).astype(dtype)
    value = {"least": -np.inf, "most": np.inf, "minus one": -3e38, "zero": 0.0, "not a number": np.nan}[kind]
    with np.errstate(over="ignore"):
        return np.full(shape, value).astype(dtype)


def run_extremes(module: CompiledModule, function: str, one: Example, results: Sequence[TensorType]) -> None:
    """Call a function with all kinds of values."""
    random = np.random.default_rng(len(one.what))
    given = arrays(one.args)
    for kind in KINDS:
        outputs = [np.zeros([static(e) or 0 for e in out.shape], numpy_dtype(out.dtype)) for out in results]
        drawn_values = [values(kind, like, random) for like in given]
        if one.op.name in _COUNTS:
            drawn_values = [np.clip(v, -999, 999) if v.dtype.kind == "i" else v for v in drawn_values]
        try:
            module.call(function, *drawn_values, *outputs)
        except Relay2RelaxError:
            continue  # Refused, as it may be.


def batch(examples: Sequence[Example]) -> Iterator[Action]:
    """Yield what calls the functions of some examples, which are compiled first."""
    functions: list[PrimFunc] = []
    jobs: list[tuple[str, Callable[[CompiledModule], None]]] = []
    for one in examples:
        try:
            called_func = lower_call(one.op, one.attrs, one.types, one.out, f"call_{len(functions)}")
        except OpError:
            continue  # TVM computes something of arguments that do not fit; here they are refused.
        lowered = [(called_func, tensors(one.out))]
        unknown = sum(isinstance(extent, AnyExtent) for out in tensors(one.open_out) for extent in out.shape)
        if unknown and one.op.extents is not None:
            name = f"extents_{len(functions)}"
            func = lower_extents(one.op, one.attrs, one.types, one.open_out, name)
            lowered.append((func, [TensorType((unknown,), "int64")]))
        for func, results in lowered:
            functions.append(func)
            jobs.append((one.what, partial(run_extremes, function=func.name, one=one, results=results)))
    if not functions:
        return
    module = compile_prim_funcs(functions)
    for what, job in jobs:
        yield what, partial(job, module)


def of_examples(part: str, seeds: str, step: str) -> Iterator[Action]:
    """Yield calls of one in so many operators."""
    names = sorted(name for name in RECORDS if name in EXAMPLES)[int(part) :: int(step)]
    yield from batch(list(drawn(names, range(100, 100 + int(seeds)))))


def of_recorded(part: str, most: str, step: str) -> Iterator[Action]:
    """Yield calls of one in so many of the recorded programs, and so many of each operator."""
    root = golden_root()
    if root is None:
        return
    for name in VALUED_FILES:
        with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
            lines = islice(stream, int(part), None, int(step))
            yield from batch(list(recorded(map(json.loads, lines), int(most))))


def of_machines(step: str) -> Iterator[Action]:
    """Yield whole recorded programs on the machines of both IRs."""
    root = golden_root()
    if root is None:
        return
    for name in VALUED_FILES:
        with gzip.open(root / f"{name}.jsonl.gz", "rt", encoding="utf-8") as stream:
            for case in map(json.loads, islice(stream, 7, None, int(step))):
                if has_data(case) and "main" in case["text"]:
                    yield f"{name}, case {case['id']}", partial(run_on_machines, case)


def of_multipliers() -> Iterator[Action]:
    """Yield calls whose attributes are extreme, too: factors, and more places than there are."""
    op, data = RECORDS["fixed_point_multiply"], np.arange(-6, 6, dtype=np.int32)
    found = [
        example(f"multiplier {multiplier}, shift {shift}", op, op.attrs(multiplier=multiplier, shift=shift), [data])
        for multiplier in (-(1 << 31), -1, 0, (1 << 31) - 1)
        for shift in (-64, -32, -31, 0, 31, 32, 40)
    ]
    yield from batch([one for one in found if one is not None])


def run_on_machines(case: dict[str, Any]) -> None:
    """Run a recorded program on the executor of Relay and the machine of Relax, both in C."""
    module = relay_ir.infer_type(relay_ir.parse(case["text"]), declare_results=True)
    given = arguments(case, module["main"])
    if not all(isinstance(one, np.ndarray) and one.size <= _MOST_ELEMENTS for one in given):
        return
    random = np.random.default_rng(len(given))
    runs: list[Callable[..., object]] = [backends.create_executor("debug", module, "c").evaluate()]
    with suppress(Relay2RelaxError):
        program = translator.via_graph(module)
        runs.append(backends.VirtualMachine(backends.build(program, target="c"))["main"])
    for run in runs:
        for kind in KINDS:
            with suppress(Relay2RelaxError):
                run(*(values(kind, one, random) for one in given))


@pytest.mark.parametrize("part", range(0, 1 if sweep.LEVEL == "sample" else _BATCHES, 1 if sweep.FULL else 2))
def test_examples(part: int, tmp_path: Path) -> None:
    step = _SAMPLE if sweep.LEVEL == "sample" else _BATCHES
    found = findings(Path(__file__), "of_examples", [str(part), "1", str(step)], tmp_path)
    assert not found, "\n".join(map(str, found))


@pytest.mark.sweep(every=2)
def test_extreme_multipliers(tmp_path: Path) -> None:
    found = findings(Path(__file__), "of_multipliers", [], tmp_path)
    assert not found, "\n".join(map(str, found))


@pytest.mark.golden
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("part", range(2))
def test_recorded(part: int, tmp_path: Path) -> None:
    step = 400 if sweep.LEVEL == "sample" else 2
    found = findings(Path(__file__), "of_recorded", [str(part), "1", str(step)], tmp_path)
    assert not found, "\n".join(map(str, found))


@pytest.mark.golden
@pytest.mark.sweep(every=2)
def test_machines(tmp_path: Path) -> None:
    found = findings(Path(__file__), "of_machines", ["100"], tmp_path)
    assert not found, "\n".join(map(str, found))
