"""Recognising what TVM compiled, whatever it is in: a document, a library, an archive.

A library that ``export_library`` wrote of a ``GraphExecutorFactory`` holds the graph and the
weights behind the name of that class, as its ``SaveToBinary`` writes them:

    factory ::= u64 size, the graph as JSON, u64 count, names, tensor * count, name of the module
    names   ::= u64 count, (u64 size, name) * count

A package of ``tvmc`` is a tar with ``mod.json``; an archive in Model Library Format has the graph
under ``executor-config``.

Source: ``src/runtime/graph_executor/graph_executor_factory.cc``,
``python/tvm/driver/tvmc/model.py`` and ``python/tvm/micro/model_library_format.py`` of TVM 0.7 to
0.18.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from relay2relax.core.dtype import Array
from relay2relax.core.errors import ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.file_kinds import is_tar, tar_files
from relay2relax.core.schema import parse_json
from relay2relax.core.source import to_text
from relay2relax.core.tensor_blob import read_tensor
from relay2relax.relax_ir.compiled.graph_executor import from_executor_graph, is_executor_graph
from relay2relax.relax_ir.ir.expr import IRModule

# What the class is called since TVM 0.8, and before.
_FACTORIES = (b"GraphExecutorFactory", b"GraphRuntimeFactory")
_GRAPHS = ("mod.json", "graph.json")
_LIBRARIES = ("mod.so", "lib0.o", "devc.o")


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program of kernels that only the compiled library has, and the weights found beside it."""

    module: IRModule
    weights: dict[str, Array] = field(default_factory=dict)


def read_compiled(content: bytes, name: str) -> Compiled | None:
    """Return the program that ``content`` was compiled into, None where it holds no graph of a
    graph executor; errors call it ``name``.

    Raises ParseError where the graph, or what is behind it, is damaged.
    """
    buffer = memoryview(content)
    if is_tar(buffer):
        return _of_archive(buffer, name)
    if content.lstrip()[:1] == b"{":
        return _of_document(content, name)
    return _of_library(content, name)


def _of_archive(buffer: memoryview, name: str) -> Compiled | None:
    files = tar_files(buffer)
    for member, one in files.items():
        if member in _GRAPHS or member.startswith("executor-config/"):
            found = _of_document(bytes(one), f"{name}:{member}")
            if found is not None:
                return found
    for member in _LIBRARIES:
        if member in files:
            return _of_library(bytes(files[member]), f"{name}:{member}")
    return None


def _of_document(content: bytes, name: str) -> Compiled | None:
    # A Relay module may have a gigabyte; this reads none of it.
    if b'"node_row_ptr"' not in content:
        return None
    document = parse_json(content, name)
    return Compiled(from_executor_graph(document, name)) if is_executor_graph(document) else None


def _of_library(content: bytes, name: str) -> Compiled | None:
    for factory in _FACTORIES:
        mark = len(factory).to_bytes(8, "little") + factory
        place = content.find(mark)
        if place >= 0:
            return _Factory(content, place + len(mark), name).read()
    return None


class _Factory:
    """Reads a factory, from front to back."""

    def __init__(self, content: bytes, place: int, name: str) -> None:
        self._content = memoryview(content)
        self._place = place
        self._name = name

    def read(self) -> Compiled:
        graph = self._bytes()
        document = parse_json(graph, self._name)
        if not is_executor_graph(document):
            raise self._damaged("no graph of a graph executor")
        count = self._count()
        # More than there are bytes would be a long loop before the end is met.
        if self._count() != count:
            raise self._damaged("names and tensors that are not equally many")
        names = [to_text(self._bytes()) for _ in range(count)]
        weights = {}
        for one in names:
            weights[one], self._place = read_tensor(self._content, self._place)
        return Compiled(from_executor_graph(document, self._name), weights)

    def _count(self) -> int:
        end = self._place + 8
        if end > len(self._content):
            raise self._damaged("the end of the file")
        value = int.from_bytes(self._content[self._place : end], "little")
        self._place = end
        return value

    def _bytes(self) -> bytes:
        size = self._count()
        start, end = self._place, self._place + size
        if end > len(self._content):
            raise self._damaged("the end of the file")
        self._place = end
        return bytes(self._content[start:end])

    def _damaged(self, found: str) -> ParseError:
        return ParseError(
            f"{self._name!r}: byte {self._place}, in what a graph executor saved: found {found}", kind=reading.MALFORMED
        )
