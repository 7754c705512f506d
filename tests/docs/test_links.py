"""Links of pages lead somewhere, and files and names that pages mention exist."""

from __future__ import annotations

import ast
import contextlib
import importlib
import re
from functools import lru_cache
from pathlib import Path

import pytest
from doc_pages import ROOT, pages, prose

_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_CODE = re.compile(r"`([^`\n]+)`")
# A file of this project in a page: `folder/name.py`, or `folder/name.py::function`.
_FILE = re.compile(r"[\w.*-]+(?:/[\w.*-]+)+\.(?:py|md|toml|relay|yml|json|svg)|[\w-]+\.(?:toml|md)")
# A public name of this package in a page, from the package on.
_NAME = re.compile(r"(?:backends|core|graph|ops|relax_ir|relay_ir|tir|translator)(?:\.\w+)+")
# What looks like one and is not: words of TVM's, and what a page adds.
_OTHERS = {"tir.Var", "tir.is_scheduled", "relay_ir.op.nn.mish"}
_FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir()}


def _slug(heading: str) -> str:
    """Return the anchor of a heading, as Python-Markdown makes it."""
    plain = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


@lru_cache(maxsize=None)
def _anchors(page: Path) -> frozenset[str]:
    text = prose(page.read_text())
    headings = re.findall(r"^#+ (.*?)(?: \{[^}]*\})?$", text, re.M)
    named = re.findall(r"\{ *#([\w-]+)", text)
    return frozenset([*map(_slug, headings), *named])


@lru_cache(maxsize=None)
def _names(file: Path) -> frozenset[str]:
    """Return what a file of Python defines: names, and ``Class.name``."""
    found: set[str] = set()
    for node in ast.parse(file.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{one.name}" for one in node.body if isinstance(one, ast.FunctionDef)}
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        found |= {one.id for one in targets if isinstance(one, ast.Name)}
    return frozenset(found)


@pytest.mark.parametrize("path", pages(), ids=str)
def test_links_lead_somewhere(path: Path) -> None:
    text = prose((ROOT / path).read_text())
    broken = []
    for target in _LINK.findall(_CODE.sub("`", text)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        to = (ROOT / path).parent / name if name else ROOT / path
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in _anchors(to.resolve())):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("path", pages(), ids=str)
def test_files_that_a_page_mentions_exist(path: Path) -> None:
    missing = []
    for code in _CODE.findall(prose((ROOT / path).read_text())):
        name, _, inside = code.partition("::")
        if not _FILE.fullmatch(name) or ("/" in name and name.split("/")[0] not in _FOLDERS):
            continue
        if not list(ROOT.glob(name)) or (inside and inside not in _names(ROOT / name)):
            missing.append(code)
    assert not missing


@pytest.mark.parametrize("path", pages(), ids=str)
def test_names_that_a_page_mentions_exist(path: Path) -> None:
    codes = _CODE.findall(prose((ROOT / path).read_text()))
    names = {match[0] for code in codes if (match := _NAME.match(code)) and code.count("/") == 0}
    assert not [name for name in sorted(names - _OTHERS) if not _exists(f"relay2relax.{name}")]


def _exists(name: str) -> bool:
    found, path = importlib.import_module("relay2relax"), "relay2relax"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        if not hasattr(found, part):
            with contextlib.suppress(ImportError):
                importlib.import_module(path)
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def test_prose_is_written_in_columns_of_100() -> None:
    """Tables, links and headings are as long as they are."""
    long = []
    for path in pages():
        lines = prose((ROOT / path).read_text()).splitlines()
        for number, line in enumerate(lines, 1):
            if len(line) > 100 and not line.lstrip().startswith(("|", "#", "<", "[")) and " " in line[:100].strip():
                long.append(f"{path}:{number}")
    assert not long
