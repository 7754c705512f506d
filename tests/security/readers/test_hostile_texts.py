"""Short texts that ask for much memory or time, and long ones that would take it squared."""

from __future__ import annotations

import re
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NoReturn

import fuzzing
import pytest
import sweep

from relay2relax import relax_ir, relay_ir
from relay2relax.core.errors import Relay2RelaxError

SECONDS = 30
# What reading any of these may take beside what the process has.
MEGABYTES = 1000
LONGEST_MESSAGE = 100_000
VERSION = '#[version = "0.0.5"]\n'
IMPORTS = "from tvm.script import ir as I, tir as T, relax as R\n\n"


def function(body: str, parameters: str = "%x: Tensor[(2, 3), float32]") -> str:
    return f"{VERSION}def @main({parameters}) {{ {body} }}"


def script(body: str, annotation: str = 'R.Tensor((2, 3), "float32")') -> str:
    return f"{IMPORTS}@R.function\ndef main(x: {annotation}):\n    y = {body}\n    return y\n"


def kernel(value: str) -> str:
    return (
        f'{IMPORTS}@T.prim_func\ndef f(A: T.Buffer((4,), "float32")):\n'
        f'    for i in range(4):\n        with T.block("b"):\n            v = T.axis.spatial(4, i)\n'
        f"            A[v] = {value}\n"
    )


def wide_match(fields: int) -> str:
    every = ", ".join(["T"] * fields)
    pattern = every.replace("T", "A")
    return f"{VERSION}type T {{ A, B, C({every}) }}\ndef @main(%t: T) {{ match (%t) {{ C({pattern}) => 1 }} }}"


RELAY = {
    "parts of a split": function("split(%x, indices_or_sections=2147483647)", "%x: Tensor[(?), float32]"),
    "new axes": function("expand_dims(%x, axis=0, num_newaxis=2147483647)"),
    "a million new axes": function("expand_dims(%x, axis=0, num_newaxis=1000000)"),
    "cases of a match": wide_match(20),
    "cases of a wide match": wide_match(300),
    "a string": function('nn.relu(%x, a="' + "a" * 10_000_000 + '")'),
    "digits": function("add(%x, " + "9" * 100_000 + ")"),
    "an exponent": function("add(%x, 1e" + "9" * 5000 + "f)"),
    "a shift of repeats": function("repeat(%x, repeats=9223372036854775807, axis=0)"),
    "a shape": function('ones(shape=[9223372036854775807, 9223372036854775807], dtype="float32")'),
    "blanks": VERSION + " \n" * 1_000_000 + "def @main() { 1 }",
    "comments": VERSION + "/* /* */ */" * 100_000 + "def @main() { 1 }",
    "an operator's name": function("a" + ".b" * 100_000 + "(%x)"),
    "mistakes": VERSION + "def @f0() { 1 }\n" + "".join(f"def @f{i}() {{ @f{i - 1}() }}\n" for i in range(1, 3000)),
    "an equation": function('einsum((%x, %x), equation="' + "a" * 3000 + "," + "b" * 3000 + '->")'),
}
RELAX = {
    "a shift": kernel("A[1 << (1 << 40)]"),
    "a shift in a shape": script("R.nn.relu(x)", 'R.Tensor((1 << (1 << 40), 3), "float32")'),
    "shifts of shifts": kernel("A[((1 << 900) << 900) << 900]"),
    "products": kernel("A[" + " * ".join(["(1 << 60)"] * 2000) + "]"),
    "a power": script("R.nn.relu(x)", 'R.Tensor((10 ** (10 ** 10), 3), "float32")'),
    "digits": kernel(f"A[{'9' * 100_000}]"),
    "digits to the base 16": kernel(f"A[0x{'f' * 100_000}]"),
    "digits to the base 2": script("R.nn.relu(x)", f'R.Tensor((0b{"1" * 5000}, 3), "float32")'),
    "a repeated list": script("R.reshape(x, R.shape([1] * 10**10))"),
    "a repeated string": script("R.nn.relu(x)", 'R.Tensor((2,), "float32" * 10**10)'),
    "parts of a split": script("R.split(x, 1 << 31, axis=0)", 'R.Tensor(("n", 3), "float32")'),
    "a rank": script("x", 'R.Tensor(ndim=10**10, dtype="float32")'),
    "a shape": script("R.reshape(x, R.shape([" + "1," * 50_000 + "]))"),
    "unknown names": IMPORTS + "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n" + "".join(
        f"    y{i} = R.add(z{i}, x)\n" for i in range(3000)) + "    return x\n",
    "nesting": script("(" * 3000 + "x" + ")" * 3000),
    "calls": script("R.nn.relu(" * 2000 + "x" + ")" * 2000),
    "signs": kernel("-" * 5000 + "A[v]"),
    "a sum": kernel("+".join(["A[v]"] * 20_000)),
}  # fmt: skip


