"""Programs of ``torch.export`` as Relay.

PyTorch makes the program functional first, and takes operators apart that have no record here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast

from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.extensions import ask
from relay2relax.core.errors.table import frontends
from relay2relax.core.source import Span
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.frontend.pytorch.apart.programs import (
    ITEM,
    Single,
    is_number,
    live_nodes,
    missing_operators,
    record_of,
    taken_apart,
)
from relay2relax.relay_ir.frontend.pytorch.apart.single import kind_of
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.control import CONTROL
from relay2relax.relay_ir.frontend.pytorch.dtypes import NUMBERED, dtype_of
from relay2relax.relay_ir.frontend.pytorch.inputs import InputInfo, Parts, Shape, fits, parts_of, refuse_inputs
from relay2relax.relay_ir.frontend.pytorch.notes import Notes
from relay2relax.relay_ir.frontend.pytorch.result import expression, flat
from relay2relax.relay_ir.frontend.pytorch.symbols import Symbols
from relay2relax.relay_ir.frontend.pytorch.torchscript import library, tensor_of
from relay2relax.relay_ir.frontend.pytorch.types import Types, with_spans
from relay2relax.relay_ir.ir.expr import Expr, Function, RelayExpr, Tuple, Var, const
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, substitute
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import ANY, static
from relay2relax.tir.ir.expr import Var as ExtentVar

# A conversion as TVM's users write it: of arguments and their dtypes.
CustomConvert: TypeAlias = Callable[[list[Value], list[str]], Value]
# What PyTorch's nodes and programs are has no types here.
Native: TypeAlias = Any


def from_exported(
    program: Native,
    infos: Sequence[InputInfo] | Mapping[str, Shape] | None,
    custom: Mapping[str, CustomConvert],
    scopes: bool,
    notes: Notes,
) -> tuple[IRModule, dict[str, Array]]:
    """Return an ``ExportedProgram`` as a module, and its weights by PyTorch's names; ``notes`` gets
    what a user is told.
    """
    program, singles = taken_apart(program, custom)
    module = program.graph_module
    missing = sorted(missing_operators(module, custom, singles))
    if missing:
        raise UnsupportedError(mistake(frontends.OPERATORS, names=", ".join(missing)))
    importer = ExportedImporter(custom, scopes, notes=notes, singles=singles)
    importer.placeholders(program, infos)
    results = importer.graph(module)
    body = importer.body(program, results)
    used = free_vars(body)
    weights = [one for one in importer.weights.values() if one in used]
    inputs = [replace(one, type_annotation=_opened(one)) for one in importer.inputs]
    body = substitute(body, dict(zip(importer.inputs, inputs, strict=True)))
    mod = IRModule.from_expr(Function((*inputs, *weights), body))
    found = {one.name: importer.arrays[one.name] for one in weights}
    return replace(mod, dims=dict(_names(importer.inputs))), found


def _opened(one: Var) -> TensorType:
    """Return the type of an input, whose named extents are open ones of Relay."""
    found = one.type_annotation
    assert isinstance(found, TensorType)
    return TensorType(tuple(ANY if static(extent) is None else extent for extent in found.shape), found.dtype)


def _names(inputs: Sequence[Var]) -> Iterator[tuple[str, list[str | int | None]]]:
    """Yield the inputs that have open extents, and what these are called."""
    for one in inputs:
        found = one.type_annotation
        assert isinstance(found, TensorType)
        names = [extent.name if isinstance(extent, ExtentVar) else None for extent in found.shape]
        if any(names):
            yield one.name, list(names)


def exported_program(module: object, example_inputs: tuple[object, ...] | None) -> Native:
    """Return ``module`` where ``torch.export`` made it, the program that it makes of a module and
    its inputs, and None for anything else.
    """
    torch = library()
    if isinstance(module, torch.export.ExportedProgram):
        return module
    if example_inputs is None or isinstance(module, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return None
    if not isinstance(module, torch.nn.Module):
        return None
    try:
        with torch.no_grad():
            return torch.export.export(module, tuple(example_inputs))
    except Exception as error:
        problem = f"torch.export does not export it: {str(error).strip().splitlines()[0]}"
        raise UnsupportedError(mistake(frontends.FORM, node="the module", problem=problem)) from error


@dataclass(eq=False)
class ExportedImporter:
    """A program under import: the values of its nodes so far."""

    custom: Mapping[str, CustomConvert]
    scopes: bool
    values: dict[Native, Value] = field(default_factory=dict)
    arrays: dict[str, Array] = field(default_factory=dict)
    inputs: list[Var] = field(default_factory=list)
    weights: dict[str, Var] = field(default_factory=dict)
    types: Types = field(default_factory=Types)
    symbols: Symbols = field(default_factory=Symbols)
    notes: Notes = field(default_factory=Notes)
    extents: dict[ExtentVar, Expr] = field(default_factory=dict)
    singles: Mapping[Native, Single] = field(default_factory=dict)
    name: str = ""

    # --- what comes in, and what comes out ---

    def placeholders(self, program: Native, infos: Sequence[InputInfo] | Mapping[str, Shape] | None) -> None:
        """Give the inputs, and what the program holds, their values."""
        nodes = [node for node in program.graph_module.graph.nodes if node.op == "placeholder"]
        specs = program.graph_signature.input_specs
        given = [node for node, spec in zip(nodes, specs, strict=True) if spec.kind.name == "USER_INPUT"]
        tensors = [node for node in given if _is_tensor(node.meta.get("val"))]
        stated = _stated(tensors, infos)
        for node, spec in zip(nodes, specs, strict=True):
            if spec.kind.name == "USER_INPUT":
                self.values[node] = self._input(node, stated.get(node))
            elif spec.kind.name in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
                held = program.state_dict.get(spec.target)
                self.values[node] = self._weight(spec.target, program.constants[spec.target] if held is None else held)
                if spec.kind.name == "CONSTANT_TENSOR" and spec.target in self.weights:
                    # Places and sizes may depend on it.
                    self.types.held[self.weights[spec.target]] = self.arrays[spec.target]
            else:
                self.values[node] = None

    def _input(self, node: Native, stated: Parts | None) -> Value:
        held = node.meta.get("val")
        if not _is_tensor(held):
            return held if isinstance(held, (bool, int, float, str)) else None
        own = [self.symbols.declare(one) for one in held.shape]
        name, shape, dtype = stated or (node.name, own, None)
        made = replace(var(name, shape=tuple(shape), dtype=dtype or _dtype(node, held)), span=Span(node.name))
        self.inputs.append(made)
        for axis, extent in enumerate(shape):
            if isinstance(extent, ExtentVar) and extent not in self.extents:
                at = Conversion("size", (), Span(node.name), self.types)
                sizes = at.call("shape_of", made, dtype="int64")
                self.extents[extent] = at.call("take", sizes, at.const(axis, "int64"), axis=0)
        return made

    def _weight(self, name: str, tensor: Native) -> Value:
        if name not in self.weights:
            array = tensor_of(tensor)
            if array is None:
                return None
            self.arrays[name] = array
            self.weights[name] = var(name, shape=array.shape, dtype=of_array(array), span=Span(name))
        return self.weights[name]

    def body(self, program: Native, results: Sequence[Value]) -> Expr:
        """Return what the program returns, and behind that the new values of what it changes."""
        kept: list[Value] = []
        changed: list[Value] = []
        for value, spec in zip(results, program.graph_signature.output_specs, strict=True):
            if spec.kind.name == "USER_OUTPUT":
                kept.append(value)
            elif spec.kind.name in ("BUFFER_MUTATION", "USER_INPUT_MUTATION", "PARAMETER_MUTATION"):
                changed.append(value)
        made = [expression(part) for one in (*kept, *changed) for part in flat(one)]
        if not made:
            raise UnsupportedError(mistake(frontends.FORM, node="the program", problem="it returns nothing"))
        return made[0] if len(made) == 1 else Tuple(tuple(made))

    # --- nodes ---

    def graph(self, module: Native) -> list[Value]:
        """Return what a graph returns, whose inputs have values."""
        live = live_nodes(module.graph)
        for node in module.graph.nodes:
            if node.op == "get_attr":
                self.values[node] = self._attribute(module, node)
            elif node.op == "call_function" and node in live:
                self.values[node] = self._call(node)
            elif node.op == "output":
                found = self.value(node.args[0])
                return list(found) if isinstance(found, (list, tuple)) else [found]
        return []

    def subgraph(self, module: Native, args: Sequence[Value]) -> list[Value]:
        """Return what a graph that a node holds returns of ``args``."""
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        self.values.update(zip(inputs, args, strict=True))
        return self.graph(module)

    def _attribute(self, module: Native, node: Native) -> Value:
        found = module
        for part in node.target.split("."):
            found = getattr(found, part)
        return cast(Value, found) if hasattr(found, "graph") else self._weight(node.target, found)

    def value(self, argument: Native) -> Value:
        """Return an argument of a node as conversions have it."""
        torch = library()
        if isinstance(argument, torch.fx.Node):
            if argument not in self.values:
                problem = "no node before those that take it makes it"
                raise UnsupportedError(mistake(frontends.FORM, node=str(argument.name), problem=problem))
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self.value(one) for one in argument]
        if isinstance(argument, torch.dtype):
            return NUMBERED.get(dtype_of(str(argument)) or "", -1)
        if isinstance(argument, torch.SymInt):
            return self.symbols.extent(argument)
        return argument if isinstance(argument, (bool, int, float, str)) else None

    def _call(self, node: Native) -> Value:
        held = node.meta.get("val")
        if is_number(held):
            # Numbers are known, or computed from extents.
            return self._number(held)
        kind = kind_of(node.target)
        if kind == ITEM:
            whole, place = self.value(node.args[0]), node.args[1]
            parts = self.conversion(node, (whole,)).fields(whole) if isinstance(whole, RelayExpr) else whole
            return cast("list[Value]", parts)[int(place)]
        if kind in CONTROL:
            args = [self.value(one) for one in node.args]
            return CONTROL[kind](self, self.conversion(node, args), args)
        at = self.conversion(node, _arguments(self, node))
        if kind in self.custom:
            return self._customised(at, self.custom[kind])
        single = self.singles.get(node)
        if single is not None:
            return self._kept(node, at, self.parts(single.graph, [self.values[one] for one in single.tensors], at))
        record = record_of(kind)
        assert record is not None, f"operators are known before: {kind}"
        return self._kept(node, at, record.convert(at))

    def parts(self, graph: Native, tensors: Sequence[Value], at: Conversion) -> Value:
        """Return what one operator gives that PyTorch took apart into ``graph``.

        All parts have its span, and what PyTorch made beforehand are constants.
        """
        inner = ExportedImporter({}, False, types=self.types, notes=self.notes, name=at.span.source_name or at.kind)
        found = inner.subgraph(graph, tensors)
        constants = [const(one, of_array(one)) for one in inner.arrays.values()]
        held: dict[Expr, Expr] = dict(zip(inner.weights.values(), constants, strict=True))
        made = [substitute(one, held) if held and isinstance(one, RelayExpr) else one for one in found]
        return made[0] if len(made) == 1 else tuple(made)

    def _number(self, held: Native) -> Value:
        if isinstance(held, (bool, int, float)):
            return held
        if not isinstance(held, library().SymInt):
            return None
        try:
            return self.symbols.extent(held)
        except UnsupportedError:
            # What data decide may be asserted only; conversions refuse a text that is no number.
            return str(held)

    def _kept(self, node: Native, at: Conversion, made: Value) -> Value:
        """Return a result in the dtype that PyTorch has for it."""
        held = node.meta.get("val")
        if not isinstance(made, RelayExpr) or not _is_tensor(held):
            if isinstance(made, (bool, int, float)) and _is_tensor(held):
                return at.const(made, _dtype(node, held))
            return made
        return at.cast(made, _dtype(node, held))

    def conversion(self, node: Native, args: Sequence[Value]) -> Conversion:
        """Return the conversion of a node."""
        return Conversion(
            kind_of(node.target), tuple(args), Span(self._name(node)), self.types, exact=True, symbols=self.extents,
            notes=self.notes,
        )  # fmt: skip

    def _name(self, node: Native) -> str:
        if self.name:
            return self.name
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        return str(stack[-1][0]) if self.scopes and stack and stack[-1][0] else str(node.name)

    def _customised(self, at: Conversion, convert: CustomConvert) -> Value:
        """Return what a user's conversion makes, its parts with the node's span."""
        dtypes = [at.dtype(one) if isinstance(one, RelayExpr) else type(one).__name__ for one in at.args]
        made = ask(convert, list(at.args), dtypes, what=f"the conversion of {at.kind}")
        if isinstance(made, (list, tuple)):
            return type(made)(with_spans(one, at.span) if isinstance(one, RelayExpr) else one for one in made)
        return with_spans(made, at.span) if isinstance(made, RelayExpr) else made


def _is_tensor(held: object) -> bool:
    return isinstance(held, library().Tensor)


def _dtype(node: Native, held: Native) -> str:
    found = dtype_of(str(held.dtype))
    if found is None:
        problem = f"its elements are {held.dtype}, which Relay has not"
        raise UnsupportedError(mistake(frontends.FORM, node=f"{node.name} ({kind_of(node.target)})", problem=problem))
    return found


def _stated(nodes: Sequence[Native], infos: Sequence[InputInfo] | Mapping[str, Shape] | None) -> Mapping[Native, Parts]:
    """Return what is stated of inputs, by node."""
    if infos is None:
        return {}
    if isinstance(infos, Mapping):
        known = {node.name: node for node in nodes}
        for name, shape in infos.items():
            if name not in known:
                refuse_inputs(f"the model has no input {name!r}; there are {list(known)}")
            _check_fits(known[name], parts_of((name, shape)))
        return {}
    if not isinstance(infos, (list, tuple)):
        refuse_inputs(f"a list of inputs is expected, found {infos!r}")
    if len(infos) != len(nodes):
        refuse_inputs(f"the model has {len(nodes)} inputs that are tensors, {len(infos)} are stated")
    found = {node: parts_of(info) for node, info in zip(nodes, infos, strict=True)}
    for node, parts in found.items():
        _check_fits(node, parts)
    return found


def _check_fits(node: Native, parts: Parts) -> None:
    """Raise UnsupportedError where what is stated of an input is not what the program says."""
    own = [one if isinstance(one, int) else None for one in node.meta["val"].shape]
    name, shape, _ = parts
    if not fits(own, shape):
        refuse_inputs(f"input {name!r} has the shape {own} in the program, {list(shape)} is stated")


def _arguments(importer: ExportedImporter, node: Native) -> list[Value]:
    """Return the arguments of a call in the order of its operator's schema."""
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return [importer.value(one) for one in node.args]
    found: list[Value] = []
    for place, one in enumerate(schema.arguments):
        if place < len(node.args) and not one.kwarg_only:
            found.append(importer.value(node.args[place]))
        elif one.name in node.kwargs:
            found.append(importer.value(node.kwargs[one.name]))
        else:
            found.append(importer.value(one.default_value) if one.has_default_value() else None)
    return found
