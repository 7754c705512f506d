"""From an ONNX graph to Relay, node by node."""

from __future__ import annotations

import os
import re
from collections import ChainMap, Counter
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from keyword import iskeyword
from pathlib import Path
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import Diagnostic, ParseError, UnsupportedError, mistake
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.onnx import protos, schemas
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert, Value, Values
from relay2relax.relay_ir.frontend.onnx.naming import first_takers
from relay2relax.relay_ir.frontend.onnx.operators import find_operator
from relay2relax.relay_ir.frontend.onnx.protos import Message, Node
from relay2relax.relay_ir.frontend.onnx.tensors import array_of, dense_of
from relay2relax.relay_ir.frontend.pytorch.types import with_spans
from relay2relax.relay_ir.ir.expr import Expr, Function, RelayExpr, Tuple, TupleGetItem, Var, const
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.tir.extent import Extent, static

Model: TypeAlias = Union[str, "os.PathLike[str]", bytes, object]
# The extents of an input; of one that is a sequence those of its elements.
Shape: TypeAlias = Union[Sequence[Extent], Sequence[Sequence[Extent]]]
# Functions that call each other are no deeper than this.
_DEEPEST = 64
# So many nodes may come of functions, branches and turns of loops that are written out.
_MOST_NODES = 100_000
# What computing with axes, extents and lists of other lengths than an operator asks for ends in.
_UNFIT = (ArithmeticError, IndexError, MemoryError, TypeError, ValueError)


class UnknownInputError(ParseError):
    """Shapes are stated for inputs that a model does not have."""

    kind = frontends.ONNX_MODEL


