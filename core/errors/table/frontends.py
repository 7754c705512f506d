"""Kinds of mistakes about models of other frameworks."""

from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind

OPERATORS = ErrorKind(
    "R2R-0560",
    "a model has operators that a frontend does not read",
    """The message names all operators of the model that are missing, so that one look says what is
    to be done. A conversion of one's own is given as `custom_convert_map`.""",
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.special.bessel_j0, torch.zeros(2))
    relay_ir.frontend.from_pytorch(model, [("x", [2])])
    """,
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.matmul, (torch.zeros(2), torch.zeros(2)))
    relay_ir.frontend.from_pytorch(model, [("x", [2]), ("y", [2])])
    """,
    template="PyTorch operators that are not imported: {names}",
    help="give a conversion of your own: `custom_convert_map={'aten::name': function}`",
    exit=ExitCode.UNSUPPORTED,
)
NOT_TORCHSCRIPT = ErrorKind(
    "R2R-0561",
    "what is given is not a TorchScript module",
    """A frontend runs nothing of a model. What a module computes is read from its TorchScript, which
    `torch.jit.trace` or `torch.jit.script` makes of it, or from a program of `torch.export`. A
    module itself is exported where its inputs are given.""",
    """
    import torch
    from relay2relax import relay_ir

    relay_ir.frontend.from_pytorch(torch.nn.Linear(3, 2), [("x", [1, 3])])
    """,
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.nn.Linear(3, 2), torch.zeros(1, 3))
    relay_ir.frontend.from_pytorch(model, [("x", [1, 3])])
    """,
    template="a TorchScript module or function, or an exported program, is expected, found {found}",
    help="torch.export.export(model.eval(), inputs) makes one; or give `example_inputs` with the module",
)
INPUTS = ErrorKind(
    "R2R-0562",
    "inputs that are stated for a model are not those that it has",
    """Inputs are a list with `(name, shape)` or `(name, (shape, dtype))` for each input of the model,
    in its order. Where the model states extents and dtypes of its own, they have to be the same.""",
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.matmul, (torch.zeros(2), torch.zeros(2)))
    relay_ir.frontend.from_pytorch(model, [("x", [2])])
    """,
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.matmul, (torch.zeros(2), torch.zeros(2)))
    relay_ir.frontend.from_pytorch(model, [("x", [2]), ("y", [2])])
    """,
    template="the inputs that are stated are not the model's: {problem}",
)
FORM = ErrorKind(
    "R2R-0563",
    "a form of an operator that a frontend does not read",
    """The operator is read, but not with these arguments: Relay has no operator that does the same, or
    an argument that has to be known is computed by the model.""",
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.nn.Dropout(), torch.ones(1, 3), check_trace=False)
    relay_ir.frontend.from_pytorch(model, [("x", [1, 3])])
    """,
    """
    import torch
    from relay2relax import relay_ir

    model = torch.jit.trace(torch.nn.Dropout().eval(), torch.ones(1, 3))
    relay_ir.frontend.from_pytorch(model, [("x", [1, 3])])
    """,
    template="{node} is not imported: {problem}",
    exit=ExitCode.UNSUPPORTED,
)
TORCH_FILE = ErrorKind(
    "R2R-0567",
    "a file of PyTorch's that is no program, or that would run something when it is read",
    """Programs are read as `torch.export.save` and `torch.jit.save` write them. PyTorch's readers unpickle
    weights, look up functions by their names and evaluate extents as Python; a file that would come to
    that is refused, and so is a module as `torch.save` pickles it. What is read is never run.""",
    """
    import io
    import torch
    from relay2relax import relay_ir

    file = io.BytesIO()
    torch.save(torch.nn.Linear(3, 2), file)
    relay_ir.frontend.from_pytorch(file.getvalue())
    """,
    """
    import io
    import torch
    from relay2relax import relay_ir

    file = io.BytesIO()
    torch.export.save(torch.export.export(torch.nn.Linear(3, 2), (torch.zeros(1, 3),)), file)
    relay_ir.frontend.from_pytorch(file.getvalue())
    """,
    template="{name} is not read as a program of PyTorch's: {problem}",
    help="save it anew: torch.export.save(torch.export.export(model.eval(), inputs), 'model.pt2')",
)
ONNX_MODEL = ErrorKind(
    "R2R-0565",
    "what is given is no ONNX model, or not a whole one",
    """A model is one message of protobuf. Each input of a node is an input of the graph, an
    initialiser, or made by a node before it; inputs have shapes, by the model or as they are
    stated.""",
    """
    import onnx
    from relay2relax import relay_ir

    relay_ir.frontend.from_onnx(b"")
    """,
    """
    from onnx import TensorProto, helper
    from relay2relax import relay_ir

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
    relay_ir.frontend.from_onnx(helper.make_model(graph).SerializeToString())
    """,
    template="the ONNX model is not imported: {problem}",
)
ONNX_OPERATORS = ErrorKind(
    "R2R-0564",
    "an ONNX model has operators that are not imported",
    """The message names all of them, how many nodes each has, and the first nodes. A conversion of
    one's own is given as `custom_convert_map`, or registered by
    `frontend.register_onnx_operator`.""",
    """
    from onnx import TensorProto, helper
    from relay2relax import relay_ir

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Det", ["x"], ["y"])], "g", [x], [y])
    relay_ir.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    """,
    """
    from onnx import TensorProto, helper
    from relay2relax import relay_ir

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
    relay_ir.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    """,
    template="ONNX operators that are not imported: {names}",
    help="give a conversion of your own: `custom_convert_map={'Name': function}`",
    exit=ExitCode.UNSUPPORTED,
)
OTHER = ErrorKind(
    "R2R-0566",
    "a model of a framework that is imported by way of ONNX",
    """TVM had an importer for each of these frameworks. Here an exporter of the framework's writes the
    model as ONNX, and `from_onnx` imports that.""",
    """
    from relay2relax import relay_ir

    relay_ir.frontend.from_tflite(b"")
    """,
    """
    from onnx import TensorProto, helper
    from relay2relax import relay_ir

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [x], [y])
    relay_ir.frontend.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]))
    """,
    template="models of {framework} are imported by way of ONNX, which this writes: {command}",
    exit=ExitCode.UNSUPPORTED,
)
