"""From a TorchScript module to Relay, node by node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.pytorch.apart.scripted import decomposed, is_taken_apart
from relay2relax.relay_ir.frontend.pytorch.blocks import branch, loop, used_inside
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.exported import exported_program, from_exported
from relay2relax.relay_ir.frontend.pytorch.files import in_memory
from relay2relax.relay_ir.frontend.pytorch.inputs import InputInfo, Shape, input_variables, own_infos
from relay2relax.relay_ir.frontend.pytorch.naming import Names, name_graph
from relay2relax.relay_ir.frontend.pytorch.notes import Notes
from relay2relax.relay_ir.frontend.pytorch.operators import aten_operators
from relay2relax.relay_ir.frontend.pytorch.operators.quantised.modules import over_quantised
from relay2relax.relay_ir.frontend.pytorch.operators.quantised.packed import packed
from relay2relax.relay_ir.frontend.pytorch.operators.record import AtenOperator
from relay2relax.relay_ir.frontend.pytorch.order import Order
from relay2relax.relay_ir.frontend.pytorch.result import expression, flat
from relay2relax.relay_ir.frontend.pytorch.scalars import SCALARS, UNKNOWN, known
from relay2relax.relay_ir.frontend.pytorch.torchscript import (
    BRANCH,
    CONSTANT,
    LISTS,
    LOOP,
    RAISE,
    UNPACKED,
    Block,
    Node,
    TorchGraph,
    constant_of,
    read_graph,
    tensor_of,
    write_renamed,
)
from relay2relax.relay_ir.frontend.pytorch.types import Types, with_spans
from relay2relax.relay_ir.frontend.pytorch.views import LOGIC, PUT_BACK, Views, is_itself, writes
from relay2relax.relay_ir.ir.expr import Expr, Function, RelayExpr, Tuple, Var, const
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars
from relay2relax.relay_ir.ir.types import TensorType

# What gives a tensor of its own, whatever it is given.
_COPY = "aten::clone"
# A conversion as TVM's users write it: of arguments and their dtypes.
CustomConvert = Callable[[list[Value], list[str]], Value]


def from_pytorch(
    script_module: object,
    input_infos: Sequence[InputInfo] | Mapping[str, Shape] | None = None,
    custom_convert_map: Mapping[str, CustomConvert] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
    export_renamed_c_graph_path: str | os.PathLike[str] | None = None,
    preserve_pytorch_scopes: bool = False,
    example_inputs: tuple[object, ...] | None = None,
) -> tuple[IRModule, dict[str, Array]]:
    """Return a model of PyTorch as a Relay module, and its weights by name.

    ``script_module`` is TorchScript, a program of ``torch.export``, the path or the bytes of a file
    of either (decision 135), or a module, which is exported for ``example_inputs``. Of TorchScript,
    ``input_infos`` has ``(name, shape)`` or ``(name, (shape, dtype))`` for each input; where no
    dtype is said, and the module says none, it is ``default_dtype``. Shapes by name, or nothing,
    are enough where the graph states the others, as what was traced does. Inputs that nothing uses
    are left out of ``main``, as TVM leaves them; weights follow the inputs. Names and spans are
    TVM's: ``aten::linear_0.weight``, with ``use_parser_friendly_name`` such as the Relay parser
    reads without quotes, and with ``preserve_pytorch_scopes`` those of PyTorch's modules. Weights
    are viewed where numpy can.
    ``custom_convert_map`` has conversions of operators by name, of arguments and their dtypes,
    which come first. ``export_renamed_c_graph_path`` is the folder into which the graph is written,
    named as spans are. Packed weights of quantised modules are floats that the program quantises,
    or with ``keep_quantized_weight`` integers (decision 147). Warnings say which branches raise,
    and are left out, and what is drawn.

    An exported program states its inputs itself; ``input_infos`` may name them otherwise. Weights
    have PyTorch's names, spans are the program's nodes, open extents are named in ``mod.dims``.
    Behind what it returns come the new values of buffers and inputs that it changes. Operators
    without a record are taken apart by PyTorch (decisions 127, 136).

    Raises FileError or ParseError for a file that is not read, UnsupportedError for what is no
    program, inputs that are not the model's, operators that are not read, all of them named, a form
    of one that is not read, and where PyTorch is not installed.
    """
    custom = dict(custom_convert_map or {})
    script_module = in_memory(script_module)
    program = exported_program(script_module, example_inputs)
    if program is not None:
        exported = from_exported(program, input_infos, custom, preserve_pytorch_scopes, notes := Notes())
        notes.warn(2)
        return exported
    graph = read_graph(script_module)
    _check_operators(graph, custom)
    if input_infos is None or isinstance(input_infos, Mapping):
        input_infos = own_infos(graph.inputs, input_infos or {})
    inputs = input_variables(graph.inputs, input_infos, default_dtype)
    named = {value: one.name for value, one in inputs.items()}
    names = name_graph(graph, named, use_parser_friendly_name, preserve_pytorch_scopes)
    if export_renamed_c_graph_path is not None:
        write_renamed(graph, names.outputs, Path(export_renamed_c_graph_path))
    importer = Importer(graph, names, custom, default_dtype, keep_quantized_weight)
    found = importer.imported(inputs)
    importer.notes.warn(2)
    return found


def _check_operators(graph: TorchGraph, custom: Mapping[str, CustomConvert]) -> None:
    """Raise UnsupportedError where there are operators that are not read."""
    missing = sorted(
        kind
        for kind in graph.kinds - SCALARS
        if kind not in custom and _record(kind) is None and not is_taken_apart(kind)
    )
    if missing:
        raise UnsupportedError(mistake(frontends.OPERATORS, names=", ".join(missing)))


def _record(kind: str) -> AtenOperator | None:
    """Return the record of an operator, or of the one that it does in place (``aten::add_``)."""
    table = aten_operators()
    if kind in LOGIC:
        return table[LOGIC[kind]]
    return table.get(kind) or (table.get(kind.removesuffix("_")) if writes(kind) else None)


# Loops within loops multiply: no model that is meant to be run has so many nodes when they are
# written out.
_MOST_NODES = 2**19


@dataclass(eq=False)
class Importer:
    """A graph under import: the values of its names so far.

    ``views`` are names whose memory, in PyTorch, other names see as well.
    """

    graph: TorchGraph
    names: Names
    custom: Mapping[str, CustomConvert]
    default_dtype: str
    keep: bool
    values: dict[str, Value] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    inputs: list[Var] = field(default_factory=list)
    views: Views = field(default_factory=Views)
    notes: Notes = field(default_factory=Notes)
    types: Types = field(default_factory=Types)
    _layers: dict[str, Var] = field(default_factory=dict)
    _order: Order | None = None
    _met: int = 0

    def imported(self, inputs: Mapping[str, Var]) -> tuple[IRModule, dict[str, Array]]:
        """Return the module of the graph, and its weights."""
        self.variables(inputs)
        for node in self.graph.nodes:
            self.node(node)
        return self.module()

    def block(self, block: Block) -> list[Value]:
        """Return what an arm of a branch, or a turn of a loop, gives."""
        for node in block.nodes:
            self.node(node)
        return [self.value(name) for name in block.results]

    def order(self) -> Order:
        """Return the order of the graph's nodes."""
        if self._order is None:
            self._order = Order.of(self.graph.nodes, self.graph.results)
        return self._order

    def is_seen(self, name: str, node: Node) -> bool:
        """Whether what is written into a tensor from ``node`` on may be seen under another name, or
        is read under its own.
        """
        below = self.views.below([name])
        shared = name in self.views.origins or not self.views.unfollowed.isdisjoint([name, *below])
        return shared or any(self.order().is_read_after(one, node) for one in (name, *below))

    def value(self, name: str) -> Value:
        """Return the value of a name; of a view, what its memory has now."""
        if name in self.views.stale:
            for view in reversed(self.views.above(name)):
                if view in self.views.stale:
                    whole, node = self.views.origins[view]
                    record = _record(node.kind)
                    if is_itself(node.kind) or record is None:
                        self.values[view] = self.values[whole]
                    else:
                        self.values[view] = record.convert(self._conversion(node))
                    self.views.refreshed(view)
        return self.values[name]

    def variables(self, inputs: Mapping[str, Var]) -> None:
        """Give the inputs, and what the module holds, their values."""
        for value, one in inputs.items():
            self.values[value] = made = replace(one, span=self._span(value))
            self.inputs.append(made)
        weights: dict[str, Var] = {}
        for value, (path, held) in self.graph.attributes.items():
            array = tensor_of(held)
            if array is None:
                simple = isinstance(held, (bool, int, float, str))
                self.values[value] = cast(Value, held) if simple else self._packed(held, path)
                continue
            name = self.names.weights.get(value, path)
            if name not in weights:
                self.arrays[name] = array
                weights[name] = var(name, shape=array.shape, dtype=of_array(array), span=self._span(value))
            self.values[value] = weights[name]
            self.types.held[weights[name]] = array

    def _packed(self, held: object, path: str) -> Value:
        """Return the weights of a quantised layer, None for what holds none."""
        return packed(held, path, self.keep, self.arrays, self._layers)

    def _span(self, value: str) -> Span | None:
        name = self.names.spans.get(value)
        return None if name is None else Span(name)

    def node(self, node: Node) -> None:
        """Give the values that a node makes."""
        self._met += 1
        if self._met > _MOST_NODES:
            self._conversion(node).refuse(f"its loops are more than {_MOST_NODES} nodes when they are written out")
        if node.kind == CONSTANT:
            self.values[node.outputs[0]] = self._constant(node)
        elif node.kind in LISTS:
            found = [self.value(name) for name in node.inputs]
            self.values[node.outputs[0]] = found if node.kind == "prim::ListConstruct" else tuple(found)
            self.views.unfollowed.update((*node.inputs, *node.outputs))
        elif node.kind in UNPACKED:
            self._unpack(node)
        elif node.kind in (BRANCH, LOOP):
            for name in used_inside(node) & self.views.stale:
                self.value(name)
            made = (branch if node.kind == BRANCH else loop)(self, node, self._conversion(node))
            self.values.update(zip(node.outputs, made, strict=True))
        elif node.kind == RAISE:
            self._conversion(node).refuse("the model raises an error there")
        elif not self._known(node):
            self._operator(node)

    def _known(self, node: Node) -> bool:
        """Give the value of a node over numbers and lists that are known; False where they are
        not.
        """
        if node.kind not in SCALARS or node.kind in self.custom:
            return False
        at = self._conversion(node)
        try:
            found = known(node.kind, at.args)
        except (LookupError, ValueError, ArithmeticError, TypeError) as error:
            at.refuse(f"{type(error).__name__}: {error}")
        if found is UNKNOWN:
            return False
        self.values.update(zip(node.outputs, [found], strict=False))
        if isinstance(found, RelayExpr) and found is at.args[0]:
            self.views.add(node.outputs[0], node.inputs[0], node)
        elif any(name in self.views.unfollowed for name in node.inputs):
            self.views.unfollowed.update(node.outputs)
        return True

    def _constant(self, node: Node) -> Value:
        value = constant_of(node)
        array = tensor_of(value)
        if array is not None:
            return array.item() if not array.ndim else const(array, of_array(array))
        if isinstance(value, (list, tuple)) and not any(tensor_of(one) is not None for one in value):
            return list(value)
        if isinstance(value, (bool, int, float, str)):
            return value
        return self._packed(value, node.outputs[0].removeprefix("self."))

    def _unpack(self, node: Node) -> None:
        whole = self.value(node.inputs[0])
        parts: Sequence[Value]
        if isinstance(whole, (list, tuple)):
            parts = whole
        else:
            at = self._conversion(node)
            parts = at.fields(at.tensor(0))
        self.values.update(zip(node.outputs, parts, strict=True))
        if node.inputs[0] in self.views.unfollowed:
            self.views.unfollowed.update(node.outputs)

    def _conversion(self, node: Node) -> Conversion:
        args = tuple(map(self.value, node.inputs))
        name = self.names.nodes[node.outputs[0]] if node.outputs else node.kind
        return Conversion(node.kind, args, Span(name), self.types, self.default_dtype, notes=self.notes)

    def _operator(self, node: Node) -> None:
        at = self._conversion(node)
        record = _record(node.kind)
        path = self.views.above(node.inputs[0]) if writes(node.kind) else []
        if path and not self.views.unfollowed.isdisjoint([*path, *self.views.below(path)]):
            at.refuse("it writes into a tensor of which there are views, or which is one")
        if node.kind in self.custom:
            made = self._customised(at, self.custom[node.kind])
        elif not self.types.quantised.keys().isdisjoint(at.exprs()):
            made = over_quantised(at, record)
        else:
            made = record.convert(at) if record is not None else decomposed(node, at)
        if path and isinstance(made, RelayExpr):
            made = at.cast(made, at.dtype(at.tensor(0)))
        if len(node.outputs) == 1:
            self.values[node.outputs[0]] = made
        else:
            several = at.fields(made) if isinstance(made, RelayExpr) else made
            if not isinstance(several, (list, tuple)) or len(several) != len(node.outputs):
                at.refuse(f"of its {len(node.outputs)} results not all have a form in Relay")
            self.values.update(zip(node.outputs, several, strict=True))
        if path:
            self._write(node, made, path)
        else:
            self._share(node, at, made, record)

    def _write(self, node: Node, made: Value, path: list[str]) -> None:
        """Put what a node writes into a tensor, and into what this is a view of, up to the end of
        ``path``.
        """
        self.values[path[0]] = made
        for view, whole in pairwise(path):
            maker = self.views.origins[view][1]
            if not is_itself(maker.kind):
                at = self._conversion(maker)
                made = PUT_BACK[maker.kind](at, at.with_args([made]).tensor(0))
            self.values[whole] = made
        self.views.written(path)
        for output in node.outputs[:1]:
            self.views.add(output, path[0], node)

    def _share(self, node: Node, at: Conversion, made: Value, record: AtenOperator | None) -> None:
        """Note whether what a node gives shares the memory of what it is given."""
        for name in node.outputs:
            self.views.renew(name)
        tensors = len(node.outputs) == 1 and isinstance(made, RelayExpr) and isinstance(at.value(0), RelayExpr)
        if tensors and node.kind in PUT_BACK and not any(one is True for one in at.args):
            if not is_itself(node.kind) or made is at.args[0]:
                self.views.add(node.outputs[0], node.inputs[0], node)
        elif record is not None and (record.view or (node.kind != _COPY and any(made is one for one in at.args))):
            self.views.unfollowed.update((*node.inputs[:1], *node.outputs))

    def _customised(self, at: Conversion, convert: CustomConvert) -> Value:
        """Return what a user's conversion makes, its parts with the node's span."""
        dtypes = [self._dtype(one) for one in at.args]
        made = ask(convert, list(at.args), dtypes, what=f"the conversion of {at.kind}")
        if isinstance(made, (list, tuple)):
            return type(made)(with_spans(one, at.span) if isinstance(one, RelayExpr) else one for one in made)
        return with_spans(made, at.span) if isinstance(made, RelayExpr) else made

    def _dtype(self, value: Value) -> str:
        if isinstance(value, RelayExpr):
            found = self.types.of(value)
            return found.dtype if isinstance(found, TensorType) else "UnsupportedType"
        if isinstance(value, list):
            return "ListType"
        return {bool: "bool", int: "int32", float: "float32", str: "str"}.get(type(value), "UnsupportedType")

    def module(self) -> tuple[IRModule, dict[str, Array]]:
        """Return the module, and the weights that it uses."""
        body = self.result()
        used = free_vars(body)
        data = [one for one in self.inputs if one in used]
        weights = [one for one in used if one.name in self.arrays]
        found = IRModule.from_expr(Function((*data, *weights), body))
        return found, {one.name: self.arrays[one.name] for one in weights}

    def result(self) -> Expr:
        """Return what the graph returns: tuples within tuples are one."""
        every = [part for name in self.graph.results for part in flat(self.value(name))]
        made = [expression(one) for one in every]
        if not made:
            raise UnsupportedError(mistake(frontends.FORM, node="the module", problem="it returns nothing"))
        return made[0] if len(made) == 1 else Tuple(tuple(made))
