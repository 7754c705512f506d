"""Kinds of mistakes where something needs more memory, time or space than there is for it."""

from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind

MEMORY = ErrorKind(
    "R2R-0830",
    "the limit of memory is reached",
    """A tensor is not made where it does not fit into what is left of `Limits(memory=…)`, or of the
    option `--limit-memory`. The message says what needs how much.""",
    """
    import numpy as np
    from relay2relax import Limits, backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(9000, 1), int8]) { nn.dense(%x, %x, units=9000) }')
    run = backends.create_executor("debug", mod).evaluate()
    with Limits(memory=10_000_000):
        run(np.ones((9000, 1), np.int8))
    """,
    """
    import numpy as np
    from relay2relax import Limits, backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(90, 1), int8]) { nn.dense(%x, %x, units=90) }')
    run = backends.create_executor("debug", mod).evaluate()
    with Limits(memory=10_000_000):
        run(np.ones((90, 1), np.int8))
    """,
    template="{problem}; the limit is {memory}{already}",
    help="allow more with Limits(memory=…) or --limit-memory, or give the program smaller inputs",
    exit=ExitCode.LIMIT,
)
SECONDS = ErrorKind(
    "R2R-0831",
    "the time is over",
    """The work took longer than `Limits(seconds=…)`, or the option `--limit-time`, allows. It ends
    where it asks for the first time after that: between steps of a program, tokens of a text, or
    passes.""",
    """
    from relay2relax import Limits, relay_ir

    with Limits(seconds=0.001):
        relay_ir.parse("def @main() { " + "let %x = 1f;" * 100_000 + "%x }")
    """,
    """
    from relay2relax import Limits, relay_ir

    with Limits(seconds=60):
        relay_ir.parse('#[version = "0.0.5"] def @main() { let %x = 1f; %x }')
    """,
    template="the time is over: the limit is {seconds} s",
    help="allow more with Limits(seconds=…) or --limit-time",
    exit=ExitCode.LIMIT,
)
STEPS = ErrorKind(
    "R2R-0832",
    "the limit of steps is reached",
    """A program took more steps than `Limits(steps=…)`, or the option `--limit-steps`, allows. Steps
    are instructions of the machines that run Relay and Relax, statements and loop iterations of
    tensor programs that are interpreted, and those of compiled ones, which are counted before one
    begins. Reading, translating and compiling take none. The message shows where the program was.""",
    """
    from relay2relax import Limits, backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() -> float32 { @main() }')
    run = backends.create_executor("debug", mod).evaluate()
    with Limits(steps=1000):
        run()
    """,
    """
    from relay2relax import Limits, backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() -> float32 { add(1f, 2f) }')
    run = backends.create_executor("debug", mod).evaluate()
    with Limits(steps=1000):
        run()
    """,
    template="the limit of {steps} steps is reached{by}",
    help="allow more with Limits(steps=…) or --limit-steps, if the program ends at all",
    exit=ExitCode.LIMIT,
)
EXTENTS = ErrorKind(
    "R2R-0833",
    "a tensor is larger than the limit of extents",
    """No extent of a tensor, and no number of its elements, is above `Limits(extents=…)`, or the
    option `--limit-extents`; types are compared when they are inferred, and tensors when they are
    made.""",
    """
    from relay2relax import Limits, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() { zeros(shape=[2000, 2000], dtype="int8") }')
    with Limits(extents=1_000_000):
        relay_ir.infer_type(mod)
    """,
    """
    from relay2relax import Limits, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() { zeros(shape=[200, 200], dtype="int8") }')
    with Limits(extents=1_000_000):
        relay_ir.infer_type(mod)
    """,
    template="{what} of shape {shape} has {count} elements in all or along an axis; the limit is {most}",
    help="allow more with Limits(extents=…) or --limit-extents",
    exit=ExitCode.LIMIT,
)
NO_MEMORY = ErrorKind(
    "R2R-0834",
    "the system has not as much memory as is needed",
    """The message says what needs how many bytes. Other than with a limit, nobody asked beforehand.""",
    """
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() { zeros(shape=[4000000000, 4000000000], dtype="int8") }')
    backends.create_executor("debug", mod).evaluate()()
    """,
    """
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main() { zeros(shape=[400, 400], dtype="int8") }')
    backends.create_executor("debug", mod).evaluate()()
    """,
    template="there is not enough memory: {what} needs {size}",
    help="give the program smaller inputs, or run it where there is more memory",
    exit=ExitCode.LIMIT,
)
EXPRESSION = ErrorKind(
    "R2R-0835",
    "the expression of an extent is too long",
    """Extents are computed of others, as `n * n + 1` or `n // 2`. The expression of one has at most
    1024 variables and numbers, far more than models need. A program that squares an extent at every
    step has twice as many after each.""",
    """
    from relay2relax.tir import extent
    from relay2relax.tir.ir.expr import Var

    size = Var("n", "int64")
    for _ in range(20):
        size = extent.add(extent.mul(size, size), 1)
    """,
    """
    from relay2relax.tir import extent
    from relay2relax.tir.ir.expr import Var

    size = Var("n", "int64")
    for _ in range(3):
        size = extent.add(extent.mul(size, size), 1)
    """,
    template="the expression of an extent has more than {most} variables and numbers",
    help="give the extent a variable of its own, with R.match_cast",
    exit=ExitCode.LIMIT,
)
