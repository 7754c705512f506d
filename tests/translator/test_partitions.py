"""Functions for external compilers in Relax, against TVM's recorded partitions and own passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.core import UnsupportedError

# Passes of TVM that leave composite functions, and functions or regions for compilers.
PASSES = frozenset(
    {"AllowedListAnnotator", "AnnotateTarget", "AnnotateTargetFunc", "FuseOps", "InlineGlobals", "MergeComposite"}
    | {"MergeCompilerRegions"}
)
MARKS = ("compiler_end", "Composite=", "Compiler=")
# A scale of zero makes these numbers meaningless.
NO_NUMBERS = frozenset({"6994b5751c1e"})

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32]) {
  %0 = nn.relu(%x);
  @dnnl_0(%0)
}
def @dnnl_0(%a: Tensor[(2, 4), float32], Inline=1, Compiler="dnnl", global_symbol="dnnl_0", Primitive=1)
    -> Tensor[(2, 4), float32] {
  %2 = fn (%b: Tensor[(2, 4), float32], %c: float32, Composite="dnnl.add_relu") {
    %1 = add(%b, %c);
    nn.relu(%1)
  };
  %2(%a, 2f)
}
"""


def partitioned(recorded: Any) -> Iterator[tuple[str, str, relay_ir.IRModule]]:
    """Yield the recorded modules that hold partitions: id, text, module."""
    for case in recorded("passes"):
        for text, json in ((case["text"], case["json"]), (case["after"], case["after_json"])):
            if text and PASSES & set(case["passes"]) and any(mark in text for mark in MARKS):
                mod = relay_ir.load_json(json)
                if any(var.name == "main" for var in mod.functions):
                    yield case["id"], text, mod


def counted(mod: relay_ir.IRModule) -> Counter[str]:
    """Return how often patterns stand in what ``main`` reaches, by name, as the text says it."""
    text = relay_ir.transform.RemoveUnusedFunctions()(mod).astext(show_meta_data=False)
    return Counter(part.split('"', 1)[0] for part in text.split('Composite="')[1:])


@pytest.mark.golden
def test_recorded_partitions_stay_and_compute_the_same(recorded: Any) -> None:
    count = 0
    for name, _, mod in partitioned(recorded):
        relax = translator.via_graph(mod)
        relax_ir.check_well_formed(relax)
        found = translator.partitions(relax)
        expected = relay_ir.transform.RemoveUnusedFunctions()(relay_ir.transform.PartitionGraph()(mod))
        symbols = [f.attrs.get("global_symbol") for f in expected.functions.values() if "Compiler" in f.attrs]
        assert len([one for one in found if one.compiler]) >= len(symbols), name
        assert sum((Counter(one.composites) for one in found), Counter()) == counted(expected), name
        assert relax_ir.structural_equal(relax_ir.parse(relax.script()), relax), name
        if name not in NO_NUMBERS:
            # One of the programs gives an empty tuple, which nothing is compared of.
            assert translator.compare(mod, backends=("numpy",)).agrees is not False, name
        count += 1
    assert count >= 50


@pytest.mark.golden
@pytest.mark.tvm
@pytest.mark.sweep
@pytest.mark.sweep(every=2)
def test_tvms_run_codegen_takes_each_region_once(recorded: Any) -> None:
    import tvm
    from tvm import relax as tvm_relax

    taken: list[str] = []

    def codegen(functions: Any, options: Any, names: Any) -> list[Any]:
        taken.extend(str(function.attrs["global_symbol"]) for function in functions)
        return [compiled.mod for _ in functions]

    for name, _, mod in partitioned(recorded):
        if name in NO_NUMBERS:
            continue
        relax = translator.via_graph(mod)
        regions = [one for one in translator.partitions(relax) if one.compiler]
        if not regions:
            continue
        module = relax_ir.to_tvm(relax)
        # It says whether the module is well formed, or, in later releases, raises where not.
        assert tvm_relax.analysis.well_formed(module) is not False, name
        compiled = tvm.compile(tvm_relax.transform.LambdaLift()(module), target="llvm")
        for compiler in {one.compiler for one in regions}:
            tvm.register_global_func(f"relax.ext.{compiler}", codegen, override=True)
        taken.clear()
        after = tvm_relax.transform.RunCodegen()(module)
        assert sorted(taken) == sorted(one.name for one in regions), name
        assert after.attrs["external_mods"], name


