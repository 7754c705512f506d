"""Functions that were lowered to TensorIR, read as the nodes they are stored as.

A field of a node is a text, which may be the index of another node; which fields are is declared by
type, as TVM 0.18 does (``include/tvm/tir/{expr,stmt,buffer,var,function}.h``). What is not declared
is refused: it could not be renumbered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias, Union

from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.core.errors.table import reading
from relay2relax.relay_ir.compat.attrs_codec import parse_bool, parse_double, parse_int
from relay2relax.relay_ir.ir.expr import GlobalVar
from relay2relax.relay_ir.ir.opaque import OpaqueFunction, OpaqueNode
from relay2relax.relay_ir.json.document import in_node, no_such_node, node_text, odd_map
from relay2relax.relay_ir.json.schema import EXPRESSIONS, FIELDS, INLINE, LEAVES, Node

PRIM_FUNC = "tir.PrimFunc"

# Fields without a kind refer to nodes.
_DECLARED = {
    PRIM_FUNC: "params body ret_type buffer_map attrs span _checked_type_",
    # Expressions
    "tir.BufferLoad": "dtype:dtype buffer indices predicate span",
    "tir.Ramp": "dtype:dtype base stride lanes span",
    "tir.Broadcast": "dtype:dtype value lanes span",
    "tir.Let": "dtype:dtype var value body span",
    "tir.Shuffle": "dtype:dtype vectors indices span",
    "tir.CommReducer": "lhs rhs result identity_element span",
    "tir.Reduce": "dtype:dtype combiner source init axis condition value_index:int span",
    # Variables, ranges and buffers
    "tir.IterVar": "dom var iter_type:int thread_tag span",
    "Range": "min extent span",
    "tir.Buffer": (
        "data dtype:dtype shape strides axis_separators elem_offset name data_alignment:int offset_factor:int "
        "buffer_type:int span"
    ),
    "tir.BufferRegion": "buffer region",
    "tir.MatchBufferRegion": "buffer source",
    # Statements
    "tir.LetStmt": "var value body span",
    "tir.AttrStmt": "node attr_key value body span",
    "tir.AssertStmt": "condition message body span",
    "tir.BufferStore": "buffer value indices predicate span",
    "tir.BufferRealize": "buffer bounds condition body span",
    "tir.Allocate": "buffer_var dtype:dtype extents condition body annotations span",
    "tir.AllocateConst": "buffer_var data irmod_storage_idx dtype:dtype extents body annotations span",
    "tir.DeclBuffer": "buffer body span",
    "tir.SeqStmt": "seq span",
    "tir.Evaluate": "value span",
    "tir.IfThenElse": "condition then_case else_case span",
    "tir.For": "loop_var min extent kind:int body thread_binding annotations span",
    "tir.While": "condition body span",
    "tir.Prefetch": "buffer bounds span",
    "tir.Block": "iter_vars reads writes name_hint body init alloc_buffers match_buffers annotations",
    "tir.BlockRealize": "iter_values predicate block",
    # Types
    "PrimType": "dtype:dtype",
    "PointerType": "element_type storage_scope",
    # Its numbers are not read elsewhere, since they follow from the spans.
    "SequentialSpan": "spans source_name line:int column:int end_line:int end_column:int",
}


def _parse(text: str) -> dict[str, str]:
    return {name: kind or "any" for name, _, kind in (field.partition(":") for field in text.split())}


_KINDS: dict[str, dict[str, str]] = {
    **{key: {} for key in ("Array", "Map", *LEAVES)},
    **{key: dict(fields) for key, fields in FIELDS.items() if key not in EXPRESSIONS},
    **{key: _parse(text) for key, text in _DECLARED.items()},
}
# The same, apart: kinds of texts, and names of references in the order in which they are followed.
_TEXTS = {key: {name: kind for name, kind in kinds.items() if kind in INLINE} for key, kinds in _KINDS.items()}
_REFERENCES = {key: sorted(kinds.keys() - _TEXTS[key].keys()) for key, kinds in _KINDS.items()}
_CHECKS = {"int": parse_int, "bool": parse_bool, "double": parse_double}

# Nodes by index, with the indices that the document has; None for a global variable.
Closure: TypeAlias = dict[int, Union[OpaqueNode, None]]


def closure(nodes: list[Node], root: int, known: Closure) -> Closure:
    """Return the nodes that the function ``root`` reaches, itself first.

    Global variables are not looked into.

    ``known`` are nodes that other functions reached, to which these are added. Raises ParseError,
    naming the node, for what is damaged, and UnsupportedError for types that are not declared.
    """
    found: Closure = {}

    def enter(index: int) -> None:
        if index not in known:
            known[index] = _stored(nodes, index)
        found[index] = known[index]
        stack.append((index, _targets(known[index])))

    stack: list[tuple[int, Iterator[int]]] = []
    enter(root)
    on_path = {root}
    while stack:
        index, rest = stack[-1]
        for other in rest:
            if other in on_path:
                raise ParseError(
                    f"node {index} refers to node {other}, which depends on it: the document has a cycle",
                    kind=reading.JSON_DOCUMENT,
                )
            if other not in found:
                on_path.add(other)
                enter(other)
                break
        else:
            stack.pop()
            on_path.discard(index)
    return found


def opaque_function(found: Closure, objects: Mapping[int, object]) -> OpaqueFunction:
    """Return the function whose nodes are ``found``; ``objects`` has its global variables by
    their indices.
    """
    places = {index: place for place, index in enumerate(found)} | {0: 0}
    made: list[OpaqueNode | GlobalVar] = []
    for index, node in found.items():
        if node is None:
            name = objects[index]
            assert isinstance(name, GlobalVar)
            made.append(name)
            continue
        references = tuple((name, places[other]) for name, other in node.references)
        made.append(replace(node, references=references, items=tuple(places[other] for other in node.items)))
    return OpaqueFunction(tuple(made))


def _targets(node: OpaqueNode | None) -> Iterator[int]:
    if node is not None:
        yield from (other for _, other in node.references if other)
        yield from (other for other in node.items if other)


def _stored(nodes: list[Node], index: int) -> OpaqueNode | None:
    node = nodes[index]
    key = node["type_key"]
    if key == "GlobalVar":
        return None
    if key not in _KINDS:
        raise UnsupportedError(
            f"node {index}: objects of type {key!r} cannot be read in a {PRIM_FUNC}", kind=reading.JSON_DOCUMENT
        )
    kinds, given = _KINDS[key], node.get("attrs", {})
    if not given.keys() <= kinds.keys():
        odd = min(given.keys() - kinds.keys())
        raise UnsupportedError(
            f"node {index}: a {key} with a field {odd!r} cannot be read in a {PRIM_FUNC}", kind=reading.JSON_DOCUMENT
        )
    data = node.get("data", []) if key in ("Array", "Map") else []
    keys = node.get("keys", []) if key == "Map" else []
    texts = _TEXTS[key]
    try:
        if key == "Map" and (len(keys) != len(data) if keys else len(data) % 2):
            raise odd_map()
        return OpaqueNode(
            key,
            node_text(node),
            tuple((name, _checked(texts[name], given[name])) for name in sorted(texts.keys() & given.keys())),
            tuple((name, _index(nodes, parse_int(given.get(name, "0")))) for name in _REFERENCES[key]),
            tuple(keys),
            tuple(_index(nodes, item) for item in data),
        )
    except ParseError as error:
        raise in_node(index, key, error.diagnostics[0].title) from None


def _checked(kind: str, text: str) -> str:
    if kind in _CHECKS:
        _CHECKS[kind](text)
    return text


def _index(nodes: list[Node], index: int) -> int:
    """Return ``index``, 0 for that of an empty node."""
    if not 0 <= index < len(nodes):
        raise ParseError(no_such_node(index, len(nodes)), kind=reading.JSON_DOCUMENT)
    return index if nodes[index]["type_key"] else 0
