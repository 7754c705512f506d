"""The lower-to-TIR translator: every operator call becomes ``R.call_tir`` of a PrimFunc of its own.

Operator name and attributes are kept on the PrimFunc (``op_name``, ``op_attrs``), spans on the
calls, parameter names on the parameters. Equal calls share a PrimFunc. The program is the caller's:
nothing is optimised on the way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.ops.registry.symbolic import Dims
from relay2relax.translator.prepare import as_module, entry_of
from relay2relax.translator.scheduling import scheduled, weights_last


def lower_to_tir(
    mod: relay_ir.IRModule | relay_ir.Function,
    params: Mapping[str, Array] | None = None,
    dims: Dims | None = None,
    schedule: str | None = None,
    weights: Collection[str] = (),
) -> relax_ir.IRModule:
    """Translate ``main`` of ``mod``, or a function alone, operator by operator to ``call_tir``.

    ``params`` are bound as constants by name. Every ``?`` of a parameter becomes a symbolic
    dimension; ``dims`` names or unifies them: ``{"data": ("batch", None, None, None)}``. Branches
    become Relax's ``if``, recursive functions functions of the Relax module. With
    ``schedule="cpu"`` the PrimFuncs are fused and carry schedules for this machine
    (:func:`relay2relax.backends.schedule_module`).

    ``weights`` names parameters that are weights although their values are not bound. They stand
    behind the inputs, which ``num_input`` of ``main`` counts. With a schedule, what depends on them
    alone is computed by ``main_transform_params`` (:func:`relay2relax.backends.transform_params`).

    Raises UnsupportedError for what Relax cannot express (values of data types, references and
    functions that only the running program knows), and TypeInferenceError where ``mod`` is
    ill-typed.
    """
    program = as_module(mod)
    found, bound = graph.from_relay(program, params, entry_of(program))
    return scheduled(weights_last(graph.to_relax(found, bound, dims=dims, lowered=True), weights), schedule)
