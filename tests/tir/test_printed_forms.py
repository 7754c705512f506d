"""How TVM prints what a tensor program says beside loops and stores: read, and printed as it
was.
"""

from __future__ import annotations

import textwrap

import pytest
from typed import of_type

from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError
from relay2relax.tir.ir.expr import Call, StringImm
from relay2relax.tir.ir.stmt import Evaluate, PrimFunc
from relay2relax.tir.ir.visit import statements

HEAD = {
    dialect: "".join(f"# from tvm.script import {name}\n" for name in ("ir as I", f"{tensors} as T", "relax as R"))
    for dialect, tensors in (("tvm", "tirx"), ("tvm-0.18", "tir"))
}


def module_text(dialect: str, body: str, decorator: str = "@T.prim_func") -> str:
    """Return the text of a module of one program, as the printer lays it out."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "        ")
    signature = '    def program(A: T.Buffer((16,), "float32"), n: T.int32):'
    return f"{HEAD[dialect]}\n@I.ir_module\nclass Module:\n    {decorator}\n{signature}\n{lines}"


# Bodies that both dialects print as they stand here.
PLAIN = {
    "loops that begin elsewhere": "for i in T.serial(2, 10):\n    A[i] = T.float32(0.0)",
    "a range of symbols": "for i in T.parallel(n, n + 4):\n    A[i] = T.float32(0.0)",
    "threads of an unsaid kind": """
        x = T.int64()
        with T.attr(x, "pragma_unroll_explicit", 1):
            with T.launch_thread(x, T.int64(16)):
                A[x] = T.float32(0.0)
    """,
    "threads of another dtype than their number": """
        x = T.env_thread("threadIdx.x")
        with T.launch_thread(x, T.int64(16)):
            A[x] = T.float32(0.0)
    """,
    "what is said of an address before it is": """
        p = T.handle("float32", "global")
        with T.attr(p, "storage_alignment", 64):
            A[0] = T.float32(0.0)
    """,
    "comparisons of numbers": "if T.LT(T.int32(0), T.int32(1)):\n    A[0] = T.float32(0.0)",
    "an integer as a condition": "if n:\n    A[0] = T.float32(0.0)",
    "names of buffers": "T.evaluate(T.masked_store(A, T.float32(1.0), T.int32(0), T.bool(True)))",
}


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("dialect", HEAD)
def test_printed_as_it_was(dialect: str, name: str) -> None:
    text = module_text(dialect, PLAIN[name])
    module = rx.parse(text, check_well_formed=False)
    again = rx.print_module(module, dialect=dialect)
    assert again.replace("@T.prim_func(check_well_formed=False)", "@T.prim_func") == text


def test_steps_are_kept_where_there_are_words_for_them() -> None:
    module = rx.parse(module_text("tvm", "for i in T.serial(1, 16, step=3):\n    A[i] = T.float32(0.0)"))
    assert "for i in T.serial(1, 16, step=3):" in rx.print_module(module)
    classic = rx.print_module(module, dialect="tvm-0.18")
    assert "for i in range(5):" in classic
    assert "A[1 + i * 3] = T.float32(0.0)" in classic


def test_axes_keep_where_they_begin() -> None:
    text = module_text(
        "tvm",
        """
        for i in range(8):
            with T.sblock("B"):
                v = T.axis.spatial((2, 10), i + 2)
                T.reads(A[v])
                T.writes(A[v])
                A[v] = A[v] + T.float32(1.0)
        """,
        "@T.prim_func(s_tir=True)",
    )
    assert rx.print_module(rx.parse(text)) == text


def test_locals_of_today_are_memory() -> None:
    today = module_text("tvm", "x = A[0]\ny: T.int32 = n\nx = x + T.float32(1.0)\nA[y] = x", "@T.prim_func(s_tir=True)")
    printed = rx.print_module(rx.parse(today))
    assert 'x = T.local_scalar("float32")\n        x = A[0]' in printed
    assert 'y = T.local_scalar("int32")\n        y = n' in printed
    assert rx.print_module(rx.parse(printed)) == printed
    classic = module_text("tvm-0.18", "x: T.float32 = A[0]\nA[1] = x")
    assert rx.print_module(rx.parse(classic), dialect="tvm-0.18") == classic


def test_attributes_have_the_names_of_the_dialect() -> None:
    body = 'T.func_attr({"tir.noalias": T.bool(True), "tir.is_scheduled": T.bool(True)})\nA[0] = T.float32(0.0)'
    classic = module_text("tvm-0.18", body)
    module = rx.parse(classic)
    assert rx.print_module(module, dialect="tvm-0.18") == classic
    assert '{"tirx.noalias": True, "tirx.is_scheduled": True}' in rx.print_module(module)


def test_memory_with_annotations_in_classic_words() -> None:
    body = 'x = T.alloc_buffer((16,), "float32", annotations={"kept": 1})\nx[0] = A[0]\nA[1] = x[0]'
    classic = rx.print_module(rx.parse(module_text("tvm", body)), dialect="tvm-0.18")
    assert 'x_data = T.allocate([16], "float32", "global", annotations={"kept": 1})' in classic
    assert 'x = T.decl_buffer((16,), "float32", data=x_data)' in classic
    assert rx.print_module(rx.parse(classic), dialect="tvm-0.18") == classic


@pytest.mark.parametrize(
    "table",
    [
        # From 0.22 on, and before.
        r"""{"root_index": 3, "nodes": [{"type": "ffi.String", "data": "ir.StringImm"},
        {"type": "ir.StringImm", "data": {"value": 4}}, {"type": "ffi.Array", "data": [1]},
        {"type": "ffi.Map", "data": [0, 2]}, {"type": "ffi.String", "data": "one\\ntwo"}]}""",
        r"""{"root": 1, "nodes": [{"type_key": ""}, {"type_key": "Map", "keys": ["ir.StringImm"], "data": [2]},
        {"type_key": "Array", "data": [3]}, {"type_key": "tir.StringImm", "attrs": {"value": "4"}},
        {"type_key": "runtime.String", "repr_str": "one\\ntwo"}], "b64ndarrays": []}""",
    ],
)
def test_texts_beside_the_script(table: str) -> None:
    program = module_text("tvm", 'T.evaluate(T.call_packed("f", metadata["ir.StringImm"][0]))')
    (func,) = rx.parse(f'metadata = tvm.ir.load_json("""{table}""")\n{program}').functions.values()
    (call,) = [one.value for one in statements(of_type(func, PrimFunc).body) if isinstance(one, Evaluate)]
    assert isinstance(call, Call)
    assert call.args[1] == StringImm("one\ntwo")


def test_packed_functions_are_given_views_of_buffers() -> None:
    module = rx.parse(module_text("tvm", 'T.evaluate(T.call_packed("f", A))'))
    shape = "T.tvm_stack_make_shape(T.int32(16))"
    view = f"T.tvm_stack_make_array(A.data, {shape}, T.int32(0), T.int32(1), T.float32(0.0), T.int32(0))"
    assert f'T.call_packed("f", {view})' in rx.print_module(module)


def test_functions_of_the_module_by_their_bare_names() -> None:
    helper = "    @T.prim_func\n    def helper(p: T.handle):\n        T.evaluate(p)"
    text = f"{module_text('tvm', 'helper(A.data)')}\n{helper}"
    assert "T.evaluate(Module.helper(A.data))" in rx.print_module(rx.parse(text))
    alone = f'{HEAD["tvm"]}@T.prim_func\ndef program(A: T.Buffer((16,), "float32")):\n    helper(A.data)\n'
    assert "T.evaluate(Module.helper(A.data))" in rx.print_module(rx.parse(alone))
    with pytest.raises(ParseError, match="`print` cannot be called"):
        rx.parse(alone.replace("helper", "print"))


def test_variables_that_nothing_gives_a_value() -> None:
    body = "free = T.int32()\nA[free] = T.float32(0.0)"
    module = rx.parse(module_text("tvm", body), check_well_formed=False)
    assert rx.print_module(module) == module_text("tvm", body, "@T.prim_func(check_well_formed=False)")


def test_a_variable_before_its_declaration() -> None:
    body = "for i in range(m):\n    m = T.int32()\n    A[i] = T.float32(0.0)"
    printed = rx.print_module(rx.parse(module_text("tvm", body), check_well_formed=False))
    assert "m = T.int32()\n        for i in range(m):" in printed


def test_operands_that_may_be_laid_out_anew() -> None:
    body = """
        for i in range(16):
            with T.sblock("B"):
                v = T.axis.remap("S", [i])
                T.reads(A[v])
                T.writes(A[v])
                T.sblock_attr({"layout_free_placeholders": [A]})
                A[v] = A[v] + T.float32(1.0)
    """
    text = module_text("tvm", body, "@T.prim_func(s_tir=True)")
    assert rx.print_module(rx.parse(text)) == text


@pytest.mark.parametrize(
    ("body", "whose"),
    [
        ("x = T.thread_id([1])", "tile language"),
        ("with T.cta():\n    A[0] = T.float32(0.0)", "tile language"),
        ('with T.realize(A[0:16], "shared"):\n    A[0] = T.float32(0.0)', "old schedules"),
        ('T.realize(A[0:16], "shared")\nA[0] = T.float32(0.0)', "old schedules"),
    ],
)
def test_words_of_other_languages(body: str, whose: str) -> None:
    with pytest.raises(ParseError, match=f"has no form here(.|\n)*{whose}"):
        rx.parse(module_text("tvm", body))


def test_numbers_that_readers_would_drop() -> None:
    text = module_text("tvm", "A[T.Add(n, T.int32(0))] = T.float32(0.0)")
    assert rx.print_module(rx.parse(text)) == text


def test_functions_of_the_module_return_what_they_say() -> None:
    helper = (
        "    @T.prim_func(private=True)\n    def helper(i: T.int32) -> T.float32:\n        return T.Cast('float32', i)"
    )
    text = f"{module_text('tvm', 'A[n] = Module.helper(n)')}\n{helper}"
    assert "A[n] = Module.helper(n)" in rx.print_module(rx.parse(text))
