"""Every page does what it says: its Python and its commands are run in order, what is printed is
compared.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import io
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from commands import run_here
from doc_pages import ROOT, Block, blocks, matches, pages

# What blocks that are not run are: few, each with a reason beside it.
MOST_NOT_RUN = 9
# Examples of commands are run by tests/cli/test_habits.py, with the files that they name.
COMMANDS = Path("docs/reference/command-line.md")
# Pages whose examples another test runs: half of them are mistakes.
RUN_ELSEWHERE = {Path("docs/reference/errors.md")}


def _missing(need: str) -> bool:
    match need:
        case "arm":
            return shutil.which("aarch64-linux-gnu-gcc") is None
        case "compiler":
            return not any(map(shutil.which, ("cc", "gcc", "clang")))
        case "graphviz":
            return shutil.which("dot") is None
        case _:
            return importlib.util.find_spec(need) is None


@dataclass
class _Page:
    """A page while it is run, in a folder of its own."""

    path: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__page__"})
    printed: str = ""

    def run(self, block: Block) -> None:
        """Run a block, or write it, as its marks and its language say."""
        if "not run" in block.marks or any(map(_missing, block.marks.get("needs", "").split())):
            return
        if "file" in block.marks:
            path = self.folder / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif "output" in block.marks:
            if not matches(block.text, self.printed):
                pytest.fail(f"{self._place(block)}: this is printed:\n{self.printed}", pytrace=False)
            self.printed = ""
        elif block.language == "python":
            self._python(block)
        elif block.language == "console":
            self._console(block)

    def _place(self, block: Block) -> str:
        return f"{self.path}:{block.line}"

    def _python(self, block: Block) -> None:
        # Lines are those of the page, for tracebacks and for whoever asks for the source.
        name = str(ROOT / self.path)
        program = ast.increment_lineno(ast.parse(block.text, name), block.line - 1)
        screen = io.StringIO()
        with contextlib.redirect_stdout(screen):
            exec(compile(program, name, "exec", dont_inherit=True), self.names)  # noqa: S102
        self.printed += screen.getvalue()

    def _console(self, block: Block) -> None:
        commands = [part.partition("\n") for part in ("\n" + block.text).split("\n$ ")[1:]]
        for number, (command, _, expected) in enumerate(commands, 1):
            while command.endswith("\\"):
                line, _, expected = expected.partition("\n")
                command = f"{command}\n{line}"
            code, printed = _here(command) if _is_ours(command) else self._shell(command)
            where = f"{self._place(block)}: {command}"
            if code != (int(block.marks.get("exit", "0")) if number == len(commands) else 0):
                pytest.fail(f"{where}: exit code {code}\n{printed}", pytrace=False)
            if expected.strip() and not matches(expected, printed):
                pytest.fail(f"{where}: this is printed:\n{printed}", pytrace=False)

    def _shell(self, command: str) -> tuple[int, str]:
        """Run a command; ``relay2relax`` is this checkout, ``python`` this Python."""
        tools = self.folder / ".bin"
        if not tools.exists():
            tools.mkdir()
            for name, call in (("relay2relax", "-m relay2relax"), ("python", "")):
                (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call} "$@"\n')
                (tools / name).chmod(0o755)
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder, text=True, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        return done.returncode, done.stdout


def _is_ours(command: str) -> bool:
    """Whether a command needs neither a shell nor a process."""
    return command.startswith("relay2relax ") and not set(command) & set("|&;<>$*\n")


def _here(command: str) -> tuple[int, str]:
    done = run_here(shlex.split(command)[1:], joined=True)
    return done.returncode, done.stdout


def _with_code() -> list[Path]:
    return [
        path
        for path in pages()
        if path not in RUN_ELSEWHERE
        and any(b.language in ("python", "console") or "file" in b.marks for b in blocks((ROOT / path).read_text()))
    ]


# What another program loads, which need not be here.
_OF_OTHERS = {"relay2relax.cli.model_explorer.main"}


@lru_cache(maxsize=None)
def _tables() -> list[Any]:
    """Return the dictionaries, lists and sets that modules of the package hold."""
    packages = [path.parent for path in ROOT.glob("*/__init__.py") if path.parent.name != "relay2relax"]
    files = [path.relative_to(ROOT) for package in packages for path in package.rglob("*.py")]
    names = sorted(".".join(("relay2relax", *file.with_suffix("").parts)) for file in files)
    modules = [importlib.import_module(name.removesuffix(".__init__")) for name in names if name not in _OF_OTHERS]
    return [
        table
        for module in modules
        for name, table in vars(module).items()
        if isinstance(table, (dict, list, set)) and not name.startswith("__")
    ]


@pytest.fixture
def _tables_stay() -> Iterator[None]:
    """Take out of the tables of modules what a page writes into them: other tests look there."""
    before = [(table, copy(table)) for table in _tables()]
    yield
    for table, content in before:
        table.clear()
        if isinstance(table, list):
            table.extend(content)
        else:
            table.update(content)


@pytest.mark.parametrize("path", _with_code(), ids=str)
@pytest.mark.usefixtures("_tables_stay")
@pytest.mark.sweep(every=2)
def test_page_does_what_it_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.partition(".")[0] == "converted"]:
        monkeypatch.delitem(sys.modules, name)
    page = _Page(path, tmp_path)
    for block in blocks((ROOT / path).read_text()):
        page.run(block)


def test_few_blocks_are_not_run_and_each_has_a_reason() -> None:
    reasons = [
        b.marks["not run"]
        for path in pages()
        if path != COMMANDS
        for b in blocks((ROOT / path).read_text())
        if "not run" in b.marks
    ]
    assert all(len(reason.split()) >= 3 for reason in reasons), reasons
    assert len(reasons) <= MOST_NOT_RUN


def test_ellipsis_stands_for_anything() -> None:
    assert matches("a\n…\nd", "a\nb\nc\nd\n")
    assert matches("a\n…\nd", "a\nd")
    assert matches("a … c", "a b c")
    assert matches("a\n…", "a")
    assert not matches("a\n…\nd", "a\nb")
    assert not matches("a", "a\nb")