def from_onnx(
    model: Model,
    shape: Mapping[str, Shape] | None = None,
    dtype: str | Mapping[str, str] = "float32",
    opset: int | None = None,
    freeze_params: bool = False,
    fixed_inputs: Mapping[str, Array] | None = None,
    custom_convert_map: Mapping[str, Convert] | None = None,
    convert_config: Mapping[str, object] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return an ONNX model as a module, and its weights by name.

    ``model`` is an ``onnx.ModelProto``, its bytes, or the path of its file; data that lie beside a
    file are mapped into memory, and nothing outside of its folder is opened. ``shape`` states
    extents of inputs, where the model leaves them open (of a sequence, those of each element), and
    ``dtype``, where it is a mapping, their dtypes. ``opset`` is taken in place of the model's own.
    Open extents that the model names keep their names, ``mod.dims``, and translators take them.
    Weights are parameters of ``main``, after the inputs; with ``freeze_params`` they are constants.
    Calls carry the ONNX nodes' names as spans, inputs and weights that of the first node which
    takes them and their own, ``conv.weight``. ``fixed_inputs`` are inputs whose values are known
    beforehand, such as axes or a shape; they are constants. ``custom_convert_map`` has conversions
    of operators by name, which come before those that are built in. ``convert_config`` is TVM's:
    without ``use_nt_batch_matmul`` products of batches do not transpose what stands right.

    Raises ParseError for a model that cannot be read or is not whole; UnsupportedError where
    ``onnx`` is not installed, for operators that are not imported (all of them are named, with the
    nodes), and for forms of operators that Relay cannot say.
    """
    _check_stated(shape, dtype, opset)
    message, folder = _read(model)
    importer = Importer(
        protos.opsets_of(message),
        {(protos.domain_of(one), protos.text(one.name)): one for one in message.functions},
        folder,
        freeze_params,
        dict(custom_convert_map or {}),
        dict(convert_config or {}),
        first_takers(message.graph),
    )
    if opset is not None:
        importer.opsets[""] = opset
    for name, array in (fixed_inputs or {}).items():
        importer.initialiser(name, np.asarray(array), True)
    importer.check_operators(message.graph)
    body = importer.main(message.graph, dict(shape or {}), dtype)
    if freeze_params:
        return replace(IRModule.from_expr(Function(tuple(importer.inputs), body)), dims=importer.dims), {}
    used = set(free_vars(body))
    weights = [one for one in importer.weights.values() if one in used]
    found = {one.name: importer.values.arrays[one] for one in weights}
    return replace(IRModule.from_expr(Function((*importer.inputs, *weights), body)), dims=importer.dims), found


def _read(model: Model) -> tuple[Message, Path | None]:
    """Return the message of a model, and the folder where its data may lie."""
    onnx = protos.library()
    folder = None
    try:
        if isinstance(model, (str, os.PathLike)):
            folder = Path(model).parent
            model = Path(model).read_bytes()
        if isinstance(model, (bytes, bytearray, memoryview)):
            model = onnx.load_model_from_string(bytes(model))
    except OSError as error:
        raise ParseError(_unread(f"the file cannot be read: {error.strerror}")) from error
    except Exception as error:
        raise ParseError(_unread(f"it is no message of protobuf: {error}")) from error
    if not isinstance(model, onnx.ModelProto) or not model.HasField("graph"):
        raise ParseError(_unread("it has no graph"))
    return model, folder


def _unread(problem: str) -> Diagnostic:
    return mistake(frontends.ONNX_MODEL, problem=problem)


@dataclass(slots=True, eq=False)
class Importer:
    """A model under import.

    ``scope`` has the values of names, those of graphs around the one that is read too. ``weights``
    are parameters by their names. ``depth`` counts functions that call each other. ``dims`` are
    what the model calls open extents of inputs. ``takers`` are the first nodes that take what the
    main graph is given.
    """

    opsets: dict[str, int]
    functions: Mapping[tuple[str, str], Message]
    folder: Path | None
    freeze: bool
    custom: Mapping[str, Convert]
    config: Mapping[str, object]
    takers: Mapping[str, str]
    values: Values = field(default_factory=Values)
    scope: MutableMapping[str, Value] = field(default_factory=dict)
    inputs: list[Var] = field(default_factory=list)
    weights: dict[str, Var] = field(default_factory=dict)
    depth: int = 0
    dims: dict[str, list[str | None]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    inner: int = 0

    # --- graphs ---

    def main(self, graph: Message, shapes: Mapping[str, Shape], dtypes: str | Mapping[str, str]) -> Expr:
        """Return the outputs of the model's graph."""
        self.initialisers(graph, self.freeze)
        for info in graph.input:
            if protos.text(info.name) not in self.scope:
                self._input(info, shapes, {} if isinstance(dtypes, str) else dtypes)
        unknown = shapes.keys() - {one.name for one in graph.input}
        if unknown:
            problem = f"shapes are stated for {', '.join(sorted(unknown))}, which are no inputs"
            raise UnknownInputError(_unread(problem))
        self.nodes(protos.nodes_of(graph))
        outputs = [self._output(info.name) for info in graph.output]
        return outputs[0] if len(outputs) == 1 else Tuple(tuple(outputs))

    def _output(self, name: str) -> Expr:
        if name not in self.scope:
            raise ParseError(_unread(f"its output {name!r} is made by no node"))
        return _expression(self.scope[name], name)

    def _input(self, info: Message, shapes: Mapping[str, Shape], dtypes: Mapping[str, str]) -> None:
        type_ = info.type
        if type_.WhichOneof("value") == "optional_type":
            type_ = type_.optional_type.elem_type
        if type_.WhichOneof("value") == "sequence_type" and info.name in shapes:
            element = type_.sequence_type.elem_type.tensor_type.elem_type
            self._sequence(info.name, shapes[info.name], protos.dtype_of(element))
            return
        if not type_.HasField("tensor_type"):
            raise ParseError(_unread(f"its input {info.name!r} is no tensor"))
        if info.name not in shapes and not type_.tensor_type.HasField("shape"):
            raise ParseError(_unread(f"its input {info.name!r} has no shape; state one"))
        own, names = protos.extents_of(type_)
        given: Sequence[Any] = shapes.get(info.name, own)
        kept = [_word(name) if static(one) is None else "" for name, one in zip(names, given, strict=False)]
        if any(kept) and len(kept) == len(given):
            self.dims[info.name] = [name or None for name in kept]
        extents = [one for one in given if not isinstance(one, Sequence)]
        element = protos.element_numbered(type_.tensor_type.elem_type)
        dtype = dtypes.get(info.name) or element.dtype
        made = var(info.name, shape=extents, dtype=dtype, span=self._span(info.name))
        if element.narrow:
            self.values.narrow[made] = element
        self.scope[info.name] = made
        self.inputs.append(made)

    def _sequence(self, name: str, shapes: Shape, dtype: str) -> None:
        """Add an input that is a sequence, whose shapes are stated: a tuple of them."""
        kinds = [TensorType(tuple(one), dtype) for one in shapes if isinstance(one, Sequence)]
        made = var(name, TupleType(tuple(kinds)), span=self._span(name))
        self.inputs.append(made)
        self.scope[name] = [TupleGetItem(made, place) for place in range(len(kinds))]

    def initialisers(self, graph: Message, frozen: bool) -> None:
        """Give the names of a graph's initialisers their values."""
        for tensor in graph.initializer:
            self.initialiser(protos.text(tensor.name), array_of(tensor, self.folder), frozen)
        for sparse in graph.sparse_initializer:
            self.initialiser(*dense_of(sparse, self.folder), frozen)

    def initialiser(self, name: str, array: Array, frozen: bool) -> None:
        """Give a name data: a constant, or else a weight."""
        if frozen:
            self.scope[name] = replace(const(array, of_array(array)), span=self._span(name))
            return
        made = var(name, shape=array.shape, dtype=of_array(array), span=self._span(name))
        self.values.arrays[made] = array
        self.scope[name] = self.weights[name] = made

    def _span(self, name: str) -> Span | None:
        return Span(f"{self.takers[name]}.{name}") if name in self.takers else None

    def _opened(self, graph: Message) -> None:
        """Count the nodes of a graph or function that is written out once more."""
        self.inner += len(graph.node)
        if self.inner > _MOST_NODES:
            raise ParseError(_unread(f"its functions and loops have over {_MOST_NODES} nodes, written out"))

    def subgraph(self, graph: Message, given: Sequence[Value], inside: str) -> list[Value]:
        """Return the outputs of a graph that a node holds, with ``given`` for its inputs."""
        names = [protos.text(one.name) for one in graph.input]
        self._opened(graph)
        outer, self.scope = self.scope, ChainMap(dict(zip(names, given, strict=False)), self.scope)
        try:
            self.initialisers(graph, True)
            self.nodes(protos.nodes_of(graph, f"{inside}/"))
            missing = next((one.name for one in graph.output if one.name not in self.scope), None)
            if missing is not None:
                raise ParseError(_unread(f"the output {missing!r} of a graph inside is made by no node"))
            return [self.scope[one.name] for one in graph.output]
        finally:
            self.scope = outer

    # --- nodes ---

    def nodes(self, nodes: Iterator[Node]) -> None:
        """Give the outputs of nodes their values."""
        for node in nodes:
            unknown = next((name for name in node.inputs if name and name not in self.scope), None)
            if unknown is not None:
                problem = f"the input {unknown!r} of the node {node.place!r} is made by no node before it"
                raise ParseError(_unread(problem))
            args = tuple(self.scope[name] if name else None for name in node.inputs)
            results = self.node(node, args)
            if len(results) < len([name for name in node.outputs if name]):
                absent = node.outputs[len(results)]
                at = self._conversion(node, args)
                at.refuse(f"Relay has no form of its output {absent!r}")
            for name, value in zip(node.outputs, results, strict=False):
                if name:
                    self.scope[name] = value

    def _conversion(self, node: Node, args: tuple[Value, ...]) -> Conversion:
        opset = self.opsets.get(node.domain, 1)
        name = node.name or f"{node.operator}_{self.counts[node.operator]}"
        self.counts[node.operator] += not node.name
        return Conversion(node, args, opset, self.values, self, Span(name))

    def node(self, node: Node, args: tuple[Value, ...]) -> tuple[Value, ...]:
        """Return the outputs of one node."""
        at = self._conversion(node, args)
        if node.spelled in self.custom:
            assert at.span is not None
            span = at.span
            values = _values(self.custom[node.spelled](at))
            return tuple(with_spans(one, span) if isinstance(one, RelayExpr) else one for one in values)
        schemas.check_node(node, at.opset)
        convert = find_operator(node.domain, node.operator, at.opset)
        if convert is not None:
            try:
                with np.errstate(all="ignore"):
                    found = _values(convert(at))
                self._keep_elements(node, at, found)
                return found
            except _UNFIT as error:
                # The standard does not say what operators do outside of what they ask for.
                at.refuse(f"its inputs and attributes do not fit together: {error}")
        function = self.functions.get((node.domain, node.operator)) or self._of_schema(at)
        if function is None:
            at.refuse("no conversion is known")
        return self._call(at, function)

    def _keep_elements(self, node: Node, at: Conversion, results: Sequence[Value]) -> None:
        """Say of results that they hold what the arguments of the same type hold."""
        narrow = self.values.narrow
        kept = {place: one for place, one in enumerate(at.args) if isinstance(one, RelayExpr) and one in narrow}
        if not kept:
            return
        for output, place in schemas.same_types(node, at.opset):
            made = results[output] if output < len(results) else None
            if place in kept and isinstance(made, RelayExpr):
                narrow.setdefault(made, narrow[kept[place]])

    def _call(self, at: Conversion, function: Message) -> tuple[Value, ...]:
        """Return what the body of a function makes of a node's arguments."""
        if self.depth >= _DEEPEST:
            at.refuse("its functions call each other without an end")
        self._opened(function)
        given = schemas.defaults_of(at.node, at.opset)
        given |= {one.name: one for one in function.attribute_proto}
        given |= {one.name: one for one in at.node.message.attribute}
        body = protos.with_attributes(function, given)
        outer, opsets = self.scope, self.opsets
        self.scope = dict(zip(function.input, at.args, strict=False))
        self.scope |= {name: None for name in function.input if name not in self.scope}
        self.opsets = {**opsets, **protos.opsets_of(function)}
        self.depth += 1
        try:
            self.nodes(protos.nodes_of(body, f"{at.node.place}/"))
            return tuple(self.scope.get(name) for name in function.output)
        finally:
            self.scope, self.opsets = outer, opsets
            self.depth -= 1

    def _of_schema(self, at: Conversion) -> Message | None:
        """Return the function by which the standard defines an operator, None where it has none."""
        types: list[schemas.Kind] = []
        for one in at.args:
            if isinstance(one, list):
                if not one or not isinstance(one[0], RelayExpr):
                    return None
                types.append([self.values.tensor(one[0])])
            else:
                types.append(self.values.tensor(one) if isinstance(one, RelayExpr) else None)
        return schemas.function_of_schema(at.node, at.opset, types)

    # --- what is missing ---

    def check_operators(self, graph: Message) -> None:
        """Raise UnsupportedError with all operators that are not imported."""
        missing: dict[str, list[str]] = {}
        seen: set[tuple[str, str]] = set()
        stack: list[tuple[Message, dict[str, int]]] = [(graph, self.opsets)]
        while stack:
            body, opsets = stack.pop()
            made: set[str] = set()
            for node in protos.nodes_of(body, attributes=False):
                again = next((name for name in node.outputs if name and name in made), None)
                if again is not None:
                    raise ParseError(_unread(f"{again!r} is made by several nodes"))
                made.update(node.outputs)
                stack += [(held, opsets) for held in protos.graphs_of(node)]
                key = (node.domain, node.operator)
                if key in self.functions:
                    if key not in seen:
                        seen.add(key)
                        function = self.functions[key]
                        stack.append((function, {**opsets, **protos.opsets_of(function)}))
                elif not self._is_known(node, opsets.get(node.domain, 1)):
                    missing.setdefault(node.spelled, []).append(node.place)
        if missing:
            said = [f"{name} ({_listed(places)})" for name, places in sorted(missing.items())]
            raise UnsupportedError(mistake(frontends.ONNX_OPERATORS, names="; ".join(said)))

    def _is_known(self, node: Node, opset: int) -> bool:
        if node.spelled in self.custom or find_operator(node.domain, node.operator, opset) is not None:
            return True
        return schemas.has_function(node, opset)


def _check_stated(shape: object, dtype: object, opset: object) -> None:
    """Raise UnsupportedError where what is stated of a model is of another kind than it should."""
    shapes = shape.values() if isinstance(shape, Mapping) else [] if shape is None else [None]
    if not all(isinstance(one, Sequence) and not isinstance(one, str) for one in shapes):
        problem = "shapes are a mapping from names to sequences of extents"
    elif not isinstance(dtype, (str, Mapping)):
        problem = "dtypes are one for all, or a mapping from names"
    elif opset is not None and not (isinstance(opset, int) and opset > 0):
        problem = "the opset is a number above 0"
    else:
        return
    raise UnsupportedError(mistake(frontends.INPUTS, problem=problem))


def _word(name: str) -> str:
    """Return a name of an extent as a word that scripts can have."""
    word = re.sub(r"\W", "_", name)
    return f"d_{word}" if word and (not word.isidentifier() or iskeyword(word)) else word


def _values(made: Value | tuple[Value, ...]) -> tuple[Value, ...]:
    return made if isinstance(made, tuple) else (made,)


def _listed(places: Sequence[str]) -> str:
    """Return how many nodes there are, and the first of them."""
    shown = ", ".join(repr(one) for one in places[:3]) + (", …" if len(places) > 3 else "")
    return f"{len(places)}: {shown}"


def _expression(value: Value, name: str) -> Expr:
    if isinstance(value, RelayExpr):
        return value
    if isinstance(value, list):
        return Tuple(tuple(_expression(one, name) for one in value))
    raise ParseError(_unread(f"its output {name!r} is an optional without a value"))
