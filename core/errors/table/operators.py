"""Kinds of mistakes in calls of operators, whichever IR they stand in."""

from relay2relax.core.errors.kind import ErrorKind

REFUSED = ErrorKind(
    "R2R-0300",
    "an operator refuses its arguments",
    """The rule of the operator refuses the call; the message says what does not fit.""",
    """
    from relay2relax.ops import TensorType, relay_op

    dense = relay_op("nn.dense")
    dense.infer(dense.attrs(units=5), TensorType((2, 3), "float32"), TensorType((5, 4), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    dense = relay_op("nn.dense")
    dense.infer(dense.attrs(units=5), TensorType((2, 3), "float32"), TensorType((5, 3), "float32"))
    """,
)
