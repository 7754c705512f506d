"""Kinds of mistakes in Relax programs and in what is asked of them."""

from relay2relax.core.errors.exit_code import ExitCode
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
    exit=ExitCode.UNSUPPORTED,
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
    exit=ExitCode.UNSUPPORTED,
)
DEVICE = ErrorKind(
    "R2R-0540",
    "a module has no such device",
    """Struct info and operators name devices of the module's `vdevice` list, by kind and number.""",
    """
    from relay2relax import relax_ir
    from relay2relax.relax_ir.ir.devices import device_name

    device_name("cuda:0", [relax_ir.VDevice("llvm")])
    """,
    """
    from relay2relax import relax_ir
    from relay2relax.relax_ir.ir.devices import device_name

    device_name("cuda:0", [relax_ir.VDevice("cuda")])
    """,
)
MESH = ErrorKind(
    "R2R-0541",
    "a tensor cannot be spread over the mesh like that",
    """A mesh has as many devices as its shape says; a placement says `R` or `S[axis]` for each of its
    dimensions.""",
    """
    from relay2relax.relax_ir.ir.mesh import DeviceMesh

    DeviceMesh((2, 2), range(3))
    """,
    """
    from relay2relax.relax_ir.ir.mesh import DeviceMesh

    DeviceMesh((2, 2), range(4))
    """,
)
ILL_FORMED = ErrorKind(
    "R2R-0510",
    "a Relax module is not well formed",
    """Relax has rules beyond types: variables are bound once and before they are used, dataflow blocks
    hold neither branches nor effects, symbolic dimensions are defined, and more. Every mistake of a
    module is listed.""",
    """
    import numpy as np
    from relay2relax import relax_ir
    from relay2relax.relax_ir.ir.expr import SeqExpr

    info = relax_ir.TensorStructInfo((2,), "float32")
    x = relax_ir.Var("x", info)
    function = relax_ir.Function((), SeqExpr((), x), info)
    relax_ir.check_well_formed(relax_ir.IRModule({relax_ir.GlobalVar("main"): function}))
    """,
    """
    import numpy as np
    from relay2relax import relax_ir
    from relay2relax.relax_ir.ir.expr import SeqExpr

    info = relax_ir.TensorStructInfo((2,), "float32")
    x = relax_ir.Var("x", info)
    function = relax_ir.Function((x,), SeqExpr((), x), info)
    relax_ir.check_well_formed(relax_ir.IRModule({relax_ir.GlobalVar("main"): function}))
    """,
)
_LINEAR = '''
    import numpy as np
    from relay2relax import relax_ir, relay_ir, translator

    text = """#[version = "0.0.5"]
    def @main(%x: Tensor[(?, 3), float32], %w: Tensor[(5, 3), float32]) {{
      nn.dense(%x, %w, units=5)
    }}"""
    rx = translator.via_graph(relay_ir.infer_type(relay_ir.parse(text)), dims={{"x": ("n", None)}})
    {0}
'''
BIND_PARAMS = ErrorKind(
    "R2R-0530",
    "values cannot be bound to parameters",
    """A value is bound to the parameter of its name, whose dtype and shape it has. The message names
    what is unknown, ambiguous, given twice, or of another dtype or shape.""",
    _LINEAR.format('relax_ir.transform.BindParams("main", {"weight": np.ones((5, 3), np.float32)})(rx)'),
    _LINEAR.format('relax_ir.transform.BindParams("main", {"w": np.ones((5, 3), np.float32)})(rx)'),
)
BIND_SYMBOLIC_VARS = ErrorKind(
    "R2R-0531",
    "a symbolic dimension cannot be bound",
    """A dimension is bound by its name in the functions that have it, once, to an extent that is not
    negative.""",
    _LINEAR.format('relax_ir.transform.BindSymbolicVars({"batch": 4})(rx)'),
    _LINEAR.format('relax_ir.transform.BindSymbolicVars({"n": 4})(rx)'),
)
MATCH_CAST = ErrorKind(
    "R2R-0532",
    "two casts contradict each other",
    """Each `match_cast` says what an extent is. Where two say different numbers of one dimension, one of
    them fails whenever the program runs.""",
    '''
    from relay2relax import relax_ir

    text = """
    @R.function
    def main(x: R.Tensor(("m",), dtype="float32")) -> R.Object:
        m, k = T.int64(), T.int64()
        a = R.match_cast(R.zeros(R.shape([2]), dtype="float32"), R.Tensor((k,), dtype="float32"))
        b = R.match_cast(R.zeros(R.shape([%s]), dtype="float32"), R.Tensor((k,), dtype="float32"))
        return (x, a, b)
    """
    relax_ir.transform.CanonicalizeBindings()(relax_ir.parse(text % 3))
    ''',
    '''
    from relay2relax import relax_ir

    text = """
    @R.function
    def main(x: R.Tensor(("m",), dtype="float32")) -> R.Object:
        m, k = T.int64(), T.int64()
        a = R.match_cast(R.zeros(R.shape([2]), dtype="float32"), R.Tensor((k,), dtype="float32"))
        b = R.match_cast(R.zeros(R.shape([%s]), dtype="float32"), R.Tensor((k,), dtype="float32"))
        return (x, a, b)
    """
    relax_ir.transform.CanonicalizeBindings()(relax_ir.parse(text % 2))
    ''',
)
DIFFERENT = ErrorKind(
    "R2R-0550",
    "two programs that were said to be the same differ",
    """Programs are compared up to the names of variables and dimensions. The message says where they
    first differ.""",
    _LINEAR.format("relax_ir.assert_structural_equal(rx, relax_ir.transform.LegalizeOps()(rx))"),
    _LINEAR.format("relax_ir.assert_structural_equal(rx, relax_ir.parse(rx.script()))"),
    exit=ExitCode.DIFFERS,
)
