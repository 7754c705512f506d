"""Print the state of the house, and fail where a limit is passed: ``python tools/house.py``.

Per folder it counts the files. Per package it counts import circles (imports inside functions
count; those for type checkers do not, nor those that pyproject.toml lets import-linter ignore: a
node that calls its printer), functions over 60 lines, uses of ``Any`` per thousand lines,
lines of prose over 100 characters, and asserts that do more than ask, which ``python -O`` leaves
out. Of messages it counts kinds of errors without a template, sentences that stand twice, and
templates that are not given their fields (``sentences.py``). ``--details`` names every place that
is counted.
"""

from __future__ import annotations

import argparse
import ast
import gc
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import networkx as nx
from sentences import find_sentences, nodes_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # which import-linter brings

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = "relay2relax"
NOT_INSTALLED = ("tests", "benchmarks", "examples", "docs", "tools")

MOST_FILES = 20
MOST_LINES = 60
MOST_COLUMNS = 100


@dataclass(frozen=True)
class Limits:
    """How much the house allows in all."""

    crowded: int = 0
    circles: int = 0
    long_functions: int = 5
    any_rate: float = 8.0
    long_prose: int = 0
    busy_asserts: int = 0
    bare_kinds: int = 24  # whose places have a rule and words of their own each
    twice: int = 0
    unlike: int = 0


AIM = Limits()
# What is allowed: never more than there was, where that is less than the aim.
RATCHET = Limits(any_rate=5.5)
# Cases are data and decisions a numbered log; neither are rooms.
DATA_FOLDERS = ("cases", "decisions")
# Functions that only look at what they are given: an assert may call them.
ASKING = frozenset({"all", "any", "callable", "hasattr", "is_dataclass", "isinstance", "issubclass", "len", "type"})


@dataclass
class Report:
    """What was counted of one package, with the places."""

    files: int = 0
    lines: int = 0
    circles: list[list[str]] = field(default_factory=list)
    long_functions: list[str] = field(default_factory=list)
    any_uses: list[str] = field(default_factory=list)
    long_prose: list[str] = field(default_factory=list)
    busy_asserts: list[str] = field(default_factory=list)

    @property
    def any_rate(self) -> float:
        """Uses of ``Any`` per thousand lines."""
        return 1000 * len(self.any_uses) / max(self.lines, 1)


def packages() -> list[str]:
    """Return the folders at the root that are installed."""
    found = sorted(one.parent.name for one in ROOT.glob("*/__init__.py"))
    return [one for one in found if one not in NOT_INSTALLED]


def module_name(path: Path) -> str:
    """Return the name under which a file of an installed folder is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[0] != PACKAGE:
        parts = (PACKAGE, *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.Module, known: set[str], own: str) -> Iterator[str]:
    """Yield the modules that a module imports when it runs, wherever the import stands."""
    for_types = {
        id(inner)
        for node in nodes_of(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in nodes_of(tree):
        if id(node) in for_types:
            continue
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            whole = [f"{node.module}.{one.name}" for one in node.names]
            names = [one if one in known else node.module for one in whole]
        elif isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        yield from (one for one in names if one in known and one != own)


def ignored_imports() -> set[tuple[str, str]]:
    """Return the imports that the contracts of import-linter name as exceptions."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [line for one in settings["tool"]["importlinter"]["contracts"] for line in one.get("ignore_imports", ())]
    pairs = (line.split(" -> ") for line in lines)
    return {(importer, imported) for importer, imported in pairs}


def circles(trees: dict[Path, ast.Module]) -> list[list[str]]:
    """Return the groups of modules that import each other, named exceptions aside."""
    paths = {module_name(path): path for path in trees}
    known = set(paths)
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in paths.items():
        graph.add_edges_from((name, one) for one in imports_of(trees[path], known, name))
    graph.remove_edges_from(ignored_imports())
    return [sorted(one) for one in nx.strongly_connected_components(graph) if len(one) > 1]


def long_prose(text: str, tree: ast.Module | None = None) -> list[int]:
    """Return the numbers of the lines of docstrings and comments that are too long."""
    lines = text.splitlines()
    long = {number for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS}
    if not long:
        return []
    found: set[int] = set()
    for node in nodes_of(tree or ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    # Reading tokens is slow, and few files have such lines.
    if any(lines[number - 1].lstrip().startswith("#") for number in long):
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        found.update(one.start[0] for one in tokens if one.type == tokenize.COMMENT and one.line.lstrip()[:1] == "#")
    return sorted(found & long)


def has_effect(node: ast.AST) -> bool:
    """Whether an expression may do more than ask: it assigns, waits, or calls what is not known to
    leave everything as it is.
    """
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and node.func.id in ASKING)
    return isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))


