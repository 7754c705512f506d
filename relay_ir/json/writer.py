"""Modules, expressions and metadata tables as Relay's JSON graph format, as TVM 0.18 writes and
reads it.

Nodes are numbered depth first from the root, with a stack of our own. An expression or variable
becomes one node however often it is referred to, and so does any other object; strings, spans and
devices, which are values, are written once each, and integers at every mention.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.errors.table import reading
from relay2relax.core.source import SequentialSpan, Span, to_bytes
from relay2relax.core.tensor_blob import write_tensor
from relay2relax.ops.registry.attributes import BoxInt, GlobalFunction, NoAttrs
from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.relay_ir.compat.attrs_codec import attrs_key, encode_attrs, format_double
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.device import BuildOption, Target, VirtualDevice
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.opaque import OpaqueFunction, OpaqueNode
from relay2relax.relay_ir.json.schema import BINARY, FIELDS, INLINE
from relay2relax.tir.ir import expr as tir

VERSION = "0.18.0"
_BINARY_KEYS = {op: key for key, op in BINARY.items()} | {"/": "tir.Div"}


@collection_paused()
def save_json(root: object) -> str:
    """Return ``root``, a module or any object that the format can hold, as a document that TVM 0.18
    loads.

    Types that the module records are written as ``_checked_type_``. Raises UnsupportedError for
    objects the format, or the attributes of an operator without record, cannot express.
    """
    types: Mapping[ir.Expr, ty.Type] = {}
    if isinstance(root, IRModule):
        recorded: dict[ir.Expr, ty.Type] = {
            var: one.type for var, one in root.opaque_functions.items() if one.type is not None
        }
        types = {**recorded, **root.types} if recorded else root.types
    return _Writer(types).document(root)


def encode_metadata(table: Mapping[str, list[object]], types: Mapping[ir.Expr, ty.Type] | None = None) -> str:
    """Return the document of a metadata section: type key -> the objects that ``meta[key][index]``
    means.

    ``types`` are written as ``_checked_type_`` of the expressions among them. Raises like
    :func:`save_json`.
    """
    return _Writer(types or {}).document({key: tuple(objects) for key, objects in table.items()})


def type_key(value: object) -> str:
    """Return the type key under which ``value`` is stored, the key of its table in a metadata
    section.

    Raises UnsupportedError for an object that the format cannot hold.
    """
    node, _ = _Writer({}).describe(value)
    return node.type_key


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An object that is nothing but a text, e.g. a SourceName."""

    type_key: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class _Dictionary:
    """A mapping that becomes a DictAttrs."""

    entries: Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class _Id:
    """The identity of a variable."""

    var: ir.Var


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A node of an opaque function."""

    function: OpaqueFunction
    index: int


# A module's map of source texts, which TVM demands and this product leaves empty.
_SOURCE_MAP = object()


class _Node:
    """A node of the document under construction."""

    __slots__ = ("data", "fields", "keys", "text", "type_key")

    def __init__(self, type_key: str) -> None:
        self.type_key = type_key
        self.fields: dict[str, str] = {}
        self.data: list[int] = []
        self.keys: list[str] = []
        self.text = ""


# A reference to be filled in: the name of a field (None: an element of ``data``) and the object.
_Reference: TypeAlias = tuple[Union[str, None], object]
# The type key of an object, and its fields by name.
_Fields: TypeAlias = tuple[str, dict[str, object]]


class _Writer:
    def __init__(self, types: Mapping[ir.Expr, ty.Type]) -> None:
        self.types = types
        self.nodes: list[_Node] = [_Node("")]
        self.by_value: dict[object, int] = {}
        self.by_identity: dict[int, int] = {}
        self.alive: list[object] = []  # objects numbered by id() must outlive the walk
        self.blobs: list[str] = []
        self.blob_index: dict[int, int] = {}
        self.constrained_default = VirtualDevice()

    # --- order ---

    def document(self, root: object) -> str:
        index, fresh = self.number(root)
        stack: list[tuple[_Node, Iterator[_Reference]]] = []
        if fresh is not None:
            stack.append(fresh)
        while stack:
            node, rest = stack[-1]
            for name, value in rest:
                other, fresh = self.number(value)
                if name is None:
                    node.data.append(other)
                else:
                    node.fields[name] = str(other)
                if fresh is not None:
                    stack.append(fresh)
                    break
            else:
                stack.pop()
        return _format(index, self.nodes, self.blobs)

    def number(self, value: object) -> tuple[int, tuple[_Node, Iterator[_Reference]] | None]:
        """Return the index of ``value``; where it is new, its node and the references to fill
        in.
        """
        if value is None:
            return 0, None
        index = len(self.nodes)
        if type(value) is int:
            # TVM has an object per mention, as extents of shapes are.
            node, refs = self.describe(value)
            self.nodes.append(node)
            return index, (node, iter(refs))
        key = _value_key(value)
        known = self.by_identity.get(id(value)) if key is None else self.by_value.get(key)
        if known is not None:
            return known, None
        if key is None:
            self.by_identity[id(value)] = index
            self.alive.append(value)
        else:
            self.by_value[key] = index
        node, refs = self.describe(value)
        self.nodes.append(node)
        return index, (node, iter(refs))

    # --- objects ---

    def describe(self, value: object) -> tuple[_Node, Iterable[_Reference]]:
        """Return the node of ``value`` with its inline fields, and its references in declaration
        order.
        """
        leaf = _leaf(value)
        if leaf is not None:
            node = _Node(leaf.type_key)
            node.text = leaf.text
            return node, ()
        if value is _SOURCE_MAP:
            return _Node("SourceMap"), (("source_map", {}),)
        if isinstance(value, OpaqueFunction):
            return _stored(value, 0)
        if isinstance(value, _Place):
            return _stored(value.function, value.index)
        if isinstance(value, (tuple, list)):
            return _Node("Array"), ((None, item) for item in value)
        if isinstance(value, Mapping):
            node = _Node("Map")
            if value and all(isinstance(key, str) for key in value):
                node.keys = list(value)
                return node, ((None, item) for item in value.values())
            return node, ((None, item) for pair in value.items() for item in pair)
        found = _fields_of(value)
        if found is not None:
            return self.with_fields(value, *found)
        return self.attributes(value)

    def with_fields(self, value: Any, key: str, given: Mapping[str, object]) -> tuple[_Node, list[_Reference]]:
        node = _Node(key)
        refs: list[_Reference] = []
        for name, kind in FIELDS[key]:
            if kind in INLINE:
                node.fields[name] = self.inline(kind, given[name])
            elif name in given:
                refs.append((name, given[name]))
            elif name == "virtual_device_":
                device = getattr(value, "virtual_device", None)
                placed = key not in ("GlobalVar", "relay.Constructor")
                refs.append((name, device or (self.constrained_default if placed else None)))
            elif name == "_checked_type_":
                refs.append((name, self.types.get(value)))
            else:
                refs.append((name, getattr(value, "span", None) if name == "span" else None))
        return node, refs

    def attributes(self, attrs: object) -> tuple[_Node, list[_Reference]]:
        try:
            node = _Node(attrs_key(type(attrs)))
        except KeyError:
            raise UnsupportedError(f"Relay's JSON cannot express {_shown(attrs)}", kind=reading.JSON_DOCUMENT) from None
        refs: list[_Reference] = []
        for name, text, value in encode_attrs(attrs):
            if text is None:
                refs.append((name, value))
            else:
                node.fields[name] = text
        return node, refs

    def inline(self, kind: str, value: Any) -> str:
        match kind:
            case "double":
                return format_double(value)
            case "bool":
                return str(int(value))
            case "tensor":
                return str(self.tensor(value))
        return str(int(value)) if kind == "int" else str(value)

    def tensor(self, array: Array) -> int:
        if id(array) not in self.blob_index:
            self.blob_index[id(array)] = len(self.blobs)
            self.alive.append(array)
            self.blobs.append(_blob(array))
        return self.blob_index[id(array)]


def _stored(function: OpaqueFunction, index: int) -> tuple[_Node, list[_Reference]]:
    """Return a node of an opaque function as it was read, and what it refers to."""

    def at(place: int) -> object:
        found = function.nodes[place]
        return None if place == 0 else found if isinstance(found, ir.GlobalVar) else _Place(function, place)

    stored = function.nodes[index]
    assert isinstance(stored, OpaqueNode)
    node = _Node(stored.type_key)
    node.text, node.fields, node.keys = stored.text, dict(stored.fields), list(stored.keys)
    refs: list[_Reference] = [(name, at(place)) for name, place in stored.references]
    return node, refs + [(None, at(place)) for place in stored.items]


def _value_key(value: object) -> object:
    """Return what makes two values one node, None for objects that only are the same as
    themselves.
    """
    if isinstance(value, _Place):
        return _Place, id(value.function), value.index
    if isinstance(value, (str, bool)):
        return type(value), value
    if isinstance(value, (float, tir.FloatImm)):
        return type(value), repr(value)  # zeros of both signs are equal, but not the same
    if isinstance(value, (Span, VirtualDevice, _Leaf, ir.Op, tir.IntImm, tir.StringImm, tir.AnyExtent)):
        return value
    return None


def _leaf(value: object) -> _Leaf | None:
    """Return ``value`` as a node that is nothing but its text, None where it has fields."""
    match value:
        case _Leaf():
            return value
        case GlobalFunction():
            return _Leaf("EnvFunc", value)
        case str():
            return _Leaf("runtime.String", value)
        case BoxInt():
            return _Leaf("runtime.BoxInt", str(int(value)))
        case bool():
            return _Leaf("runtime.BoxBool", "true" if value else "false")
        case float():
            return _Leaf("runtime.BoxFloat", format_double(value))
        case ir.Op(name):
            return _Leaf("Op", name)
    return None


def _fields_of(value: object) -> _Fields | None:
    """Return type key and fields of ``value``; spans, types and devices that are left out stand
    beside it.
    """
    if isinstance(value, ir.RelayExpr):
        return _expression_fields(value)
    match value:
        case _Id(var):
            return "relay.Id", {"name_hint": var.name}
        case ir.Clause(lhs, rhs):
            return "relay.Clause", {"lhs": lhs, "rhs": rhs}
        case ir.PatternWildcard():
            return "relay.PatternWildcard", {}
        case ir.PatternVar(var):
            return "relay.PatternVar", {"var": var}
        case ir.PatternConstructor(constructor, patterns):
            return "relay.PatternConstructor", {"constructor": constructor, "patterns": patterns}
        case ir.PatternTuple(patterns):
            return "relay.PatternTuple", {"patterns": patterns}
        case IRModule():
            return "IRModule", _module(value)
        case TypeData(header, type_vars, constructors):
            return "relay.TypeData", {"header": header, "type_vars": type_vars, "constructors": constructors}
        case _Dictionary(entries):
            return "DictAttrs", {"__dict__": entries}
        case ir.OpaqueAttrs("DictAttrs", fields):
            return "DictAttrs", {"__dict__": dict(fields)}
        case SequentialSpan(name, line, column, end_line, end_column, spans):
            return "SequentialSpan", {"spans": spans}
        case Span(name, line, column, end_line, end_column):
            places = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
            return "Span", {"source_name": _Leaf("SourceName", name), **places}
        case VirtualDevice(kind, number, target, scope):
            device = {"device_type_int": kind, "virtual_device_id": number}
            return "VirtualDevice", {**device, "target": target, "memory_scope": scope}
        case BuildOption(kind, name, attrs):
            return kind, {"name": name, "attrs": _Dictionary(attrs)}
        case Target(kind, tag, keys, attrs, features, host):
            options = {"keys": keys, "attrs": attrs, "features": features, "host": host}
            return "Target", {"kind": _Leaf("TargetKind", kind), "tag": tag, **options}
        case IndexMap(initial, final):
            return "tir.IndexMap", {"initial_indices": initial, "final_indices": final, "inverse_index_map": None}
        case ty.Type():
            return _type_fields(value)
        case int() | tir.PrimExpr():
            return _scalar_fields(value)
    return None


def _expression_fields(value: ir.RelayExpr) -> _Fields | None:
    match value:
        case ir.Call(op, args, attrs, type_args):
            return "relay.Call", {"op": op, "args": args, "attrs": _call_attrs(attrs), "type_args": type_args}
        case ir.Var(_, annotation):
            return "relay.Var", {"vid": _Id(value), "type_annotation": annotation}
        case ir.Constant(data):
            return "relay.Constant", {"data": data}
        case ir.Tuple(fields):
            return "relay.Tuple", {"fields": fields}
        case ir.TupleGetItem(tuple_value, index):
            return "relay.TupleGetItem", {"tuple_value": tuple_value, "index": index}
        case ir.Let(var, bound, body):
            return "relay.Let", {"var": var, "value": bound, "body": body}
        case ir.If(condition, then, otherwise):
            return "relay.If", {"cond": condition, "true_branch": then, "false_branch": otherwise}
        case ir.Function(params, body, ret_type, type_params, attrs):
            return "relay.Function", {
                "params": params,
                "body": body,
                "ret_type": ret_type,
                "type_params": type_params,
                "attrs": _Dictionary(attrs),
            }
        case ir.GlobalVar(name):
            return "GlobalVar", {"name_hint": name}
        case ir.RefCreate(inner):
            return "relay.RefCreate", {"value": inner}
        case ir.RefRead(ref):
            return "relay.RefRead", {"ref": ref}
        case ir.RefWrite(ref, inner):
            return "relay.RefWrite", {"ref": ref, "value": inner}
        case ir.Match(data, clauses, complete):
            return "relay.Match", {"data": data, "clauses": clauses, "complete": complete}
        case ir.Constructor(name, inputs, belong_to, tag):
            return "relay.Constructor", {
                "name_hint": name,
                "inputs": inputs,
                "belong_to": belong_to,
                "tag": tag,
            }
    return None


def _call_attrs(attrs: object) -> object:
    return None if isinstance(attrs, NoAttrs) else attrs


def _module(mod: IRModule) -> dict[str, object]:
    functions = {**mod.functions, **mod.opaque_functions}
    return {
        "functions": functions,
        "type_definitions": mod.type_definitions,
        "global_var_map_": {var.name: var for var in functions},
        "global_type_var_map_": {var.name: var for var in mod.type_definitions},
        "source_map": _SOURCE_MAP,
        "attrs": _Dictionary(mod.attrs),
        "global_infos": {},
    }


def _type_fields(value: ty.Type) -> _Fields | None:
    match value:
        case ty.TensorType(shape, dtype):
            return "relay.TensorType", {"shape": shape, "dtype": dtype}
        case ty.TupleType(fields):
            return "TupleType", {"fields": fields}
        case ty.FuncType(arg_types, ret_type, type_params, constraints):
            parts = {"arg_types": arg_types, "ret_type": ret_type}
            return "FuncType", {**parts, "type_params": type_params, "type_constraints": constraints}
        case ty.RefType(inner):
            return "relay.RefType", {"value": inner}
        case ty.TypeVar(name, kind):
            return "TypeVar", {"name_hint": name, "kind": kind}
        case ty.GlobalTypeVar(name, kind):
            return "GlobalTypeVar", {"name_hint": name, "kind": kind}
        case ty.TypeCall(func, args):
            return "TypeCall", {"func": func, "args": args}
        case ty.IncompleteType(kind):
            return "IncompleteType", {"kind": kind}
        case ty.TypeRelation(name, args, num_inputs, attrs):
            relation = {"func": _Leaf("EnvFunc", name), "args": args}
            return "TypeRelation", {**relation, "num_inputs": num_inputs, "attrs": _call_attrs(attrs)}
    return None


def _scalar_fields(value: Any) -> _Fields | None:
    if isinstance(value, int):
        # Beyond 32 bits TVM makes an int64 constant of a Python integer.
        return "IntImm", {"dtype": "int32" if -(2**31) <= value < 2**31 else "int64", "value": value}
    dtype = value.dtype
    match value:
        case tir.IntImm(number):
            return "IntImm", {"dtype": dtype, "value": number}
        case tir.FloatImm(number):
            return "FloatImm", {"dtype": dtype, "value": number}
        case tir.AnyExtent(None):
            return "tir.Any", {"dtype": "int32"}
        case tir.AnyExtent(written):
            return _scalar_fields(written)
        case tir.Var(name):
            key = "tir.SizeVar" if isinstance(value, tir.SizeVar) else "tir.Var"
            return key, {"dtype": dtype, "name": name}
        case tir.StringImm(text):
            return "tir.StringImm", {"dtype": dtype, "value": text}
        case tir.Not(a):
            return "tir.Not", {"dtype": dtype, "a": a}
        case tir.Cast(_, inner):
            return "tir.Cast", {"dtype": dtype, "value": inner}
        case tir.Select(condition, then, otherwise):
            parts = {"condition": condition, "true_value": then, "false_value": otherwise}
            return "tir.Select", {"dtype": dtype, **parts}
        case tir.Call(name, args):
            return "tir.Call", {"dtype": dtype, "op": _Leaf("Op", f"tir.{name}"), "args": args}
        case tir.Binary(op, a, b) if op in _BINARY_KEYS:
            return _BINARY_KEYS[op], {"dtype": dtype, "a": a, "b": b}
    return None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"an object of class {type(value).__name__}"


def _blob(array: Array) -> str:
    head, data = write_tensor(array)
    # A multiple of three bytes encodes without padding, so the header can be encoded apart from the
    # elements.
    cut = (-len(head)) % 3
    start = head + data[:cut].tobytes()
    return base64.b64encode(start).decode("ascii") + base64.b64encode(data[cut:].data).decode("ascii")


# --- the dialect of TVM's JSON writer -------------------------------------------------------------

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def _format(root: int, nodes: list[_Node], blobs: list[str]) -> str:
    body = ", \n    ".join(_format_node(node) for node in nodes)
    tensors = ", \n    ".join(f'"{blob}"' for blob in blobs)
    stored = f"[\n    {tensors}\n  ]" if blobs else "[]"
    return (
        f'{{\n  "root": {root}, \n  "nodes": [\n    {body}\n  ], \n  "b64ndarrays": {stored}, \n'
        f'  "attrs": {{"tvm_version": "{VERSION}"}}\n}}'
    )


def _format_node(node: _Node) -> str:
    parts = [f'"type_key": {_quoted(node.type_key)}']
    if node.text:
        if node.text.isascii() and node.text.isprintable():
            parts.append(f'"repr_str": {_quoted(node.text)}')
        else:
            encoded = to_bytes(node.text)
            blob = base64.b64encode(struct.pack("<Q", len(encoded)) + encoded).decode("ascii")
            parts.append(f'"repr_b64": "{blob}"')
    if node.fields:
        fields = [f"{_quoted(name)}: {_quoted(text)}" for name, text in sorted(node.fields.items())]
        if len(fields) > 1:
            parts.append('"attrs": {\n        ' + ", \n        ".join(fields) + "\n      }")
        else:
            parts.append('"attrs": {' + fields[0] + "}")
    if node.keys:
        keys = ", \n        ".join(_quoted(key) for key in node.keys)
        parts.append(f'"keys": [\n        {keys}\n      ]')
    if node.data:
        if len(node.data) > 10:
            parts.append('"data": [\n        ' + ", \n        ".join(map(str, node.data)) + "\n      ]")
        else:
            parts.append(f'"data": [{", ".join(map(str, node.data))}]')
    return "{\n      " + ", \n      ".join(parts) + "\n    }"
