"""The lossless translator: Relay becomes an MSC-style graph, and the graph becomes high-level Relax
operators.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array
from relay2relax.ops.registry.symbolic import Dims
from relay2relax.translator.prepare import as_module, entry_of
from relay2relax.translator.scheduling import scheduled, weights_last


def via_graph(
    mod: relay_ir.IRModule | relay_ir.Function,
    params: Mapping[str, Array] | None = None,
    dims: Dims | None = None,
    schedule: str | None = None,
    weights: Collection[str] = (),
) -> relax_ir.IRModule:
    """Translate ``main`` of ``mod``, or a function alone, to Relax operators through the graph.

    ``params`` are bound as constants by name; ``dims`` names or unifies symbolic dimensions, as in
    ``lower_to_tir``. An operator that Relax has no name for is called as TensorIR. Branches and
    recursion, ``schedule`` (which makes TensorIR of every operator), ``weights``, and what is
    refused, are as in ``lower_to_tir``.
    """
    program = as_module(mod)
    found, bound = graph.from_relay(program, params, entry_of(program))
    return scheduled(weights_last(graph.to_relax(found, bound, dims=dims), weights), schedule)
