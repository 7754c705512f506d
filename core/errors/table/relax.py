"""Kinds of mistakes in Relax programs and in what is asked of them."""

from relay2relax.core.errors.kind import ErrorKind

STRUCT_INFO = ErrorKind(
    "R2R-0500",
    "an expression has no struct info",
    """An operator or function refuses its arguments, or a declared struct info contradicts them.""",
    """
    import numpy as np
    from relay2relax import relax_ir

    builder = relax_ir.BlockBuilder()
    with builder.function("main", []):
        a = relax_ir.Constant(np.ones((2, 3), np.float32))
        builder.emit(relax_ir.call_op("matmul", a, a))
    """,
    """
    import numpy as np
    from relay2relax import relax_ir

    builder = relax_ir.BlockBuilder()
    with builder.function("main", []):
        a = relax_ir.Constant(np.ones((3, 3), np.float32))
        builder.emit_func_output(builder.emit(relax_ir.call_op("matmul", a, a)))
    """,
)
BUILDER = ErrorKind(
    "R2R-0520",
    "the builder is used out of order",
    """Bindings are made inside of a function; results of a dataflow block by `emit_output` inside of
    the block; a function ends with `emit_func_output`.""",
    """
    import numpy as np
    from relay2relax import relax_ir

    builder = relax_ir.BlockBuilder()
    builder.emit(relax_ir.Constant(np.ones(2, np.float32)))
    """,
    """
    import numpy as np
    from relay2relax import relax_ir

    builder = relax_ir.BlockBuilder()
    with builder.function("main", []):
        builder.emit_func_output(builder.emit(relax_ir.Constant(np.ones(2, np.float32))))
    """,
)
DEVICE = ErrorKind(
    "R2R-0540",
    "a module has no such device",
    """Struct info and operators name devices of the module's `vdevice` list.""",
    "",
    "",
)
MESH = ErrorKind(
    "R2R-0541",
    "a tensor cannot be spread over the mesh like that",
    """A mesh has as many devices as its shape says; a placement says `R` or `S[axis]` for each of its
    dimensions.""",
    "",
    "",
)
