"""Reading stops at the limit: texts, documents, scripts, files of weights, and what never ends."""

from __future__ import annotations

import io
import os
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from relay2relax import Limits, backends, graph, relax_ir, relay_ir, translator
from relay2relax.core.errors import ErrorKind, LimitError, Relay2RelaxError
from relay2relax.core.errors.table import limits
from relay2relax.core.npz import read_npz
from relay2relax.tir.extent import add, product
from relay2relax.tir.ir.expr import Var

HEAD = '#[version = "0.0.5"]\n'
LINES = 10_000
CHAIN = "".join(f"  %{n} = add(%{n - 1 if n else 'x'}, %x);\n" for n in range(LINES))
TEXT = f"{HEAD}def @main(%x: Tensor[(2), float32]) {{\n{CHAIN}  %{LINES - 1}\n}}\n"
LARGE = relay_ir.infer_type(relay_ir.parse(HEAD + "def @main(%x: Tensor[(2000), float32]) { exp(%x) }"))
RELAX = """
@R.function
def main(x: R.Tensor((20,), dtype="float32")):
    y = R.repeat(x, 4000)
    return y
"""
TIR = """
@T.prim_func
def f(x: T.Buffer((20,), "float32")):
    y = T.alloc_buffer((2000, 1), "float32")
    x[0] = 1.0
"""
NESTED = {
    "allocations": "".join(
        f'    p{n} = T.allocate([4], "float32", "global")\n    b{n} = T.Buffer((4,), data=p{n})\n' for n in range(2000)
    ),
    "variables": "".join(f"    v{n}: T.int32 = {n}\n" for n in range(2000)),
    "attributes": "".join(f'    T.attr(0, "pragma_{n}", 1)\n' for n in range(2000)),
    "a sum": "    x[0] = x[0]" + " + x[0]" * 600 + "\n",
}
SCRIPT = (
    "@R.function\ndef main(x: R.Tensor((2,), dtype='float32')):\n" + "    x = R.add(x, x)\n" * 5000 + "    return x\n"
)


def refused(kind: ErrorKind, bound: Limits, read: Callable[[], object]) -> str:
    begin = time.process_time()
    with pytest.raises(LimitError) as caught, bound:
        read()
    assert time.process_time() - begin < 3
    assert caught.value.code == kind.code
    return str(caught.value)


@pytest.mark.parametrize("share", [0.3, 0.8])
def test_a_long_text(share: float) -> None:
    """Wherever the time is over, while it is read or typed, that is soon noticed."""
    begin = time.monotonic()
    relay_ir.infer_type(relay_ir.parse(TEXT))
    whole = time.monotonic() - begin
    said = refused(limits.SECONDS, Limits(seconds=share * whole / 2), lambda: relay_ir.infer_type(relay_ir.parse(TEXT)))
    assert "the time is over" in said


def test_extents_of_many_parts() -> None:
    """Extents of types are put into canonical form, which asks each time."""
    sums = [add(Var(f"n{number}"), 1) for number in range(60)]
    begin = time.monotonic()
    product(sums)
    whole = time.monotonic() - begin
    refused(limits.SECONDS, Limits(seconds=4 * whole), lambda: [product(sums) for _ in range(40)])


def test_a_long_document() -> None:
    document = relay_ir.save_json(relay_ir.parse(TEXT))
    refused(limits.SECONDS, Limits(seconds=0.02), lambda: relay_ir.load_json(document))


def test_a_long_script() -> None:
    assert "(<script>:" in refused(limits.SECONDS, Limits(seconds=0.02), lambda: relax_ir.parse(SCRIPT))


def test_translation() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(TEXT))
    for translate in (translator.via_graph, translator.lower_to_tir):
        refused(limits.SECONDS, Limits(seconds=0.02), lambda translate=translate: translate(mod))  # type: ignore[misc]


DOCUMENT, GRAPH = relay_ir.save_json(LARGE), graph.to_json(graph.from_relay(LARGE)[0])
PRINTED = translator.via_graph(LARGE).script()


def typed(body: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f"{HEAD}def @main() {{\n  {body}\n}}"))


@pytest.mark.parametrize(
    ("read", "place"),
    [
        (lambda: relay_ir.parse(HEAD + "def @main(%x: Tensor[(2000), float32]) { %x }"), "(<text>:2:"),
        (lambda: typed('ones(shape=[40, 40], dtype="int8")'), "(<text>:3:"),
        (lambda: typed('ones(shape=[0, 4000], dtype="int8")'), "(<text>:3:"),
        (lambda: relay_ir.load_json(DOCUMENT), ""),
        (lambda: graph.from_json(GRAPH), ""),
        (lambda: relax_ir.parse(PRINTED), "(<script>:"),
        (lambda: relax_ir.parse(RELAX), "(<script>:4:"),
        (lambda: relax_ir.parse(TIR), "(<script>:4:"),
    ],
    ids=["text", "elements", "an axis", "json", "graph", "script", "inferred", "buffer"],
)
def test_extents(read: Callable[[], object], place: str) -> None:
    read()
    assert place in refused(limits.EXTENTS, Limits(extents=1000), read)


