"""A model built for any batch against the same built for the batch it is run with: the recorded
one, and a larger.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from common import Case, median_seconds
from peers import Model

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.ir.rewrite import substitute

LARGER = 4
# Both are measured in turns, so that whatever disturbs the machine disturbs both.
ROUNDS = 5


def with_batch(typed: relay_ir.IRModule, given: set[str], batch: Any) -> relay_ir.IRModule:
    """Return ``typed`` with ``batch`` as the first extent of every parameter named in ``given``,
    inferred anew.

    Raises Relay2RelaxError where the module says elsewhere what the batch is.
    """
    main = typed["main"]
    params = []
    for param in main.params:
        of = typed.types[param]
        if param.name in given:
            assert isinstance(of, relay_ir.TensorType)
            of = replace(of, shape=(batch, *of.shape[1:]))
        params.append(relay_ir.Var(param.name, of))
    body = substitute(main.body, dict(zip(main.params, params, strict=True)))
    functions = {**typed.functions, typed.get_global_var("main"): relay_ir.Function(tuple(params), body)}
    return relay_ir.infer_type(replace(typed, functions=functions, types={}))


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """Return the seconds of a run of either build, for either batch, or why there is none for any
    batch.

    A module that a larger batch does not suit, because it reshapes to the recorded one say, is run
    with that alone.
    """
    model = Model(case)
    batches = {array.shape[0] for array in model.given if array.ndim}
    given = {name for name, is_weight in zip(case.names, case.weights, strict=True) if not is_weight}
    if len(batches) != 1:
        return {"failed": "the inputs have no common first extent"}
    try:
        anything = with_batch(model.typed, given, relay_ir.Any())
        # One name for all: the inputs of a model have one batch.
        types = {param.name: anything.types[param] for param in anything["main"].params}
        ranks = {name: len(of.shape) for name, of in types.items() if isinstance(of, relay_ir.TensorType)}
        dims = {name: ("batch", *[None] * (ranks[name] - 1)) for name in given}
        dynamic = _built(translator.via_graph(anything, model.weights, dims=dims))
        found = _compare(dynamic, model, given, model.given, seconds)
    except Relay2RelaxError as error:
        return {"failed": str(error).splitlines()[0]}
    repeated = [np.concatenate([array] * LARGER) for array in model.given]
    try:
        larger = _compare(dynamic, model, given, repeated, seconds)
    except Relay2RelaxError:
        return found
    return {**found, **{f"{name} larger": value for name, value in larger.items()}}


def _built(program: Any) -> Any:
    return backends.VirtualMachine(backends.build(program, target="c"))["main"]


def _compare(
    dynamic: Any, model: Model, names: set[str], given: Sequence[np.ndarray], seconds: float
) -> dict[str, float]:
    fixed = _built(translator.via_graph(with_batch(model.typed, names, given[0].shape[0]), model.weights))
    found: dict[str, list[float]] = {"dynamic": [], "fixed": []}
    for _ in range(ROUNDS):
        for name, main in (("dynamic", dynamic), ("fixed", fixed)):
            found[name].append(median_seconds(lambda: main(*given), seconds / ROUNDS / 2, least=2))  # noqa: B023
    return {name: min(times) for name, times in found.items()}
