"""What lowered and scheduled programs say beside loops and blocks: read, printed, and run to
numbers by hand.

All programs of a dialect are functions of one module, so each backend builds once.
"""

from __future__ import annotations

import textwrap
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError

A = np.arange(16, dtype="float32")
SQUARE = A.reshape(4, 4)
PLAIN = 'A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")'
OPTIONS = {"tvm": "private=True, s_tir=True", "tvm-0.18": "private=True"}

# Words that all releases have, with the blocks' own words as those of today.
BOTH = {
    "slices": (
        """
        for i in range(4):
            B[i * 4:i * 4 + 4] = A[T.Ramp(i * 4, 1, 4)] * T.Broadcast(T.float32(2), 4)
            B[i * 4:i * 4 + 4] = B[i * 4:i * 4 + 4] + T.Cast("float32x4", T.Ramp(0, 1, 4))
        """,
        A * 2 + np.tile(np.arange(4), 4),
    ),
    "slice_with_a_step": ("B[0:8] = A[0:16:2]\nB[8:16] = A[T.Ramp(1, 2, 8)]", np.concatenate([A[::2], A[1::2]])),
    "lanes_are_read_before_one_is_stored": ("B[0:16] = A[0:16]\nB[1:16] = B[0:15]", np.concatenate([A[:1], A[:15]])),
    "vectors_in_variables": (
        """
        for i in range(4):
            with T.LetStmt(A[i * 4:i * 4 + 4]) as v:
                B[i * 4:i * 4 + 4] = v * v + T.Shuffle([v], [3, 2, 1, 0])
        """,
        A * A + SQUARE[:, ::-1].ravel(),
    ),
    "one_lane": (
        """
        for i in range(4):
            B[i * 4:i * 4 + 4] = T.Broadcast(T.Shuffle([A[i * 4:i * 4 + 4]], [2]), 4)
        """,
        np.repeat(SQUARE[:, 2], 4),
    ),
    "let_in_an_expression": (
        """
        x = T.float32()
        for i in range(16):
            B[i] = T.Let(x * x, where={x: A[i] + T.float32(1)})
        """,
        (A + 1) ** 2,
    ),
    "views": (
        """
        x = T.decl_buffer((16,), "float32")
        y = T.decl_buffer((4, 4), "float32", data=x.data)
        z = T.decl_buffer((4, 2), "float32", data=x.data, elem_offset=2, strides=(4, 1))
        for i in range(16):
            x[i] = A[i]
        for i, j in T.grid(4, 4):
            B[i * 4 + j] = y[j, i]
        for i, j in T.grid(4, 2):
            B[i * 2 + j] = z[i, j]
        """,
        np.concatenate([SQUARE[:, 2:].ravel(), SQUARE.T.ravel()[8:]]),
    ),
    "elements_of_another_dtype": (
        """
        x = T.decl_buffer((16,), "float32")
        y = T.decl_buffer((16,), "int32", data=x.data)
        for i in range(16):
            x[i] = A[i]
            B[i] = T.Cast("float32", y[i] >> 23)
        """,
        (A.view("int32") >> 23).astype("float32"),
    ),
    "threads": (
        """
        for i in T.thread_binding(4, thread="blockIdx.x"):
            for j in T.thread_binding(4, thread="threadIdx.x"):
                B[i * 4 + j] = A[i * 4 + j] + T.float32(1)
        """,
        A + 1,
    ),
    "launched_threads": (
        """
        i = T.launch_thread("blockIdx.x", 4)
        with T.launch_thread("threadIdx.x", 4) as j:
            B[i * 4 + j] = A[i * 4 + j] + T.float32(1)
        """,
        A + 1,
    ),
    "threads_that_are_launched_again": (
        """
        i = T.env_thread("threadIdx.x")
        with T.launch_thread(i, 16):
            B[i] = A[i]
        with T.launch_thread(i, 16):
            if i < 8:
                B[i] = B[i] + T.float32(1)
        """,
        A + (np.arange(16) < 8),
    ),
    "shared_memory_that_each_thread_fills": (
        """
        s = T.decl_buffer((16,), "float32", scope="shared")
        for j in T.thread_binding(16, thread="threadIdx.x"):
            for k in range(16):
                s[k] = A[k]
            B[j] = s[15 - j]
        """,
        A[::-1],
    ),
    "attributes": (
        """
        T.attr(A.data, "storage_alignment", 64)
        with T.attr(0, "pragma_unroll", 1):
            for i in range(16):
                B[i] = A[i]
        """,
        A,
    ),
    "strides_and_offsets_of_parameters": (
        """
        for i in range(16):
            B[i] = A[i] + T.Cast("float32", A.strides[0])
        """,
        A + 1,
        'A: T.Buffer((16,), "float32", strides=("s",), offset_factor=1), B: T.Buffer((16,), "float32")',
    ),
    "statements_without_effect": ("T.evaluate(0)\nfor i in range(16):\n    B[i] = A[i]\n    T.evaluate(A[i])", A),
}
BLOCKS = {
    "parts_of_buffers": (
        """
        for i in range(4):
            with T.sblock("outer"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi * 4:vi * 4 + 4])
                T.writes(B[vi * 4:vi * 4 + 4])
                s = T.int32()
                M = T.match_buffer(A[vi * 4:vi * 4 + 4], (4,), "float32", strides=(s,), offset_factor=1)
                N = T.match_buffer(B[vi * 4:vi * 4 + 4], (4,), "float32", offset_factor=1)
                for j in range(2):
                    with T.sblock("inner"):
                        vj = T.axis.spatial(2, j)
                        T.reads(M[vj * 2:vj * 2 + 2])
                        T.writes(N[vj * 2:vj * 2 + 2])
                        P = T.match_buffer(M[vj * 2:vj * 2 + 2], (2,), "float32", offset_factor=1)
                        for k in range(2):
                            N[vj * 2 + k] = P[k] * T.float32(2) + T.Cast("float32", s + M.elem_offset)
        """,
        A * 2 + 1 + np.repeat(np.arange(4) * 4, 4),
    ),
    "axes_in_order": (
        """
        for i in range(16):
            with T.sblock("scan"):
                vi = T.axis.scan(16, i)
                T.reads(A[vi], B[0:16])
                T.writes(B[vi])
                B[vi] = A[vi] + T.if_then_else(vi > 0, B[vi - 1], T.float32(0))
        """,
        np.cumsum(A),
    ),
    "opaque_axes": (
        """
        for i in range(16):
            with T.sblock("opaque"):
                vi = T.axis.opaque(16, i)
                T.where(i < 12)
                T.reads(A[vi], B[0:16])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(1)
                B[vi] = B[vi] + A[vi] + T.if_then_else(vi > 0, B[vi - 1], T.float32(0))
        for i in range(4):
            B[12 + i] = T.float32(0)
        """,
        np.concatenate([np.cumsum(A[:12] + 1), np.zeros(4)]),
    ),
    "blocks_without_axes": (
        """
        for i in range(1):
            for j in range(16):
                with T.sblock("opaque"):
                    T.reads(A[i * 16 + j])
                    T.writes(B[i + j])
                    B[i + j] = A[i * 16 + j] + T.Cast("float32", i)
            for j in range(1):
                with T.sblock("single"):
                    T.reads(A[i])
                    T.writes(B[i + j])
                    B[i + j] = A[i] + T.float32(3)
        """,
        np.concatenate([[3], A[1:]]),
    ),
    "loops_that_do_not_begin_at_zero": (
        """
        for i in range(2, 16):
            with T.sblock("B"):
                vi = T.axis.spatial((2, 16), i)
                T.reads(A[vi])
                T.writes(B[vi])
                B[vi] = A[vi]
        for i in range(2):
            with T.sblock("C"):
                vi = T.axis.spatial(2, i)
                T.reads()
                T.writes(B[vi])
                T.sblock_attr({"numbers": [1, 2], "pragma_1": "said"})
                B[vi] = T.float32(9)
        """,
        np.where(np.arange(16) < 2, 9, A),
    ),
    "axes_of_loops_that_begin_elsewhere": (
        """
        for i in range(16):
            B[i] = T.float32(0)
        for i, k in T.grid(8, 1):
            for j in T.unroll(i, i + 4):
                with T.sblock("B"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    T.reads(A[vj])
                    T.writes(B[vi])
                    with T.init():
                        B[vi] = T.float32(1)
                    B[vi] = B[vi] + A[vj]
        """,
        np.where(np.arange(16) < 8, 4 * np.arange(16) + 7, 0),
    ),
    "an_init_at_the_axis_of_a_reduction": (
        """
        for i in range(16):
            B[i] = A[i]
        for i, k in T.grid(4, 4):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                T.reads(A[vi])
                T.writes(B[vk])
                with T.init():
                    B[vk] = T.float32(2)
                B[vk] = B[vk] + A[vi]
        """,
        np.concatenate([[5, 7, 8, 9], A[4:]]),
    ),
    "an_init_without_a_reduction": (
        """
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                T.reads(A[vi])
                T.writes(B[vi])
                with T.init():
                    B[vi] = T.float32(5)
                B[vi] = B[vi] + A[vi]
        """,
        A + 5,
    ),
    "blocks_that_say_nothing": (
        """
        for i in range(16):
            with T.sblock("B"):
                vi = T.axis.spatial(16, i)
                T.reads()
                T.writes()
                B[vi] = A[vi] + T.float32(5)
        """,
        A + 5,
    ),
    "branches_on_integers": (
        """
        for i in range(16):
            B[i] = A[i]
            if i % 3:
                B[i] = T.float32(-1)
        """,
        np.where(np.arange(16) % 3, -1, A),
    ),
    "numbers_alone": ("for i in range(16):\n    B[i] = T.Select(T.LT(1, 0), A[i], A[i] * T.exp2(T.float32(1)))", A * 2),
}
TODAY = {
    "masks": (
        """
        for i in range(16):
            B[i] = T.float32(-1)
        m = T.Ramp(0, 1, 16) < T.Broadcast(12, 16)
        n = T.Ramp(0, 1, 16) < T.Broadcast(8, 16)
        B.vstore([T.Ramp(0, 1, 16)], A.vload([T.Ramp(0, 1, 16)], predicate=n), predicate=m)
        """,
        np.where(np.arange(16) < 8, A, np.where(np.arange(16) < 12, 0, -1)),
    ),
    "buffers_of_vectors": (
        """
        x = T.alloc_buffer((4,), "float32x4", annotations={"kept": 1})
        for i in range(4):
            x[i] = A[i * 4:i * 4 + 4]
        for i in range(4):
            B[i * 4:i * 4 + 4] = x[3 - i] + T.Broadcast(T.float32(1), 4)
        """,
        SQUARE[::-1].ravel() + 1,
    ),
    "an_assertion_that_holds": (
        """
        assert A[0] == T.float32(0), ("ValueError", ["begins ", "wrong"])
        for i in range(16):
            B[i] = A[i]
        """,
        A,
    ),
    "break_and_continue": (
        """
        for i in range(16):
            B[i] = T.float32(0)
        for i in range(16):
            if i > 7:
                break
            if i == 3:
                continue
            B[i] = A[i]
        """,
        np.where((np.arange(16) <= 7) & (np.arange(16) != 3), A, 0),
    ),
    "names_for_one_element": (
        """
        x: T.float32
        y = T.local_scalar("float32")
        for i in range(16):
            x = A[i]
            y = x + x
            B[i] = y
        """,
        A * 2,
    ),
    "assigned_once": ("for i in range(16):\n    x = A[i]\n    y: T.float32 = x + x\n    B[i] = y", A * 2),
    "loops_in_steps": (
        """
        for i in range(16):
            B[i] = T.float32(0)
        for i in T.serial(1, 16, step=3):
            B[i] = A[i]
        for i in range(0, 16, 4):
            for j in T.parallel(i, i + 2, step=2):
                B[j] = T.float32(7)
        """,
        np.where(np.arange(16) % 4 == 0, 7, np.where(np.arange(16) % 3 == 1, A, 0)),
    ),
}
CLASSIC = {
    "allocated_memory": (
        """
        x = T.allocate([16], "float32", "global")
        x_1 = T.Buffer((16,), data=x)
        with T.allocate([4], "int32", "local", annotations={"kept": 1}) as y:
            y_1 = T.decl_buffer((4,), "int32", data=y, scope="local")
            for i in range(16):
                y_1[i % 4] = i
                x_1[i] = A[i] + T.Cast("float32", y_1[i % 4])
            for i in range(16):
                B[i] = x_1[15 - i]
        """,
        (A * 2)[::-1],
    ),
    "constants": (
        """
        x = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [2, 2])
        x_1 = T.Buffer((4,), data=x)
        for i in range(16):
            B[i] = A[i] * x_1[i % 4]
        """,
        A * (1 + np.arange(16) % 4),
    ),
    "an_assertion_with_a_body": (
        """
        assert A[1] == T.float32(1), "begins wrong"
        with T.Assert(A[0] == T.float32(0), "begins wrong"):
            for i in range(16):
                B[i] = A[i]
        """,
        A,
    ),
}
CASES = {
    "tvm": BOTH | BLOCKS | TODAY,
    "tvm-0.18": BOTH | BLOCKS | CLASSIC,
}