@pytest.mark.parametrize("shape", ["(2000,)", "(3, 4000)", "(40, 40)", "(2000, ?)"])
def test_the_place_of_extents(shape: str) -> None:
    """The shape itself is shown, also of the second parameter, and of a type inside of another."""
    for before, after in (("%x: ", ""), ("%y: Tensor[(2), int8], %x: ", ""), ("%x: (int8, ", ")")):
        line = f"def @main({before}Tensor[{shape}, float32]{after}) {{ %x }}"
        said = refused(limits.EXTENTS, Limits(extents=1000), lambda text=HEAD + line: relay_ir.parse(text))  # type: ignore[misc]
        assert f"(<text>:2:{line.index(shape) + 1})" in said
        shown, marks = said.splitlines()[said.splitlines().index(f"2 | {line}") :][:2]
        begin = shown.index(shape)
        assert marks[begin:].rstrip() == "^" * len(shape)
        assert not marks[:begin].strip(" |")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
@pytest.mark.parametrize("writer", ["nobody", "one that waits"])
def test_a_pipe_into_which_nobody_writes(tmp_path: Path, writer: str) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    held = None if writer == "nobody" else os.open(pipe, os.O_RDWR)
    if held is not None:
        os.write(held, HEAD.encode())
    for read in (relay_ir.load, relay_ir.load_params):
        said = refused(limits.SECONDS, Limits(seconds=0.3), lambda read=read: read(pipe))  # type: ignore[misc]
        assert "the limit is 0.3 s" in said
    if held is not None:
        os.close(held)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="has no pipes with names")
@pytest.mark.parametrize("bound", [Limits(seconds=60), Limits(memory=10**9)])
def test_a_pipe_is_read_to_its_end(tmp_path: Path, bound: Limits) -> None:
    """Its writer comes late, and pauses."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        time.sleep(0.2)
        with open(pipe, "wb", buffering=0) as stream:
            for part in (HEAD, "def @main(%x: Tensor[(2), float32]) ", "{ exp(%x) }"):
                stream.write(part.encode())
                time.sleep(0.1)

    thread = threading.Thread(target=write)
    thread.start()
    with bound:
        module = relay_ir.load(pipe)
    thread.join()
    assert relay_ir.structural_equal(module, relay_ir.parse(HEAD + "def @main(%x: Tensor[(2), float32]) { exp(%x) }"))


@pytest.mark.parametrize("bound", [Limits(memory=50_000_000), Limits(seconds=0.2)], ids=["memory", "time"])
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="has no device that never ends")
def test_a_file_without_end(bound: Limits) -> None:
    kind = limits.MEMORY if bound.memory else limits.SECONDS
    refused(kind, bound, lambda: relay_ir.load("/dev/zero"))


def test_a_file_that_is_larger_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "long.relay"
    path.write_text(TEXT)
    assert path.name in refused(limits.MEMORY, Limits(memory=100_000), lambda: relay_ir.load(path))


def test_weights_that_unpack_to_more(tmp_path: Path) -> None:
    """Zeros are packed to a thousandth."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        packed = io.BytesIO()
        np.save(packed, np.zeros(10_000_000, np.float32))
        archive.writestr("w.npy", packed.getvalue())
    content = stream.getvalue()
    assert len(content) < 100_000
    assert read_npz(memoryview(content))["w"].shape == (10_000_000,)
    assert "'w' needs 40 MB" in refused(limits.MEMORY, Limits(memory=1_000_000), lambda: read_npz(memoryview(content)))


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("what", NESTED)
@pytest.mark.sweep(every=4)
def test_nested_statements(what: str, checked: bool) -> None:
    """What is too deep to be read, or written, is refused in our words."""
    text = f'@T.prim_func\ndef f(x: T.Buffer((20,), "float32")):\n{NESTED[what]}    x[0] = 1.0\n'
    with pytest.raises(Relay2RelaxError, match="nested too deep"):
        relax_ir.parse(text, check_well_formed=checked).script()


@pytest.mark.compiler
def test_a_build_of_nested_statements() -> None:
    text = f'@T.prim_func\ndef f(x: T.Buffer((20,), "float32")):\n{NESTED["variables"]}    x[0] = 1.0\n'
    mod = relax_ir.parse(text, check_well_formed=False)
    with pytest.raises(Relay2RelaxError, match="nested too deep for"):
        backends.build(mod, target="c")
