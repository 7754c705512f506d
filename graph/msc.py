"""MSC's two functions under their names: Relay to a graph with fused nodes, and that to Relax.

from relay2relax.graph import msc as translate

graph, weights = translate.from_relay(mod, params)
relax = translate.to_relax(graph, weights, {"explicit_name": False, "from_relay": True})
"""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import graphs
from relay2relax.graph.fusing.fuse import fuse
from relay2relax.graph.model import GraphError, MSCGraph
from relay2relax.graph.patterns.msc import PatternSet, msc_patterns
from relay2relax.graph.relax import exporter
from relay2relax.graph.relay import importer
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relay_ir.ir.module import IRModule

# What MSC calls the options of writing Relax, and whether they change the program.
_OPTIONS: Mapping[str, str] = {
    "explicit_name": "names of variables are hints, and the same either way",
    "from_relay": "a graph knows whether it is of Relay",
}


def from_relay(
    mod: IRModule,
    params: Mapping[str, Array] | None = None,
    trans_config: Mapping[str, object] | None = None,
    build_config: Mapping[str, object] | None = None,
    opt_config: Mapping[str, object] | None = None,
    patterns: PatternSet = "msc",
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return ``graph.from_relay`` of a module, fused by MSC's patterns, and its weights by name.

    ``patterns`` are those of TVM 0.18, or with ``"msc-2023"`` of MSC's first announcement.
    Raises GraphError for what the configurations ask for and MSC would do beforehand: the passes of
    ``relay_ir.pipeline`` do that.
    """
    for config in (trans_config, build_config, opt_config):
        for name, value in (config or {}).items():
            if (name, value) != ("opt_level", 0):
                raise GraphError(mistake(graphs.OPTION, name=name, known="opt_level=0"))
    graph, weights = importer.from_relay(mod, params)
    return fuse(graph, weights, msc_patterns(patterns)), weights


def to_relax(
    graph: MSCGraph, weights: Mapping[str, Array], codegen_config: Mapping[str, object] | None = None
) -> RelaxModule:
    """Return ``graph.to_relax`` of a graph.

    Raises GraphError for an option of MSC's that is not known here.
    """
    for name in codegen_config or {}:
        if name not in _OPTIONS:
            raise GraphError(mistake(graphs.OPTION, name=name, known=", ".join(_OPTIONS)))
    return exporter.to_relax(graph, weights)
