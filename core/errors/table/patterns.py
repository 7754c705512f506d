"""Kinds of mistakes about patterns, rewriting, functions that users give, and parts of programs."""

from relay2relax.core.errors.kind import ErrorKind

PATTERN = ErrorKind(
    "R2R-0720",
    "a pattern is made of what is none, or applied to what patterns do not match",
    """Patterns are made of patterns: what stands for a given expression is `is_expr(expression)`. They
    are matched against expressions of Relay and of Relax.""",
    """
    from relay2relax.relay_ir.dataflow_pattern import is_op

    is_op("add")(1, 2)
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir.dataflow_pattern import is_expr, is_op

    is_op("add")(is_expr(relay_ir.const(1)), is_expr(relay_ir.const(2)))
    """,
    template="{what} is {expected}, found {found}",
)
ENDLESS = ErrorKind(
    "R2R-0721",
    "rewriting does not come to an end",
    """What a callback returns is rewritten again, until nothing matches that changes. A callback whose
    result its own pattern, or that of another one, matches again and again never comes to an end.""",
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard

    class Twice(DFPatternCallback):
        def __init__(self):
            super().__init__()
            self.pattern = is_op("abs")(wildcard())

        def callback(self, pre, post, node_map):
            return relay_ir.op.abs(post)

    rewrite(Twice(), relay_ir.op.abs(relay_ir.var("x", shape=(2,))))
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir.dataflow_pattern import DFPatternCallback, is_op, rewrite, wildcard

    class Twice(DFPatternCallback):
        def __init__(self):
            super().__init__(rewrite_once=True)
            self.pattern = is_op("abs")(wildcard())

        def callback(self, pre, post, node_map):
            return relay_ir.op.abs(post)

    rewrite(Twice(), relay_ir.op.abs(relay_ir.var("x", shape=(2,))))
    """,
    template="{passes} rounds of rewriting did not come to an end",
    help="let each callback run once (`rewrite_once=True`), or return what its pattern does not match",
)
NO_NODE = ErrorKind(
    "R2R-0722",
    "there is no node of that name to be cut out",
    """Nodes are named as in the text of the module: `%12` for a line, `%x` for a parameter or a let of
    `@main`. What stands within a branch or a function literal cannot be cut out.""",
    """
    from relay2relax import relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); tanh(%0) }')
    relay_ir.subgraphs.extract(relay_ir.infer_type(mod), "%1")
    """,
    """
    from relay2relax import relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); tanh(%0) }')
    relay_ir.subgraphs.extract(relay_ir.infer_type(mod), "%0")
    """,
    template="@main has no node {name} that can be cut out",
)
EXTENSION_RAISED = ErrorKind(
    "R2R-0723",
    "a function that was given to a pass or a pattern raised something",
    """Passes and rewriters call functions of yours: callbacks, checks, and what is registered for
    operators. The message says which one failed, and on what; the traceback shows where.""",
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import transform

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    with transform.TempOpAttr("nn.relu", "FTVMLegalize", lambda attrs, args, types: args[1]):
        transform.Legalize()(mod)
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import transform

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    with transform.TempOpAttr("nn.relu", "FTVMLegalize", lambda attrs, args, types: relay_ir.op.abs(args[0])):
        transform.Legalize()(mod)
    """,
    template="{what} raised {error}: {text}",
)
EXTENSION_RETURNED = ErrorKind(
    "R2R-0724",
    "a function that was given to a pass or a pattern returned something else than is expected",
    """Callbacks return expressions. Functions that are registered for operators return what takes the
    place of a call, or None where it stays.""",
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import transform

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    with transform.TempOpAttr("nn.relu", "FTVMLegalize", lambda attrs, args, types: args):
        transform.Legalize()(mod)
    """,
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir import transform

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    with transform.TempOpAttr("nn.relu", "FTVMLegalize", lambda attrs, args, types: args[0]):
        transform.Legalize()(mod)
    """,
    template="{what} returned {found}, expected {expected}",
)
NOTHING_FAILS = ErrorKind(
    "R2R-0740",
    "a model that does not fail cannot be reduced",
    """A reduction looks for the smallest part of a model that fails as the whole does. The check that it
    was given finds nothing wrong with the whole.""",
    """
    from relay2relax import parity, relay_ir
    from relay2relax.translator import make_arguments

    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { exp(%x) }'))
    parity.reduce(mod, make_arguments(mod), parity.comparison_check(("numpy",)))
    """,
    """
    from relay2relax import parity, relay_ir
    from relay2relax.translator import make_arguments

    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { exp(%x) }'))
    parity.reduce(mod, make_arguments(mod), lambda module, inputs: "calls exp" * ("exp(" in module.astext()))
    """,
    template="the check finds nothing wrong with {what}, so there is nothing to reduce",
    help="give the inputs with which it fails, or another check",
)
