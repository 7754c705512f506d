"""Regions become functions: what TVM 0.18's tests of PartitionGraph state, worked out by hand."""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.core import UnsupportedError
from relay2relax.relay_ir import Function, IRModule, transform


def begin(value: str, compiler: str = "dnnl") -> str:
    return f'annotation.compiler_begin({value}, compiler="{compiler}")'


def end(value: str, compiler: str = "dnnl") -> str:
    return f'annotation.compiler_end({value}, compiler="{compiler}")'


def partitioned(*lines: str, params: str = "%x: Tensor[(2, 2), float32], %y: Tensor[(2, 2), float32]") -> IRModule:
    body = ";\n".join(lines)
    mod = relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{\n{body}\n}}')
    return relay_ir.infer_type(transform.PartitionGraph()(mod))


def expected(text: str) -> IRModule:
    return relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]\n' + text))


def function(name: str, params: str, result: str, body: str, compiler: str = "dnnl") -> str:
    attrs = f'global_symbol="{name}", Primitive=1, Compiler="{compiler}", Inline=1'
    return f"def @{name}({params}, {attrs}) -> {result} {{\n{body}\n}}\n"


def assert_same(made: IRModule, wanted: IRModule) -> None:
    assert relay_ir.first_difference(made, wanted) is None


T = "Tensor[(2, 2), float32]"


def test_a_region_is_a_function() -> None:
    made = partitioned(
        f"%0 = {begin('%x')}", f"%1 = {begin('%y')}", "%2 = add(%0, %1)", "%3 = nn.relu(%2)", f"%4 = {end('%3')}",
        "negative(%4)",
    )  # fmt: skip
    name = "tvmgen_default_dnnl_main_0"
    params = f"%dnnl_0_i0: {T}, %dnnl_0_i1: {T}"
    assert_same(
        made,
        expected(
            f"def @main(%x: {T}, %y: {T}) {{ %0 = @{name}(%x, %y); negative(%0) }}\n"
            + function(name, params, T, "%0 = add(%dnnl_0_i0, %dnnl_0_i1); nn.relu(%0)")
        ),
    )


def test_ends_that_share_a_node_are_one_region_with_a_tuple() -> None:
    """``test_multiple_outputs`` and ``test_diamond_graph_fanouts``."""
    made = partitioned(
        f"%0 = {begin('%x')}", "%1 = abs(%0)", "%2 = nn.relu(%1)", f"%3 = {end('%2')}", f"%4 = {end('%1')}",
        "%5 = tanh(%4)", "add(%3, %5)",
    )  # fmt: skip
    name = "tvmgen_default_dnnl_main_0"
    assert_same(
        made,
        expected(
            f"def @main(%x: {T}, %y: {T}) {{ %0 = @{name}(%x); %1 = %0.1; %2 = tanh(%1); %3 = %0.0; add(%3, %2) }}\n"
            + function(name, f"%dnnl_0_i0: {T}", f"({T}, {T})", "%0 = abs(%dnnl_0_i0); %1 = nn.relu(%0); (%1, %0)")
        ),
    )


def test_an_input_used_twice_is_one_parameter_and_a_constant_none() -> None:
    """``test_constant_propagation`` and ``test_duplicate_outputs``."""
    made = partitioned(
        f"%0 = {begin('%x')}", f"%1 = {begin('%x')}", f"%2 = {begin('2f')}", "%3 = add(%0, %1)",
        "%4 = multiply(%3, %2)", end("%4"),
    )  # fmt: skip
    only = made["tvmgen_default_dnnl_main_0"]
    assert [param.name for param in only.params] == ["dnnl_0_i0"]
    assert "multiply(%0, 2f " in made.astext()


def test_what_tvm_compiles_itself_is_no_region() -> None:
    """``test_flatten_tuple_output`` has annotations for the compiler ``default``."""
    made = partitioned(f"%0 = {begin('%x', 'default')}", "%1 = add(%0, %y)", end("%1", "default"))
    assert_same(made, expected(f"def @main(%x: {T}, %y: {T}) {{ add(%x, %y) }}"))


def test_regions_in_branches_and_other_functions() -> None:
    made = relay_ir.infer_type(
        transform.PartitionGraph()(
            relay_ir.parse(
                f"""#[version = "0.0.5"]
def @main(%c: bool, %x: {T}) {{
  if (%c) {{ %0 = {begin("%x")}; %1 = abs(%0); {end("%1")} }} else {{ @other(%x) }}
}}
def @other(%x: {T}) {{ %2 = {begin("%x", "ethos-n")}; %3 = nn.relu(%2); {end("%3", "ethos-n")} }}
"""
            )
        )
    )
    assert {var.name for var in made.functions} == {
        "main", "other", "tvmgen_default_dnnl_main_0", "tvmgen_default_ethos_n_other_0",
    }  # fmt: skip


def test_functions_that_have_a_compiler_stay() -> None:
    text = f'def @main(%x: {T}) {{ @f(%x) }}\ndef @f(%a: {T}, Compiler="dnnl") -> {T} {{ nn.relu(%a) }}'
    mod = expected(text)
    assert transform.PartitionGraph()(mod) is mod
    assert isinstance(mod["f"], Function)


def test_a_region_that_needs_its_own_result_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="a region for dnnl needs a value that is made of its own"):
        partitioned(
            f"%0 = {begin('%x')}", "%1 = abs(%0)", f"%2 = {end('%1')}", "%3 = tanh(%2)", f"%4 = {begin('%3')}",
            "%5 = add(%1, %4)", end("%5"),
        )  # fmt: skip


def test_a_region_of_two_compilers_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"a region for .* gives a value to"):
        partitioned(
            f"%0 = {begin('%x')}", "%1 = abs(%0)", f"%2 = {end('%1')}", f"%3 = {end('%1', 'cuda')}", "add(%2, %3)"
        )
