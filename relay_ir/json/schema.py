"""The fields of every object that Relay's JSON stores, in the order TVM 0.18 declares them.

One table serves the reader and the writer. A field is (name, kind); the kind says how the field is
encoded and what it must hold: inline kinds are ``int``, ``bool``, ``double``, ``str``, ``dtype``
and ``tensor``, every other kind is a reference to another node, ``?`` marks one that may be null.
``skip`` is a field that is neither read nor kept.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypedDict

from relay2relax.tir.ir.expr import BinaryOp


class _Kind(TypedDict):
    type_key: str


class Node(_Kind, total=False):
    """A node as the document holds it.

    ``attrs`` are its fields, ``data`` and ``keys`` what an array or a map holds, the others the
    texts that a leaf may have.
    """

    attrs: dict[str, str]
    keys: list[str]
    data: list[int]
    repr_str: str
    repr_b64: str
    global_key: str


# What the fields of a node hold, by name, once they are checked against their kinds.
Values: TypeAlias = dict[str, Any]
Fields = tuple[tuple[str, str], ...]

INLINE = frozenset({"int", "bool", "double", "str", "dtype", "tensor"})

_EXPR = " virtual_device_:device? span:span? _checked_type_:type?"
_SPAN = " span:span?"

_DECLARED = {
    # Expressions
    "relay.Constant": "data:tensor" + _EXPR,
    "relay.Tuple": "fields:expr*" + _EXPR,
    "relay.Id": "name_hint:string",
    "relay.Var": "vid:id type_annotation:type?" + _EXPR,
    "GlobalVar": "name_hint:string virtual_device_:device? span:span? _checked_type_:type? struct_info_:skip",
    "relay.Function": "params:var* body:expr ret_type:type? type_params:typevar* attrs:dict?" + _EXPR,
    "relay.Call": "op:expr args:expr* attrs:any? type_args:type*?" + _EXPR,
    "relay.Let": "var:var value:expr body:expr" + _EXPR,
    "relay.If": "cond:expr true_branch:expr false_branch:expr" + _EXPR,
    "relay.TupleGetItem": "tuple_value:expr index:int" + _EXPR,
    "relay.RefCreate": "value:expr" + _EXPR,
    "relay.RefRead": "ref:expr" + _EXPR,
    "relay.RefWrite": "ref:expr value:expr" + _EXPR,
    "relay.Match": "data:expr clauses:clause* complete:bool" + _EXPR,
    "relay.Clause": "lhs:pattern rhs:expr",
    "relay.PatternWildcard": _SPAN,
    "relay.PatternVar": "var:var" + _SPAN,
    "relay.PatternConstructor": "constructor:constructor patterns:pattern*" + _SPAN,
    "relay.PatternTuple": "patterns:pattern*" + _SPAN,
    "relay.Constructor": (
        "name_hint:string inputs:type* belong_to:globaltypevar tag:int span:span? _checked_type_:type?"
    ),
    # Module
    "IRModule": (
        "functions:map type_definitions:map? global_var_map_:map? global_type_var_map_:map? "
        "source_map:skip attrs:dict? global_infos:skip"
    ),
    "relay.TypeData": "header:globaltypevar type_vars:typevar* constructors:constructor*" + _SPAN,
    "Span": "source_name:string line:int column:int end_line:int end_column:int",
    "SequentialSpan": "spans:span* source_name:skip line:skip column:skip end_line:skip end_column:skip",
    "DictAttrs": "__dict__:map?",
    # Types
    "relay.TensorType": "shape:extent* dtype:dtype" + _SPAN,
    "TupleType": "fields:type*" + _SPAN,
    "FuncType": "arg_types:type* ret_type:type type_params:typevar*? type_constraints:type*?" + _SPAN,
    "relay.RefType": "value:type" + _SPAN,
    "TypeVar": "name_hint:string kind:int" + _SPAN,
    "GlobalTypeVar": "name_hint:string kind:int",
    "TypeCall": "func:type args:type*" + _SPAN,
    "IncompleteType": "kind:int" + _SPAN,
    "TypeRelation": "func:string args:type* num_inputs:int attrs:any?" + _SPAN,
    # Scalars
    "IntImm": "dtype:dtype value:int" + _SPAN,
    "FloatImm": "dtype:dtype value:double" + _SPAN,
    "tir.Any": "dtype:dtype" + _SPAN,
    "tir.Var": "dtype:dtype name:string type_annotation:skip" + _SPAN,
    "tir.SizeVar": "dtype:dtype name:string type_annotation:skip" + _SPAN,
    "tir.StringImm": "dtype:dtype value:string" + _SPAN,
    "tir.Not": "dtype:dtype a:prim" + _SPAN,
    "tir.Cast": "dtype:dtype value:prim" + _SPAN,
    "tir.Select": "dtype:dtype condition:prim true_value:prim false_value:prim" + _SPAN,
    "tir.Call": "dtype:dtype op:expr args:prim*" + _SPAN,
    "tir.IndexMap": "initial_indices:prim* final_indices:prim* inverse_index_map:any?",
    # Devices
    "VirtualDevice": "device_type_int:int virtual_device_id:int target:target? memory_scope:string",
    "Executor": "name:string attrs:dict?",
    "Runtime": "name:string attrs:dict?",
    "Target": "kind:string tag:string keys:string* attrs:map? features:map? host:target?",
}

# An integer ``/`` of TVM's ``tir.Div`` truncates; on floats it divides.
BINARY: dict[str, BinaryOp] = {
    "tir.Add": "+",
    "tir.Sub": "-",
    "tir.Mul": "*",
    "tir.Div": "truncdiv",
    "tir.Mod": "truncmod",
    "tir.FloorDiv": "//",
    "tir.FloorMod": "%",
    "tir.Min": "min",
    "tir.Max": "max",
    "tir.EQ": "==",
    "tir.NE": "!=",
    "tir.LT": "<",
    "tir.LE": "<=",
    "tir.GT": ">",
    "tir.GE": ">=",
    "tir.And": "and",
    "tir.Or": "or",
}
_DECLARED |= dict.fromkeys(BINARY, "dtype:dtype a:prim b:prim" + _SPAN)


def _parse(text: str) -> Fields:
    pairs = (field.split(":") for field in text.split())
    return tuple((name, kind) for name, kind in pairs)


FIELDS: dict[str, Fields] = {key: _parse(text) for key, text in _DECLARED.items()}
# Those of them that are read and stand in other nodes.
REFERENCES: dict[str, Fields] = {
    key: tuple((name, kind) for name, kind in fields if kind not in INLINE and kind != "skip")
    for key, fields in FIELDS.items()
}

# Nodes of programs, which are walked without recursion, as against values.
EXPRESSIONS = frozenset(
    key
    for key, text in _DECLARED.items()
    if text.endswith(_EXPR) or key in ("relay.Clause", "relay.TypeData", "IRModule")
)

# Objects that are nothing but their name or value, stored in ``repr_str``.
LEAVES = frozenset(
    {
        "Op",
        "EnvFunc",
        "SourceName",
        "TargetKind",
        "runtime.String",
        "runtime.BoxInt",
        "runtime.BoxFloat",
        "runtime.BoxBool",
        "runtime.NDArray",
    }
)