def _too_long(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"took more than {SECONDS} seconds")


@contextmanager
def limited() -> Iterator[None]:
    """Let memory and time of the process end soon."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (MEGABYTES << 20), before[1]))
    signal.signal(signal.SIGALRM, _too_long)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        resource.setrlimit(resource.RLIMIT_AS, before)


def use_relay(text: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse(text))
    mod.astext()
    relay_ir.load_json(relay_ir.save_json(mod))


def infer(text: str) -> None:
    relay_ir.infer_type(relay_ir.parse(text))


def use_relax(text: str, check_well_formed: bool = True) -> None:
    module = relax_ir.parse(text, check_well_formed=check_well_formed)
    module.script()
    relax_ir.check_well_formed(module)


def ends_well(use: Callable[[str], None], text: str) -> None:
    message = ""
    with limited():
        try:
            use(text)
        except Relay2RelaxError as error:
            message = str(error)
    assert len(message) < LONGEST_MESSAGE


@pytest.mark.parametrize("name", RELAY)
def test_relay(name: str) -> None:
    ends_well(use_relay, RELAY[name])


@pytest.mark.parametrize("name", RELAX)
@pytest.mark.sweep(every=2)
def test_scripts(name: str) -> None:
    ends_well(use_relax, RELAX[name])
    ends_well(partial(use_relax, check_well_formed=False), RELAX[name])


# --- numbers of attributes ------------------------------------------------------------------------

_CALL = re.compile(r"(?<![%@\w.])([a-z][\w.]*)\(")
_NUMBER = re.compile(r"(?<=[\[=, ])-?\d+(?=[,\])])")
_HUGE = ("2147483647", "4611686018427387904")


def huge_numbers() -> list[str]:
    """Return recorded and own cases, one for each operator, with one number that is huge."""
    texts: dict[str, str] = {}
    for one in fuzzing.seeds():
        if not one.startswith((fuzzing.PARAMS_MARK, b"{")) and len(one) < 3000:
            text = one.decode("utf-8", "replace")
            for name in _CALL.findall(text):
                texts.setdefault(name, text)
    return [
        text[: found.start()] + number + text[found.end() :]
        for text in dict.fromkeys(texts.values())
        for found in _NUMBER.finditer(text)
        for number in _HUGE
    ]


def test_numbers_of_attributes() -> None:
    found = list(sweep.sampled(huge_numbers(), 1 if sweep.LEVEL == "all" else 4))
    assert len(found) > 10
    for text in found:
        ends_well(infer, text)


# --- long texts -----------------------------------------------------------------------------------

GROWING: dict[str, tuple[Callable[[str], None], Callable[[int], str]]] = {
    "clauses": (use_relay, lambda n: f"{VERSION}type T {{ {', '.join(f'C{i}' for i in range(n))}, }}\n"
        f"def @main(%t: T) {{ match (%t) {{ {' '.join(f'C{i} => 1,' for i in range(n))} }} }}"),
    "definitions": (use_relay, lambda n: VERSION + "".join(f"def @f{i}() {{ 1 }}\n" for i in range(n))),
    "lets": (use_relay, lambda n: function("".join(f"let %y{i} = %x; " for i in range(n)) + "%x")),
    "parameters": (use_relay, lambda n: function("%x", ", ".join(f"%x{i}: int32" for i in range(n)) + ", %x: int32")),
    "symbols": (use_relax, lambda n: IMPORTS + "@R.function\ndef main("
        + ",".join(f"x{i}: R.Tensor(('n{i}',), 'float32')" for i in range(n)) + "):\n    return x0\n"),
    "unknown names": (use_relax, lambda n: RELAX["unknown names"].partition("    y0")[0]
        + "".join(f"    y{i} = R.add(z{i}, x)\n" for i in range(n)) + "    return x\n"),
    "bindings": (use_relax, lambda n: IMPORTS + "@R.function\ndef main(x: R.Tensor((2,), 'float32')):\n"
        + "".join(f"    y{i} = R.add(x, x)\n" for i in range(n)) + "    return x\n"),
    "statements": (use_relax, lambda n: IMPORTS + "@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n"
        + "".join(f"    A[{i % 4}] = A[0] + T.float32({i})\n" for i in range(n))),
}  # fmt: skip


@pytest.mark.skipif(sweep.LEVEL == "sample", reason="takes time that only the whole sweep has")
@pytest.mark.parametrize("name", GROWING)
def test_time_grows_with_the_text(name: str) -> None:
    use, make = GROWING[name]

    def seconds(count: int) -> float:
        begin = time.process_time()
        ends_well(use, make(count))
        return time.process_time() - begin

    seconds(10)
    assert seconds(8000) < 9 * (seconds(2000) + 0.1)
