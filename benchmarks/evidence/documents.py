"""Which layer should read documents: msgspec, or a reader of our own? One of 20 MB, both ways.

python benchmarks/evidence/documents.py

Prints seconds of processor time, the best of three, and what importing msgspec takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from time import process_time

import msgspec

NODES = 120_000
IMPORTS = (
    "import time, json, dataclasses, typing, re, enum; start = time.process_time(); import {}; "
    "print(time.process_time() - start)"
)


class Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tensor of a graph's document."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Node(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A node of it."""

    name: str
    parents: tuple[str, ...]
    outputs: tuple[Tensor, ...]
    attrs: dict[str, str]


@dataclass(frozen=True)
class OwnTensor:
    """A tensor, for the reader of our own."""

    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class OwnNode:
    """A node, for the reader of our own."""

    name: str
    parents: tuple[str, ...]
    outputs: tuple[OwnTensor, ...]
    attrs: dict[str, str]


def reader(form: typing.Any) -> Callable[[typing.Any], object]:
    """Return the smallest function that checks a value and makes it of a form.

    It says neither the place of a mistake, nor knows alternatives, defaults and limits.
    """
    parts = typing.get_args(form)
    match typing.get_origin(form):
        case origin if origin is tuple:
            inner = reader(parts[0])
            return lambda value: tuple(map(inner, _of(value, list)))
        case origin if origin is dict:
            inner = reader(parts[1])
            return lambda value: {name: inner(one) for name, one in _of(value, dict).items()}
    if not is_dataclass(form):
        return lambda value: _of(value, form)
    hints = typing.get_type_hints(form)
    readers = [(field.name, reader(hints[field.name])) for field in fields(form)]
    assert isinstance(form, type)
    make: Callable[..., object] = form

    def record(value: typing.Any) -> object:
        if len(_of(value, dict)) != len(readers):
            raise TypeError(value)
        return make(*(read(value[name]) for name, read in readers))

    return record


def _of(value: typing.Any, kind: type) -> typing.Any:
    if type(value) is not kind:
        raise TypeError(value)
    return value


def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return an object of JSON; refuses a key that stands twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


def seconds(run: Callable[[], object]) -> float:
    """Return the processor time of the fastest of three calls."""
    taken = []
    for _ in range(3):
        start = process_time()
        run()
        taken.append(process_time() - start)
    return min(taken)


def importing(module: str) -> float:
    """Return the processor time of an import in a process of its own, the best of three."""
    command = [sys.executable, "-c", IMPORTS.format(module)]
    return min(float(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(3))


def main() -> None:
    """Print the table."""
    tensor = {"name": "conv:0", "dtype": "float32", "shape": [1, 64, 56, 56]}
    attrs = {"strides": "1,1", "padding": "1,1"}
    text = json.dumps([{"name": "conv", "parents": ["x", "w"], "outputs": [tensor], "attrs": attrs}] * NODES)
    own, form = reader(tuple[OwnNode, ...]), tuple[Node, ...]

    def parsed() -> object:
        return json.loads(text, object_pairs_hook=unique)

    print(f"{len(text) / 1e6:.1f} MB")
    rows: dict[str, Callable[[], object]] = {
        "json.loads": lambda: json.loads(text),
        "json.loads that refuses repeated keys": parsed,
        "the same, then msgspec.convert": lambda: msgspec.convert(parsed(), form),
        "the same, then a reader of our own": lambda: own(parsed()),
        "msgspec.json.decode": lambda: msgspec.json.decode(text, type=form),
    }
    for name, run in rows.items():
        print(f"{name:40}{seconds(run):6.2f} s")
    print(f"{'import msgspec':40}{1000 * importing('msgspec'):6.0f} ms")


if __name__ == "__main__":
    main()
