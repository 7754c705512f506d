"""What float64 says of a result is what 120 bits say of it, on recorded calls of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from oracle.apart import both, may_be_apart, of_group, ulps
from recorded_cases import arguments, called, entry, has_data, typed_case
from sweep import LEVEL, sampled

from relay2relax import backends, parity, relay_ir
from relay2relax.core.dtype import is_float, of_array
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.translator.arguments import flatten

mpmath = pytest.importorskip("mpmath")
oracle = pytest.importorskip("oracle.exact", reason="gmpy2 is not installed")
BITS = 120


def exact(array: Any) -> Any:
    """Return an array of numbers of 120 bits."""
    return np.frompyfunc(lambda x: mpmath.mpf(float(x)), 1, 1)(array)


def each(function: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda attrs, x: np.frompyfunc(function, 1, 1)(exact(x))


def axes(attrs: Any, rank: int) -> tuple[int, ...]:
    given = attrs.axis if isinstance(attrs.axis, tuple) else () if attrs.axis is None else (attrs.axis,)
    chosen = tuple(int(one) % rank for one in given) or tuple(range(rank))
    return tuple(one for one in range(rank) if one not in chosen) if attrs.exclude else chosen


def total(attrs: Any, x: Any) -> Any:
    return exact(x).sum(axis=axes(attrs, x.ndim), keepdims=bool(attrs.keepdims))


def mean(attrs: Any, x: Any) -> Any:
    count = int(np.prod([x.shape[one] for one in axes(attrs, x.ndim)]))
    return total(attrs, x) / mpmath.mpf(count)


def softmax(attrs: Any, x: Any) -> Any:
    powers = np.frompyfunc(mpmath.exp, 1, 1)(exact(x))
    return powers / powers.sum(axis=int(attrs.axis), keepdims=True)


ELEMENTARY = ("exp", "log", "tanh", "erf", "sin", "cos", "tan", "atan", "sqrt")
RIGHT: Mapping[str, Callable[..., Any]] = {
    **{name: each(getattr(mpmath, name)) for name in ELEMENTARY},
    "sigmoid": each(lambda x: 1 / (1 + mpmath.exp(-x))),
    "rsqrt": each(lambda x: 1 / mpmath.sqrt(x)),
    "sum": total,
    "mean": mean,
    "nn.softmax": softmax,
    "nn.log_softmax": lambda attrs, x: np.frompyfunc(mpmath.log, 1, 1)(softmax(attrs, x)),
    "nn.dense": lambda attrs, x, w: np.dot(exact(x), exact(w).T),
    "multiply": lambda attrs, x, y: exact(x) * exact(y),
    "add": lambda attrs, x, y: exact(x) + exact(y),
}  # fmt: skip


def error(found: Any, right: Any) -> Any:
    """Return the largest error as a share of the largest magnitude."""
    gaps = [abs(mpmath.mpf(float(x)) - y) for x, y in zip(found.ravel(), right.ravel(), strict=True)]
    return max(gaps) / (max(abs(one) for one in right.ravel()) or 1)


@pytest.mark.golden
@pytest.mark.sweep(every=4)
def test_errors_are_those_of_exact_arithmetic(recorded: Any) -> None:
    checked: dict[str, int] = {}
    likely = (case for case in recorded("operators") if has_data(case) and called(case["text"]) & RIGHT.keys())
    with mpmath.workprec(BITS):
        for case in sampled(likely, 3):
            mod, function = typed_case(case)
            body, given = function.body, arguments(case, function)
            if not isinstance(body, relay_ir.Call) or not isinstance(body.op, relay_ir.Op) or entry(case) != "main":
                continue
            right = RIGHT.get(body.op.name)
            if right is None or set(body.args) - set(function.params) or sum(np.size(one) for one in given) > 5000:
                continue
            (found,) = flatten(backends.create_executor("debug", mod).evaluate()(*given))
            if not is_float(of_array(found)) or not np.isfinite(found.astype(np.float64)).all() or not found.size:
                continue
            try:
                (judged,) = parity.judge(mod, given, {"rounded": [found], "off": [found * found.dtype.type(1.01)]})
            except Relay2RelaxError:
                continue
            values: dict[Any, Any] = dict(zip(function.params, given, strict=True))
            wanted: Any = right(body.attrs, *(values[one] for one in body.args))
            wanted = np.array(wanted, dtype=object).reshape(found.shape)
            assert judged.errors["rounded"] == pytest.approx(float(error(found, wanted)), abs=1e-12), case["id"]
            assert "rounded" in judged.nearest
            checked[body.op.name] = checked.get(body.op.name, 0) + 1
    assert checked


@pytest.mark.golden
@pytest.mark.compiler
@pytest.mark.sweep(every=20)
def test_verdicts_are_those_of_exact_arithmetic(recorded: Any) -> None:
    """Programs of several operators, as ``oracle_run.py`` holds all recorded ones."""
    checked = 0
    with mpmath.workprec(BITS):
        found, in_c = of_group(list(sampled(filter(may_be_apart, recorded("random")), 12)), range(1))
        for run in found:
            results = both(run, in_c)
            apart = [output for output in range(len(results["c"])) if ulps(results, output) > 4]
            if not apart:
                continue
            try:
                judgements = parity.judge(run.recorded.module, run.recorded.given, results)
            except UnsupportedError:
                continue
            with oracle.in_bits(BITS):
                exact = oracle.exact_outputs(run.recorded.module, run.recorded.given)
            judged = {one.output: one for one in judgements}
            for output in apart:
                errors = {name: oracle.share(arrays[output], exact[output]) for name, arrays in results.items()}
                right = [name for name in errors if errors[name] - min(errors.values()) < 1e-13]
                assert set(judged[output].nearest) <= set(right), (run.case["id"], run.seed, output)
                checked += 1
    assert checked or LEVEL == "sample"


HEAD = '#[version = "0.0.5"]\n'
PROGRAMS: Mapping[str, tuple[str, tuple[tuple[int, ...], ...], Callable[..., Any]]] = {
    "sum": (
        "def @main(%x: Tensor[(6, 400), float32]) { sum(%x, axis=[1]) }",
        ((6, 400),),
        lambda x: exact(x).sum(axis=1),
    ),
    "dense": (
        "def @main(%x: Tensor[(6, 90), float32], %w: Tensor[(5, 90), float32]) { nn.dense(%x, %w, units=5) }",
        ((6, 90), (5, 90)),
        lambda x, w: np.dot(exact(x), exact(w).T),
    ),
}


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_verdict_is_right_where_numpy_and_c_are_apart(name: str) -> None:
    text, shapes, right = PROGRAMS[name]
    mod = relay_ir.infer_type(relay_ir.parse(HEAD + text))
    runs = {one: backends.create_executor("debug", mod, backend=one).evaluate() for one in ("numpy", "c")}
    apart = 0
    with mpmath.workprec(BITS):
        for seed in range(12):
            rng = np.random.default_rng(seed)
            given = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
            results = {one: flatten(run(*given)) for one, run in runs.items()}
            numpy, c = (results[one][0].astype(np.float64) for one in ("numpy", "c"))
            apart += bool((np.abs(numpy - c) > 4 * np.spacing(np.abs(numpy).astype(np.float32))).any())
            (judged,) = parity.judge(mod, given, results)
            wanted = right(*given)
            errors = {one: error(arrays[0], wanted) for one, arrays in results.items()}
            assert judged.nearest == tuple(one for one in errors if errors[one] == min(errors.values())), seed
    assert apart, "numpy and C are never apart"
