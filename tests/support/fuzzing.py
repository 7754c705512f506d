"""Damaged Relay: seeds, the ways in which they are damaged, and what must hold of every input.

An input is bytes: a parameter file if it begins with the mark of one, JSON if it begins with ``{``,
Relay text otherwise. Whatever it holds, reading it ends in a module or in an exception of ours,
within bounded time and memory.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import re
import struct
import time
from collections.abc import Callable
from pathlib import Path

from golden_folder import golden_root

from relay2relax import relay_ir
from relay2relax.core import Relay2RelaxError

TESTS = Path(__file__).resolve().parent.parent
PARAMS_MARK = struct.pack("<Q", 0xF7E58D4F05049CB7)
# Longer inputs find little that short ones do not, and cost a search its inputs per second.
LONGEST_SEED = 4000
LONGEST = 20_000

TOKENS = [
    "%", "@", "(", ")", "{", "}", "[", "]", ",", ";", ";;", ":", ":=", ".", "=", "->", "=>", "/*", "*/", "//", '"',
    "\\", "#[", "meta[", "-", "--", "^", "<", ">", "let ", "let mut ", "fn ", "def @f", "if (True) {", "} else {",
    "match (%x) {", "match? ", "type T[A] {", "extern type ", "free_var ", "ref(", "ref_read(", "ref_write(", "0", "1",
    "-1", "1i64", "2i16", "1f", "1.5", "0.0", "1e999f", "inff", "nanf", "?", "_", "\0", "é", "\ud800", "\n", "\r",
    "Tensor[", "Tensor[(2, ?), float32]", "float32", "int64", "bool", "%0", "%1", "%x", " /* ty=int64 */", "span=",
    "meta[relay.Constant][0]", "meta[tir.Any][999999999]", "\n#[metadata]\n{}", "\nMETADATA:\n{}", "attrs_type_key=",
    "virtual_device=", "99999999999999999999", "9223372036854775807", "v0.0.1\n", "v0.0.4\n",
    '#[version = "0.0.5"]\n', "Cons(", "Nil", "add(", "nn.conv2d(", "nn.dense(%x, %y, units=", "reshape(%x, newshape=[",
    "split(%x, indices_or_sections=", "strided_slice(%x, begin=[", "concatenate((", "nn.pad(%x, pad_width=[[",
    "image.resize(%x, size=[", "arange(0, 10, 1, start=0, stop=10, step=1", "broadcast_to(%x, shape=[",
]  # fmt: skip
_WORDS = re.compile(r"\s+|[%@]?[\w.]+|\W")
_DIGITS = re.compile(r"\d+")
NUMBERS = [
    "0", "1", "-1", "2", "3", "7", "255", "256", "65536", "2147483647", "2147483648", "-2147483648", "4294967296",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615", "1e400",
    "1" + "0" * 30, "9" * 5000, "",
]  # fmt: skip


# --- seeds ----------------------------------------------------------------------------------------


def seeds() -> list[bytes]:
    """Return valid inputs: own cases as text and JSON, parameter files, older versions, recorded
    cases if present.
    """
    cases = TESTS / "relay_ir" / "cases"
    texts = [path.read_text() for folder in ("text", "ill_typed") for path in sorted((cases / folder).glob("*.relay"))]
    texts += [OLDER, relay_ir.testing.mlp.get_workload(1)[0].astext(), DEEP]
    found = [text.encode() for text in texts]
    found += [path.read_bytes() for path in sorted((cases / "json").glob("*.json"))]
    for text in texts:
        with contextlib.suppress(Relay2RelaxError):
            found.append(relay_ir.save_json(relay_ir.parse(text)).encode())
            found.append(relay_ir.save_json(relay_ir.infer_type(relay_ir.parse(text))).encode())
    mod, params = relay_ir.testing.mlp.get_workload(1, num_classes=3, image_shape=(1, 2, 2))
    small = {name: value.reshape(-1)[:3] for name, value in params.items()}
    found.append(relay_ir.save_params(small))
    found.append(relay_ir.save_json(mod).encode())
    return [one for one in found + _recorded() if len(one) <= 3 * LONGEST_SEED]


def _recorded() -> list[bytes]:
    root = golden_root()
    found: list[bytes] = []
    if root is None:
        return found
    for name in ("language", "dynamic", "operators", "random"):
        path = root / f"{name}.jsonl.gz"
        if path.exists():
            with gzip.open(path, "rt", encoding="utf-8") as stream:
                cases = [json.loads(line) for line in stream]
            for case in cases[:: max(1, len(cases) // 60)]:
                for key in ("text", "typed", "json"):
                    value = case.get(key)
                    value = json.dumps(value) if isinstance(value, dict) else value
                    if isinstance(value, str) and len(value) <= LONGEST_SEED:
                        found.append(value.encode())
    return found


OLDER = """v0.0.4
type List[A] {
  Cons(A, List[A]),
  Nil,
}

