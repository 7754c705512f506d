"""``tvm.contrib.msc``: programs as graphs of MSC's, and graphs as Relax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from relay2relax.compat import version
from relay2relax.compat.running.printing import teach_printing
from relay2relax.core.dtype import Array
from relay2relax.graph import from_relax as our_from_relax
from relay2relax.graph import fuse, msc, relax_patterns
from relay2relax.graph.model import MSCGraph
from relay2relax.relax_ir.ir.expr import IRModule as RelaxModule
from relay2relax.relay_ir.ir.module import IRModule

Params = Mapping[str, object]
Config = Mapping[str, object]


def from_relay(
    mod: IRModule,
    params: Params | None = None,
    trans_config: Config | None = None,
    build_config: Config | None = None,
    opt_config: Config | None = None,
    as_msc: bool = True,
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return the graph of a module of Relay, and its weights.

    Layers are those of TVM 0.18, until 0.14 those of MSC's announcement. Raises GraphError for a
    configuration that asks for passes beforehand.
    """
    teach_printing()
    patterns = "msc-2023" if version.until("0.14") else "msc"
    return msc.from_relay(mod, _arrays(params), trans_config, build_config, opt_config, patterns)  # type: ignore[arg-type]


def from_relax(
    mod: RelaxModule,
    params: Params | None = None,
    trans_config: Config | None = None,
    build_config: Config | None = None,
    opt_config: Config | None = None,
    as_msc: bool = True,
) -> tuple[MSCGraph, dict[str, Array]]:
    """Return the graph of a module of Relax, whose layers are taken together, and its weights."""
    teach_printing()
    graph, weights = our_from_relax(mod, _arrays(params))
    return fuse(graph, weights, relax_patterns()), weights


def to_relax(
    graph: MSCGraph,
    weights: Params | None = None,
    codegen_config: Config | None = None,
    print_config: Config | None = None,
    build_folder: object = None,
    plugin: object = None,
) -> RelaxModule:
    """Return the module of Relax of a graph."""
    return msc.to_relax(graph, _arrays(weights), codegen_config)


def normalize_inputs(inputs: list[object]) -> list[object]:
    """Return what is said of inputs as it is: extents may be names."""
    return inputs


def dict_equal(one: object, other: object) -> bool:
    """Whether two dictionaries say the same."""
    return one == other


def _arrays(params: Params | None) -> dict[str, Array]:
    return {name: cast(Array, np.asarray(value)) for name, value in (params or {}).items()}
