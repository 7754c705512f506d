"""Documents nested thousands deep: programs are read, values of no use are refused, nothing
recurses.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from relay2relax.core import ParseError, Relay2RelaxError
from relay2relax.relay_ir import infer_type, load_json, save_json, structural_equal

DEPTH = 2000


class Document:
    """A document made node by node."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = [{"type_key": ""}]

    def node(self, type_key: str, **fields: Any) -> int:
        own = () if type_key == "relay.Match" else ("data", "keys", "repr_str")
        known: dict[str, Any] = {k: fields.pop(k) for k in own if k in fields}
        attrs = {"attrs": {name: str(value) for name, value in fields.items()}} if fields else {}
        self.nodes.append({"type_key": type_key, **known, **attrs})
        return len(self.nodes) - 1

    def array(self, *items: int) -> int:
        return self.node("Array", data=list(items))

    def string(self, text: str) -> int:
        return self.node("runtime.String", repr_str=text)

    def var(self, name: str, annotation: int = 0) -> int:
        return self.node(
            "relay.Var", vid=self.node("relay.Id", name_hint=self.string(name)), type_annotation=annotation
        )

    def function(self, params: list[int], body: int, attrs: int = 0) -> int:
        known = {"ret_type": 0, "type_params": self.array(), "attrs": attrs}
        return self.node("relay.Function", params=self.array(*params), body=body, **known)

    def call(self, op: int, *args: int) -> int:
        return self.node("relay.Call", op=op, args=self.array(*args), attrs=0, type_args=self.array())

    def clause(self, pattern: int, body: int) -> int:
        return self.array(self.node("relay.Clause", lhs=pattern, rhs=body))

    def text(self, root: int) -> str:
        return json.dumps({"root": root, "nodes": self.nodes, "b64ndarrays": []})


def let(doc: Document, value: int) -> int:
    var = doc.var("v")
    return doc.node("relay.Let", var=var, value=value, body=var)


Step = Callable[[Document, int, int], int]

PROGRAMS: dict[str, Step] = {
    "tuples": lambda doc, e, x: doc.node("relay.Tuple", fields=doc.array(e, e)),
    "projections": lambda doc, e, x: doc.node(
        "relay.TupleGetItem", tuple_value=doc.node("relay.Tuple", fields=doc.array(e, e)), index=0
    ),
    "functions": lambda doc, e, x: doc.function([], e),
    "calls of functions": lambda doc, e, x: doc.call(doc.function([], e)),
    "callees": lambda doc, e, x: doc.call(e),
    "branches": lambda doc, e, x: doc.node("relay.If", cond=x, true_branch=e, false_branch=x),
    "conditions": lambda doc, e, x: doc.node("relay.If", cond=e, true_branch=x, false_branch=x),
    "values of lets": lambda doc, e, x: let(doc, e),
    "bodies of lets": lambda doc, e, x: doc.node("relay.Let", var=doc.var("v"), value=x, body=e),
    "references": lambda doc, e, x: doc.node("relay.RefCreate", value=e),
    "references read": lambda doc, e, x: doc.node("relay.RefRead", ref=doc.node("relay.RefCreate", value=e)),
    "references written": lambda doc, e, x: doc.node("relay.RefWrite", ref=e, value=e),
    "matches": lambda doc, e, x: doc.node(
        "relay.Match", data=e, clauses=doc.clause(doc.node("relay.PatternWildcard"), x), complete=1
    ),
    "arms": lambda doc, e, x: doc.node(
        "relay.Match", data=x, clauses=doc.clause(doc.node("relay.PatternWildcard"), e), complete=1
    ),
    "operands used twice": lambda doc, e, x: doc.call(doc.node("Op", repr_str="add"), e, e),
    "functions as attributes": lambda doc, e, x: doc.function(
        [], x, doc.node("DictAttrs", __dict__=doc.node("Map", keys=["f"], data=[e]))
    ),
}


