"""Modules without ``main``: every function becomes one of the Relax module, under its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relay_ir.transform import ToGraphNormalForm

# One is called by others, one calls itself, one is called as what its kernel would be called.
TEXT = """#[version = "0.0.5"]
def @double(%x: Tensor[(?, 4), float32]) -> Tensor[(?, 4), float32] {
  add(%x, %x)
}
def @relu(%s: Tensor[(2), float32]) -> Tensor[(2), float32] {
  nn.relu(%s)
}
def @count(%i: int32, %s: Tensor[(2), float32]) -> Tensor[(2), float32] {
  %0 = less(%i, 10);
  if (%0) {
    %1 = add(%i, 1);
    %2 = add(%s, %s);
    @count(%1, %2)
  } else {
    @relu(%s)
  }
}
def @both(%x: Tensor[(3, 4), float32], %s: Tensor[(2), float32]) {
  %0 = @double(%x);
  %1 = @count(7, %s);
  (%0, %1)
}
"""
NAMES = ("double", "relu", "count", "both")
MARKED = """#[version = "0.0.5"]
def @alone(%a: Tensor[(2), float32], Compiler="dnnl", global_symbol="alone", Primitive=1) -> Tensor[(2), float32] {
  nn.relu(%a)
}
def @called(%a: Tensor[(2), float32], Compiler="dnnl", global_symbol="called", Primitive=1) -> Tensor[(2), float32] {
  negative(%a)
}
def @caller(%a: Tensor[(2), float32]) {
  @called(%a)
}
"""


def library() -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(TEXT))


@pytest.mark.parametrize("via", ["graph", "tir"])
@pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
def test_every_function_is_one_of_the_result(via: translator.Via, backend: str) -> None:
    relax = translator.translate(library(), via)
    relax_ir.check_well_formed(relax)
    assert set(translator.entry_functions(relax)) == set(NAMES)
    machine = backends.VirtualMachine(backends.build(relax, target=backend))
    x, s = np.arange(12, dtype="float32").reshape(3, 4), np.array([-1, 2], "float32")
    np.testing.assert_array_equal(machine["double"](x), 2 * x)
    np.testing.assert_array_equal(machine["relu"](s), [0, 2])
    np.testing.assert_array_equal(machine["count"](np.int32(8), s), [0, 8])
    doubled, counted = machine["both"](x, s)
    np.testing.assert_array_equal(doubled, 2 * x)
    np.testing.assert_array_equal(counted, [0, 16])


def test_the_graph_holds_all_and_goes_back() -> None:
    found, weights = graph.from_relay(library(), entry=None)
    assert (found.name, *found.entries) == NAMES
    normal = ToGraphNormalForm()(library())
    assert relay_ir.structural_equal(graph.to_relay(found, weights), normal)
    again = graph.from_json(graph.to_json(found))
    assert again.equal(found)
    assert again.entries == found.entries
    assert relax_ir.structural_equal(graph.to_relax(again, weights), translator.via_graph(library()))
    # Of one function that is asked for, the others are only what it may call.
    assert graph.from_relay(library(), entry="both")[0].entries == ()


def test_a_graph_names_functions_that_it_has() -> None:
    document = json.loads(graph.to_json(graph.from_relay(library(), entry=None)[0]))
    document["relay2relax"]["entries"][0] = "other"
    with pytest.raises(Relay2RelaxError, match="no function 'other' that is called from outside"):
        graph.to_relax(graph.from_json(json.dumps(document)), {})


@pytest.mark.parametrize("via", ["graph", "tir"])
def test_functions_for_compilers_stay_functions(via: translator.Via) -> None:
    relax = translator.translate(relay_ir.parse(MARKED), via)
    assert {one.name: one.compiler for one in translator.partitions(relax)} == {"alone": "dnnl", "called": "dnnl"}
    assert set(translator.entry_functions(relax)) == {"alone", "called", "caller"}
    inlined = translator.translate(relay_ir.parse(MARKED), via, partitions="inline")
    assert translator.partitions(inlined) == ()
    assert set(translator.entry_functions(inlined)) == {"alone", "called", "caller"}


def test_the_map_covers_all_functions() -> None:
    traced = translator.translate_with_map(library())
    assert traced.map.entry == ""
    assert {node.fate for node in traced.map.relay} == {translator.Fate.KEPT}
    assert translator.map_from_json(translator.map_to_json(traced.map)) == traced.map


@pytest.mark.parametrize(
    "options", [{"params": {"x": np.zeros((3, 4), "float32")}}, {"dims": {"x": ("n", None)}}, {"schedule": "cpu"}]
)
def test_what_belongs_to_one_function_is_refused(options: Any) -> None:
    with pytest.raises(UnsupportedError, match="go with @main, which the module lacks; its functions: @double"):
        translator.translate(library(), **options)


def test_what_is_refused_names_its_function() -> None:
    text = TEXT + "def @poly[A](%v: A) -> A { %v }\n"
    with pytest.raises(UnsupportedError, match="the parameter v has the type `A`"):
        translator.translate(relay_ir.parse(text))
    with pytest.raises(UnsupportedError, match="the module has no functions"):
        translator.translate(relay_ir.parse('#[version = "0.0.5"]\ntype Box[A] { Box(A) }\n'))


def test_convert_writes_and_checks_all_functions(tmp_path: Path) -> None:
    (tmp_path / "library.relay").write_text(TEXT)
    done = run_here(["convert", tmp_path / "library.relay", "--out", tmp_path / "out", "--json"])
    document = json.loads(done.stdout)
    assert set(document["library"]) == set(NAMES)
    assert document["library"]["relu"]["result"] == 'R.Tensor((2,), dtype="float32")'
    checked = {row["program"].split(" ")[0] for row in document["check"]["rows"]}
    assert checked == {f"@{name}" for name in NAMES}
    assert document["check"]["agrees"] is True
    written = relax_ir.parse((tmp_path / "out" / "library.py").read_text())
    assert set(translator.entry_functions(written)) == set(NAMES)
