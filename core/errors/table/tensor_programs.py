"""Kinds of mistakes in tensor programs and their schedules."""

from relay2relax.core.errors.exit_code import ExitCode
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
    template="operands of {op} have dtypes {left} and {right}",
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
    template="unknown dtype {dtype}",
)
SCHEDULE = ErrorKind(
    "R2R-0610",
    "a step of a schedule is not possible",
    """A step must keep what the program computes, and needs loops and blocks of a certain form. The
    message names the loop or block and why.""",
    """
    from relay2relax.tir import te
    from relay2relax.tir.schedule import Schedule

    a = te.placeholder((8,), "float32", "A")
    b = te.compute((8,), lambda i: a[i] + 1.0, "B")
    schedule = Schedule(te.create_prim_func([a], [b]))
    (loop,) = schedule.get_loops("B")
    schedule.split(loop, [0, 4])
    """,
    """
    from relay2relax.tir import te
    from relay2relax.tir.schedule import Schedule

    a = te.placeholder((8,), "float32", "A")
    b = te.compute((8,), lambda i: a[i] + 1.0, "B")
    schedule = Schedule(te.create_prim_func([a], [b]))
    (loop,) = schedule.get_loops("B")
    schedule.split(loop, [2, 4])
    """,
    template="cannot {step} the loop {loop}: {reason}",
    exit=ExitCode.UNSUPPORTED,
)
NOT_EXPRESSED = ErrorKind(
    "R2R-0620",
    "a tensor program has a form that is not supported here",
    """The program is legal, but this backend, pass or printer has no form for a part of it, which the
    message names.""",
    """
    from relay2relax.tir import print_prim_func, te
    from relay2relax.tir.ir.intrinsics import call

    a = te.placeholder((4,), "float32", "A")
    b = te.compute((4,), lambda i: call("no_such_intrinsic", a[i]), "B")
    print_prim_func(te.create_prim_func([a], [b]))
    """,
    """
    from relay2relax.tir import print_prim_func, te
    from relay2relax.tir.ir.intrinsics import call

    a = te.placeholder((4,), "float32", "A")
    b = te.compute((4,), lambda i: call("exp", a[i]), "B")
    print_prim_func(te.create_prim_func([a], [b]))
    """,
    template="{what} cannot be run here",
    exit=ExitCode.UNSUPPORTED,
)
