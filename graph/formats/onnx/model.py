"""``graph.to_onnx``: a graph as an ONNX model.

The graph becomes a Relax program in which every operator that has a form of its own stays one call;
that program is walked, and each call becomes what ``forms/`` says. What ONNX cannot say is a node
of the domain ``relay2relax`` with the operator's name and attributes: no runtime runs it, Netron
shows it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import translating
from relay2relax.core.output import Content, OutputFile
from relay2relax.core.source import HALF_OF_PAIR
from relay2relax.core.tensor_blob import elements
from relay2relax.graph.check import check_well_formed
from relay2relax.graph.formats.attrs_text import attrs_text
from relay2relax.graph.formats.onnx import protos
from relay2relax.graph.formats.onnx.builder import Builder, NoFormError, Scope, Site, Value, leaves
from relay2relax.graph.formats.onnx.calls import CallEmitter
from relay2relax.graph.formats.onnx.forms import find_form
from relay2relax.graph.model import GraphError, MSCGraph
from relay2relax.graph.relax.exporter import relax_of_well_formed
from relay2relax.graph.relax.trace import Trace
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.symbolic import Dims
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relax_ir.inference.infer import Inference, argument_type
from relay2relax.relax_ir.inference.op_signatures import ForeignAttrs
from relay2relax.relax_ir.ir.expr import (
    Call,
    CallTIR,
    Constant,
    Expr,
    Function,
    If,
    IRModule,
    MatchCast,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, StructInfo, TensorStructInfo, TupleStructInfo, to_type
from relay2relax.relax_ir.ir.visit import Steps, run
from relay2relax.tir.extent import Extent, static
from relay2relax.tir.ir.expr import FloatImm, IntImm
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.tir.ir.stmt import PrimFunc

# A message of protobuf is no larger; weights of more are laid beside the model.
_LARGEST = 2**31 - 2**24


def to_onnx(
    graph: MSCGraph, weights: Mapping[str, Array], dims: Dims | None = None, external_data: str = ""
) -> protos.Message:
    """Return a graph, of Relay or of Relax, as an ``onnx.ModelProto`` of opset 20.

    Parameters are inputs, but for those that ``weights`` names: they are initialisers, as weights
    that nodes hold. Symbolic dimensions are
    ``dim_param`` by their names; ``dims`` names or unifies those of a graph of Relay. Branches are
    ``If``; calls are inlined. An operator that ONNX does not have is a node of the domain
    ``relay2relax``. Weights of 1 KB and more are left out with ``external_data``, the name of the
    file beside the model where they are to lie; :func:`save_onnx` writes both.

    Raises UnsupportedError where ``onnx`` is not installed, for what :func:`to_relax` refuses, and
    for weights of more than 2 GB without ``external_data``; GraphError where a weight is missing.

    >>> found, weights = graph.from_relay(mod)
    >>> model = graph.to_onnx(found, {**weights, **params})
    >>> onnx.checker.check_model(model, full_check=True)
    """
    return _model(graph, weights, dims, external_data)[0]


def save_onnx(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    path: str | os.PathLike[str],
    dims: Dims | None = None,
    external: bool | None = None,
) -> tuple[Path, ...]:
    """Write a graph as the ONNX model ``path``, and return the files that were written.

    Weights of 1 KB and more lie in ``<path>.data`` with ``external``; with None where the model
    would be larger than protobuf allows. They are written as they are, not copied. Raises what
    :func:`to_onnx` raises, and FileError where a file must not be written over, or that fails.
    """
    target = Path(path)
    written = []
    for name, content in onnx_files(graph, weights, target.name, dims, external).items():
        written.append(target.with_name(name))
        OutputFile(written[-1], force=written[-1] != target).write(content)
    return tuple(written)


def onnx_files(
    graph: MSCGraph,
    weights: Mapping[str, Array],
    name: str,
    dims: Dims | None = None,
    external: bool | None = None,
) -> dict[str, Content]:
    """Return the files of an ONNX model by their names: the weights where they lie in one of their
    own, and the model ``name``. See :func:`save_onnx`.
    """
    if external is None:
        external = sum(array.nbytes for array in weights.values()) > _LARGEST
    model, beside = _model(graph, weights, dims, f"{name}.data" if external else "")
    parts: list[bytes | memoryview] = []
    end = 0
    for start, array in beside:
        parts += [b"\0" * (start - end), elements(array).data]
        end = start + array.nbytes
    found: dict[str, Content] = {f"{name}.data": parts} if parts else {}
    return {**found, name: model.SerializeToString()}


def _model(
    graph: MSCGraph, weights: Mapping[str, Array], dims: Dims | None, external: str
) -> tuple[protos.Message, Sequence[tuple[int, Array]]]:
    protos.library()
    check_well_formed(graph)
    size = sum(array.nbytes for array in weights.values())
    if size > _LARGEST and not external:
        problem = f"are {size / 1e9:.1f} GB, and a model holds 2 GB; state external_data, or use save_onnx"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner="the weights", problem=problem))
    trace = Trace()
    module = relax_of_well_formed(graph, weights, dims, partitions="inline", trace=trace, emitter=CallEmitter)
    export = _Export(module, protos.Initializers(external))
    export.names = {var: name for name, found in trace.bound.items() for var in found}
    export.weights = {constant: name for name, constant in trace.constants.items()}
    held = {tensor.name for tensor in graph.get_weights()}
    export.given = {name: array for name, array in weights.items() if name not in held}
    main = module[graph.name]
    assert isinstance(main, Function)
    try:
        return export.model(graph.name, main), export.builder.initializers.beside
    except UnicodeEncodeError as error:
        owner = f"the string {error.object!r:.60}"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner=owner, problem=HALF_OF_PAIR)) from None


class _Export:
    """One export of a Relax program."""

    def __init__(self, module: IRModule, initializers: protos.Initializers) -> None:
        self.module = module
        self.inference = Inference(module)
        self.builder = Builder(initializers)
        self.values: dict[Expr, Value] = {}
        self.names: dict[Var, str] = {}
        self.weights: dict[Constant, str] = {}
        self.given: Mapping[str, Array] = {}
        self.reasons: dict[str, str] = {}

    def model(self, name: str, main: Function) -> protos.Message:
        """Return the model of the function ``main``."""
        builder, inputs = self.builder, []
        for param in main.params:
            if param.name in self.given:
                self.values[param] = self.weight(param)
            else:
                inputs += self.parameter(param)
        run(self.sequence(main.body))
        result = self.value(main.body.body)
        types = _tensors(self.inference.of(main.body.body), self.builder.types, tuple(leaves(result)))
        given, outputs = {one.name for one in inputs}, []
        finals: list[str] = []
        for one, type_ in zip(leaves(result), types, strict=True):
            whole = one in given or one in builder.arrays or one in finals
            finals.append(builder.add("Identity", [one], 1)[0] if whole else one)
            outputs.append(protos.value_info(finals[-1], type_, {}))
        nodes = _needed(builder.scopes[0].nodes, finals)
        used = {name for node in nodes for name in _reads(node)}
        constants = [one for one in builder.initializers.protos if one.name in used]
        made = {name for node in nodes for name in node.output} - set(finals)
        infos = [protos.value_info(one, type_, {}) for one, type_ in builder.types.items() if one in made]
        return protos.model(name, nodes, inputs, outputs, constants, infos, builder.custom, self.reasons)

    def weight(self, param: Var) -> str:
        """Return the initialiser that a parameter is; raises GraphError where it does not fit."""
        array, info = self.given[param.name], param.info
        found = TensorStructInfo(array.shape, of_array(array))
        if not isinstance(info, TensorStructInfo) or not _may_be(info, found):
            raise GraphError(f"weight {param.name!r}: expected {info}, given {array.shape} of {found.dtype}")
        made = self.builder.weight(param.name, array)
        self.builder.stands(made, TensorType(info.shape or array.shape, found.dtype))
        return made

    def parameter(self, param: Var) -> list[protos.Message]:
        """Return the inputs that a parameter is; one of a tuple is several."""
        found = []

        def made(info: StructInfo, hint: str) -> Value:
            match info:
                case TensorStructInfo():
                    name = self.builder.fresh(hint)
                    type_ = to_type(info)
                    assert isinstance(type_, TensorType)
                    self.builder.stands(name, type_)
                    found.append(protos.value_info(name, type_, {}))
                    return name
                case TupleStructInfo(fields):
                    return tuple(made(one, f"{hint}_{i}") for i, one in enumerate(fields))
                case ShapeStructInfo(values) if values is not None:
                    name = self.builder.fresh(hint)
                    self.shape(name, values)
                    found.append(protos.value_info(name, TensorType((len(values),), "int64"), {}))
                    return name
            problem = "is no tensor, which ONNX models take alone"
            raise UnsupportedError(
                mistake(translating.NO_ONNX_FORM, owner=f"the parameter {param.name}", problem=problem)
            )

        self.values[param] = made(param.info, param.name)
        return found

    def shape(self, vector: str, extents: Sequence[Extent]) -> None:
        """Note that the elements of ``vector`` are the extents of a shape."""
        for place, extent in enumerate(extents):
            if isinstance(extent, PrimVar):
                self.builder.sources.setdefault(extent, (vector, -1 - place))

    def sequence(self, body: SeqExpr) -> Steps:
        """Add the nodes of a function's or a branch's bindings."""
        for block in body.blocks:
            for binding in block.bindings:
                self.builder.hint = self.names.get(binding.var, binding.var.name)
                if isinstance(binding.value, If):
                    yield self.branch(binding.var, binding.value)
                else:
                    self.values[binding.var] = self.value(binding.value)
                if isinstance(binding, MatchCast):
                    self.stands(self.values[binding.var], binding.info)
                self.stands(self.values[binding.var], binding.var.info)

    def stands(self, value: Value, info: StructInfo) -> None:
        """Note what is known of a value."""
        match info:
            case TensorStructInfo(shape) if shape is not None and isinstance(value, str):
                self.builder.stands(value, TensorType(shape, info.dtype))
            case TensorStructInfo(None, _, ndim) if ndim >= 0 and isinstance(value, str):
                type_ = to_type(info)
                assert isinstance(type_, TensorType)
                self.builder.types.setdefault(value, type_)
            case TupleStructInfo(fields) if isinstance(value, tuple):
                for one, part in zip(value, fields, strict=False):
                    self.stands(one, part)
            case ShapeStructInfo(values) if values is not None and isinstance(value, str):
                self.shape(value, values)

    def branch(self, var: Var, value: If) -> Steps:
        """Add an ``If``; its branches read what is around them by name."""
        condition = self.value(value.condition)
        hint = self.builder.hint
        arms, result = [], None
        for name, body in (("then", value.true_branch), ("else", value.false_branch)):
            self.builder.scopes.append(Scope())
            yield self.sequence(body)
            result = self.value(body.body)
            # What a branch gives has to be made in it.
            finals = [self.builder.add("Identity", [one], 1)[0] for one in leaves(result)]
            types = _tensors(self.inference.of(body.body), self.builder.types, finals)
            nodes = _needed(self.builder.scopes.pop().nodes, finals)
            infos = [protos.value_info(*pair, {}) for pair in zip(finals, types, strict=True)]
            arms.append(protos.subgraph(f"{hint}_{name}", nodes, infos))
        assert isinstance(condition, str)
        assert result is not None
        self.builder.hint = hint
        made = iter(self.builder.add("If", [condition], len(finals), then_branch=arms[0], else_branch=arms[1]))

        def renamed(one: Value) -> Value:
            return next(made) if isinstance(one, str) else tuple(map(renamed, one))

        self.values[var] = renamed(result)

    def value(self, expr: Expr) -> Value:
        """Return what stands for an expression; a call adds its nodes."""
        match expr:
            case _ if expr in self.values:
                return self.values[expr]
            case Constant(data):
                made = self.builder.weight(self.weights.get(expr, ""), data)
                self.builder.types[made] = TensorType(data.shape, expr.info.dtype)
                self.values[expr] = made
                return made
            case Tuple(fields):
                return tuple(self.value(one) for one in fields)
            case TupleGetItem(whole, index):
                found = self.value(whole)
                assert isinstance(found, tuple)
                return found[index]
            case ShapeExpr(values):
                return self.builder.extents(values)
            case PrimValue(IntImm() | FloatImm() as number):
                return self.builder.constant(np.asarray(number.value, number.dtype))
            case Call(OpDef() as op, args, attrs):
                return self.call(op, attrs, args, self.inference.of(expr))
            case CallTIR(func, args, out) if isinstance(callee := self.module.functions[func], PrimFunc):
                result = out[0] if len(out) == 1 else TupleStructInfo(out)
                if isinstance(callee.origin, Origin):
                    return self.call(callee.origin.op, callee.origin.attrs, args, result)
                return self.custom(callee.name, {}, args, result, "a tensor program")
        name = type(expr).__name__ if not isinstance(expr, Call) else str(getattr(expr.op, "name", "a function"))
        args = expr.args if isinstance(expr, Call) else ()
        return self.custom(name, {}, args, self.inference.of(expr), "ONNX has no such expression")

    def call(self, op: OpDef, attrs: object, args: Sequence[Expr], info: StructInfo) -> Value:
        """Add the nodes of an operator's call."""
        form = find_form(op)
        given = [self.value(arg) for arg in args]
        if form is None:
            return self.custom(op.name, attrs, args, info, "ONNX has no operator for it")
        types = tuple(argument_type(self.inference.of(arg)) for arg in args)
        kept = len(self.builder.scopes[-1].nodes)
        try:
            return form(Site(self.builder, types, _type(info)), attrs, *given)
        except NoFormError as error:
            del self.builder.scopes[-1].nodes[kept:]
            self.builder.scopes[-1].extents.clear()
            return self.custom(op.name, attrs, args, info, str(error))

    def custom(self, name: str, attrs: object, args: Sequence[Expr], info: StructInfo, why: str) -> Value:
        """Add a node of the custom domain."""
        inputs = [one for arg in args for one in leaves(self.value(arg))]
        shown = {} if isinstance(attrs, (Mapping, ForeignAttrs)) else attrs_text(attrs)
        type_ = _type(info)
        outputs = iter(self.builder.add(name, inputs, _count(type_), protos.DOMAIN, **shown))
        self.reasons[f"relay2relax.{name}"] = why
        made = _shaped(type_, outputs)
        self.stands(made, info)
        return made