def @main[A](%x: List[A], %r: ref(int32), %t: ((int32, int32), float64)) -> int32 {
  let %y: (int32) = match (%x) {
    Cons(%h, %t1) => {
      let %z = %r^;
      %z
    },
    Nil => 0 /* ty=int32 */,
  };
  %0 = (%r := %y);
  %1 = (-%y - -1 -1);
  %2 = if (True) { %t.0.1 } else { 2 };
  add(%2, %1)
}
"""
DEEP = (
    "def @main(%x: " + "(" * 40 + "int32," + "),".join("" for _ in range(40)) + ")) { " + "fn () { " * 20 + "%x"
    + " }" * 20 + " }"
)  # fmt: skip


# --- damage ---------------------------------------------------------------------------------------

Damage = Callable[[random.Random, str, list[bytes]], str]


def _place(rng: random.Random, text: str) -> int:
    return rng.randint(0, len(text))


def _insert_token(rng: random.Random, text: str, others: list[bytes]) -> str:
    at = _place(rng, text)
    return text[:at] + rng.choice(TOKENS) + text[at:]


def _change_word(rng: random.Random, text: str, others: list[bytes]) -> str:
    words = _WORDS.findall(text)
    if not words:
        return rng.choice(TOKENS)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(words))
        match rng.randrange(4):
            case 0:
                words[at] = ""
            case 1:
                words[at] = rng.choice(words)
            case 2:
                words[at] = rng.choice(TOKENS)
            case 3:
                other = rng.randrange(len(words))
                words[at], words[other] = words[other], words[at]
    return "".join(words)


def _change_number(rng: random.Random, text: str, others: list[bytes]) -> str:
    places = list(_DIGITS.finditer(text))
    if not places:
        return text
    found = rng.choice(places)
    number = rng.choice(NUMBERS) if rng.random() < 0.6 else str(rng.randrange(40))
    return text[: found.start()] + number + text[found.end() :]


def _drop(rng: random.Random, text: str, others: list[bytes]) -> str:
    at = _place(rng, text)
    return text[:at] + text[at + rng.choice((1, 1, 2, 5, 20, 200)) :]


def _repeat(rng: random.Random, text: str, others: list[bytes]) -> str:
    at = _place(rng, text)
    piece = text[at : at + rng.choice((1, 3, 10, 40))]
    return (text[:at] + piece * rng.choice((2, 5, 60, 400)) + text[at:])[:LONGEST]


def _splice(rng: random.Random, text: str, others: list[bytes]) -> str:
    other = rng.choice(others).decode("utf-8", "surrogateescape")
    return (text[: _place(rng, text)] + other[_place(rng, other) :])[:LONGEST]


def _move_line(rng: random.Random, text: str, others: list[bytes]) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    line = lines.pop(at) if rng.random() < 0.5 else lines[at]
    lines.insert(rng.randint(0, len(lines)), line)
    return "\n".join(lines)


def _nest(rng: random.Random, text: str, others: list[bytes]) -> str:
    """Put a balanced part into brackets many times over."""
    opening, closing = rng.choice((("(", ")"), ("{", "}"), ("[", "]"), ("fn () { ", " }"), ("(", ",)"), ("A[", "]"),
                                   ("fn (", ") -> int32"), ("ref(", ")"), ("if (True) { ", " } else { 1 }"),
                                   ("/*", "*/"), ("let %x = (", "); %x")))  # fmt: skip
    spans = [(found.start(), found.end()) for found in re.finditer(r"\([^()]*\)|[%@]?\w+", text)]
    if not spans:
        return text
    start, end = rng.choice(spans)
    count = rng.choice((1, 2, 30, 99, 150, 1000, 3000))
    return (text[:start] + opening * count + text[start:end] + closing * count + text[end:])[: 2 * LONGEST]


def _byte(rng: random.Random, text: str, others: list[bytes]) -> str:
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.randint(1, 4)):
        if raw:
            raw[rng.randrange(len(raw))] = rng.choice((0, 10, 34, 92, 128, 255, rng.randrange(256)))
    return raw.decode("utf-8", "surrogateescape")


_TEXT: list[Damage] = [
    _insert_token, _change_word, _change_word, _change_number, _drop, _repeat, _splice, _move_line, _nest, _byte,
]  # fmt: skip


def _damage_json(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Damage nodes of a document, which stays JSON."""
    try:
        document = json.loads(data)
        nodes = document["nodes"]
        one = rng.choice(nodes)
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return _damage_text(rng, data, others)
    if not isinstance(one, dict):
        return _damage_text(rng, data, others)
    fields = one.get("attrs")
    match rng.randrange(9):
        case 0 | 1 | 2 if isinstance(fields, dict) and fields:
            name = rng.choice(sorted(fields))
            fields[name] = rng.choice((str(rng.randrange(-1, len(nodes) + 2)), rng.choice(NUMBERS), "float32", "x"))
        case 3 if isinstance(fields, dict) and fields:
            del fields[rng.choice(sorted(fields))]
        case 4:
            other = rng.choice(nodes)
            one["type_key"] = other.get("type_key", "") if isinstance(other, dict) else ""
        case 5 if isinstance(one.get("data"), list):
            one["data"].append(rng.randrange(-1, len(nodes) + 2))
        case 6 if isinstance(one.get("data"), list) and one["data"]:
            one["data"][rng.randrange(len(one["data"]))] = rng.randrange(len(nodes))
        case 7:
            document["root"] = rng.randrange(len(nodes))
        case 8 if document.get("b64ndarrays"):
            blobs = document["b64ndarrays"]
            at = rng.randrange(len(blobs))
            blobs[at] = _damage_text(rng, str(blobs[at]).encode("utf-8", "replace"), others).decode("utf-8", "replace")
        case _:
            nodes.insert(rng.randrange(len(nodes)), dict(one))
    return json.dumps(document).encode()


