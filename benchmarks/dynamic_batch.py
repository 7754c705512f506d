"""A model built for any batch against the same built for the batch it is run with."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from common import Case, median_seconds
from peers import Model

from relay2relax import backends, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relay_ir.rewrite import substitute

# Both are measured in turns, so that whatever disturbs the machine disturbs both.
ROUNDS = 5


def with_any_batch(typed: relay_ir.IRModule, given: set[str]) -> relay_ir.IRModule:
    """Return ``typed`` with the first extent of every parameter named in ``given`` unknown, inferred anew.

    Raises Relay2RelaxError where the module says elsewhere what the batch is.
    """
    main = typed["main"]
    params = []
    for param in main.params:
        of = typed.types[param]
        if param.name in given:
            of = replace(of, shape=(relay_ir.Any(), *of.shape[1:]))
        params.append(relay_ir.Var(param.name, of))
    body = substitute(main.body, dict(zip(main.params, params, strict=True)))
    functions = {**typed.functions, typed.get_global_var("main"): relay_ir.Function(tuple(params), body)}
    return relay_ir.infer_type(replace(typed, functions=functions, types={}))


def measure(case: Case, seconds: float) -> dict[str, Any]:
    """Return the seconds of a run of either build, or why there is none for any batch."""
    model = Model(case)
    batches = {array.shape[0] for array in model.given if array.ndim}
    given = {name for name, is_weight in zip(case.names, case.weights, strict=True) if not is_weight}
    if len(batches) != 1:
        return {"failed": "the inputs have no common first extent"}
    try:
        anything = with_any_batch(model.typed, given)
        # One name for all: the inputs of a model have one batch.
        shapes = {p.name: anything.types[p].shape for p in anything["main"].params if p.name in given}
        dims = {name: ("batch", *(None for _ in shape[1:])) for name, shape in shapes.items()}
        programs = [translator.via_graph(anything, model.weights, dims=dims), model.relax()]
    except Relay2RelaxError as error:
        return {"failed": str(error).splitlines()[0]}
    mains = [backends.VirtualMachine(backends.build(one, target="c"))["main"] for one in programs]
    found: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for times, main in zip(found, mains, strict=True):
            times.append(median_seconds(lambda: main(*model.given), seconds / ROUNDS, least=2))  # noqa: B023
    return {"dynamic": min(found[0]), "fixed": min(found[1])}
