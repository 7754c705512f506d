"""Relay's JSON graph format: documents into modules, expressions and metadata tables.

A document is a flat list of nodes that refer to each other by index. Nodes are resolved in
dependency order with a stack of our own, from the root; what the root does not reach is not looked
at. Two references to one index become one Python object, so sharing survives. Reading is tolerant
of what versions differ in: a missing reference is null, a missing number its default, unknown
fields are ignored, strings may stand inline.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn, cast

from relay2relax.core.collection import collection_paused
from relay2relax.core.dtype import Array, check_dtype
from relay2relax.core.errors import (
    LimitError,
    ParseError,
    Relay2RelaxError,
    UnsupportedError,
    mistake,
    placed,
)
from relay2relax.core.errors.table import reading
from relay2relax.core.limits import active
from relay2relax.core.progress import going_on
from relay2relax.core.source import SequentialSpan, Span
from relay2relax.core.tensor_blob import read_tensor
from relay2relax.ops.registry.attributes import BoxInt, NoAttrs
from relay2relax.ops.registry.table import relay_op
from relay2relax.ops.target.layout_rewrites import IndexMap
from relay2relax.relay_ir.compat.attrs_codec import (
    attrs_class,
    decode_attrs,
    is_attrs,
    node_index,
    parse_bool,
    parse_double,
    parse_int,
    references,
)
from relay2relax.relay_ir.compat.older_calls import form_of_attrs, modern_call
from relay2relax.relay_ir.ir import expr as ir
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.device import BuildOption, Target, VirtualDevice
from relay2relax.relay_ir.ir.module import IRModule, TypeData
from relay2relax.relay_ir.ir.opaque import OpaqueFunction
from relay2relax.relay_ir.json.document import in_node, no_such_node, node_text, odd_map, read_document
from relay2relax.relay_ir.json.opaque import PRIM_FUNC, Closure, closure, opaque_function
from relay2relax.relay_ir.json.scalars import is_extent, make_scalar, prim
from relay2relax.relay_ir.json.schema import EXPRESSIONS, FIELDS, INLINE, LEAVES, REFERENCES, Node, Values
from relay2relax.tir.ir import expr as tir

_ATTRS = "relay.attrs."

# How deep and how large types, attributes and the like may be. Programs may be as deep and as large
# as they are.
MAX_DEPTH = 250
MAX_SIZE = 1_000_000


@collection_paused()
def load_json(text: str) -> IRModule:
    """Return the module of a ``save_json`` document.

    A function or expression becomes ``@main`` of a new module.

    Types that the document records fill ``IRModule.types``. Raises ParseError naming the node and
    field at fault, and UnsupportedError for objects that are no part of Relay proper.
    """
    reader = _Reader(text)
    root = reader.load()
    if isinstance(root, ir.RelayExpr):
        root = IRModule.from_expr(cast("ir.Expr", root), reader.types, recorded=True)
    if isinstance(root, IRModule):
        return replace(root, document_nodes=reader.expressions())
    raise ParseError(
        f"the document holds {_describe(root)}; expected a module, a function or an expression",
        kind=reading.JSON_DOCUMENT,
    )


def load_json_object(text: str) -> object:
    """Return whatever object a document holds: a module, an expression, a type, attributes, a
    container.

    Raises like :func:`load_json`.
    """
    return _Reader(text).load()


def decode_nodes(text: str) -> dict[str, list[object]]:
    """Return the table of a metadata section: type key -> the objects that ``meta[key][index]``
    means.

    Raises like :func:`load_json`.
    """
    root = _Reader(text).load()
    if not isinstance(root, dict) or not all(
        isinstance(key, str) and isinstance(value, tuple) for key, value in root.items()
    ):
        raise ParseError(
            f"the metadata section holds {_describe(root)}; expected a map from type keys to arrays",
            kind=reading.JSON_DOCUMENT,
        )
    return {key: list(value) for key, value in root.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Id:
    """The identity of a variable; several Var nodes may share it."""

    name: str


class _SourceName(str):
    """A string that names a source, operator function or target kind rather than being text of its
    own.
    """


def _describe(value: object) -> str:
    if value is None:
        return "null"
    words = {dict: "a map", tuple: "an array", str: "a string", int: "an integer"}
    return words.get(type(value), f"a {type(value).__name__}")


def _is(*classes: type) -> Callable[[object], bool]:
    return lambda value: isinstance(value, classes)


# What a reference of a kind must hold, and how that is called.
_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "any": ("anything", lambda value: True),
    "expr": ("an expression", _is(ir.RelayExpr)),
    "var": ("a variable", _is(ir.Var)),
    "id": ("a relay.Id", _is(_Id)),
    "clause": ("a match clause", _is(ir.Clause)),
    "constructor": ("a constructor", _is(ir.Constructor)),
    "pattern": (
        "a pattern",
        _is(ir.PatternWildcard, ir.PatternVar, ir.PatternConstructor, ir.PatternTuple),
    ),
    "type": ("a type", _is(ty.Type)),
    "typevar": ("a type variable", _is(ty.TypeVar)),
    "globaltypevar": ("a global type variable", _is(ty.GlobalTypeVar)),
    "string": ("a string", _is(str)),
    "span": ("a span", _is(Span)),
    "device": ("a device", _is(VirtualDevice)),
    "target": ("a target", _is(Target)),
    "map": ("a map", _is(dict)),
    "dict": ("a dictionary of attributes", _is(dict)),
    "extent": ("an extent", is_extent),
    "prim": ("a scalar expression", _is(int, tir.PrimExpr)),
}


class _Reader:
    """One document: its nodes, and the objects made of them so far."""

    def __init__(self, text: str) -> None:
        self.nodes, self.blobs, self.root, self.release = read_document(text)
        self.types: dict[ir.Expr, ty.Type] = {}
        self.objects: dict[int, object] = {0: None}
        self.measures: dict[int, tuple[int, int]] = {}
        self.tensors: dict[int, Array] = {}
        self.vars: dict[_Id, list[ir.Var]] = {}
        self.global_vars: dict[str, ir.GlobalVar] = {}
        self.global_type_vars: dict[str, ty.GlobalTypeVar] = {}
        self.closures: dict[int, Closure] = {}
        self.opaque_nodes: Closure = {}
        self.opaque_size = 0

    def fail(self, index: int, message: str, help: str = "") -> NoReturn:
        key = self.nodes[index].get("type_key") if 0 <= index < len(self.nodes) else ""
        raise in_node(index, key, message, help)

    # --- order ---

    def load(self) -> object:
        """Return the object of the root node."""
        if not 0 <= self.root < len(self.nodes):
            raise ParseError(
                f"root is {self.root}, but the document has nodes 0 to {len(self.nodes) - 1}",
                kind=reading.JSON_DOCUMENT,
            )
        if self.root in self.objects:
            return None
        on_path = {self.root}
        needed = self.dependencies(self.root)
        stack: list[tuple[int, list[int], Iterator[int]]] = [(self.root, needed, iter(needed))]
        budget = active()
        with going_on("nodes of the document", lambda: (len(self.objects), len(self.nodes))):
            while stack:
                if budget is not None:
                    budget.check()
                index, needed, rest = stack[-1]
                for other in rest:
                    if other in self.objects:
                        continue
                    if other in on_path:
                        self.fail(index, f"refers to node {other}, which depends on it: the document has a cycle")
                    on_path.add(other)
                    needed = self.dependencies(other)
                    stack.append((other, needed, iter(needed)))
                    break
                else:
                    stack.pop()
                    on_path.discard(index)
                    self.measure(index, needed)
                    self.objects[index] = self.build(index)
        return self.objects[self.root]

    def expressions(self) -> dict[ir.Expr, int]:
        """Return the numbers of the nodes that expressions were read of; operators are none."""
        return {
            cast("ir.Expr", one): index
            for index, one in self.objects.items()
            if isinstance(one, ir.RelayExpr) and not isinstance(one, ir.Op)
        }

    def measure(self, index: int, needed: list[int]) -> None:
        """Note how deep and how large the value of a node is, if it is one, and refuse what is
        beyond any use.

        Values share no parts when they are compared, hashed and written, so that few nodes may make
        a huge one.
        """
        if not needed or self.nodes[index]["type_key"] in EXPRESSIONS:
            return
        depth = size = 1
        for other in needed:
            if other in self.measures:
                deep, large = self.measures[other]
                depth, size = max(depth, deep + 1), size + large
        if depth > MAX_DEPTH:
            self.fail(index, f"values are nested more than {MAX_DEPTH} deep")
        if size > MAX_SIZE:
            self.fail(index, f"the value has more than {MAX_SIZE} parts")
        self.measures[index] = (depth, size)

    def dependencies(self, index: int) -> list[int]:
        """Return the nodes that node ``index`` refers to, checked to exist."""
        try:
            if self.nodes[index]["type_key"] == PRIM_FUNC:
                return self.globals_in(index)
            found = list(self._references(self.nodes[index]))
        except ParseError as error:
            self.fail(index, error.diagnostics[0].title)
        for other in found:
            if not 0 <= other < len(self.nodes):
                self.fail(index, no_such_node(other, len(self.nodes)))
        return found

    def globals_in(self, index: int) -> list[int]:
        """Return the global variables in the opaque function ``index``; all else in it is its
        own.
        """
        found = self.closures[index] = closure(self.nodes, index, self.opaque_nodes)
        # Functions may have in common what is no part of one, as spans are, but not whole bodies.
        self.opaque_size += len(found)
        if self.opaque_size > len(self.nodes) + MAX_SIZE:
            raise ParseError(f"the functions have more than {MAX_SIZE} nodes in common", kind=reading.JSON_DOCUMENT)
        return [other for other, node in found.items() if node is None]

    def _references(self, node: Node) -> Iterator[int]:
        key = node["type_key"]
        fields = node.get("attrs", {})
        if key in ("Array", "Map"):
            yield from node.get("data", ())
        elif key in REFERENCES:
            for name, kind in REFERENCES[key]:
                if name in fields and (kind != "string" or self._is_reference_to_string(fields[name])):
                    yield node_index(name, fields[name])
        elif key.startswith(_ATTRS):
            cls = self.attrs_layout(key, fields)
            if cls is not None:
                yield from references(cls, fields, self.is_string)

    def attrs_layout(self, key: str, fields: Mapping[str, str]) -> type | None:
        """Return the class of an attribute object, which may be one of an earlier version."""
        today = attrs_class(key, fields)
        form = form_of_attrs(key, today, fields, self.release)
        return today if form is None else form.attrs

    def is_string(self, index: int) -> bool:
        return 0 <= index < len(self.nodes) and self.nodes[index]["type_key"] == "runtime.String"

    def _is_reference_to_string(self, text: str) -> bool:
        """Whether a String field holds a node index; files of 0.6 have the text itself there."""
        if not (text.isascii() and text.isdigit()):
            return False
        index = parse_int(text)
        return 0 <= index < len(self.nodes) and self.nodes[index]["type_key"] in LEAVES

    # --- objects ---

    def build(self, index: int) -> object:
        """Return the object of node ``index``; what it refers to has been built."""
        node = self.nodes[index]
        key = node["type_key"]
        try:
            if key in FIELDS:
                return self.remember(key, self.fields(key, node.get("attrs", {})))
            if key == "Array":
                return tuple(self.objects[item] for item in node.get("data", ()))
            if key == "Map":
                return self.map(node)
            if key in LEAVES:
                return self.leaf(key, node_text(node))
            if key.startswith(_ATTRS):
                return self.attrs(key, node.get("attrs", {}))
            if key == PRIM_FUNC:
                return opaque_function(self.closures[index], self.objects)
        except (UnsupportedError, LimitError):
            raise
        except Relay2RelaxError as error:
            self.fail(index, error.diagnostics[0].title, error.diagnostics[0].help)
        if key == "":
            return None
        raise UnsupportedError(f"node {index}: objects of type {key!r} cannot be read", kind=reading.JSON_DOCUMENT)

    def map(self, node: Node) -> dict[object, object]:
        data = [self.objects[item] for item in node.get("data", ())]
        if "keys" in node:
            if len(node["keys"]) != len(data):
                raise ParseError(
                    f"the map has {len(node['keys'])} keys and {len(data)} values", kind=reading.JSON_DOCUMENT
                )
            return dict(zip(node["keys"], data, strict=True))
        if len(data) % 2:
            raise odd_map()
        try:
            return dict(zip(data[0::2], data[1::2], strict=True))
        except TypeError:
            raise ParseError("a key of the map is an array or a map", kind=reading.JSON_DOCUMENT) from None

    def leaf(self, key: str, text: str) -> object:
        match key:
            case "Op":
                return ir.Op(text)
            case "EnvFunc" | "SourceName" | "TargetKind":
                return _SourceName(text)
            case "runtime.BoxInt":
                return BoxInt(parse_int(text))
            case "runtime.BoxFloat":
                return parse_double(text)
            case "runtime.BoxBool":
                return parse_bool(text)
            case "runtime.NDArray":
                return _tensor(text)
        return text

    def attrs(self, key: str, fields: Mapping[str, str]) -> object:
        cls = self.attrs_layout(key, fields)
        if cls is None:
            return ir.OpaqueAttrs(key, tuple(sorted(fields.items())))
        return decode_attrs(cls, fields, self.objects.__getitem__, self.is_string)

    def fields(self, key: str, given: Mapping[str, str]) -> Values:
        """Return the fields of an object, decoded and checked against their kinds."""
        values: Values = {}
        for name, kind in FIELDS[key]:
            if kind == "skip":
                continue
            try:
                values[name] = (
                    self.inline(kind, given.get(name)) if kind in INLINE else self.reference(kind, given.get(name))
                )
            except (UnsupportedError, LimitError):
                raise
            except Relay2RelaxError as error:
                raise placed(error, f"field {name!r}", reading.JSON_DOCUMENT) from None
        return values

    def inline(self, kind: str, text: str | None) -> object:
        match kind:
            case "int":
                return 0 if text is None else parse_int(text)
            case "bool":
                return True if text is None else parse_bool(text)
            case "double":
                return parse_double("nothing" if text is None else text)
            case "tensor":
                return self.tensor(parse_int("nothing" if text is None else text))
        return "" if text is None or text == "void" else check_dtype(text) if kind == "dtype" else text

    def tensor(self, index: int) -> Array:
        if index not in self.tensors:
            if not 0 <= index < len(self.blobs):
                raise ParseError(f"tensor {index} of {len(self.blobs)} does not exist", kind=reading.JSON_DOCUMENT)
            self.tensors[index] = _tensor(self.blobs[index])
        return self.tensors[index]

    def reference(self, kind: str, text: str | None) -> object:
        optional = kind.endswith("?")
        base = kind.rstrip("?")
        if base == "string":
            if text is None:
                return ""
            if not self._is_reference_to_string(text):
                return "" if text == "0" else text
        value = None if text is None else self.objects[parse_int(text)]
        name, fits = _KINDS[base.rstrip("*")]
        if value is None and optional:
            return () if base.endswith("*") else None
        if not base.endswith("*"):
            if not fits(value):
                raise ParseError(mistake(reading.JSON_DOCUMENT, place="", expected=name, found=_describe(value)))
            return value
        if not isinstance(value, tuple):
            raise ParseError(mistake(reading.JSON_DOCUMENT, place="", expected="an array", found=_describe(value)))
        for place, item in enumerate(value):
            if not fits(item):
                raise ParseError(
                    mistake(reading.JSON_DOCUMENT, place=f"element {place}: ", expected=name, found=_describe(item))
                )
        return value

    def remember(self, key: str, values: Values) -> object:
        """Return the object of ``key``; note its type beside it."""
        device = values.get("virtual_device_")
        if device is not None and not device.constrained:
            device = values["virtual_device_"] = None
        if device is not None and key not in ("relay.Var", "relay.Function"):
            raise UnsupportedError(
                f"a {key} is placed on {device}; only parameters and functions can be placed",
                kind=reading.JSON_DOCUMENT,
            )
        found = self.make(key, values)
        inferred = values.get("_checked_type_")
        if inferred is not None and isinstance(found, ir.RelayExpr):
            self.types.setdefault(cast("ir.Expr", found), inferred)
        return found

    def variable(self, v: Values, span: Span | None) -> ir.Var:
        """Return the variable of an id and a type.

        TVM's gradient leaves variables of different types with one id behind, which its inference
        tells apart.
        """
        annotation = v["type_annotation"]
        known = self.vars.setdefault(v["vid"], [])
        found = next((one for one in known if one.type_annotation == annotation), None)
        if found is None:
            found = ir.Var(v["vid"].name, annotation, span, v["virtual_device_"])
            known.append(found)
        return found

    def make(self, key: str, v: Values) -> object:
        """Return the object of ``key`` with the fields ``v``."""
        span = v.get("span")
        match key:
            case "relay.Call":
                op, args, attrs = v["op"], v["args"], v["attrs"]
                if isinstance(op, ir.Op):
                    older = modern_call(op.name, args, attrs, self.release)
                    if older is not None:
                        op, args, attrs = ir.Op(older[0]), older[1], older[2]
                return ir.Call(op, args, _call_attrs(op, attrs), v["type_args"], span)
            case "relay.Var":
                return self.variable(v, span)
            case "relay.Id":
                return _Id(v["name_hint"])
            case "relay.Constant":
                return ir.Constant(v["data"], span)
            case "relay.Tuple":
                return ir.Tuple(v["fields"], span)
            case "relay.TupleGetItem":
                return ir.TupleGetItem(v["tuple_value"], v["index"], span)
            case "relay.Let":
                return ir.Let(v["var"], v["value"], v["body"], span)
            case "relay.If":
                return ir.If(v["cond"], v["true_branch"], v["false_branch"], span)
            case "relay.Function":
                return ir.Function(
                    v["params"],
                    v["body"],
                    v["ret_type"],
                    v["type_params"],
                    v["attrs"] or {},
                    span,
                    v["virtual_device_"],
                )
            case "GlobalVar":
                return self.global_vars.setdefault(v["name_hint"], ir.GlobalVar(v["name_hint"], span))
            case "relay.RefCreate":
                return ir.RefCreate(v["value"], span)
            case "relay.RefRead":
                return ir.RefRead(v["ref"], span)
            case "relay.RefWrite":
                return ir.RefWrite(v["ref"], v["value"], span)
            case "relay.Match":
                return ir.Match(v["data"], v["clauses"], v["complete"], span)
            case "relay.Constructor":
                return ir.Constructor(v["name_hint"], v["inputs"], v["belong_to"], v["tag"], span)
            case "IRModule":
                return self.module(v)
            case "relay.TypeData":
                return TypeData(v["header"], v["type_vars"], v["constructors"])
        if key.startswith("relay.Pattern") or key == "relay.Clause":
            return _pattern(key, v)
        if key in _SURROUNDINGS:
            return _surroundings(key, v)
        if key.startswith("tir.") or key in ("IntImm", "FloatImm"):
            return make_scalar(key, v)
        return self.make_type(key, v)

    def make_type(self, key: str, v: Values) -> ty.Type:
        """Return the type of ``key`` with the fields ``v``."""
        match key:
            case "relay.TensorType":
                return ty.TensorType(v["shape"], v["dtype"])
            case "TupleType":
                return ty.TupleType(v["fields"])
            case "FuncType":
                relations = v["type_constraints"]
                if not all(isinstance(relation, ty.TypeRelation) for relation in relations):
                    raise ParseError("field 'type_constraints': expected type relations", kind=reading.JSON_DOCUMENT)
                return ty.FuncType(v["arg_types"], v["ret_type"], v["type_params"], relations)
            case "relay.RefType":
                return ty.RefType(v["value"])
            case "TypeVar":
                return ty.TypeVar(v["name_hint"], _kind(v["kind"]))
            case "GlobalTypeVar":
                fresh = ty.GlobalTypeVar(v["name_hint"], _kind(v["kind"]))
                return self.global_type_vars.setdefault(v["name_hint"], fresh)
            case "TypeCall":
                return ty.TypeCall(v["func"], v["args"])
            case "IncompleteType":
                return ty.IncompleteType(_kind(v["kind"]))
        return ty.TypeRelation(str(v["func"]), v["args"], v["num_inputs"], v["attrs"])

    def module(self, v: Values) -> IRModule:
        functions: dict[ir.GlobalVar, ir.Function] = {}
        opaque: dict[ir.GlobalVar, OpaqueFunction] = {}
        for key, value in v["functions"].items():
            if not isinstance(key, ir.GlobalVar):
                raise ParseError(
                    mistake(
                        reading.JSON_DOCUMENT,
                        place="field 'functions': ",
                        expected="global variables as keys",
                        found=_describe(key),
                    )
                )
            if isinstance(value, ir.Function):
                functions[key] = value
            elif isinstance(value, OpaqueFunction):
                opaque[key] = replace(value, type=self.types.get(key))
            else:
                raise ParseError(
                    mistake(
                        reading.JSON_DOCUMENT,
                        place="field 'functions': ",
                        expected=f"a function as @{key.name}",
                        found=_describe(value),
                    )
                )
        definitions = v["type_definitions"] or {}
        for key, value in definitions.items():
            if not isinstance(key, ty.GlobalTypeVar) or not isinstance(value, TypeData):
                raise ParseError(
                    "field 'type_definitions': expected global type variables and their definitions",
                    kind=reading.JSON_DOCUMENT,
                )
        return IRModule(functions, definitions, v["attrs"] or {}, self.types, opaque_functions=opaque, recorded=True)


def _pattern(key: str, v: Values) -> object:
    """Return the clause or pattern of ``key`` with the fields ``v``."""
    span = v.get("span")
    match key:
        case "relay.PatternWildcard":
            return ir.PatternWildcard(span)
        case "relay.PatternVar":
            return ir.PatternVar(v["var"], span)
        case "relay.PatternConstructor":
            return ir.PatternConstructor(v["constructor"], v["patterns"], span)
        case "relay.PatternTuple":
            return ir.PatternTuple(v["patterns"], span)
    return ir.Clause(v["lhs"], v["rhs"])


# What is said about expressions: where they stand, what they run on, how modules are built.
_SURROUNDINGS = frozenset(
    {"Span", "SequentialSpan", "DictAttrs", "VirtualDevice", "Executor", "Runtime", "Target", "tir.IndexMap"}
)


def _surroundings(key: str, v: Values) -> object:
    match key:
        case "Span":
            return Span(str(v["source_name"]), v["line"], v["column"], v["end_line"], v["end_column"])
        case "SequentialSpan":
            return SequentialSpan.of(v["spans"])
        case "DictAttrs":
            return v["__dict__"] or {}
        case "VirtualDevice":
            return VirtualDevice(v["device_type_int"], v["virtual_device_id"], v["target"], v["memory_scope"])
        case "Executor" | "Runtime":
            return BuildOption(key, str(v["name"]), v["attrs"] or {})
        case "Target":
            return Target(str(v["kind"]), v["tag"], v["keys"], v["attrs"] or {}, v["features"] or {}, v["host"])
    return IndexMap(v["initial_indices"], tuple(map(prim, v["final_indices"])))


def _call_attrs(op: object, attrs: object) -> object:
    """Return the attributes of a call, checked against the operator's record."""
    if isinstance(attrs, dict):
        return ir.OpaqueAttrs("DictAttrs", tuple(attrs.items()))
    record = relay_op(op.name) if isinstance(op, ir.Op) else None
    if attrs is None:
        if record is None or record.attrs is NoAttrs:
            return NoAttrs()
        try:
            return record.attrs()
        except TypeError:
            raise ParseError(
                f"field 'attrs': the operator {record.name} needs {record.attrs_key}", kind=reading.JSON_DOCUMENT
            ) from None
    if record is not None and not isinstance(attrs, (record.attrs, ir.OpaqueAttrs)):
        wanted = record.attrs_key or "no attributes"
        raise ParseError(
            mistake(
                reading.JSON_DOCUMENT,
                place="field 'attrs': ",
                expected=f"{wanted} for the operator {record.name}",
                found=_describe(attrs),
            )
        )
    if not is_attrs(attrs):
        raise ParseError(
            mistake(reading.JSON_DOCUMENT, place="field 'attrs': ", expected="attributes", found=_describe(attrs))
        )
    return attrs


def _kind(code: int) -> ty.Kind:
    try:
        # Kind 3 (a shape) existed in 0.6 only.
        return ty.Kind.TYPE if code == 3 else ty.Kind(code)
    except ValueError:
        raise ParseError(f"field 'kind': {code} is not the code of a kind", kind=reading.JSON_DOCUMENT) from None


def _tensor(text: str) -> Array:
    try:
        blob = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ParseError("a tensor is not valid base64", kind=reading.JSON_DOCUMENT) from None
    return read_tensor(memoryview(blob))[0]