def _damage_binary(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Change sizes and bytes of a parameter file."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(max(1, len(raw) - 8))
        match rng.randrange(4):
            case 0:
                raw[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                raw[at : at + 8] = struct.pack("<q", rng.choice((0, 1, -1, 2**31, 2**40, 2**62, 2**63 - 1)))
            case 2:
                raw[at : at + 4] = struct.pack("<i", rng.choice((0, 1, -1, 2, 31, 33, 1000, 2**31 - 1)))
            case 3:
                del raw[at : at + rng.choice((1, 4, 8))]
    return bytes(raw)


def _damage_text(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    text = data.decode("utf-8", "surrogateescape")
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        text = rng.choice(_TEXT)(rng, text, others)
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.5 else "replace")[: 2 * LONGEST]


def damage(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Return a damaged form of ``data``; ``others`` are inputs to take parts from."""
    if data.startswith(PARAMS_MARK):
        return _damage_binary(rng, data, others)
    if data[:1] == b"{" and rng.random() < 0.8:
        for _ in range(rng.choice((1, 1, 2, 3))):
            data = _damage_json(rng, data, others)
        return data
    return _damage_text(rng, data, others)


# --- what must hold -------------------------------------------------------------------------------


def check(data: bytes) -> bool:
    """Read ``data``, type, write and read again.

    Return whether it was a module. Any exception is a finding.
    """
    try:
        if data.startswith(PARAMS_MARK):
            found = relay_ir.load_params(data)
            again = relay_ir.load_params(relay_ir.save_params(found))
            assert list(again) == sorted(found)
            return True
        text = _decoded(data)
        mod = relay_ir.load_json(text) if text[:1] == "{" else relay_ir.parse(text)
        _write(mod)
        _write(relay_ir.infer_type(mod))
    except Relay2RelaxError as error:
        str(error)
        return False
    return True


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8", "surrogatepass")  # a text may hold half of a pair
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _write(mod: relay_ir.IRModule) -> None:
    """Write a module as text and as JSON, and read both; what is written as JSON can be read."""
    with contextlib.suppress(Relay2RelaxError):
        relay_ir.parse(mod.astext())  # not every name that can be printed can be read
    saved = relay_ir.save_json(mod)
    try:
        relay_ir.load_json(saved)
    except Relay2RelaxError as error:
        raise AssertionError(f"what was written cannot be read: {error}") from error


def timed(data: bytes) -> float:
    """Check ``data`` and return the seconds that it took."""
    begin = time.perf_counter()
    check(data)
    return time.perf_counter() - begin
