"""Calls of operators with values that nobody expects, on numpy and on C: a program for a process of
its own.

``python hostile_values.py SEEDS NAME…`` says ``@ NAME`` before each operator, and a line for each
call in which a backend differs from the numpy executor: another integer, another shape, an error on
one side only. Whoever starts it sees signals.
"""

from __future__ import annotations

import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from operator_calls import EXAMPLES, RECORDS, arrays, type_of
from operator_draws import Draw

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.relay.code import CallOperator
from relay2relax.backends.relay.kernels import CKernels
from relay2relax.core.dtype import is_float, of_array
from relay2relax.core.errors import ExecutionError, Relay2RelaxError
from relay2relax.core.tolerance import difference
from relay2relax.ops import OpDef
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.types import TensorType, TupleType
from relay2relax.relay_ir.ir.expr import Call, Function, Op, Tuple, Var

KINDS = ("min", "max", "-1", "0", "nan", "inf", "-inf", "3e38", "mix")
# Sums of these, and what is compared with NaN, depend on an order that no operator promises.
_ORDERED = ("min", "max", "3e38", "nan", "mix")
_LARGE = 3e38
# What a child may take beside what it has when it begins, and the time for one operator.
_BYTES, _SECONDS = 1 << 29, 60
Run = Callable[..., Any]


def hostile(array: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """Return an array of the same shape and dtype with values of ``kind``."""
    dtype = of_array(array)
    if dtype == "bool":
        return rng.integers(0, 2, array.shape).astype(np.bool_)
    if is_float(dtype):
        known = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "3e38": _LARGE, "0": 0.0, "-1": -1.0}
        known |= {"min": -_LARGE, "max": _LARGE}
        pool = [*known.values(), 2.5, 1e9, -1e18, 0.5]
        values = rng.choice(np.array(pool), array.shape) if kind == "mix" else np.full(array.shape, known[kind])
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(array.dtype)
    info = np.iinfo(array.dtype)
    numbers = {"min": info.min, "max": info.max, "-1": -1, "0": 0}
    if kind != "mix":
        return np.full(array.shape, numbers[kind]).astype(array.dtype) if kind in numbers else array
    few = [one for one in (info.min, info.min + 1, info.max, -2, -1, 0, 1, 2, 3, 7, 31, 64) if info.min <= one]
    picked = [few[place] for place in rng.integers(0, len(few), array.size)]
    return np.array(picked, array.dtype).reshape(array.shape)


def changed(args: list[Any], which: int | None, kind: str, rng: np.random.Generator) -> list[Any]:
    """Return arguments of which all arrays, or the one of number ``which``, are hostile."""
    count = iter(range(1000))

    def one(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(one, value))
        return hostile(value, kind, rng) if which in (None, next(count)) else value

    return [one(arg) for arg in args]


def programs(op: OpDef, attrs: Any, args: list[Any]) -> dict[str, Run]:
    """Return the call as programs: of the executors of Relay and of the machine of Relax, where it
    is one of Relay, else of single kernels.
    """
    types = [type_of(arg) for arg in args]
    if op.relay is not None:
        try:
            params, values = zip(*(_parameters(f"x{number}", one) for number, one in enumerate(types)), strict=True)
            body = Call(Op(op.relay), values, attrs)
            mod = relay_ir.infer_type(
                relay_ir.IRModule.from_expr(Function(tuple(p for one in params for p in one), body))
            )
            found: dict[str, Run] = {
                target: backends.create_executor("debug", mod, target).evaluate() for target in ("numpy", "c")
            }
            lowered = translator.lower_to_tir(mod)
            for target in ("numpy", "c"):
                found[f"vm {target}"] = backends.VirtualMachine(backends.build(lowered, target=target))["main"]
            return {name: _flat(run) for name, run in found.items()}
        except Relay2RelaxError:
            pass
    call, kernels = CallOperator(0, op, attrs, (), Call(Op(op.name), ())), CKernels()
    return {
        "numpy": _kernel(lambda args: kernel_value(op, attrs, args)),
        "c": _kernel(lambda args: kernels.run(call, args)),
    }


