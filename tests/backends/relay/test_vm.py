"""The Relay executor ``vm``: bytecode that equals the debug executor, its listing, and its
files.
"""

from __future__ import annotations

import hashlib
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax.backends import create_executor, load_executor
from relay2relax.backends.relay.values import AdtValue, RefValue
from relay2relax.core.errors import FileError, ParseError, UnsupportedError
from relay2relax.core.tolerance import LONGEST_CHAIN, difference
from relay2relax.relay_ir import IRModule, infer_type, parse

LANGUAGE = """
type List[A] {
  Cons(A, List[A]),
  Nil,
}
def @map[A, B](%f: fn (A) -> B, %xs: List[A]) -> List[B] {
  match (%xs) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
def @sum(%xs: List[int32]) -> int32 {
  match (%xs) { Cons(%x, %rest) => add(%x, @sum(%rest)), Nil => 0 }
}
def @main(%a: int32, %rows: Tensor[(?, 3), float32]) {
  let %r = ref(0);
  let %loop = fn (%i: int32, %s: int32) {
    if (less(%i, %a)) { %loop(add(%i, 1), add(%s, %i)) } else { let %u = ref_write(%r, %s); %s }
  };
  let %total = %loop(0, 0);
  let %doubled = @map(fn (%i: int32) { multiply(%i, %total) }, Cons(1, Cons(2, Nil)));
  (@sum(%doubled), ref_read(%r), concatenate((%rows, full(2f, shape=[2, 3], dtype="float32"))), %doubled, %r)
}
"""


def read(text: str) -> IRModule:
    return infer_type(parse('#[version = "0.0.5"]\n' + text))


def plain(value: Any) -> Any:
    match value:
        case AdtValue(constructor, fields):
            return (constructor.name, *map(plain, fields))
        case RefValue():
            return ("ref", plain(value.value))
        case tuple():
            return tuple(map(plain, value))
    return (str(value.dtype), np.asarray(value).tolist())


@pytest.mark.parametrize("backend", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_the_whole_language_runs_and_is_kept(tmp_path: Path, backend: str) -> None:
    mod = read(LANGUAGE)
    executor = create_executor("vm", mod, backend)
    rows = np.ones((2, 3), "float32")
    got = plain(executor.evaluate()(4, rows=rows))
    assert got[:2] == (("int32", 18), ("int32", 6))
    assert got[2] == ("float32", [[1, 1, 1], [1, 1, 1], [2, 2, 2], [2, 2, 2]])
    assert got[3:] == (("Cons", ("int32", 6), ("Cons", ("int32", 12), ("Nil",))), ("ref", ("int32", 6)))
    path = tmp_path / "language.vm"
    assert executor.executable is not None
    executor.executable.save(path)
    loaded = load_executor(path, backend)
    assert loaded.executable is not None
    assert loaded.executable.as_text() == executor.executable.as_text()
    assert plain(loaded.evaluate()(4, rows=rows)) == got
    assert plain(loaded.evaluate("sum")(loaded.evaluate()(4, rows)[3])) == ("int32", 18)
    assert os.listdir(tmp_path) == ["language.vm"]


def test_the_listing() -> None:
    executable = create_executor(
        "vm", read("def @main(%x: float32) { if (less(%x, 1f)) { %x } else { exp(%x) } }")
    ).executable
    assert executable is not None
    assert executable.as_text() == (
        "@main(%0):\n"
        "  %1 = const float32[]\n"
        "     0  call        %2 = less (%0, %1)\n"
        "     1  unless      %2 -> 4\n"
        "     2  move        %3 = %0\n"
        "     3  jump        -> 6\n"
        "     4  call        %4 = exp (%0)\n"
        "     5  move        %3 = %4\n"
        "     6  ret         %3\n"
    )


def leaves(value: Any) -> list[Any]:
    return [leaf for one in value for leaf in leaves(one)] if isinstance(value, tuple) else [value]


@pytest.mark.golden
@pytest.mark.sweep(every=2)
def test_models(model_case: Any, tmp_path: Path) -> None:
    mod, args = infer_type(parse(model_case.text)), model_case.arguments()
    executor = create_executor("vm", mod)
    got = leaves(executor.evaluate()(*args))
    expected = leaves(create_executor("debug", mod).evaluate()(*args))
    for ours, theirs, recorded in zip(got, expected, model_case.expected(), strict=True):
        assert ours.tobytes() == theirs.tobytes()
        assert difference(ours, recorded, LONGEST_CHAIN).agrees
    assert executor.executable is not None
    executor.executable.save(tmp_path / "model.vm")
    loaded = load_executor(tmp_path / "model.vm")
    assert loaded.executable is not None
    assert loaded.executable.as_text() == executor.executable.as_text()


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "language.vm"
    executable = create_executor("vm", read(LANGUAGE)).executable
    assert executable is not None
    executable.save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 97):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x40]) + whole[place + 1 :])
        with pytest.raises(ParseError):
            load_executor(path)
        path.write_bytes(whole[:place])
        with pytest.raises(ParseError):
            load_executor(path)


def test_files_with_other_content_are_read_or_refused(tmp_path: Path) -> None:
    """Files whose checksum is right and whose code is not: nothing but ParseError comes out of
    reading them.
    """
    path = tmp_path / "language.vm"
    executable = create_executor("vm", read(LANGUAGE)).executable
    assert executable is not None
    executable.save(path)
    whole = path.read_bytes()
    size = int.from_bytes(whole[40:48], "little")
    header, elements = whole[48 : 48 + size], whole[48 + size :]
    begin = header.index(b'"codes"')
    chance, refused = random.Random(5), 0
    for _ in range(300):
        changed = bytearray(header)
        place = chance.randrange(begin, size)
        changed[place] = chance.choice(b'0123456789[]{}",-aeM')
        rest = size.to_bytes(8, "little") + bytes(changed) + elements
        path.write_bytes(whole[:8] + hashlib.sha256(rest).digest() + rest)
        try:
            load_executor(path)
        except ParseError:
            refused += 1
    assert refused > 150


def test_files_that_are_elsewhere(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read"):
        load_executor(tmp_path / "absent.vm")
    executable = create_executor("vm", read("def @main(%x: float32) { %x }")).executable
    assert executable is not None
    with pytest.raises(FileError, match="cannot write"):
        executable.save(tmp_path / "absent" / "x.vm")


def test_intermediate_values_are_not_shown() -> None:
    with pytest.raises(UnsupportedError, match="use the debug executor"):
        create_executor("vm", read("def @main(%x: float32) { %x }")).evaluate(observe=print)
