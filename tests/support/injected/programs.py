"""Programs with many words in them, and the documents that differ from them in one word."""

from __future__ import annotations

import ast
import copy
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from relay2relax import graph, relax_ir, relay_ir
from relay2relax.core.dtype import Array

RELAY = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 4, 6, 6), float32] /* span=data:1:1 */, %weight: Tensor[(4, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %weight, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], data_layout="NCHW",
    kernel_layout="OIHW", out_layout="", out_dtype="float32") /* span=convolution:2:3 */;
  %1 = nn.pad(%0, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]], pad_mode="edge");
  %2 = fn (%part: Tensor[(?, 4, 8, 8), float32], Primitive=1, Composite="pattern", note="said") {
    nn.relu(%part)
  };
  %3 = %2(%1);
  %4 = image.resize2d(%3, size=[4, 4], roi=[0f, 0f, 0f, 0f], layout="NCHW", method="linear",
    coordinate_transformation_mode="half_pixel", rounding_method="", out_dtype="float32");
  %5 = cast(%4, dtype="float16");
  let %kept = cast(%5, dtype="int32");
  @second(%kept)
}

def @second(%value: Tensor[(?, 4, 4, 4), int32], said="of it") {
  sum(%value, axis=[1], keepdims=True)
}
"""

SCRIPT = """
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class Module:
    I.module_attrs({"about": "module", "list": ["one", "two"]})
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0, "global")]})

    @T.prim_func(private=True, s_tir=True)
    def scale(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"tirx.noalias": True, "purpose": "scaling"})
        C = T.alloc_buffer((T.int64(4),), "float32", scope="local")
        for i in T.serial(T.int64(4), annotations={"pragma": "hint"}):
            with T.sblock("copy"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(C[v])
                T.sblock_attr({"schedule_rule": "none"})
                C[v] = T.Cast("float32", A[v]) * T.float32(2.0)
        for i in range(T.int64(4)):
            with T.sblock("store"):
                v = T.axis.remap("S", [i])
                T.reads(C[v])
                T.writes(B[v])
                B[v] = C[v]

    @R.function(pure=False)
    def main(x: R.Tensor((4,), dtype="float32", vdevice="llvm:0:global")) -> R.Object:
        R.func_attr({"global_symbol": "main", "note": "said"})
        cls = Module
        y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((4,), dtype="float32"))
        z = R.call_dps_packed("outside.scale", (y,), out_sinfo=R.Tensor((4,), dtype="float32"))
        w: R.Tensor((4,), dtype="float16") = R.astype(z, dtype="float16")
        u = R.call_packed("outside.show", w, R.str("text"), R.dtype("float32"), sinfo_args=[R.Object])
        return u
"""


@dataclass(frozen=True)
class Field:
    """A place of a document that holds text: ``kind`` of document, and where in it."""

    kind: str
    place: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.kind}:{'.'.join(map(str, self.place))}"


@lru_cache(maxsize=None)
def document(kind: str) -> str:
    """Return the document of a kind, without anything strange in it."""
    match kind:
        case "text" | "text-raw":
            return RELAY
        case "script":
            return SCRIPT
        case "json":
            return relay_ir.save_json(relay_ir.parse(RELAY))
        case "graph":
            return graph.to_json(graph.from_relay(relay_ir.parse(RELAY))[0])
    text = graph.to_json(graph.from_relax(relax_ir.parse(relax_ir.script_file(lowered())))[0])
    return text


@lru_cache(maxsize=None)
def weights() -> dict[str, Array]:
    """Return what the graph's documents only name."""
    return dict(graph.from_relay(relay_ir.parse(RELAY))[1])


def lowered() -> relax_ir.IRModule:
    """Return the program in Relax."""
    from relay2relax import translator

    return translator.translate(relay_ir.parse(RELAY), "graph")


# --- fields ---------------------------------------------------------------------------------------

_STRING = re.compile(r'"[^"\n]*"')
_WORD = re.compile(r"(?<=span=)\w+|(?<=[%@])[a-z]\w+|[a-z]\w*(?==)|[a-z]\w*(?:\.\w+)*(?=\()|\bfloat32\b")


def fields(kind: str) -> Iterator[Field]:
    """Yield the fields of a kind of document."""
    match kind:
        case "text":
            yield from (Field(kind, found.span()) for found in _STRING.finditer(RELAY))
        case "text-raw":
            yield from (Field(kind, found.span()) for found in _WORD.finditer(RELAY))
        case "script":
            strings = (node for node in ast.walk(ast.parse(SCRIPT)) if isinstance(node, ast.Constant))
            yield from (Field(kind, (number,)) for number, node in enumerate(strings) if isinstance(node.value, str))
        case _:
            whole = json.loads(document(kind))
            found: dict[tuple[object, ...], tuple[Any, ...]] = {}
            for place in _strings(whole, ()):
                found.setdefault(_role(whole, place), place)
            yield from (Field(kind, place) for place in found.values())


def _strings(value: Any, place: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Yield where a document of JSON holds text; blobs and scripts are not looked at."""
    match value:
        case dict():
            for key, inner in value.items():
                if key not in ("b64ndarrays", "script", "version", "tvm_version"):
                    yield from _strings(inner, (*place, key))
        case list():
            for number, inner in enumerate(value):
                yield from _strings(inner, (*place, number))
        case str():
            yield place


def _role(whole: Any, place: tuple[Any, ...]) -> tuple[object, ...]:
    """Return what a field of a document is, of whichever of its like elements."""
    role: list[object] = []
    for step in place:
        if isinstance(whole, dict):
            role += [whole.get("type_key"), whole.get("optype"), step]
        whole = whole[step]
    return (*role, isinstance(whole, str) and whole.isdigit())


def changed(field: Field, word: str) -> str:
    """Return the document with ``word`` in ``field``, escaped as the format escapes text."""
    text = document(field.kind)
    match field.kind:
        case "text":
            begin, end = field.place
            escaped = word.replace("\\", "\\\\").replace('"', '\\"')
            return f'{text[:begin]}"{escaped}"{text[end:]}'
        case "text-raw":
            begin, end = field.place
            return text[:begin] + word + text[end:]
        case "script":
            tree = ast.parse(text)
            nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
            nodes[field.place[0]].value = word
            return ast.unparse(tree)
    found = copy.deepcopy(json.loads(text))
    inner = found
    for step in field.place[:-1]:
        inner = inner[step]
    inner[field.place[-1]] = word
    return json.dumps(found)
