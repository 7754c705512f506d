"""Kinds of mistakes in graphs, and what translators and targets cannot express."""

from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind

GRAPH = ErrorKind(
    "R2R-0700",
    "a graph has no such node or tensor, or is not well formed",
    """Nodes and tensors of a graph are found by name; each tensor is made once, before it is used.""",
    """
    from relay2relax import graph, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    found, weights = graph.from_relay(relay_ir.infer_type(mod))
    found.find_tensor("no_such_tensor")
    """,
    """
    from relay2relax import graph, relay_ir

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }')
    found, weights = graph.from_relay(relay_ir.infer_type(mod))
    found.find_tensor(found.outputs[0])
    """,
)
UNSUPPORTED = ErrorKind(
    "R2R-0710",
    "a target or stage cannot express the input",
    """The input is legal, but what was asked for has no form for it. The message names the part and,
    where there is another way, that way.""",
    """
    from relay2relax.relax_ir.ir.struct_info import from_type
    from relay2relax.relay_ir.ir.types import RefType, TensorType

    from_type(RefType(TensorType((2,), "float32")))
    """,
    """
    from relay2relax.relax_ir.ir.struct_info import from_type
    from relay2relax.relay_ir.ir.types import TensorType

    from_type(TensorType((2,), "float32"))
    """,
    exit=ExitCode.UNSUPPORTED,
)
NO_RELAX_FORM = ErrorKind(
    "R2R-0711",
    "Relax cannot express a part of the program",
    """Relax has neither references, nor data types, nor functions as data. Where the program itself
    says what such a value is, it is unfolded; else the part is named. The Relay executors run all
    of Relay.""",
    """
    from relay2relax import relay_ir, translator

    translator.via_graph(relay_ir.infer_type(relay_ir.parse(
        '#[version = "0.0.5"] def @main(%x: ref(Tensor[(2), float32])) { ref_read(%x) }'
    )))
    """,
    """
    from relay2relax import relay_ir, translator

    translator.via_graph(relay_ir.infer_type(relay_ir.parse(
        '#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { ref_read(ref(%x)) }'
    )))
    """,
    template="{owner} {problem}; Relax has no such values",
    exit=ExitCode.UNSUPPORTED,
)
NO_ONNX_FORM = ErrorKind(
    "R2R-0715",
    "ONNX cannot express a part of the program",
    """An operator that ONNX does not have becomes a node of the domain `relay2relax`. Values that are
    no tensors, element types that ONNX lacks, and weights of more than 2 GB inside one model have no
    such stand-in.""",
    """
    import numpy as np
    import onnx
    from relay2relax import graph, relay_ir

    mod = relay_ir.infer_type(relay_ir.parse(
        '#[version = "0.0.5"] def @main(%w: Tensor[(1073741824, 3), int8]) { %w }'
    ))
    found, weights = graph.from_relay(mod)
    graph.to_onnx(found, {"w": np.broadcast_to(np.int8(0), (1 << 30, 3))})
    """,
    """
    import numpy as np
    import onnx
    from relay2relax import graph, relay_ir

    mod = relay_ir.infer_type(relay_ir.parse(
        '#[version = "0.0.5"] def @main(%w: Tensor[(1073741824, 3), int8]) { %w }'
    ))
    found, weights = graph.from_relay(mod)
    graph.to_onnx(found, {"w": np.broadcast_to(np.int8(0), (1 << 30, 3))}, external_data="net.data")
    """,
    template="{owner} {problem}",
    exit=ExitCode.UNSUPPORTED,
)
CHOICE = ErrorKind(
    "R2R-0712",
    "there is no target, executor, schedule or format of that name",
    """The message lists those that there are.""",
    """
    from relay2relax import backends, relay_ir

    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }'))
    backends.create_executor("slow", mod)
    """,
    """
    from relay2relax import backends, relay_ir

    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }'))
    backends.create_executor("debug", mod)
    """,
    template="there is no {what} {name}; there are: {known}",
    exit=ExitCode.USAGE,
)
DIMENSIONS = ErrorKind(
    "R2R-0713",
    "a dimension cannot be named like that",
    """`dims` names the dimensions of parameters: for each one a name, or None where the extent is a
    number or stays without a name.""",
    """
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(?, 2), float32]) { nn.relu(%x) }')
    translator.via_graph(relay_ir.infer_type(mod), dims={"x": ("n",)})
    """,
    """
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('#[version = "0.0.5"] def @main(%x: Tensor[(?, 2), float32]) { nn.relu(%x) }')
    translator.via_graph(relay_ir.infer_type(mod), dims={"x": ("n", None)})
    """,
    template="dims{of} is {value}, expected {expected}",
    exit=ExitCode.USAGE,
)
NOT_SAID = ErrorKind(
    "R2R-0714",
    "TVMScript has no words for a part of the program",
    """The program is legal here, but the dialect that it is printed in cannot say a part of it, or
    TVM's releases disagree about how.""",
    """
    from relay2relax import relax_ir

    info = relax_ir.TensorStructInfo((2,), "float32")
    x = relax_ir.Var("x", info)
    main = relax_ir.Function((x,), relax_ir.SeqExpr((), x), info, attrs={"made_by": object()})
    relax_ir.IRModule({relax_ir.GlobalVar("main"): main}).script()
    """,
    """
    from relay2relax import relax_ir

    info = relax_ir.TensorStructInfo((2,), "float32")
    x = relax_ir.Var("x", info)
    main = relax_ir.Function((x,), relax_ir.SeqExpr((), x), info, attrs={"made_by": "hand"})
    relax_ir.IRModule({relax_ir.GlobalVar("main"): main}).script()
    """,
    template="TVMScript cannot say {what}",
    exit=ExitCode.UNSUPPORTED,
)
UNKNOWN_LENGTH = ErrorKind(
    "R2R-0730",
    "how often a function calls itself is known only when the program runs",
    """A function that takes or gives lists, functions or references is unrolled, so the program has to
    say how often it calls itself. What decides that is under the caret. Where it follows from inputs,
    these are named: their values can be bound as parameters, their extents given, before the program
    is translated.""",
    """
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('''#[version = "0.0.5"]
    type List[A] { Cons(A, List[A]), Nil, }
    def @zeros(%n: int32) -> List[float32] {
      if (equal(%n, 0)) { Nil } else { Cons(0f, @zeros(subtract(%n, 1))) }
    }
    def @main(%length: int32) { @zeros(%length) }
    ''')
    translator.via_graph(mod)
    """,
    """
    import numpy as np
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('''#[version = "0.0.5"]
    type List[A] { Cons(A, List[A]), Nil, }
    def @zeros(%n: int32) -> List[float32] {
      if (equal(%n, 0)) { Nil } else { Cons(0f, @zeros(subtract(%n, 1))) }
    }
    def @main(%length: int32) { @zeros(%length) }
    ''')
    translator.via_graph(mod, params={"length": np.array(3, "int32")})
    """,
    template="node {node!r}: {function} calls itself with values, or gives some, that Relax does not have; unrolled, "
    "it does not end within {limit} calls",
    exit=ExitCode.UNSUPPORTED,
)
UNLIKE_ARMS = ErrorKind(
    "R2R-0731",
    "the arms of a branch give values of different forms",
    """Relax has neither data types, nor references, nor functions as data. A branch can give them where
    both arms give the same constructors around tensors. Else only the running program knows what it
    is that the branch gives.""",
    """
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('''#[version = "0.0.5"]
    def @main(%c: bool, %x: float32) {
      let %f = if (%c) { fn (%a: float32) { exp(%a) } } else { fn (%a: float32) { negative(%a) } };
      %f(%x)
    }
    ''')
    translator.via_graph(mod)
    """,
    """
    from relay2relax import relay_ir, translator

    mod = relay_ir.parse('''#[version = "0.0.5"]
    def @main(%c: bool, %x: float32) {
      if (%c) { exp(%x) } else { negative(%x) }
    }
    ''')
    translator.via_graph(mod)
    """,
    template="node {node!r}: a branch gives {given}; Relax has no such values, and which branch is taken only the "
    "running program knows",
    help="move what uses the value into both arms, so that tensors come out",
    exit=ExitCode.UNSUPPORTED,
)
FLOAT64 = ErrorKind(
    "R2R-0732",
    "the program cannot be computed in float64",
    """Which of two results is right is decided by the same program with float64 in place of every float
    dtype. That is another program where it looks at the bits of numbers, takes data types apart, or
    has operators that ask for float32, as quantised ones do for scales. Integers decide by
    themselves: they agree or they do not.""",
    """
    from relay2relax import parity, relay_ir

    mod = relay_ir.parse('''#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) { reinterpret(%x, dtype="int32") }
    ''')
    parity.in_float64(mod)
    """,
    """
    from relay2relax import parity, relay_ir

    mod = relay_ir.parse('''#[version = "0.0.5"]
    def @main(%x: Tensor[(2), float32]) { exp(%x) }
    ''')
    parity.in_float64(mod)
    """,
    template="the program cannot be computed in float64: {problem}",
    exit=ExitCode.UNSUPPORTED,
)
