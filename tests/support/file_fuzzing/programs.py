"""Files of programs: saved executables of Relax and of Relay, and graphs as JSON.

Executables are loaded and run; the checksum of a damaged one fits, so that all of it is read.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
import struct
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from file_fuzzing.format import Format, damage_bytes, damage_document
from relay2relax import backends, graph, relay_ir
from relay2relax import relax_ir as rx
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.limits import Limits
from relay2relax.graph.formats.json.scalars import stand_in

_BEGIN = 40
# A damaged program may call itself for ever.
STEPS = 20_000

# Kernels of operators and of TensorIR, a branch, a closure, shapes that are computed.
BRANCHES = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def scale(x: T.handle, k: T.int64, y: T.handle):
        n = T.int64()
        X = T.match_buffer(x, (n, T.int64(3)), "float32")
        Y = T.match_buffer(y, (n, T.int64(3)), "float32")
        for i, j in T.grid(n, T.int64(3)):
            with T.sblock("Y"):
                vi, vj = T.axis.remap("SS", [i, j])
                Y[vi, vj] = X[vi, vj] * T.Cast("float32", k) + T.float32(0.5)

    @R.function
    def main(
        x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"),
        flag: R.Tensor((), dtype="bool"), s: R.Shape(["m"]),
    ) -> R.Tuple(
        R.Tensor(("n", 3), dtype="float32"), R.Tensor(("n * 3",), dtype="float32"), R.Shape(["n * m", "m + 1"])
    ):
        n = T.int64()
        m = T.int64()
        cls = Module
        with R.dataflow():
            t = R.permute_dims(w, axes=[1, 0])
            a = R.matmul(x, t)
            b = R.call_tir(cls.scale, (a, R.prim_value(n * 2)), R.Tensor((n, 3), dtype="float32"))
            c = R.exp(b)
            R.output(b, c)
        @R.function
        def shift(y: R.Tensor((n, 3), dtype="float32")) -> R.Tensor((n, 3), dtype="float32"):
            z: R.Tensor((n, 3), dtype="float32") = R.add(y, c)
            return z
        if flag:
            d: R.Tensor((n, 3), dtype="float32") = shift(b)
        else:
            d: R.Tensor((n, 3), dtype="float32") = R.nn.relu(c)
        e: R.Tensor((n * 3,), dtype="float32") = R.reshape(d, R.shape([n * 3]))
        return (b, e, R.shape([n * m, m + 1]))
"""
RELAX = (
    BRANCHES,
    # Operators whose results have as many elements as their data say, constants, a tuple.
    """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor(("n", 4), dtype="float32"), w: R.Tensor((3, 4), dtype="float32"),
        flag: R.Tensor((), dtype="bool"), s: R.Shape(["m"]),
    ) -> R.Tuple(
        R.Tensor(dtype="int64", ndim=2),
        R.Tuple(R.Tensor(("n", 2), dtype="float32"), R.Tensor(("n", 2), dtype="float32")),
        R.Tensor(("n", 4), dtype="float32"),
    ):
        n = T.int64()
        m = T.int64()
        a = R.nonzero(x)
        b = R.split(x, indices_or_sections=2, axis=1)
        c = R.take(x, R.const([0, 1], "int64"), axis=0)
        d = R.add(x, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
        e = R.nn.softmax(d, axis=-1)
        return (a, b, e)
""",
)  # fmt: skip
# What becomes fused nodes: a linear layer, an activation, attention.
LAYERS = """
@I.ir_module
class Module:
    @R.function
    def main(
        x: R.Tensor((2, 3, 4), dtype="float32"), w: R.Tensor((4, 4), dtype="float32")
    ) -> R.Tensor((2, 3, 4), dtype="float32"):
        with R.dataflow():
            t = R.permute_dims(w)
            p = R.matmul(x, t)
            a = R.add(p, R.const([1.0, 2.0, 3.0, 4.0], "float32"))
            s = R.sigmoid(a)
            m = R.multiply(a, s)
            k = R.permute_dims(m, axes=[0, 2, 1])
            q = R.matmul(m, k)
            d = R.divide(q, R.const(2.0, "float32"))
            e = R.nn.softmax(d)
            y = R.matmul(e, x)
            R.output(y)
        return y
"""
RELAY = (
    """#[version = "0.0.5"]
type List[A] {
  Cons(A, List[A]),
  Nil,
}
def @length(%l: List[Tensor[(), float32]]) -> Tensor[(), int32] {
  match (%l) {
    Cons(%h, %t) => add(1, @one(%t)),
    Nil => 0,
  }
}
def @one(%l: List[Tensor[(), float32]]) -> Tensor[(), int32] {
  match (%l) {
    Cons(%h, _) => cast(%h, dtype="int32"),
    Nil => 0,
  }
}
def @main(%x: Tensor[(2, 3), float32], %c: Tensor[(), bool]) {
  let %f = fn (%y: Tensor[(2, 3), float32]) { add(%y, %x) };
  let %r = ref(%x);
  let %u = ref_write(%r, %f(%x));
  let %z = if (%c) { nn.relu(ref_read(%r)) } else { %x };
  let %s = split(%z, indices_or_sections=3, axis=1);
  (%s.0, @length(Cons(1f, Nil)))
}
""",
    """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %c: Tensor[(), bool]) {
  %0 = nn.dense(%x, full(2f, shape=[4, 3], dtype="float32"), units=4);
  %1 = strided_slice(%0, begin=[0, 1], end=[2, 4], strides=[1, 2], axes=[0, 1]);
  %2 = take(%1, 1, axis=1);
  %3 = transpose(%0, axes=[1, 0]);
  %4 = nn.pad(%x, 0f, pad_width=[[0, 1], [1, 0]]);
  (%2, reshape(%3, newshape=[-1]), argwhere(%x), concatenate((%x, %x), axis=1), %4)
}
""",
)
GRAPHS = (
    *RELAY,
    """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %9 = ones(shape=[4], dtype="float32");
  %1 = nn.batch_norm(%0, %9, zeros(shape=[4], dtype="float32"), zeros(shape=[4], dtype="float32"), %9);
  %2 = nn.max_pool2d(nn.relu(%1.0), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  nn.softmax(nn.batch_flatten(%2))
}
""",
)  # fmt: skip


