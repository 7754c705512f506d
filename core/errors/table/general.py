"""Kinds of mistakes that belong to no area of their own."""

from relay2relax.core.errors.kind import ErrorKind

REFUSED = ErrorKind(
    "R2R-0990",
    "what was asked for cannot be done",
    """The message says what, and what was expected instead.""",
    """
    from relay2relax import relax_ir

    relax_ir.call_op("no_such_operator")
    """,
    """
    import numpy as np
    from relay2relax import relax_ir

    relax_ir.call_op("nn.relu", relax_ir.Constant(np.ones(2, np.float32)))
    """,
)