@pytest.mark.sweep(every=4)
@pytest.mark.parametrize("name", PROGRAMS)
def test_deep_programs(name: str) -> None:
    doc = Document()
    shape = doc.array(doc.node("IntImm", dtype="int32", value=2))
    x = doc.var("x", doc.node("relay.TensorType", shape=shape, dtype="float32"))
    body = x
    for _ in range(DEPTH):
        body = PROGRAMS[name](doc, body, x)
    mod = load_json(doc.text(doc.function([x], body)))
    assert mod.astext()
    assert structural_equal(mod, load_json(save_json(mod)))
    with contextlib.suppress(Relay2RelaxError):  # not all of them are well typed
        typed = infer_type(mod)
        assert typed.astext()
        assert save_json(typed)


VALUES: dict[str, Callable[[Document, int], int]] = {
    "TupleType": lambda doc, t: doc.node("TupleType", fields=doc.array(t)),
    "TupleType twice": lambda doc, t: doc.node("TupleType", fields=doc.array(t, t)),
    "FuncType": lambda doc, t: doc.node(
        "FuncType", arg_types=doc.array(t), ret_type=t, type_params=doc.array(), type_constraints=doc.array()
    ),
    "RefType": lambda doc, t: doc.node("relay.RefType", value=t),
    "TypeCall": lambda doc, t: doc.node("TypeCall", func=t, args=doc.array(t)),
    "TypeRelation": lambda doc, t: doc.node(
        "TypeRelation", func=doc.node("EnvFunc", repr_str="f"), args=doc.array(t), num_inputs=1, attrs=0
    ),
}


@pytest.mark.parametrize("name", VALUES)
def test_deep_types_are_refused(name: str) -> None:
    doc = Document()
    ty = doc.node("relay.TensorType", shape=doc.array(), dtype="int32")
    for _ in range(DEPTH):
        ty = VALUES[name](doc, ty)
    x = doc.var("x", ty)
    with pytest.raises(ParseError, match=r"nested more than 250 deep|more than 1000000 parts"):
        load_json(doc.text(doc.function([x], x)))


SCALARS: dict[str, Callable[[Document, int], int]] = {
    "tir.Add": lambda doc, e: doc.node("tir.Add", dtype="int64", a=e, b=doc.node("IntImm", dtype="int64", value=1)),
    "tir.Mul": lambda doc, e: doc.node("tir.Mul", dtype="int64", a=e, b=e),
    "tir.Cast": lambda doc, e: doc.node("tir.Cast", dtype="int64", value=e),
    "Array": lambda doc, e: doc.array(e),
    "Map": lambda doc, e: doc.node("Map", keys=["k"], data=[e]),
    "DictAttrs": lambda doc, e: doc.node("DictAttrs", __dict__=doc.node("Map", keys=["k"], data=[e])),
}


@pytest.mark.parametrize("name", SCALARS)
def test_deep_attributes_are_refused(name: str) -> None:
    doc = Document()
    value = doc.node("tir.Var", dtype="int64", name=doc.string("n"))
    for _ in range(DEPTH):
        value = SCALARS[name](doc, value)
    x = doc.var("x")
    attrs = doc.node("DictAttrs", __dict__=doc.node("Map", keys=["a"], data=[value]))
    with pytest.raises(ParseError, match=r"nested more than 250 deep|more than 1000000 parts"):
        load_json(doc.text(doc.function([x], x, attrs)))


def test_deep_patterns_are_refused() -> None:
    doc = Document()
    x = doc.var("x")
    pattern = doc.node("relay.PatternWildcard")
    for _ in range(DEPTH):
        pattern = doc.node("relay.PatternTuple", patterns=doc.array(pattern))
    body = doc.node("relay.Match", data=x, clauses=doc.clause(pattern, x), complete=1)
    with pytest.raises(ParseError, match="nested more than 250 deep"):
        load_json(doc.text(doc.function([x], body)))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"root": ' + "9" * 5000 + ', "nodes": [{}]}'])
def test_json_that_is_no_document(text: str) -> None:
    with pytest.raises(ParseError):
        load_json(text)
