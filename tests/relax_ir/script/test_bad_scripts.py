"""What the author of a mistaken script is told: the line, carets under the place, and what was
expected.

``cases/bad/topic/x.tvmscript`` is the script and ``x.err`` beside it the message;
``--update-golden`` rewrites the latter.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError

CASES = Path(__file__).parent.parent / "cases"
BAD = sorted((CASES / "bad").rglob("*.tvmscript"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_message(path: Path, golden_text: Callable[[str, str], None]) -> None:
    with pytest.raises(Relay2RelaxError) as caught:
        rx.parse(path.read_text(), path.stem)
    assert all(diagnostic.where is not None for diagnostic in caught.value.diagnostics) or path.stem == "no_module"
    golden_text(str(path.relative_to(CASES).with_suffix(".err")), f"{caught.value}\n")


@pytest.mark.parametrize(
    "text", ["", "\0", "(" * 500, "x = " + "-" * 100_000 + "1", "def f(:", "@R.function\ndef f(", "é" * 10]
)
def test_no_script_at_all(text: str) -> None:
    with pytest.raises(Relay2RelaxError):
        rx.parse(text)


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace("\n", "\r\n"), 3),
        (lambda text: "\ufeff" + text, 3),
        (lambda text: text.replace("    return", "\treturn"), 4),
        (lambda text: text.replace("    return", "  return"), 4),
        (lambda text: text.replace("y = R", "%y = R"), 3),
        (lambda text: text.replace("x: R", "class: R"), 2),
    ],
)
def test_the_line_is_told(damage: Callable[[str], str], line: int) -> None:
    text = '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.foo(x)\n    return y\n'
    with pytest.raises(Relay2RelaxError) as caught:
        rx.parse(damage(text))
    where = caught.value.diagnostics[0].where
    assert where is not None
    assert where.line == line


def test_a_deep_expression_is_refused_or_read() -> None:
    long = "x" + " + x" * 20_000
    text = f'@R.function\ndef main(x: R.Tensor((2,), dtype="float32")):\n    y = {long}\n    return y\n'
    with pytest.raises(Relay2RelaxError, match="too deep"):
        rx.parse(text)


def test_columns_count_characters() -> None:
    text = (
        '@R.function\ndef main(x: R.Tensor((2,), "float32")):\n    y = R.add(R.str("größe"), undefined)\n    return y\n'
    )
    with pytest.raises(Relay2RelaxError) as caught:
        rx.parse(text)
    where = caught.value.diagnostics[0].where
    assert where is not None
    assert text.splitlines()[where.line - 1][where.column - 1 : where.end_column - 1] == "undefined"
