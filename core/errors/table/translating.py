"""Kinds of mistakes in graphs, and what translators and targets cannot express."""

from relay2relax.core.errors.kind import ErrorKind

GRAPH = ErrorKind(
    "R2R-0700",
    "a graph has no such node or tensor, or is not well formed",
    """Nodes and tensors of a graph are found by name; each tensor is made once, before it is used.""",
    """
    from relay2relax import graph, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    found, weights = graph.from_relay(relay_ir.infer_type(mod))
    found.find_tensor("no_such_tensor")
    """,
    """
    from relay2relax import graph, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    found, weights = graph.from_relay(relay_ir.infer_type(mod))
    found.find_tensor(found.outputs[0])
    """,
)
UNSUPPORTED = ErrorKind(
    "R2R-0710",
    "a target or stage cannot express the input",
    """The input is legal, but what was asked for has no form for it. The message names the part and,
    where there is another way, that way.""",
    """
    from relay2relax import backends, relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    backends.build(translator.via_graph(relay_ir.infer_type(mod)), target="abacus")
    """,
    """
    from relay2relax import backends, relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    backends.build(translator.via_graph(relay_ir.infer_type(mod)), target="numpy")
    """,
)