def module_text(dialect: str, cases: dict[str, Any]) -> str:
    """Return a module with a function for each of ``cases``, and ``main`` that calls all of
    them.
    """
    lines = [
        "from tvm.script import ir as I, relax as R",
        f"from tvm.script import {'tirx' if dialect == 'tvm' else 'tir'} as T",
    ]
    lines += ["@I.ir_module", "class Module:"]
    for name, (body, _, *parameters) in cases.items():
        lines += [f"    @T.prim_func({OPTIONS[dialect]})", f"    def {name}({parameters[0] if parameters else PLAIN}):"]
        lines += textwrap.indent(textwrap.dedent(body).strip("\n"), "        ").split("\n")
    lines += ["    @R.function", '    def main(a: R.Tensor((16,), dtype="float32")):', "        cls = Module"]
    for number, name in enumerate(cases):
        lines.append(f'        y{number} = R.call_tir(cls.{name}, (a,), R.Tensor((16,), dtype="float32"))')
    lines.append(f"        return ({', '.join(f'y{number}' for number in range(len(cases)))},)")
    text = "\n".join(lines) + "\n"
    if dialect == "tvm":
        # Scripts of today say `with T.LetStmt` in other words.
        text = text.replace(
            "with T.LetStmt(A[i * 4:i * 4 + 4]) as v:", "if T.bool(True):\n                v = A[i * 4:i * 4 + 4]"
        )
        return text
    return text.replace("T.sblock", "T.block").replace("T.block_alloc_buffer", "T.alloc_buffer")