def test_the_form_is_that_of_merge_composite_functions() -> None:
    relax = translator.via_graph(relay_ir.parse(TEXT))
    assert translator.partitions(relax) == (translator.Partition("dnnl_0", "dnnl", ("dnnl.add_relu",)),)
    function = relax["dnnl_0"]
    assert isinstance(function, relax_ir.Function)
    assert dict(function.attrs) == {"Codegen": "dnnl"}
    assert not function.private
    (local,) = (
        binding.value
        for block in function.body.blocks
        for binding in block.bindings
        if isinstance(binding.value, relax_ir.Function)
    )
    assert dict(local.attrs) == {"Composite": "dnnl.add_relu"}
    # The constant is part of the pattern, as FuseOpsByPattern binds it.
    assert [param.name for param in local.params] == ["b"]


@pytest.mark.parametrize(
    "backend",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
@pytest.mark.parametrize("via", ["graph", "tir"])
def test_partitions_run_as_ordinary_functions(via: translator.Via, backend: str) -> None:
    relax = translator.translate(relay_ir.parse(TEXT), via)
    x = np.array([[-1, 0, 1, 2], [3, -4, 5, -6]], np.float32)
    result = backends.VirtualMachine(backends.build(relax, target=backend))["main"](x)
    np.testing.assert_array_equal(result, np.maximum(x, 0) + 2)


INNER = '(%a: Tensor[(2), float32], Inline=1, Compiler="dnnl", global_symbol="{}", Primitive=1)'
NESTED = {
    "one calls another": """def @main(%x: Tensor[(2), float32]) { @outer(%x) }
def @inner(inner) -> Tensor[(2), float32] { exp(%a) }
def @outer(outer) -> Tensor[(2), float32] { %0 = @inner(%a); nn.relu(%0) }
""",
    "one calls itself": """def @main(%x: Tensor[(2), float32]) { @outer(%x) }
def @outer(outer) -> Tensor[(2), float32] {
  %0 = max(%a);
  %1 = less(%0, 10f);
  if (%1) { %2 = add(%a, 1f); @outer(%2) } else { %a }
}
""",
}


def nested(name: str) -> relay_ir.IRModule:
    text = NESTED[name]
    for one in ("inner", "outer"):
        text = text.replace(f"({one})", INNER.format(one))
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))


@pytest.mark.parametrize("name", NESTED)
def test_what_a_region_calls_is_part_of_it(name: str) -> None:
    """RunCodegen would hand a function in it to the compiler a second time, without its name."""
    mod = nested(name)
    traced = translator.translate_with_map(mod)
    assert translator.partitions(traced.module) == (translator.Partition("outer", "dnnl", ()),)
    assert traced.module.script().count('"Codegen"') == 1
    assert translator.compare(mod, backends=("numpy",)).agrees
    said = [item.fate for item in traced.map.receipt if item.name == "Compiler"]
    assert said.count(translator.Fate.MOVED) == 1
    assert len(said) == len(mod.functions) - 1


def test_a_pattern_outside_of_a_partition_is_a_private_function() -> None:
    text = TEXT.replace('Inline=1, Compiler="dnnl", global_symbol="dnnl_0", Primitive=1', "Inline=1")
    relax = translator.via_graph(relay_ir.parse(text))
    assert [(one.compiler, one.composites) for one in translator.partitions(relax)] == [("", ("dnnl.add_relu",))]
    (name,) = (one.name for one in translator.partitions(relax))
    function = relax[name]
    assert isinstance(function, relax_ir.Function)
    assert function.private
    assert dict(function.attrs) == {"Composite": "dnnl.add_relu", "Primitive": True}


def test_inlining_leaves_no_function() -> None:
    mod = relay_ir.parse(TEXT)
    relax = translator.translate(mod, partitions="inline")
    assert translator.partitions(relax) == ()
    assert [var.name for var in relax.functions] == ["main"]
    found, _ = graph.from_relay(mod)
    assert translator.compilers(found) == ("dnnl", "dnnl.add_relu")


def test_an_unknown_way_is_refused() -> None:
    way: Any = "split"
    with pytest.raises(UnsupportedError, match="no way with partitions 'split'; there are: "):
        translator.translate(relay_ir.parse(TEXT), partitions=way)
    with pytest.raises(UnsupportedError, match="no way with partitions 'split'; there are: "):
        graph.to_relax(*graph.from_relay(relay_ir.parse(TEXT)), partitions=way)


def test_dynamic_partitions_name_their_own_extents() -> None:
    text = TEXT.replace("(2, 4)", "(?, 4)")
    relax = translator.via_graph(relay_ir.parse(text), dims={"x": ("batch", None)})
    relax_ir.check_well_formed(relax)
    x = np.arange(12, dtype=np.float32).reshape(3, 4) - 6
    result = backends.VirtualMachine(backends.build(relax, target="numpy"))["main"](x)
    np.testing.assert_array_equal(result, np.maximum(x, 0) + 2)
