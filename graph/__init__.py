"""Programs as graphs of operators and tensors: MSC-style, directed, and nothing of Relay or Relax
is lost.

    g, weights = graph.from_relay(mod)
    graph.to_relay(g, weights)           # the module again
    graph.to_relax(g, weights)           # a Relax module of high-level operators
    g, weights = graph.from_relax(rx)    # a Relax program; to_relax makes it again

``model.py`` says what a graph is; reading begins there. Names load their modules when first used.
"""

from typing import TYPE_CHECKING

import lazy_loader

_exports = {
    "comparison.comparing": ["diff"],
    "comparison.differences": ["GraphDiff"],
    "edit.edits": ["delete", "extract", "insert", "merge", "rename", "replace"],
    "formats.dot": ["to_dot"],
    "formats.model_explorer": ["to_model_explorer"],
    "formats.onnx.model": ["onnx_files", "save_onnx", "to_onnx"],
    "formats.prototxt": ["to_prototxt", "visualize"],
    "fused": ["unfuse"],
    "patterns.forms": ["register_pattern"],
    "fusing.fuse": ["fuse"],
    "patterns.msc": ["msc_patterns"],
    "patterns.nn": ["nn_patterns"],
    "patterns.relax": ["relax_patterns"],
    "patterns.pattern": ["FusionPattern"],
    "formats.json.reader": ["from_json"],
    "formats.json.writer": ["to_json"],
    "model": ["GraphError", "MSCGraph", "MSCJoint", "MSCPrim", "MSCTensor"],
    "queries.costs": ["NodeCost", "costs"],
    "queries.memory": ["Alive", "memory", "peak"],
    "queries.reach": ["ancestors", "between", "cut_points", "descendants", "levels", "networkx", "paths"],
    "records": ["learned_inputs"],
    "relax.exporter": ["to_relax"],
    "relax.importer": ["from_relax"],
    "relay.exporter": ["to_relay"],
    "relay.importer": ["from_relay"],
    "formats.text": ["to_text"],
    "formats.text_reader": ["from_text"],
    "formats.tree": ["to_tree"],
}

__getattr__, __dir__, _ = lazy_loader.attach(__name__, submod_attrs=_exports)

if TYPE_CHECKING:
    from relay2relax.graph.comparison.comparing import diff
    from relay2relax.graph.comparison.differences import GraphDiff
    from relay2relax.graph.edit.edits import delete, extract, insert, merge, rename, replace
    from relay2relax.graph.formats.dot import to_dot
    from relay2relax.graph.formats.json.reader import from_json
    from relay2relax.graph.formats.json.writer import to_json
    from relay2relax.graph.formats.model_explorer import to_model_explorer
    from relay2relax.graph.formats.onnx.model import onnx_files, save_onnx, to_onnx
    from relay2relax.graph.formats.prototxt import to_prototxt, visualize
    from relay2relax.graph.formats.text import to_text
    from relay2relax.graph.formats.text_reader import from_text
    from relay2relax.graph.formats.tree import to_tree
    from relay2relax.graph.fused import unfuse
    from relay2relax.graph.fusing.fuse import fuse
    from relay2relax.graph.model import GraphError, MSCGraph, MSCJoint, MSCPrim, MSCTensor
    from relay2relax.graph.patterns.forms import register_pattern
    from relay2relax.graph.patterns.msc import msc_patterns
    from relay2relax.graph.patterns.nn import nn_patterns
    from relay2relax.graph.patterns.pattern import FusionPattern
    from relay2relax.graph.patterns.relax import relax_patterns
    from relay2relax.graph.queries.costs import NodeCost, costs
    from relay2relax.graph.queries.memory import Alive, memory, peak
    from relay2relax.graph.queries.reach import (
        ancestors,
        between,
        cut_points,
        descendants,
        levels,
        networkx,
        paths,
    )
    from relay2relax.graph.records import learned_inputs
    from relay2relax.graph.relax.exporter import to_relax
    from relay2relax.graph.relax.importer import from_relax
    from relay2relax.graph.relay.exporter import to_relay
    from relay2relax.graph.relay.importer import from_relay

__all__ = [
    "Alive",
    "FusionPattern",
    "GraphDiff",
    "GraphError",
    "MSCGraph",
    "MSCJoint",
    "MSCPrim",
    "MSCTensor",
    "NodeCost",
    "ancestors",
    "between",
    "costs",
    "cut_points",
    "delete",
    "descendants",
    "diff",
    "extract",
    "from_json",
    "from_relax",
    "from_relay",
    "from_text",
    "fuse",
    "insert",
    "learned_inputs",
    "levels",
    "memory",
    "merge",
    "msc_patterns",
    "networkx",
    "nn_patterns",
    "onnx_files",
    "paths",
    "peak",
    "register_pattern",
    "relax_patterns",
    "rename",
    "replace",
    "save_onnx",
    "to_dot",
    "to_json",
    "to_model_explorer",
    "to_onnx",
    "to_prototxt",
    "to_relax",
    "to_relay",
    "to_text",
    "to_tree",
    "unfuse",
    "visualize",
]