def _may_be(info: TensorStructInfo, found: TensorStructInfo) -> bool:
    """Whether a weight fits a parameter, whose extents may be symbolic."""
    if info.dtype != found.dtype or info.ndim not in (-1, found.ndim):
        return False
    pairs = zip(info.shape or (), found.shape or (), strict=False)
    return all(static(extent) in (None, given) for extent, given in pairs)


def _type(info: StructInfo) -> Type:
    """Return the type of a result; a shape is a vector."""
    if isinstance(info, ShapeStructInfo):
        return TensorType((info.ndim,), "int64")
    try:
        return to_type(info)
    except TypeError as error:
        problem = f"gives what is no tensor ({error})"
        raise UnsupportedError(mistake(translating.NO_ONNX_FORM, owner="a call", problem=problem)) from error


def _count(type_: Type) -> int:
    return sum(map(_count, type_.fields)) if isinstance(type_, TupleType) else 1


def _shaped(type_: Type, names: Iterator[str]) -> Value:
    if isinstance(type_, TupleType):
        return tuple(_shaped(one, names) for one in type_.fields)
    return next(names)


def _tensors(info: StructInfo, types: Mapping[str, TensorType], names: Sequence[str]) -> list[TensorType]:
    """Return the types of the tensors of a result."""
    stack, found = [info], []
    while stack:
        one = stack.pop()
        if isinstance(one, TupleStructInfo):
            stack += reversed(one.fields)
        else:
            type_ = _type(one)
            assert isinstance(type_, TensorType)
            found.append(type_)
    return found


def _reads(node: protos.Message) -> list[str]:
    """Return the values that a node reads, those that its branches read from around them too."""
    found = list(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            made = {name for inner in attribute.g.node for name in inner.output}
            names = [one.name for one in attribute.g.output]
            names += [name for inner in attribute.g.node for name in _reads(inner)]
            found += [name for name in names if name not in made]
    return found


def _needed(nodes: Sequence[protos.Message], outputs: Sequence[str]) -> list[protos.Message]:
    """Return the nodes that ``outputs`` need."""
    needed, kept = set(outputs), []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            needed.update(_reads(node))
            kept.append(node)
    return kept[::-1]