def _parameters(name: str, type_: Any) -> tuple[list[Var], Any]:
    if isinstance(type_, TupleType):
        params, values = zip(
            *(_parameters(f"{name}_{number}", one) for number, one in enumerate(type_.fields)), strict=True
        )
        return [one for group in params for one in group], Tuple(tuple(values))
    assert isinstance(type_, TensorType)
    var = Var(name, type_)
    return [var], var


def _flat(run: Run) -> Run:
    return lambda args: run(*arrays(args))


def _kernel(kernel: Run) -> Run:
    def run(args: list[Any]) -> Any:
        try:
            return kernel(args)
        except OpError as problem:
            raise ExecutionError(problem.message) from problem

    return run


def outcome(run: Run, args: list[Any]) -> list[np.ndarray] | Exception:
    """Return the arrays of a result, or what was raised."""
    try:
        with np.errstate(all="ignore"):
            return arrays(run(args))
    except (Relay2RelaxError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as problem:
        return problem


def problem_with(found: Any, wanted: Any, kind: str) -> str:
    """Return what is wrong with an outcome, nothing where it is the wanted one."""
    if isinstance(found, Exception) or isinstance(wanted, Exception):
        both = isinstance(found, Relay2RelaxError) and isinstance(wanted, Relay2RelaxError)
        return "" if both else f"{_told(found)}, numpy: {_told(wanted)}"
    if len(found) != len(wanted):
        return "another number of results"
    for one, other in zip(found, wanted, strict=True):
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{one.dtype}{one.shape}, numpy: {other.dtype}{other.shape}"
        if not is_float(of_array(other)):
            if not np.array_equal(one, other):
                return f"{one.ravel()[:8]}, numpy: {other.ravel()[:8]}"
        elif kind not in _ORDERED and not difference(_bounded(one), _bounded(other), 256).agrees:
            return f"{one.ravel()[:8]}, numpy: {other.ravel()[:8]}"
    return ""


def _told(value: Any) -> str:
    return f"{type(value).__name__}: {value}"[:160].replace("\n", " ") if isinstance(value, Exception) else "a value"


def _bounded(values: np.ndarray) -> np.ndarray:
    """Return floats without infinities: the least of nothing is the largest finite number in
    C.
    """
    limit = 6e4 if values.dtype.itemsize == 2 else _LARGE
    with np.errstate(all="ignore"):
        wide = np.nan_to_num(values.astype(np.float64), nan=np.inf)
        return np.where(np.abs(wide) >= limit, limit, wide).astype(np.float32)


def differences(name: str, seeds: int) -> Iterator[str]:
    """Yield a line for each call of ``name`` that goes wrong."""
    op = RECORDS[name]
    for seed in range(seeds):
        given, args = EXAMPLES[name](Draw(seed))
        if any(isinstance(arg, tuple) and all(isinstance(one, int) for one in arg) for arg in args):
            continue  # A shape is no array: only the machine has a value of it.
        attrs = op.attrs(**given)
        runs = programs(op, attrs, args)
        count = len(arrays(args))
        for which in (None, *(range(count) if count > 1 else ())):
            for number, kind in enumerate(KINDS):
                values = changed(args, which, kind, np.random.default_rng([seed, number]))
                wanted = outcome(runs["numpy"], values)
                for target, run in runs.items():
                    wrong = problem_with(outcome(run, values), wanted, kind)
                    if wrong:
                        yield f"{name}, seed {seed}, {kind} in {'all' if which is None else which}, {target}: {wrong}"


if __name__ == "__main__":
    most = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + _BYTES
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for operator in sys.argv[2:]:
        print(f"@ {operator}", flush=True)
        signal.alarm(_SECONDS)
        for line in differences(operator, int(sys.argv[1])):
            print(line, flush=True)
