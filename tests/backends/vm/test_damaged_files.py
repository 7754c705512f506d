"""Damaged files of executables: refused when they are read, or run without errors of other kinds.

Every place of a header is replaced by what does not belong there; which replacement a place meets
first follows from its number, so that the same files are tried each time.
"""

from __future__ import annotations

import copy
import hashlib
import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_fuzzing.programs import BRANCHES, RELAY

from relay2relax import backends, relay_ir
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ParseError, Relay2RelaxError

LEFT_OUT, TWICE = object(), object()
REPLACEMENTS: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 2**40, 2**70, 1.5, "x", [], {}, LEFT_OUT, TWICE,
)  # fmt: skip


def header_of(content: bytes) -> Any:
    (size,) = struct.unpack_from("<Q", content, 40)
    return json.loads(content[48 : 48 + size])


def with_header(content: bytes, header: Any) -> bytes:
    """The file with another header, and a checksum that fits."""
    (size,) = struct.unpack_from("<Q", content, 40)
    text = json.dumps(header).encode()
    text += b" " * (-(48 + len(text)) % 64)
    rest = struct.pack("<Q", len(text)) + text + content[48 + size :]
    return content[:8] + hashlib.sha256(rest).digest() + rest


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, but the whole of it."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def damaged(header: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    """A copy of ``header`` with something else at ``path``."""
    changed = copy.deepcopy(header)
    at = changed
    for key in path[:-1]:
        at = at[key]
    if replacement is LEFT_OUT:
        del at[path[-1]]
    elif replacement is TWICE and isinstance(at, list):
        at.insert(path[-1], copy.deepcopy(at[path[-1]]))
    elif replacement is TWICE:
        at[f"{path[-1]}_"] = copy.deepcopy(at[path[-1]])
    else:
        at[path[-1]] = replacement
    return changed


def damaged_files(content: bytes) -> Iterator[tuple[tuple[Any, ...], Any, bytes]]:
    """Files with one place replaced; each place meets one of the replacements."""
    header = header_of(content)
    for number, path in enumerate(places(header)):
        replacement = REPLACEMENTS[number % len(REPLACEMENTS)]
        changed = damaged(header, path, replacement)
        if changed != header:
            yield path, replacement, with_header(content, changed)


def refusals(path: Path, load: Callable[[Path], Any], run: Callable[[Any], object]) -> int:
    """How many damaged files of the one at ``path`` are refused; the others run, or end in our
    errors.
    """
    refused = 0
    for place, replacement, content in damaged_files(path.read_bytes()):
        print(f"{replacement!r} at {place}")  # shown where the test fails
        path.write_bytes(content)
        try:
            loaded = load(path)
        except ParseError as problem:
            refused += str(path) in str(problem)
            continue
        with suppress(Relay2RelaxError):
            run(loaded)
    return refused


@pytest.mark.sweep(every=2)
def test_damaged_relax_executables(tmp_path: Path) -> None:
    path = tmp_path / "model.exe"
    backends.build(rx.parse(BRANCHES)).save(path)
    args = (np.ones((2, 4), np.float32), np.ones((3, 4), np.float32), np.array(True), (7,))
    assert refusals(path, backends.Executable.load, lambda one: backends.VirtualMachine(one)["main"](*args)) > 500


def test_damaged_relay_executables(tmp_path: Path) -> None:
    mod = relay_ir.parse(RELAY[0])
    path = tmp_path / "model.exe"
    executable = backends.create_executor("vm", mod).executable
    assert executable is not None
    executable.save(path)
    args = (np.ones((2, 3), np.float32), np.array(True))
    assert refusals(path, backends.load_executor, lambda one: one.evaluate()(*args)) > 150
