"""The graph of TVM's graph executor, as ``relay.build`` makes it, as a Relax program.

A node is a parameter or the call of a kernel of the compiled library. A kernel writes into the
tensors that it is given behind its inputs, which is what ``R.call_dps_packed`` says. Two kernels
are no functions of the library: ``__nop`` gives its input another shape, and ``__copy`` copies it
to another device. Kernels of NNVM may ask for flat tensors.

Source: ``src/runtime/graph_executor/graph_executor.h`` and ``.cc`` of TVM 0.6 to 0.19.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec

from relay2relax.core.dtype import check_dtype
from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.schema import Extent as Count
from relay2relax.core.schema import Form, field, read_value
from relay2relax.relax_ir.build.builder import BlockBuilder, call_op
from relay2relax.relax_ir.ir.expr import (
    CallDPSPacked,
    Expr,
    Function,
    IRModule,
    SeqExpr,
    ShapeExpr,
    Tuple,
    TupleGetItem,
    Var,
)
from relay2relax.relax_ir.ir.struct_info import StructInfo, TensorStructInfo
from relay2relax.tir.extent import Extent, Shape

# Node, and which of its outputs; a version may stand behind them.
_Entry = Annotated[tuple[Count, ...], msgspec.Meta(min_length=2, max_length=3)]
_PARAMETER, _KERNEL = "null", "tvm_op"
_RESHAPE, _COPY = "__nop", "__copy"


class _Node(Form, forbid_unknown_fields=False):
    op: str
    name: str
    inputs: tuple[_Entry, ...]
    attrs: dict[str, str] = field(default_factory=dict)


class _Tensors(Form, forbid_unknown_fields=False):
    """Of each output of each node, behind a word for the type of the list."""

    shape: tuple[str, tuple[tuple[Count, ...], ...]]
    dltype: tuple[str, tuple[str, ...]]


class _Graph(Form, forbid_unknown_fields=False):
    nodes: tuple[_Node, ...]
    arg_nodes: tuple[Count, ...]
    heads: tuple[_Entry, ...]
    node_row_ptr: tuple[Count, ...]
    attrs: _Tensors


def is_executor_graph(document: object) -> bool:
    """Whether a JSON document is the graph of a graph executor; MXNet's symbols, which are alike,
    have no shapes.
    """
    return (
        isinstance(document, dict)
        and {"nodes", "arg_nodes", "heads", "node_row_ptr"} <= document.keys()
        and isinstance(attrs := document.get("attrs"), dict)
        and {"shape", "dltype"} <= attrs.keys()
    )


def kernels_of(mod: IRModule) -> list[str]:
    """Return the names of the kernels that a program of :func:`from_executor_graph` calls, each
    once, in their order.
    """
    main = next(func for func in mod.functions.values() if isinstance(func, Function))
    assert isinstance(main.body, SeqExpr)
    bindings = (binding for block in main.body.blocks for binding in block.bindings)
    return list(dict.fromkeys(one.value.func for one in bindings if isinstance(one.value, CallDPSPacked)))


def from_executor_graph(document: object, what: str) -> IRModule:
    """Return the program of a graph: ``main`` takes its parameters, weights among them, in order,
    and returns its output, or a tuple of several.

    Raises ParseError where the document does not have the form, or a node takes what is not there;
    ``what`` names it in errors.
    """
    graph = read_value(document, _Graph, what)
    tensors = _Outputs(graph, what)
    params = tuple(Var(graph.nodes[at].name, tensors.info(at, 0)) for at in tensors.parameters())
    builder = BlockBuilder()
    values: dict[int, Sequence[Expr]] = dict(zip(tensors.parameters(), ((var,) for var in params), strict=True))
    with builder.function("main", params):
        for at, node in enumerate(graph.nodes):
            if node.op != _PARAMETER:
                args = [tensors.taken(values, entry, f"{what}: node {node.name!r}") for entry in node.inputs]
                values[at] = _call(builder, node, args, tensors.outputs(at), what)
        heads = [tensors.taken(values, entry, f"{what}: heads") for entry in graph.heads]
        builder.emit_func_output(heads[0] if len(heads) == 1 else Tuple(tuple(heads)))
    return builder.get()


class _Outputs:
    """The tensors that nodes give."""

    def __init__(self, graph: _Graph, what: str) -> None:
        self._what = what
        self._graph = graph
        rows, count = graph.node_row_ptr, len(graph.nodes)
        shapes, dtypes = graph.attrs.shape[1], graph.attrs.dltype[1]
        if len(rows) != count + 1 or list(rows) != sorted(rows) or not len(shapes) == len(dtypes) == rows[-1]:
            raise _mistake(f"{what}: node_row_ptr, shape and dltype do not fit {count} nodes")
        if not graph.heads:
            raise _mistake(f"{what}: there are no heads, which say what comes out")
        self._infos = [TensorStructInfo(shape, check_dtype(dtype)) for shape, dtype in zip(shapes, dtypes, strict=True)]

    def parameters(self) -> tuple[int, ...]:
        """Return the nodes that are parameters, in the order of arguments."""
        named = self._graph.arg_nodes
        there = [at for at, node in enumerate(self._graph.nodes) if node.op == _PARAMETER]
        if sorted(named) != there:
            raise _mistake(f"{self._what}: arg_nodes does not name the nodes of op {_PARAMETER!r}, each once")
        if any(not self.outputs(at) for at in there):
            raise _mistake(f"{self._what}: a parameter has no tensor")
        return named

    def outputs(self, at: int) -> list[TensorStructInfo]:
        """Return what the node ``at`` gives."""
        rows = self._graph.node_row_ptr
        return self._infos[rows[at] : rows[at + 1]]

    def info(self, at: int, index: int) -> TensorStructInfo:
        """Return what output ``index`` of the node ``at`` is."""
        return self._infos[self._graph.node_row_ptr[at] + index]

    def taken(self, values: dict[int, Sequence[Expr]], entry: tuple[int, ...], where: str) -> Expr:
        """Return the value of an entry; ``where`` names what takes it."""
        at, index = entry[:2]
        if at not in values or index >= len(values[at]):
            raise _mistake(f"{where} takes output {index} of node {at}, which no node before it gives")
        return values[at][index]


def _call(
    builder: BlockBuilder, node: _Node, args: list[Expr], infos: list[TensorStructInfo], what: str
) -> Sequence[Expr]:
    """Emit the call of a kernel, and return its outputs."""
    name = node.attrs.get("func_name")
    if node.op != _KERNEL or not name or not infos:
        raise _mistake(f"{what}: node {node.name!r} is neither a parameter nor the call of a kernel that has outputs")
    if name == _COPY and len(args) == len(infos) == 1:
        return args
    if name == _RESHAPE and len(args) == len(infos) == 1:
        return [_reshaped(builder, args[0], infos[0].shape)]
    # Such a kernel is given tensors of one dimension.
    flat = node.attrs.get("flatten_data") == "1"
    given = [_reshaped(builder, arg, _flat(builder.struct_info(arg))) for arg in args] if flat else args
    outs = [TensorStructInfo(_flat(info), info.dtype) for info in infos] if flat else infos
    made = builder.emit(CallDPSPacked(name, tuple(given), tuple(outs)), node.name)
    results: list[Expr] = [made]
    if len(outs) > 1:
        results = [builder.emit(TupleGetItem(made, index)) for index in range(len(outs))]
    return [_reshaped(builder, one, info.shape) for one, info in zip(results, infos, strict=True)] if flat else results


def _flat(info: StructInfo | None) -> tuple[Extent, ...]:
    """Return the shape of one dimension that has as many elements."""
    assert isinstance(info, TensorStructInfo)
    return (math.prod(_extents(info.shape)),)


def _extents(shape: Shape | None) -> tuple[int, ...]:
    return tuple(extent for extent in shape or () if isinstance(extent, int))


def _reshaped(builder: BlockBuilder, value: Expr, shape: Shape | None) -> Expr:
    """Return ``value`` in a shape, itself where it has it."""
    info = builder.struct_info(value)
    assert isinstance(info, TensorStructInfo)
    assert shape is not None
    return value if info.shape == shape else builder.emit(call_op("reshape", value, ShapeExpr(tuple(shape))))


def _mistake(message: str) -> ParseError:
    return ParseError(message, kind=reading.JSON_DOCUMENT)
