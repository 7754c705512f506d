"""Models that the importers of the installed TVM make Relax of: ONNX's own node tests, and modules
of PyTorch.

for model in models():
    module, arguments = model.load()              # what the importer makes of it
    expected = run_in_tvm(module, arguments)
    for stage, relax in stages(module).items():   # as imported, lowered, fused
        …
"""

from __future__ import annotations

import ast
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from torch_modules import direct_modules, torch_modules

from relay2relax import relax_ir as rx
from relay2relax import translator
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.extent import equal

# So many models of one operator are taken; ONNX has a hundred of Cast.
_MOST = 6
# Families that have no tensors, or whose results are random.
_WITHOUT = ("Bernoulli", "Optional", "Random", "Sequence", "String", "Multinomial")
# Operators whose further inputs the importer takes for what they are by default, where they are no
# constants.
_READ = ("NonMaxSuppression",)


@dataclass(frozen=True, eq=False)
class Model:
    """A model of one operator.

    ``load`` imports it, or raises what the importer raises; ``outside`` is its value by ONNX's
    tests, or by PyTorch.
    """

    name: str
    operator: str
    load: Callable[[], tuple[Any, Sequence[Any]]]
    outside: Callable[[], Any]


def models() -> Iterator[Model]:
    """Yield every model; that the importer can read it is not said."""
    yield from onnx_models()
    yield from torch_models()
    yield from traced_models()
    yield from particular_models()


def particular_models() -> Iterator[Model]:
    """Yield models of operators that the importers emit and that none of the others calls."""
    import onnx
    from onnx.helper import make_graph, make_model, make_node, make_tensor_value_info

    real, shapes = onnx.TensorProto.FLOAT, {"x": (1, 2, 6, 6), "rois": (2, 5), "y": (2, 2, 2, 3)}
    image = np.random.default_rng(0).standard_normal(shapes["x"], np.float32)
    regions = np.array([[0, 0, 0, 5, 5], [0, 1, 2, 4, 4]], np.float32)
    x, rois, y = (make_tensor_value_info(name, real, shape) for name, shape in shapes.items())
    node = make_node("MaxRoiPool", ["x", "rois"], ["y"], pooled_shape=[2, 3], spatial_scale=1.0)
    model = make_model(make_graph([node], "pooled", [x, rois], [y]), opset_imports=[onnx.helper.make_opsetid("", 22)])

    def by_hand() -> Any:
        # The edges of the bins as the original of Fast R-CNN has them, both inclusive.
        found = np.empty(shapes["y"], np.float32)
        for number, (_, left, top, right, bottom) in enumerate(regions.astype(int)):
            height, width = (bottom - top + 1) / 2, (right - left + 1) / 3
            for i, j in np.ndindex(2, 3):
                rows = slice(top + int(np.floor(i * height)), top + int(np.ceil((i + 1) * height)))
                columns = slice(left + int(np.floor(j * width)), left + int(np.ceil((j + 1) * width)))
                found[number, :, i, j] = image[0, :, rows, columns].max((1, 2))
        return (found,)

    yield Model("regions pooled", "MaxRoiPool", partial(_load_onnx, model, [image, regions]), by_hand)
    for name, module, arguments in direct_modules():
        load = partial(_load_exported, module, arguments, run_ep_decomposition=False)
        yield Model(f"direct {name}", name, load, partial(_eager, module, arguments))


def traced_models() -> Iterator[Model]:
    """Yield the modules of :mod:`torch_modules` once more, traced by ``torch.fx``."""
    for name, module, arguments in torch_modules():

        def load(module: Any = module, arguments: Any = arguments) -> tuple[Any, Sequence[Any]]:
            import torch
            from tvm.relax.frontend.torch import from_fx

            inputs = [(tuple(one.shape), str(one.dtype).removeprefix("torch.")) for one in arguments]
            with _silence(), torch.no_grad():
                found = from_fx(torch.fx.symbolic_trace(module), inputs)
            return found, [one.numpy() for one in arguments]

        yield Model(f"traced {name}", name, load, partial(_eager, module, arguments))


