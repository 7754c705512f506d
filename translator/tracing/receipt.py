"""The receipt: what became of everything that the nodes of a Relay program say.

That is what expressions carry beside their operands: attributes, names, spans, annotated types,
devices, marks of partitions, dtypes. Everything has an item, so what has none is not said.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from relay2relax import relax_ir, relay_ir
from relay2relax.core.dtype import of_array
from relay2relax.graph.shapes import has_any
from relay2relax.ops import relay_op
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.record import OpDef
from relay2relax.relax_ir.ir.expr import CallTIR
from relay2relax.relay_ir.ir.expr import OpaqueAttrs
from relay2relax.relay_ir.ir.rewrite import attr_operands
from relay2relax.tir.extent import static
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.translator.tracing.model import Fate, Item, Place, PlaceKind, RelayNode

_OURS = "the map"
_REGION = ("annotation.compiler_begin", "annotation.compiler_end")


@dataclass(frozen=True, slots=True)
class Standing:
    """A Relay node on its way into the receipt: its number, the expression, what the map says of
    it, the places in Relax with what stands there, its type, the dtypes of what is bound there, and
    what is declared of parameters there.
    """

    number: int
    expr: relay_ir.Expr
    node: RelayNode
    places: Sequence[Place]
    values: Sequence[relax_ir.Expr]
    type_: relay_ir.Type | None
    dtypes: Collection[str]
    infos: Sequence[relax_ir.StructInfo]

    def item(self, aspect: str, name: str, fate: Fate, note: str = "") -> Item:
        """Return the item of one thing that the node says; where nothing of the node is left, the
        thing went with it.
        """
        if self.node.fate is not Fate.KEPT and fate is not Fate.DROPPED and note != _OURS:
            fate, note = self.node.fate, self.node.note
        return Item(self.number, aspect, name, fate, note)


def receipt_of(given: relay_ir.IRModule, module: relax_ir.IRModule, nodes: Sequence[Standing]) -> Iterator[Item]:
    """Yield the items of the module ``given``, then those of its ``nodes`` in order."""
    built = "Relax has no word for how Relay was to be built"
    for key in given.attrs:
        yield Item(-1, "module attribute", key, Fate.DROPPED, built)
    for definition in given.type_definitions:
        yield Item(-1, "type definition", definition.name, Fate.IMPLIED, "values of data types are computed away")
    for one in nodes:
        yield from _items(one, module)


def _items(one: Standing, module: relax_ir.IRModule) -> Iterator[Item]:
    match one.expr:
        case relay_ir.Call(relay_ir.Op(name), _, attrs, type_args):
            yield from _call(one, module, name, attrs)
            if type_args:
                yield one.item("annotation", "type arguments", Fate.IMPLIED, "Relax infers types")
        case relay_ir.Call(_, _, attrs, type_args):
            for name in _attributes(attrs):
                yield one.item("attribute", name, Fate.DROPPED, "Relax's calls of functions have no attributes")
            if type_args:
                yield one.item("annotation", "type arguments", Fate.IMPLIED, "Relax infers types")
        case relay_ir.Var():
            yield from _variable(one, one.expr)
        case relay_ir.Function():
            yield from _function(one, one.expr, module)
        case relay_ir.GlobalVar(name) | relay_ir.Constructor(name):
            yield one.item("name", name, *_named(one, name))
        case relay_ir.Constant(data):
            yield one.item("dtype", of_array(data), Fate.KEPT)
    if isinstance(one.expr, relay_ir.Call):
        for dtype in dict.fromkeys(_dtypes(one.type_)):
            yield one.item("dtype", dtype, *_result(one, dtype))
    if one.node.span:
        yield one.item("span", one.node.span, Fate.MOVED, _OURS)


def _named(one: Standing, name: str) -> tuple[Fate, str]:
    """Return what became of a name: Relax has it, or another one, or the map alone."""
    stable = [place for place in one.places if place.kind in (PlaceKind.PARAMETER, PlaceKind.FUNCTION)]
    if any(place.name == name for place in stable):
        return Fate.KEPT, ""
    return Fate.MOVED, _OURS


# --- attributes -----------------------------------------------------------------------------------


def _attributes(attrs: object) -> Mapping[str, object]:
    if isinstance(attrs, OpaqueAttrs):
        return dict(attrs.fields)
    return {field.name: getattr(attrs, field.name) for field in attr_fields(type(attrs))}


def _call(one: Standing, module: relax_ir.IRModule, name: str, attrs: object) -> Iterator[Item]:
    op = relay_op(name)
    if name in _REGION:
        compiler = str(getattr(attrs, "compiler", ""))
        kept = compiler in {func.attrs.get("Codegen") for func in module.functions.values()}
        note = "Codegen of the function that its region became" if kept else "the region is inlined"
        yield one.item("partition", compiler, Fate.MOVED if kept else Fate.DROPPED, note)
        return
    if op is not None and op.passes_through:
        yield one.item("annotation", name, Fate.DROPPED, "Relax has no such mark on a value")
        for field in _attributes(attrs):
            yield one.item("attribute", field, Fate.DROPPED, f"it is {name}'s, of which Relax has nothing")
        return
    operands = attr_operands(one.expr) if isinstance(one.expr, relay_ir.Call) else {}
    for field, value in _attributes(attrs).items():
        fate = (Fate.IMPLIED, "an operand of the call") if field in operands else None
        yield one.item("attribute", field, *(fate or _attribute(one, module, op, field, value)))


def _attribute(
    one: Standing, module: relax_ir.IRModule, op: OpDef | None, field: str, value: object
) -> tuple[Fate, str]:
    """Return what became of an attribute of a call."""
    names: dict[str, None] = {}
    for made in one.values:
        match made:
            case relax_ir.Call(OpDef() as used, _, attrs):
                if used is op and used.script is not None:
                    if field in used.script.omit:
                        return Fate.IMPLIED, f"{_written(used)} has no such argument; its operands say it"
                    if getattr(attrs, field) == value:
                        return Fate.KEPT, ""
                    return Fate.MOVED, f"{field} of {_written(used)}, in words of Relax"
                names[_written(used)] = None
            case CallTIR(func) if isinstance(kernel := module.functions[func], PrimFunc):
                attributes = kernel.attrs.get("op_attrs", {})
                if op is not None and kernel.attrs.get("op_name") == op.name:
                    if value is None:
                        return Fate.IMPLIED, "it is not set"
                    if isinstance(attributes, Mapping) and field in attributes:
                        return Fate.MOVED, f"op_attrs of the PrimFunc {func.name}"
                names[func.name] = None
    if not names:
        return Fate.IMPLIED, "the result, which the translation knows"
    return Fate.MOVED, f"expressed by {', '.join(names)}"


def _dtypes(type_: relay_ir.Type | None) -> Iterator[str]:
    """Yield the dtypes of the tensors of a type, fields of tuples in order."""
    stack = [type_]
    while stack:
        match stack.pop():
            case relay_ir.TensorType(_, dtype):
                yield dtype
            case relay_ir.TupleType(fields):
                stack += reversed(fields)


def _result(one: Standing, dtype: str) -> tuple[Fate, str]:
    """Return what became of the dtype of a call's result."""
    if dtype in one.dtypes:
        return Fate.KEPT, ""
    if one.dtypes:
        return Fate.DROPPED, f"Relax's value is {' or '.join(sorted(one.dtypes))}"
    return Fate.IMPLIED, "the value that stands for it has that dtype"


