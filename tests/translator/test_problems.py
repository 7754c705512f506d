"""What Relax cannot express is told all at once, with its place; and what becomes of the rest."""

from __future__ import annotations

import pytest

from relay2relax import graph, relay_ir, translator
from relay2relax.core.errors import UnsupportedError

TENSOR = "Tensor[(2), float32]"


def problems(text: str) -> list[tuple[str, int, int]]:
    """Return the titles of all problems of a program, with lines and columns."""
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]\n' + text))
    found = []
    for way in (translator.via_graph, translator.lower_to_tir):
        with pytest.raises(UnsupportedError) as caught:
            way(mod)
        told = [(one.title, one.where) for one in caught.value.diagnostics]
        found.append([(title, where.line, where.column) for title, where in told if where is not None])
        assert len(found[-1]) == len(told)
    assert found[0] == found[1]
    return found[0]


def test_parameters_of_types_that_relax_lacks() -> None:
    found = problems(f"""def @main(%x: {TENSOR},
  %r: ref({TENSOR}),
  %f: fn ({TENSOR}) -> {TENSOR}) {{
  add(ref_read(%r), %f(%x))
}}""")
    # What is made of them is not told as well.
    assert [place for _, *place in found] == [[3, 3], [4, 3]]
    assert all("Relax has no such values" in title for title, *_ in found)


def test_values_within_a_function_and_its_branches() -> None:
    found = problems(f"""def @main(%x: {TENSOR}, %c: bool) {{
  %0 = ref(%x);
  %1 = if (%c) {{ ref_write(%0, %x) }} else {{ () }};
  %2 = if (%c) {{ fn (%z: {TENSOR}) {{ %z }} }} else {{ fn (%z: {TENSOR}) {{ negative(%z) }} }};
  (%2(ref_read(%0)), %1)
}}""")
    assert sorted((line, title.partition(":")[0]) for title, line, _ in found) == [
        (4, "node 'ref_write'"),
        (5, "node 'if'"),
    ]


def test_values_in_functions_that_are_called_and_in_functions_that_stay() -> None:
    """Of a function that is called in place, of one that calls itself, and of one for a
    compiler.
    """
    found = problems(f"""def @main(%x: {TENSOR}, %c: bool) {{
  %0 = @inlined(%x, %c);
  %1 = @recursive(%x, %c);
  add(add(%0, @inlined(%1, %c)), @compiled(%x, %c))
}}
def @inlined(%x: {TENSOR}, %c: bool) -> {TENSOR} {{
  %0 = ref(%x);
  %1 = if (%c) {{ ref_write(%0, %x) }} else {{ () }};
  %2 = if (%c) {{ fn (%z: {TENSOR}) {{ %z }} }} else {{ fn (%z: {TENSOR}) {{ negative(%z) }} }};
  (%2(ref_read(%0)), %1).0
}}
def @recursive(%x: {TENSOR}, %c: bool) -> {TENSOR} {{
  if (%c) {{
    %0 = if (%c) {{ fn (%z: {TENSOR}) {{ %z }} }} else {{ fn (%z: {TENSOR}) {{ negative(%z) }} }};
    @recursive(%0(%x), %c)
  }} else {{ %x }}
}}
def @compiled(%x: {TENSOR}, %c: bool, Compiler="dnnl", global_symbol="compiled", Primitive=1) -> {TENSOR} {{
  %0 = if (%c) {{ fn (%z: {TENSOR}) {{ %z }} }} else {{ fn (%z: {TENSOR}) {{ negative(%z) }} }};
  %0(%x)
}}""")
    assert sorted({line for _, line, _ in found}) == [9, 10, 15, 20]
    assert len(found) == 4


def test_what_relax_types_more_strictly() -> None:
    """TVM 0.18 types a stack by its first tensor alone; its kernels do not take these."""
    text = """def @main(%x: Tensor[(3), int64], %y: Tensor[(2), int64]) {
  %0 = (%x, %y);
  stack(%0, axis=0)
}"""
    with pytest.raises(UnsupportedError, match="tensor 1 of the tuple has shape") as caught:
        translator.via_graph(relay_ir.parse('#[version = "0.0.5"]\n' + text))
    assert [(one.where.line, one.where.column) for one in caught.value.diagnostics if one.where] == [(4, 3)]


def test_what_becomes_of_operators() -> None:
    mod = relay_ir.infer_type(
        relay_ir.parse(f"""#[version = "0.0.5"]
    def @main(%x: {TENSOR}, %c: bool) {{
      if (%c) {{ nn.relu(nn.relu(%x)) }} else {{ erf(nn.fast_softmax(%x)) }}
    }}""")
    )
    found, _ = graph.from_relay(mod)
    rows = {one.operator: one for one in translator.what_becomes(found, translator.via_graph(mod), lowered=False)}
    assert (rows["nn.relu"].calls, rows["nn.relu"].relax, rows["nn.relu"].tensorir) == (2, 2, 0)
    lacking = {one.operator: one.calls for one in translator.calls_as_tensorir(translator.via_graph(mod))}
    assert {name: row.tensorir for name, row in rows.items() if row.tensorir} == lacking
    lowered = translator.what_becomes(found, translator.lower_to_tir(mod), lowered=True)
    assert all((one.relax, one.tensorir) == (0, one.calls) for one in lowered)


def test_dtypes_that_no_program_holds_are_refused_with_their_places() -> None:
    """TVM types them, too, and its Relax has no word for them."""
    mod = relay_ir.parse('#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), int31]) {\n  %x\n}\n')
    with pytest.raises(UnsupportedError, match="a tensor has a dtype that no program holds") as caught:
        translator.translate(mod)
    where = caught.value.diagnostics[0].where
    assert where is not None
    assert where.line == 2