@lru_cache
def results(dialect: str, target: str) -> dict[str, np.ndarray]:
    cases = run_on(dialect, target)
    module = rx.parse(module_text(dialect, cases))
    found = backends.VirtualMachine(backends.build(module, target))["main"](A)
    return dict(zip(cases, found, strict=True))


def run_on(dialect: str, target: str) -> dict[str, Any]:
    """Return the cases to run: the programs of both dialects are compiled once."""
    return CLASSIC if (dialect, target) == ("tvm-0.18", "c") else CASES[dialect]


@pytest.mark.parametrize(
    ("dialect", "target", "name"),
    [
        pytest.param(dialect, target, name, marks=[pytest.mark.compiler] if target == "c" else [])
        for dialect in CASES
        for target in ("numpy", "c")
        for name in run_on(dialect, target)
    ],
)
def test_runs(dialect: str, target: str, name: str) -> None:
    expected = of_type(CASES[dialect][name][1], np.ndarray)
    np.testing.assert_allclose(results(dialect, target)[name], expected, rtol=1e-6)


@pytest.mark.parametrize("dialect", CASES)
def test_what_is_printed_is_read_as_it_was(dialect: str) -> None:
    module = rx.parse(module_text(dialect, CASES[dialect]))
    text = rx.print_module(module, dialect=dialect)
    again = rx.parse(text)
    assert rx.print_module(again, dialect=dialect) == text
    assert rx.structural_equal(again, module), rx.first_difference(again, module)


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_tvm_reads_what_is_printed() -> None:
    import tvm

    # TVM 0.27 reads no masks, and leaves out what does nothing.
    cases = {n: case for n, case in CASES["tvm"].items() if n not in ("masks", "statements_without_effect")}
    printed = rx.print_module(rx.parse(module_text("tvm", cases)))
    again = tvm.script.from_source(printed).script(show_meta=True)
    assert rx.print_module(rx.parse(again)) == printed


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('assert A[1] == T.float32(0), ("ValueError", ["begins ", "wrong"])\nB[0] = A[0]', "ValueError: begins wrong"),
        (
            's = T.alloc_buffer((16,), scope="shared")\nfor j in T.thread_binding(16, thread="threadIdx.x"):\n'
            "    s[j] = A[j]\n    B[j] = s[15 - j]",
            "threads store and read s together",
        ),
        (
            'for j in T.thread_binding(16, thread="threadIdx.x"):\n    while B[j] < A[j]:\n'
            '        B[j] = A[j]\n        T.tvm_storage_sync("shared")',
            "While around a barrier",
        ),
        ("B[0] = T.tvm_warp_shuffle(T.tvm_warp_activemask(), A[0], 0, 32, 32)", "T.tvm_warp_shuffle"),
        ("B[T.Ramp(0, 1, 4 * T.vscale())] = A[T.Ramp(0, 1, 4 * T.vscale())]", "a machine decides"),
        ("B[0] = A[0]\nT.ptx_commit_group()", "T.ptx_commit_group"),
    ],
)
@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_what_cannot_be_run_is_said(body: str, message: str, target: str) -> None:
    module = rx.parse(module_text("tvm", {"program": (body, A)}))
    assert rx.print_module(rx.parse(rx.print_module(module))) == rx.print_module(module)
    with pytest.raises(Relay2RelaxError, match=message):
        backends.VirtualMachine(backends.build(module, target))["main"](A)
