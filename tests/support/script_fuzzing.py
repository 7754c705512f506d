"""Damaged TVMScript: seeds, the ways in which they are damaged, and what must hold of every one.

A script is damaged as Python's syntax tree, so that most of it is read, or as text. Whatever it
says, reading it ends in a module, which prints and is read again, or in an exception of ours with a
place, within bounded time.

    python tests/support/script_fuzzing.py [inputs] [seed]
"""

from __future__ import annotations

import ast
import copy
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from relay2relax import relax_ir
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError

CASES = Path(__file__).resolve().parent.parent / "relax_ir" / "cases"
_NAMES = ["x", "n", "cls", "Module", "R", "T", "I", "main", "A", "B", "i", "vi", "lv", "undefined", "float", "None"]
_ATTRIBUTES = ["add", "nn", "Tensor", "dataflow", "output", "call_tir", "match_cast", "int64", "sblock", "axis",
               "reads", "Buffer", "data", "shape", "const", "func_attr", "unknown", "init", "where"]  # fmt: skip
_VALUES = [
    0,
    1,
    -1,
    2**31,
    2**63,
    10**40,
    1.5,
    float("inf"),
    True,
    None,
    "",
    "n",
    "float32",
    "n *",
    "int7",
    b"x",
    1j,
    ...,
]
_TOKENS = ["(", ")", "[", "]", ":", ",", "=", "\n", "    ", "@", "R.", "T.", '"', "#", "\0", "é", "-", "**", "lambda: ",
           "if x:\n", "with ", "return ", "def f():\n", "await ", "9" * 50]  # fmt: skip


def seeds() -> list[str]:
    """Return valid scripts and mistaken ones."""
    good = [path.read_text() for path in sorted(CASES.glob("*.txt"))]
    return good * 20 + [path.read_text() for path in sorted((CASES / "bad").rglob("*.tvmscript"))]


def damage(rng: random.Random, text: str, others: Sequence[str]) -> str:
    """Return ``text`` with a few things changed, as a tree where it is one."""
    if rng.randrange(5):
        try:
            tree = ast.parse(text)
            other = ast.parse(rng.choice(others))
        except (SyntaxError, ValueError):
            return _damaged_text(rng, text)
        for _ in range(rng.randint(1, 4)):
            _damage_tree(rng, tree, other)
        try:
            return ast.unparse(tree)
        except (ValueError, TypeError, AttributeError, RecursionError, KeyError):
            return text  # A tree that Python itself cannot write.
    return _damaged_text(rng, text)


def _damaged_text(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 3)):
        at = rng.randint(0, len(text))
        match rng.randrange(3):
            case 0:
                text = text[:at] + rng.choice(_TOKENS) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randint(1, 20) :]
            case 2:
                lines = text.splitlines(keepends=True)
                if len(lines) > 1:
                    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
                    text = "".join(lines)
    return text


def _damage_tree(rng: random.Random, tree: ast.Module, other: ast.Module) -> None:
    nodes = [one for one in ast.walk(tree) if any(True for _ in ast.iter_child_nodes(one))]
    if not nodes:
        return
    node = rng.choice(nodes)
    fields = [(name, value) for name, value in ast.iter_fields(node) if isinstance(value, (list, ast.AST)) and value]
    if not fields:
        return
    name, value = rng.choice(fields)
    pool = [one for one in ast.walk(rng.choice([tree, other])) if isinstance(one, (ast.expr, ast.stmt))]
    if isinstance(value, list):
        at = rng.randrange(len(value))
        match rng.randrange(4):
            case 0:
                del value[at]
            case 1:
                value.insert(at, copy.deepcopy(value[at]))
            case 2:
                value[at] = _replacement(rng, value[at], pool)
            case 3:
                rng.shuffle(value)
    else:
        setattr(node, name, _replacement(rng, value, pool))


def _replacement(rng: random.Random, old: ast.AST, pool: Sequence[ast.AST]) -> ast.AST:
    """Return something in place of ``old`` of its kind: another statement for a statement, or
    another expression.
    """
    match old:
        case ast.stmt():
            same: list[ast.AST] = [one for one in pool if isinstance(one, ast.stmt)]
            return copy.deepcopy(rng.choice(same)) if same else old
        case ast.Name() if rng.randrange(2):
            return ast.Name(rng.choice(_NAMES), old.ctx)
        case ast.Attribute() if rng.randrange(2):
            return ast.Attribute(old.value, rng.choice(_ATTRIBUTES), old.ctx)
        case ast.Constant() if rng.randrange(2):
            return ast.Constant(rng.choice(_VALUES))
        case ast.expr():
            choices: list[ast.AST] = [one for one in pool if isinstance(one, ast.expr)]
            return copy.deepcopy(rng.choice(choices)) if choices else old
    return old


def check(text: str) -> bool:
    """Return whether ``text`` is read.

    Raises whatever is no exception of ours, and AssertionError for lost modules.
    """
    try:
        module = relax_ir.parse(text)
    except Relay2RelaxError as error:
        str(error)
        return not error.diagnostics
    try:
        printed = module.script()
    except UnsupportedError:
        return True
    relax_ir.parse(printed, "<printed>")
    return True


def timed(text: str) -> float:
    """Return how long :func:`check` takes."""
    start = time.perf_counter()
    check(text)
    return time.perf_counter() - start


def run(inputs: int, seed: int = 0) -> None:
    """Check ``inputs`` damaged scripts; the one that fails is written to standard error."""
    rng, found = random.Random(seed), seeds()
    for _ in range(inputs):
        text = damage(rng, rng.choice(found), found)
        try:
            assert timed(text) < 10
        except BaseException:
            sys.stderr.write(f"{text}\n")
            raise


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]) if sys.argv[1:] else (10_000,))
