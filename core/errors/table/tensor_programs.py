"""Kinds of mistakes in tensor programs and their schedules."""

from relay2relax.core.errors.kind import ErrorKind

ILLEGAL = ErrorKind(
    "R2R-0600",
    "a tensor program, or a change of it, is not legal",
    """A definition uses what it does not have, a program breaks a rule of TensorIR, or a step of a
    schedule would change what the program computes.""",
    """
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    b = te.compute((4,), lambda i: a[i] + 1.0, "B")
    te.create_prim_func([b], [b])
    """,
    """
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    b = te.compute((4,), lambda i: a[i] + 1.0, "B")
    te.create_prim_func([a], [b])
    """,
)
OPERANDS = ErrorKind(
    "R2R-0601",
    "two operands have dtypes that do not go together",
    """TensorIR does not convert operands, but for signed integers of which the narrower one is widened.
    A cast says what is meant.""",
    """
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    b = te.placeholder((4,), "int32", "B")
    te.compute((4,), lambda i: a[i] + b[i])
    """,
    """
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    b = te.placeholder((4,), "float32", "B")
    te.compute((4,), lambda i: a[i] + b[i])
    """,
)
DTYPE = ErrorKind(
    "R2R-0602",
    "a dtype is unknown, or has no representation where one is needed",
    """Element types are written as numpy and TVM write them: float32, int8, bool, bfloat16, ….""",
    """
    from relay2relax.core.dtype import numpy_dtype

    numpy_dtype("float33")
    """,
    """
    from relay2relax.core.dtype import numpy_dtype

    numpy_dtype("float32")
    """,
)
