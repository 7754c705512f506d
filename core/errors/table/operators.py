"""Kinds of mistakes in calls of operators, whichever IR they stand in."""

from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind

REFUSED = ErrorKind(
    "R2R-0300",
    "an operator refuses its arguments",
    """The rule of the operator refuses the call; the message says what does not fit.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("reinterpret")
    record.infer(record.attrs(dtype="int8"), TensorType((2,), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("reinterpret")
    record.infer(record.attrs(dtype="int32"), TensorType((2,), "float32"))
    """,
)
RANK = ErrorKind(
    "R2R-0301",
    "a tensor has the wrong number of dimensions",
    """An operator takes tensors of certain ranks; the message names the operand, its rank and what is
    expected.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.batch_matmul")
    record.infer(record.attrs(), TensorType((2, 3), "float32"), TensorType((2, 3), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.batch_matmul")
    record.infer(record.attrs(transpose_b=True), TensorType((1, 2, 3), "float32"), TensorType((1, 2, 3), "float32"))
    """,
    template="{what} has {rank} dimensions, expected {expected}",
)
DTYPE = ErrorKind(
    "R2R-0302",
    "a tensor has an element type that the operator does not take",
    """Operators do not convert their operands: tensors that meet have one dtype, and some operators
    are defined for integers or for floating-point numbers alone. `cast` converts.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("add")
    record.infer(record.attrs(), TensorType((2,), "float32"), TensorType((2,), "int32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("add")
    record.infer(record.attrs(), TensorType((2,), "float32"), TensorType((2,), "float32"))
    """,
    template="{what} has dtype {dtype}, expected {expected}",
)
SHAPE = ErrorKind(
    "R2R-0303",
    "shapes do not fit together",
    """Extents that belong together are equal, or 1 where the operator broadcasts. An extent about
    which nothing is known fits; it is checked when the program runs.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("add")
    record.infer(record.attrs(), TensorType((2, 3), "float32"), TensorType((4,), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("add")
    record.infer(record.attrs(), TensorType((2, 3), "float32"), TensorType((3,), "float32"))
    """,
    template="{what} has shape {shape}, expected {expected}",
)
AXIS = ErrorKind(
    "R2R-0304",
    "an axis is out of range",
    """Axes are counted from 0, or from the end by negative numbers, and each is named once.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.softmax")
    record.infer(record.attrs(axis=2), TensorType((2, 3), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.softmax")
    record.infer(record.attrs(axis=-1), TensorType((2, 3), "float32"))
    """,
    template="{name} {axis} is outside of a tensor of rank {rank}",
)
ATTRIBUTE = ErrorKind(
    "R2R-0305",
    "an attribute has a value that the operator does not take",
    """The message names the attribute, its value, and what it may be.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.max_pool2d")
    record.infer(record.attrs(pool_size=(2, 2), strides=(0, 0)), TensorType((1, 1, 4, 4), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("nn.max_pool2d")
    record.infer(record.attrs(pool_size=(2, 2), strides=(1, 1)), TensorType((1, 1, 4, 4), "float32"))
    """,
    template="{name} is {value}, expected {expected}",
)
LAYOUT = ErrorKind(
    "R2R-0306",
    "a layout does not fit",
    """A layout names every axis of a tensor once, with capital letters for axes and numbers before
    small letters for blocks of them: `NCHW`, `OIHW`, `NCHW4c`.""",
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("layout_transform")
    record.infer(record.attrs(src_layout="NCHW", dst_layout="NHWC"), TensorType((1, 4, 2), "float32"))
    """,
    """
    from relay2relax.ops import TensorType, relay_op

    record = relay_op("layout_transform")
    record.infer(record.attrs(src_layout="NCHW", dst_layout="NHWC"), TensorType((1, 4, 2, 2), "float32"))
    """,
    template="{what} has {rank} dimensions, layout {layout} needs {needed}",
)
NOT_RUN = ErrorKind(
    "R2R-0307",
    "an operator is read and typed, but cannot be run",
    """Some operators belong to a device or to a pass of TVM. They are kept and written; the page of
    operators names the reason for each.""",
    """
    import numpy as np
    from relay2relax.ops import NoAttrs, relay_op

    relay_op("memory.kill").numpy(NoAttrs(), np.ones(2, np.float32))
    """,
    """
    import numpy as np
    from relay2relax.ops import NoAttrs, relay_op

    relay_op("nn.relu").numpy(NoAttrs(), np.ones(2, np.float32))
    """,
    template="{name} cannot be run: {reason}",
    exit=ExitCode.UNSUPPORTED,
)
NOT_REGISTERED = ErrorKind(
    "R2R-0308",
    "an operator cannot be registered",
    """`ops.register` adds an operator of a user to those of the package. Its names have to be its own.""",
    """
    from relay2relax import ops

    ops.register(ops.relay_op("nn.relu"))
    """,
    """
    import dataclasses
    from relay2relax import ops

    if ops.relay_op("mine.relu") is None:
        ops.register(dataclasses.replace(ops.relay_op("nn.relu"), relay="mine.relu", script=None, relax=None))
    """,
    template="the operator cannot be registered: {reason}",
)
