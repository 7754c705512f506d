"""The same patterns over the same drawn programs, here and in an installed apache-tvm."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import call_op, dpl

pytestmark = pytest.mark.tvm
SHAPE = "R.Tensor((4, 4), 'float32')"
FUNCTIONS = ("relu", "plus", "times")


def drawn_block(draw: random.Random, count: int) -> str:
    """Return the script of a block of calls of packed functions."""
    names = ["x", "w"]
    lines = []
    for place in range(count):
        func = draw.choice(FUNCTIONS)
        operands = draw.choices(names[-4:], k=1 if func == "relu" else 2)
        lines.append(f"v{place} = R.call_dps_packed('{func}', ({', '.join(operands)},), out_sinfo={SHAPE})")
        names.append(f"v{place}")
    return script(lines, names[-1])


def script(lines: list[str], result: str) -> str:
    body = "\n".join(f"            {line}" for line in [*lines, f"R.output({result})"])
    head = f"@I.ir_module\nclass Module:\n    @R.function\n    def main(x: {SHAPE}, w: {SHAPE}):\n"
    return f"{head}        with R.dataflow():\n{body}\n        return {result}\n"


def drawn_context(draw: random.Random) -> Callable[[Any], tuple[Any, list[Any]]]:
    """Return what makes the same context, and its patterns, of either module of patterns."""
    count = draw.randint(2, 4)
    kinds = [draw.choice([*FUNCTIONS, "any", "x"]) for _ in range(count)]
    edges = {
        (one, draw.randint(one + 1, count - 1)): (draw.random() < 0.4, draw.choice([-1, -1, 0, 1]))
        for one in range(count - 1)
    }

    def make(module: Any) -> tuple[Any, list[Any]]:
        with module.PatternContext() as context:
            patterns = [
                module.wildcard()
                if kind == "any"
                else module.is_var("x")
                if kind == "x"
                else module.is_call_dps_packed(kind)
                for kind in kinds
            ]
            for (one, other), (only, index) in edges.items():
                use = patterns[one].only_used_by if only else patterns[one].used_by
                use(patterns[other], index)
        return context, patterns

    return make


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.sweep(every=3)
def test_contexts(seed: int) -> None:
    from tvm.relax import dpl as theirs

    draw, found = random.Random(seed), 0
    for _ in range(25):
        mod = rx.parse(drawn_block(draw, draw.randint(3, 9)))
        func = mod["main"]
        assert isinstance(func, rx.Function)
        ours_block, tvm_block = func.body.blocks[0], rx.to_tvm(mod)["main"].body.blocks[0]
        for _ in range(8):
            make = drawn_context(draw)
            answers = []
            for module, block in ((dpl, ours_block), (theirs, tvm_block)):
                context, patterns = make(module)
                match = context.match_dfb(block)
                answers.append(
                    None if match is None else [str(match[one].name) if one in match else "" for one in patterns]
                )
            assert answers[0] == answers[1]
            found += answers[0] is not None
    # Not all of one kind.
    assert 10 < found < 190


def rules(module: Any, op: Callable[..., Any], number: Callable[[float], Any]) -> list[tuple[Any, Any]]:
    """Return patterns and what they become, for either module."""
    x, y, z, c = (module.wildcard() for _ in range(4))
    is_op, const = module.is_op, module.is_const()
    twice = is_op("relax.add")(x, x)
    undone = is_op("relax.exp")(is_op("relax.log")(y))
    spread = is_op("relax.multiply")(is_op("relax.add")(z, c), const)
    either = is_op("relax.tanh")(x) | is_op("relax.sigmoid")(x)
    pair = module.is_tuple([is_op("relax.exp")(x), is_op("relax.tanh")(x)])
    return [
        (twice, lambda _, found: op("multiply", found[x], number(2))),
        (undone, lambda _, found: found[y]),
        (spread, lambda _, found: op("add", *(op("multiply", found[one], found[const]) for one in (z, c)))),
        (either, lambda _, found: op("abs", found[x])),
        (pair, lambda value, found: type(value)([op("abs", found[x]), op("negative", found[x])])),
    ]


def drawn_program(draw: random.Random) -> str:
    names, lines = ["x", "w"], []
    for place in range(draw.randint(3, 10)):
        kind = draw.choice(["add", "multiply", "exp", "log", "tanh", "sigmoid", "by"])
        one, other = draw.choices(names[-3:], k=2)
        value = {
            "by": f"R.multiply({one}, R.const(3, 'float32'))", "add": f"R.add({one}, {draw.choice([one, other])})",
            "multiply": f"R.multiply({one}, {other})",
        }.get(kind, f"R.{kind}({one})")  # fmt: skip
        lines.append(f"v{place} = {value}")
        names.append(f"v{place}")
    lines.append(f"out = ({names[-1]}, {draw.choice(names[2:])})")
    return script(lines, "out")


@pytest.mark.drawn
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.sweep(every=3)
def test_rewriting(seed: int) -> None:
    import tvm
    from tvm import relax
    from tvm.relax import dpl as theirs

    def ours_op(name: str, *args: Any) -> Any:
        return call_op(name, *args)

    def tvm_op(name: str, *args: Any) -> Any:
        return getattr(relax.op, name)(*args)

    draw, changed = random.Random(seed), 0
    for _ in range(12):
        mod = rx.parse(drawn_program(draw))
        theirs_mod = rx.to_tvm(mod)
        func = mod["main"]
        assert isinstance(func, rx.Function)
        of_ours = rules(dpl, ours_op, lambda value: rx.Constant(np.array(value, "float32")))
        of_tvm = rules(theirs, tvm_op, lambda value: relax.const(value, "float32"))
        for (pattern, new), (tvm_pattern, tvm_new) in zip(of_ours, of_tvm, strict=True):
            if isinstance(pattern, dpl.TuplePattern):
                new = _pair(new)
            after = dpl.rewrite_call(pattern, new, func)
            tvm_after = theirs.rewrite_call(tvm_pattern, tvm_new, theirs_mod["main"])
            tvm_func = rx.from_tvm(tvm.IRModule({"main": tvm_after}))["main"]
            rx.assert_structural_equal(after, tvm_func)
            changed += after is not func
    assert 10 < changed < 60


def _pair(new: Any) -> Any:
    return lambda value, found: new(_List(value.fields), found).as_tuple()


class _List(list):  # type: ignore[type-arg]
    def as_tuple(self) -> rx.Tuple:
        return rx.Tuple(tuple(self))
