"""Kinds of mistakes when programs run or are built."""

from relay2relax.core.errors.kind import ErrorKind

EXECUTION = ErrorKind(
    "R2R-0800",
    "a program could not be run",
    """An argument does not fit its parameter, a function is missing, or a check of the program failed.""",
    """
    from relay2relax import backends

    backends.register_func("mine.twice")(lambda x, y: None)
    backends.register_func("mine.twice")(lambda x, y: None)
    """,
    """
    from relay2relax import backends

    backends.register_func("mine.once", override=True)(lambda x, y: None)
    backends.register_func("mine.once", override=True)(lambda x, y: None)
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
ARGUMENT = ErrorKind(
    "R2R-0801",
    "an argument does not fit its parameter",
    """Arguments are given by position or by name, once each, with the rank, extents and kind of the
    parameter; they are converted to its dtype.""",
    """
    import numpy as np
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    run = backends.create_executor("graph", relay_ir.infer_type(mod)).evaluate()
    run(np.ones(3, np.float32))
    """,
    """
    import numpy as np
    from relay2relax import backends, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    run = backends.create_executor("graph", relay_ir.infer_type(mod)).evaluate()
    run(np.ones(2, np.float32))
    """,
)
NO_FUNCTION = ErrorKind(
    "R2R-0802",
    "there is no function of that name",
    """The message lists the functions that the executable has.""",
    """
    import numpy as np
    from relay2relax import backends, relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    exe = backends.build(translator.via_graph(relay_ir.infer_type(mod)), target="numpy")
    machine = backends.VirtualMachine(exe)
    machine["other"]
    """,
    """
    import numpy as np
    from relay2relax import backends, relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    exe = backends.build(translator.via_graph(relay_ir.infer_type(mod)), target="numpy")
    machine = backends.VirtualMachine(exe)
    machine["main"]
    """,
)
SAVED_FILE = ErrorKind(
    "R2R-0803",
    "a saved executable is damaged, or of another version",
    """Files of executables carry a mark, a version and a checksum. Build the program anew and save it.""",
    """
    from pathlib import Path
    from relay2relax.backends import Executable

    Path("model.exe").write_bytes(b"these are not instructions")
    Executable.load("model.exe")
    """,
    """
    import numpy as np
    from relay2relax import backends, relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    exe = backends.build(translator.via_graph(relay_ir.infer_type(mod)), target="numpy")
    machine = backends.VirtualMachine(exe)
    exe.save("model.exe")
    backends.Executable.load("model.exe")
    """,
)
NOT_ON_BACKEND = ErrorKind(
    "R2R-0811",
    "a backend cannot run a part of the program",
    """The numpy backend runs everything; the C backend lacks a few dtypes, statements and intrinsics,
    and needs shapes that are known before the program runs.""",
    """
    import numpy as np
    from relay2relax.backends.c import compile_prim_funcs
    from relay2relax.tir import te

    a = te.placeholder((4,), "float8_e4m3fn", "A")
    compile_prim_funcs([te.create_prim_func([a], [te.compute((4,), lambda i: a[i] + a[i])])])
    """,
    """
    import numpy as np
    from relay2relax.backends.c import compile_prim_funcs
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    compile_prim_funcs([te.create_prim_func([a], [te.compute((4,), lambda i: a[i] + a[i])])])
    """,
)
EXPORT = ErrorKind(
    "R2R-0812",
    "a program cannot be exported as a C library",
    """A library is one block of tensor programs: branches, calls of other functions, and shapes that
    data decide need the machine.""",
    '''
    from relay2relax import backends, relax_ir

    rx = relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Object:
        if c:
            y = R.nn.relu(x)
        else:
            y = R.exp(x)
        return y
    """)
    backends.export_c(rx, "library", "model")
    ''',
    '''
    from relay2relax import backends, relax_ir

    rx = relax_ir.parse("""
    @R.function
    def main(x: R.Tensor((2,), dtype="float32"), c: R.Tensor((), dtype="bool")) -> R.Tensor((2,), dtype="float32"):
        y = R.where(c, R.nn.relu(x), R.exp(x))
        return y
    """)
    backends.export_c(rx, "library", "model")
    ''',
)
