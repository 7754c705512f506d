"""Kinds of mistakes that belong to no area of their own."""

from relay2relax.core.errors.exit_code import ExitCode
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
    exit=ExitCode.UNSUPPORTED,
)
WORD = ErrorKind(
    "R2R-0991",
    "text of a model stands where a program has a name",
    """Programs and files name operators, functions, devices and layouts by words. What has other characters
    than a word has is not taken into a program: it could mean something else there than in the model.""",
    """
    from relay2relax import relax_ir
    from relay2relax.tir.ir.expr import Call, IntImm

    relax_ir.print_struct_info(relax_ir.TensorStructInfo((2,), "float32", vdevice="cuda:0\\nimport os"))
    """,
    """
    from relay2relax import relax_ir

    relax_ir.print_struct_info(relax_ir.TensorStructInfo((2,), "float32", vdevice="cuda:0:global"))
    """,
    template="{text} is not {expected}",
)