def measure(path: Path, text: str, tree: ast.Module, into: Report) -> None:
    """Add one file to the report of its package."""
    where = path.relative_to(ROOT).as_posix()
    into.files += 1
    into.lines += len(text.splitlines())
    for node in nodes_of(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MOST_LINES:
                into.long_functions.append(f"{where}:{node.lineno} {node.name}, {length} lines")
        elif isinstance(node, ast.Name) and node.id == "Any":
            into.any_uses.append(f"{where}:{node.lineno}")
        elif isinstance(node, ast.Assert) and any(has_effect(one) for one in ast.walk(node)):
            into.busy_asserts.append(f"{where}:{node.lineno}")
    into.long_prose += [f"{where}:{number}" for number in long_prose(text, tree)]


# What a reader does not read: the target of a link, and an address.
_TARGET = re.compile(r"\]\([^)]*\)|<?https?://\S+")


def long_markdown(path: Path) -> Iterator[str]:
    """Yield the places of lines of a page that are too long, but for tables, links and programs."""
    program = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            program = not program
        elif not program and not line.lstrip().startswith(("|", "<")) and len(_TARGET.sub("", line)) > MOST_COLUMNS:
            yield f"{path.relative_to(ROOT).as_posix()}:{number}"


def outside_prose() -> list[str]:
    """Return the places of prose that is too long in pages, tests, scripts and tools."""
    scripts = [path for top in NOT_INSTALLED for path in sorted((ROOT / top).rglob("*.py"))]
    found = []
    for path in scripts:
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT).as_posix()
        found += [f"{where}:{number}" for number in long_prose(text)]
    for page in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))):
        found += long_markdown(page)
    return found


def crowded(folders: list[str]) -> list[str]:
    """Return the folders that show more files than a room may."""
    found = []
    for top in (*folders, *NOT_INSTALLED):
        for folder in sorted({ROOT / top, *(ROOT / top).rglob("*")}):
            if folder.is_dir() and not set(folder.relative_to(ROOT).parts) & {*DATA_FOLDERS, "__pycache__"}:
                count = sum(one.is_file() and one.name != "__init__.py" for one in folder.iterdir())
                if count > MOST_FILES:
                    found.append(f"{folder.relative_to(ROOT).as_posix()}: {count} files")
    return found


def main() -> int:
    """Print the table; return 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--details", action="store_true", help="name every place that is counted")
    parser.add_argument("--package", help="look at one package only")
    given = parser.parse_args()
    gc.disable()  # trees live to the end, and looking through them for cycles is half of the time
    folders = [one for one in packages() if given.package in (None, one)]
    texts = {path: path.read_text(encoding="utf-8") for top in folders for path in sorted((ROOT / top).rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in texts.items()}
    reports = {top: Report() for top in folders}
    for path, tree in trees.items():
        measure(path, texts[path], tree, reports[path.relative_to(ROOT).parts[0]])
    for group in circles(trees):
        top = group[0].split(".")[1] if "." in group[0] else PACKAGE
        reports[top].circles.append(group)
    print(
        f"{'package':14}{'files':>7}{'lines':>8}{'circles':>9}{'long functions':>16}{'Any/1000':>10}{'prose > 100':>13}"
    )
    for top, one in reports.items():
        counts = f"{len(one.circles):>9}{len(one.long_functions):>16}{one.any_rate:>10.1f}{len(one.long_prose):>13}"
        print(f"{top:14}{one.files:>7}{one.lines:>8}{counts}")
    full = crowded(folders)
    if given.details:
        for one in reports.values():
            print(*one.long_functions, *one.any_uses, sep="\n")
    outside = outside_prose()
    # What must not be there at all is always named.
    tell(f"more than {MOST_FILES} files", full)
    tell("circle", [" ".join(group) for one in reports.values() for group in one.circles])
    tell(f"over {MOST_COLUMNS} columns", [*(place for one in reports.values() for place in one.long_prose), *outside])
    tell("does more than ask", [place for one in reports.values() for place in one.busy_asserts])
    said = find_sentences({path.relative_to(ROOT): tree for path, tree in trees.items()})
    tell("said twice", said.twice)
    tell("not the fields of the template", said.unlike)
    if given.details:
        print(*said.bare, sep="\n")
    total = sum(one.lines for one in reports.values())
    found = Limits(
        len(full),
        sum(len(one.circles) for one in reports.values()),
        sum(len(one.long_functions) for one in reports.values()),
        round(1000 * sum(len(one.any_uses) for one in reports.values()) / max(total, 1), 1),
        sum(len(one.long_prose) for one in reports.values()) + len(outside),
        sum(len(one.busy_asserts) for one in reports.values()),
        len(said.bare),
        len(said.twice),
        len(said.unlike),
    )
    return verdict(found)


def tell(what: str, places: list[str]) -> None:
    """Print each of the places, and what is wrong there."""
    for place in places:
        print(f"{what}: {place}")


def verdict(found: Limits) -> int:
    """Print what was found beside what is allowed; return 1 where it is more."""
    broken = False
    words = {
        "crowded": f"folders with more than {MOST_FILES} files",
        "circles": "import circles",
        "long_functions": f"functions over {MOST_LINES} lines",
        "any_rate": "Any per thousand lines",
        "long_prose": f"lines of prose over {MOST_COLUMNS} columns, pages and tests as well",
        "busy_asserts": "asserts that do more than ask",
        "bare_kinds": "kinds of errors without a template",
        "twice": "sentences of messages that stand twice",
        "unlike": "messages of kinds that are not given the fields of the template",
    }
    for name, what in words.items():
        count, allowed, aim = (getattr(one, name) for one in (found, RATCHET, AIM))
        broken |= count > allowed
        print(f"{count:>8} {what}; allowed {allowed}{f', the aim is {aim}' if aim != allowed else ''}")
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
