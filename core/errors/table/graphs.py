"""Kinds of mistakes about what is asked of graphs."""

from relay2relax.core.errors.kind import ErrorKind

OPTION = ErrorKind(
    "R2R-0410",
    "MSC has an option that has no meaning here",
    """MSC's functions take options in dictionaries. Those that choose what the graph of a Relay module
    becomes are known here; passes over the module beforehand are asked for by themselves.""",
    """
    from relay2relax import relay_ir
    from relay2relax.graph import msc

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    msc.to_relax(*msc.from_relay(mod), {"use_tools": True})
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.graph import msc

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    msc.to_relax(*msc.from_relay(mod), {"explicit_name": False, "from_relay": True})
    """,
    template="the option {name!r} of MSC has no meaning here; known: {known}",
)
