"""Kinds of mistakes when programs run or are built."""

from relay2relax.core.errors.exit_code import ExitCode
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
    exit=ExitCode.UNSUPPORTED,
)
COMPILER = ErrorKind(
    "R2R-0810",
    "there is no C compiler, or it refuses the code",
    """The backend `c` needs gcc or clang, or the compiler of the `ziglang` wheel. `CC` names another
    one.""",
    """
    import os
    from unittest import mock
    from relay2relax.backends.c.toolchain import find_compiler

    with mock.patch.dict(os.environ, CC="no-such-compiler"):
        find_compiler()
    """,
    """
    from relay2relax.backends.c.toolchain import find_compiler

    find_compiler()
    """,
    exit=ExitCode.TOOL,
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
    exit=ExitCode.TOOL,
)
LIBRARY = ErrorKind(
    "R2R-0821",
    "a library is not installed",
    """What was asked for is done by a library that comes with an extra of the package. The message
    says how to install it.""",
    """
    import sys
    from unittest.mock import patch
    from relay2relax import relay_ir

    checkpoint = b"\\x80\\x02\\x8a\\x0al\\xfc\\x9cF\\xf9 j\\xa8P\\x19"
    with patch.dict(sys.modules, torch=None):  # as if it were not installed
        relay_ir.load_params(checkpoint)
    """,
    """
    from relay2relax import relay_ir

    relay_ir.load_params(relay_ir.save_params({}))
    """,
    template="{what} is not installed: {problem}",
    exit=ExitCode.TOOL,
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
    template="{what} has {found}, expected {expected}",
)
EXTENTS = ErrorKind(
    "R2R-0804",
    "the extents of arguments do not fit each other",
    """What types leave open is checked when a program is called, before anything is read: a compiled
    function needs relations between extents, so that each of its accesses stays within its buffer.
    Pass arguments whose shapes belong together.""",
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    text = '''
    @I.ir_module
    class Module:
        @T.prim_func
        def first(a: T.handle, b: T.handle):
            n, m = T.int64(), T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (m,), "float32")
            for i in range(m):
                with T.block("B"):
                    v = T.axis.spatial(m, i)
                    B[v] = A[v]

        @R.function
        def main(x: R.Tensor(("n",), "float32"), like: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            n, m = T.int64(), T.int64()
            gv = R.call_tir(Module.first, (x,), out_sinfo=R.Tensor((m,), dtype="float32"))
            return gv
    '''
    machine = backends.VirtualMachine(backends.build(relax_ir.parse(text), target="c"))
    machine["main"](np.ones(2, np.float32), np.ones(3, np.float32))
    """,
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    text = '''
    @I.ir_module
    class Module:
        @T.prim_func
        def first(a: T.handle, b: T.handle):
            n, m = T.int64(), T.int64()
            A = T.match_buffer(a, (n,), "float32")
            B = T.match_buffer(b, (m,), "float32")
            for i in range(m):
                with T.block("B"):
                    v = T.axis.spatial(m, i)
                    B[v] = A[v]

        @R.function
        def main(x: R.Tensor(("n",), "float32"), like: R.Tensor(("m",), "float32")) -> R.Tensor(("m",), "float32"):
            n, m = T.int64(), T.int64()
            gv = R.call_tir(Module.first, (x,), out_sinfo=R.Tensor((m,), dtype="float32"))
            return gv
    '''
    machine = backends.VirtualMachine(backends.build(relax_ir.parse(text), target="c"))
    machine["main"](np.ones(3, np.float32), np.ones(3, np.float32))
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
    template="{owner} has no function {name}; it has: {known}",
)
INDEX = ErrorKind(
    "R2R-0806",
    "an index lies outside its tensor",
    """Data decide which element is read or written, and there is no such element. The message says which
    dimension of which tensor. `mode="clip"` of `take` takes the nearest one instead.""",
    """
    import numpy as np
    from relay2relax.backends.c import compile_prim_funcs
    from relay2relax.tir import te

    places, x = te.placeholder((3,), "int64", "places"), te.placeholder((5,), "float32", "x")
    func = te.create_prim_func([places, x], [te.compute((3,), lambda i: x[places[i]])])
    found = np.empty(3, np.float32)
    compile_prim_funcs([func]).call(func.name, np.array([0, 4, 5]), np.ones(5, np.float32), found)
    """,
    """
    import numpy as np
    from relay2relax.backends.c import compile_prim_funcs
    from relay2relax.tir import te

    places, x = te.placeholder((3,), "int64", "places"), te.placeholder((5,), "float32", "x")
    func = te.create_prim_func([places, x], [te.compute((3,), lambda i: x[places[i]])])
    found = np.empty(3, np.float32)
    compile_prim_funcs([func]).call(func.name, np.array([0, 4, 3]), np.ones(5, np.float32), found)
    """,
    template="{index} is outside {place}",
    exit=ExitCode.UNSUPPORTED,
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
    template="expected {expected}, not {found}",
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

    a = te.placeholder((4,), "int4", "A")
    compile_prim_funcs([te.create_prim_func([a], [te.compute((4,), lambda i: a[i] + a[i])])])
    """,
    """
    import numpy as np
    from relay2relax.backends.c import compile_prim_funcs
    from relay2relax.tir import te

    a = te.placeholder((4,), "float32", "A")
    compile_prim_funcs([te.create_prim_func([a], [te.compute((4,), lambda i: a[i] + a[i])])])
    """,
    template="{what} is not known to {backend}",
    exit=ExitCode.UNSUPPORTED,
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
    exit=ExitCode.UNSUPPORTED,
)
VALUE = ErrorKind(
    "R2R-0807",
    "a value is not of the kind that its place needs",
    """A running program met a tensor where a tuple is needed, a shape with negative numbers, or the
    like. Types say such things before a program runs; what functions outside of the program return
    is seen only then.""",
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    backends.register_func("mine.none", override=True)(lambda x: None)
    mod = relax_ir.parse('''
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            lv = R.call_packed("mine.none", x, sinfo_args=(R.Tuple(R.Tensor((2,), "float32")),))
            return lv[0]
    ''')
    backends.VirtualMachine(backends.build(mod, target="numpy"))["main"](np.ones(2, "float32"))
    """,
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    backends.register_func("mine.one", override=True)(lambda x: (x,))
    mod = relax_ir.parse('''
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((2,), "float32")):
            lv = R.call_packed("mine.one", x, sinfo_args=(R.Tuple(R.Tensor((2,), "float32")),))
            return lv[0]
    ''')
    backends.VirtualMachine(backends.build(mod, target="numpy"))["main"](np.ones(2, "float32"))
    """,
    template="expected {expected}, found {found}",
    exit=ExitCode.UNSUPPORTED,
)
EXTENT = ErrorKind(
    "R2R-0808",
    "the value of a symbolic extent is not known",
    """Symbolic extents get their values from the arguments of a function. One that no argument has is
    bound by a `match_cast`, or given by hand.""",
    """
    from relay2relax.tir.arith.evaluate import integer
    from relay2relax.tir.ir.expr import Var

    integer(Var("n", "int64"), {})
    """,
    """
    from relay2relax.tir.arith.evaluate import integer
    from relay2relax.tir.ir.expr import Var

    n = Var("n", "int64")
    integer(n, {n: 3})
    """,
    template="the value of symbolic extent {name!r} is not known here",
    exit=ExitCode.UNSUPPORTED,
)
ASSERTION = ErrorKind(
    "R2R-0809",
    "an assertion of the program does not hold",
    """The program itself says what has to hold (`R.assert_op`, `assert` of TensorIR); the message is
    the program's.""",
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    mod = relax_ir.parse('''
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((), "bool")):
            _ = R.assert_op(x, x, format="{} has to be true")
            return x
    ''')
    backends.VirtualMachine(backends.build(mod, target="numpy"))["main"](np.array(False))
    """,
    """
    import numpy as np
    from relay2relax import backends, relax_ir

    mod = relax_ir.parse('''
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((), "bool")):
            _ = R.assert_op(x, x, format="{} has to be true")
            return x
    ''')
    backends.VirtualMachine(backends.build(mod, target="numpy"))["main"](np.array(True))
    """,
    exit=ExitCode.UNSUPPORTED,
)