def _written(op: OpDef) -> str:
    return f"R.{op.relax_name.removeprefix('relax.')}"


# --- variables and functions ----------------------------------------------------------------------


def _variable(one: Standing, var: relay_ir.Var) -> Iterator[Item]:
    yield one.item("name", var.name, *_named(one, var.name))
    if var.type_annotation is not None:
        infos = one.infos
        note = "the struct info of what it is bound to"
        yield one.item("annotation", "type", *(_declared(var.type_annotation, infos) if infos else (Fate.MOVED, note)))
    if var.virtual_device is not None:
        yield one.item("device", str(var.virtual_device), Fate.DROPPED, "the Relax module names no devices")


def _declared(annotated: relay_ir.Type, infos: Sequence[relax_ir.StructInfo]) -> tuple[Fate, str]:
    """Return what became of the type of a parameter or a result, which has one of the ``infos``."""
    if has_any(annotated):
        return Fate.MOVED, "struct info, where unknown extents have names"
    if any(_says(info, annotated) for info in infos):
        return Fate.KEPT, ""
    return Fate.MOVED, "struct info of the values that Relax has there"


def _says(info: relax_ir.StructInfo, type_: relay_ir.Type) -> bool:
    """Whether struct info says what a type does; extents that are not numbers have other widths."""
    match type_, info:
        case relay_ir.TensorType(shape, dtype), relax_ir.TensorStructInfo(extents, other) if extents is not None:
            return dtype == other and [static(one) for one in shape] == [static(one) for one in extents]
        case relay_ir.TupleType(fields), relax_ir.TupleStructInfo(others):
            return len(fields) == len(others) and all(map(_says, others, fields))
    return False


def _function(one: Standing, function: relay_ir.Function, module: relax_ir.IRModule) -> Iterator[Item]:
    made = [value for value in one.values if isinstance(value, relax_ir.Function)]
    if one.node.name:
        yield one.item("name", one.node.name, *_named(one, one.node.name))
    symbols = {place.name for place in one.places if place.kind is PlaceKind.FUNCTION}
    for key, value in function.attrs.items():
        aspect = "partition" if key in ("Compiler", "Composite", "PartitionedFromPattern") else "attribute"
        found = [func.attrs for func in made]
        if any(attrs.get(key) == value for attrs in found):
            yield one.item(aspect, key, Fate.KEPT)
        elif key == "Compiler" and any(attrs.get("Codegen") == value for attrs in found):
            yield one.item(aspect, key, Fate.MOVED, "Codegen of the function")
        elif key == "global_symbol" and value in symbols:
            yield one.item(aspect, key, Fate.MOVED, "the function's name")
        else:
            note = "Relax has no such attribute of functions" if made else "the function is inlined"
            yield one.item(aspect, key, Fate.DROPPED, note)
    if function.ret_type is not None:
        kept = _declared(function.ret_type, [one.ret for one in made])
        yield one.item("annotation", "result", *(kept if made else (Fate.IMPLIED, "its body stands elsewhere")))
    for parameter in function.type_params:
        yield one.item("annotation", parameter.name, Fate.IMPLIED, "Relax infers types")
    if function.virtual_device is not None:
        yield one.item("device", str(function.virtual_device), Fate.DROPPED, "the Relax module names no devices")