def torch_models() -> Iterator[Model]:
    """Yield the modules of :mod:`torch_modules`, which are exported and imported."""
    for name, module, arguments in torch_modules():
        yield Model(
            f"torch {name}", name, partial(_load_exported, module, arguments), partial(_eager, module, arguments)
        )


def _load_exported(module: Any, arguments: Any, **options: Any) -> tuple[Any, Sequence[Any]]:
    import torch
    from tvm.relax.frontend.torch import from_exported_program

    with _silence(), torch.no_grad():
        found = from_exported_program(torch.export.export(module, arguments), **options)
    return found, [one.numpy() for one in arguments]


def _eager(module: Any, arguments: Any) -> Any:
    import torch

    with torch.no_grad():
        return _arrays(module(*arguments))


def onnx_models() -> Iterator[Model]:
    """Yield node tests of the installed ONNX package, a few for each operator."""
    from onnx.backend.test.case.node import collect_testcases

    with _silence():
        cases = sorted(collect_testcases(None), key=lambda case: case.name)
    count: Counter[str] = Counter()
    for case in cases:
        operator = case.model.graph.node[0].op_type
        inputs, outputs = case.data_sets[0]
        if (
            "expanded" in case.name
            or case.model.graph.node[0].domain
            or any(part in operator for part in _WITHOUT)
            or not all(isinstance(one, np.ndarray) and one.dtype.kind in "biuf" for one in inputs)
            or count[operator] >= _MOST
        ):
            continue
        count[operator] += 1
        yield Model(case.name, operator, partial(_load_onnx, case.model, inputs), partial(tuple, outputs))