@lru_cache(maxsize=1)
def _folder() -> Path:
    """Return a folder of this process for files."""
    return Path(tempfile.mkdtemp())


def _saved(save: Callable[[Path], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program"
        save(path)
        return path.read_bytes()


# --- executables ----------------------------------------------------------------------------------


def damage_executable(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Damage the header as a document or as bytes, or the tensors; the checksum fits."""
    if rng.random() < 0.02 or len(data) < _BEGIN + 8:
        return damage_bytes(rng, data, others)
    (size,) = struct.unpack_from("<Q", data, _BEGIN)
    text, rest = data[_BEGIN + 8 : _BEGIN + 8 + size], data[_BEGIN + 8 + size :]
    kind = rng.random()
    try:
        header = json.loads(text) if kind < 0.9 else None
    except (ValueError, RecursionError):
        header = None
    if header is not None:
        inner = [key for key in ("interface",) if isinstance(header, dict) and isinstance(header.get(key), str)]
        if inner and rng.randrange(3) == 0:
            with contextlib.suppress(ValueError, RecursionError):
                header[inner[0]] = json.dumps(damage_document(rng, json.loads(header[inner[0]])))
        else:
            header = damage_document(rng, header)
        text = json.dumps(header).encode()
    elif kind < 0.97:
        text = damage_bytes(rng, text, [text])
    else:
        rest = damage_bytes(rng, rest, [text])
    text += b" " * (-(_BEGIN + 8 + len(text)) % 64)
    content = struct.pack("<Q", len(text)) + text + rest
    return data[:8] + hashlib.sha256(content).digest() + content


def _relax_seeds(target: str) -> list[bytes]:
    return [_saved(backends.build(rx.parse(text), target).save) for text in RELAX]


def _relay_seeds(backend: str) -> list[bytes]:
    made = []
    for text in RELAY:
        executable = backends.create_executor("vm", relay_ir.parse(text), backend).executable
        assert executable is not None
        made.append(_saved(executable.save))
    return made


def _check_relax(data: bytes) -> bool:
    path = _folder() / "program"
    path.write_bytes(data)
    try:
        machine = backends.VirtualMachine(backends.Executable.load(path))
    except Relay2RelaxError as error:
        str(error)
        return False
    for flag in (True, False):
        with contextlib.suppress(Relay2RelaxError), Limits(steps=STEPS):
            arguments = (np.ones((2, 4), np.float32), np.ones((3, 4), np.float32), np.array(flag), (7,))
            machine["main"](*arguments)
    return True


def _check_relay(backend: str) -> Callable[[bytes], bool]:
    def check(data: bytes) -> bool:
        path = _folder() / "program"
        path.write_bytes(data)
        try:
            executor = backends.load_executor(path, backend)
        except Relay2RelaxError as error:
            str(error)
            return False
        with contextlib.suppress(Relay2RelaxError), Limits(steps=STEPS):
            executor.evaluate()(np.ones((2, 3), np.float32), np.array(True))
        return True

    return check


# --- graphs ---------------------------------------------------------------------------------------


def _graph_seeds() -> list[bytes]:
    made = []
    for text in GRAPHS:
        found, _ = graph.from_relay(relay_ir.infer_type(relay_ir.parse(text)))
        made.append(graph.to_json(found).encode())
    for text in RELAX:
        found, _ = graph.from_relax(rx.parse(text))
        made.append(graph.to_json(found).encode())
    found, weights = graph.from_relax(rx.parse(LAYERS))
    made.append(graph.to_json(graph.fuse(found, weights, graph.relax_patterns())).encode())
    return made


def damage_graph(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Damage a document as one, or as bytes."""
    if rng.random() < 0.05:
        return damage_bytes(rng, data, others)
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return damage_bytes(rng, data, others)
    for key in ("objects", "nodes", "graphs", "fused"):
        extra = document.get("relay2relax") if isinstance(document, dict) else None
        if isinstance(extra, dict) and isinstance(extra.get(key), (dict, list)) and rng.randrange(6) == 0:
            extra[key] = damage_document(rng, extra[key])
            break
    else:
        document = damage_document(rng, copy.deepcopy(document))
    return json.dumps(document).encode()


def _check_graph(data: bytes) -> bool:
    """Read a graph, show it in every form, and make programs of it."""
    try:
        found = graph.from_json(data.decode("utf-8", "replace"))
    except Relay2RelaxError as error:
        str(error)
        return False
    for use in (graph.to_text, graph.to_dot, graph.to_json, _as_relay, _as_relax):
        with contextlib.suppress(Relay2RelaxError):
            use(found)
    return True


def _weights(found: graph.MSCGraph) -> dict[str, Array]:
    tensors = [one for part in found.subgraphs() for node in part.nodes for one in node.weights.values()]
    return {one.name: stand_in(one, 1) for one in tensors}


def _as_relay(found: graph.MSCGraph) -> None:
    mod = graph.to_relay(found, _weights(found))
    mod.astext()
    relay_ir.infer_type(mod)


def _as_relax(found: graph.MSCGraph) -> None:
    graph.to_relax(found, _weights(found)).script()


GRAPH = Format("graph", _graph_seeds, damage_graph, _check_graph)
VM = Format("vm", lambda: _relax_seeds("numpy"), damage_executable, _check_relax)
VM_C = Format("vm-c", lambda: _relax_seeds("c"), damage_executable, _check_relax, fragile=True)
RELAY_VM = Format("relay-vm", lambda: _relay_seeds("numpy"), damage_executable, _check_relay("numpy"))
RELAY_VM_C = Format("relay-vm-c", lambda: _relay_seeds("c"), damage_executable, _check_relay("c"), fragile=True)
