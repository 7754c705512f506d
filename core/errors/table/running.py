"""Kinds of mistakes when programs run or are built."""

from relay2relax.core.errors.kind import ErrorKind

EXECUTION = ErrorKind(
    "R2R-0800",
    "a program could not be run",
    """An argument does not fit its parameter, a function is missing, or a check of the program failed.""",
    """
    import numpy as np
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    backends.create_executor("graph", relay_ir.infer_type(mod)).evaluate()(np.ones(3, np.float32))
    """,
    """
    import numpy as np
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    backends.create_executor("graph", relay_ir.infer_type(mod)).evaluate()(np.ones(2, np.float32))
    """,
)
COMPILER = ErrorKind(
    "R2R-0810",
    "there is no C compiler, or it refuses the code",
    """The backend `c` needs gcc or clang, or the compiler of the `ziglang` wheel. `CC` names another
    one.""",
    """
    from relay2relax.backends.c.toolchain import find_compiler

    find_compiler(march="abacus")
    """,
    """
    from relay2relax.backends.c.toolchain import find_compiler

    find_compiler()
    """,
)
TVM = ErrorKind(
    "R2R-0820",
    "apache-tvm is missing, cannot work as it is installed, or refuses a program",
    """The backend `tvm` needs apache-tvm 0.25 to 0.27 with the apache-tvm-ffi that fits it; the extra
    `tvm` installs both.""",
    """
    from relay2relax import relax_ir

    relax_ir.from_tvm("this is not a tvm.IRModule")
    """,
    """
    from relay2relax.core.tvm_installation import installation_problem

    installation_problem()  # None where apache-tvm can work, else the reason
    """,
)