def _load_onnx(model: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Return the imported model and its arguments.

    Inputs that the importer wants to know are constants.
    """
    from tvm.relax.frontend.onnx import from_onnx

    with _silence():
        if model.graph.node[0].op_type in _READ:
            return _import_with_constants(model, inputs)
        try:
            return from_onnx(model), inputs
        except Exception:  # noqa: BLE001 - importers raise whatever they like
            return _import_with_constants(model, inputs)


def _import_with_constants(model: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    from tvm.relax.frontend.onnx import from_onnx

    given, arguments = _with_constants(model, inputs)
    return from_onnx(given), arguments


def _with_constants(model: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    from onnx import ModelProto, numpy_helper

    given = ModelProto()
    given.CopyFrom(model)
    arguments = []
    del given.graph.input[:]
    for index, (info, one) in enumerate(zip(model.graph.input, inputs, strict=False)):
        if index > 0 and one.size <= 8:
            given.graph.initializer.append(numpy_helper.from_array(one, info.name))
        else:
            given.graph.input.append(info)
            arguments.append(one)
    return given, arguments


@contextmanager
def _silence() -> Iterator[None]:
    """Importers print what they cannot read, and exporters warn."""
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield


# What is done with an imported model


def operators(module: Any) -> set[str]:
    """Return the names of the Relax operators that ``module`` calls."""
    from tvm import ir, relax

    found: set[str] = set()

    def look(node: Any) -> None:
        operator = getattr(node, "op", None)
        if isinstance(operator, ir.Op):
            found.add(operator.name)

    for func in module.functions.values():
        if isinstance(func, relax.Function):
            relax.analysis.post_order_visit(func, look)
    return found


def stages(module: Any) -> Mapping[str, Any]:
    """Return ``module`` as it was imported, lowered by LegalizeOps, and fused."""
    from tvm import relax

    lowered = relax.transform.LegalizeOps()(module)
    fused = relax.transform.FuseOps()(relax.transform.AnnotateTIROpPattern()(lowered))
    return {"imported": module, "lowered": lowered, "fused": fused, "merged": relax.transform.FuseTIR()(fused)}


def run_in_tvm(module: Any, arguments: Sequence[Any]) -> Any:
    """Return what TVM's own machine gives."""
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    return _arrays(machine["main"](*map(tvm.runtime.tensor, arguments)))


def _arrays(value: Any) -> Any:
    if hasattr(value, "numpy"):
        return value.numpy()
    if value is None or isinstance(value, (int, float)):
        return value
    return tuple(_arrays(one) for one in value)


def value_difference(actual: Any, expected: Any) -> str:
    """Return in what ``actual`` differs from TVM's value, "" where it does not."""
    found, wanted = translator.flatten(actual), translator.flatten(expected)
    if len(found) != len(wanted):
        return f"{len(found)} results, expected {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"result {number} is {one.dtype}{one.shape}, expected {other.dtype}{other.shape}"
        tolerance = 2e-2 if other.dtype.itemsize <= 2 and other.dtype.kind not in "iub" else 1e-4
        if not np.allclose(one.astype("float64"), other.astype("float64"), rtol=tolerance, atol=1e-5, equal_nan=True):
            return f"result {number} differs: {one.ravel()[:8]}, expected {other.ravel()[:8]}"
    return ""


def info_differences(module: rx.IRModule) -> list[str]:
    """Return the bindings of which we infer something else than the text says, or less."""
    inference, found = Inference(module), []
    for func in module.functions.values():
        if not isinstance(func, rx.Function):
            continue
        for binding in (one for seq in all_sequences([func.body]) for one in bindings(seq)):
            if isinstance(binding, rx.Binding) and not _is_told(binding.value):
                inferred = inference.of(binding.value)
                if not at_least(inferred, binding.var.info):
                    said = rx.print_struct_info(binding.var.info)
                    found.append(f"{binding.var.name}: {rx.print_struct_info(inferred)}, TVM says {said}")
    return found


def _is_told(value: rx.Expr) -> bool:
    """Whether only the text says what ``value`` is: what packed functions return cannot be
    inferred.
    """
    return isinstance(value, rx.Call) and isinstance(value.op, rx.ExternFunc)


def at_least(ours: rx.StructInfo, theirs: rx.StructInfo) -> bool:
    """Whether ``ours`` says what ``theirs`` says, or more."""
    match ours, theirs:
        case _, rx.ObjectStructInfo():
            return True
        case rx.TensorStructInfo(shape, dtype, ndim), rx.TensorStructInfo(other, other_dtype, other_ndim):
            return other_dtype in ("", dtype) and other_ndim in (-1, ndim) and _rows_agree(shape, other)
        case rx.ShapeStructInfo(values, ndim), rx.ShapeStructInfo(other_values, other_ndim):
            return other_ndim in (-1, ndim) and _rows_agree(values, other_values)
        case rx.TupleStructInfo(fields), rx.TupleStructInfo(others):
            return len(fields) == len(others) and all(map(at_least, fields, others))
    return type(ours) is type(theirs)


def _rows_agree(row: Any, other: Any) -> bool:
    if other is None:
        return True
    return row is not None and all(equal(a, b) is True for a, b in zip(row, other, strict=True))


def is_well_formed(module: Any) -> bool:
    """Whether TVM finds its own module well formed; its importers do not always see to that."""
    from tvm import relax

    return bool(relax.analysis.check_well_formed(module))


# What the importers are made of


def emitted_operators() -> set[str]:
    """Return the operators, without ``relax.``, that the sources of the ONNX and PyTorch importers
    name.
    """
    from tvm.relax import frontend

    root = Path(frontend.__file__).parent
    files = [path for folder in ("onnx", "torch") for path in sorted((root / folder).glob("*.py"))]
    assert len(files) > 4
    named = {name for path in files for node in ast.walk(ast.parse(path.read_text())) for name in _operator(node)}
    return named & registered_operators()


def _operator(node: ast.AST) -> Iterator[str]:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    if isinstance(node, ast.Name) and [node.id, *parts[:1]] == ["relax", "op"] and parts[1:]:
        yield ".".join(parts[1:])


def registered_operators() -> set[str]:
    """Return the names of the operators that the installed TVM registers, without ``relax.``."""
    import tvm

    return {str(name)[6:] for name in tvm.ir.Op.list_op_names() if str(name).startswith("relax.")}
