"""What mkdocs is told beyond mkdocs.yml: pages of the root, folders of the navigation, and where
the sources of ``relay2relax`` are.
"""

from __future__ import annotations

import re
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
# Pages of the root that the site has as well.
_FROM_ROOT = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md"}


def on_startup(**_: object) -> None:
    """Lay out the sources for the reader of the API, which looks for the folder early."""
    _lay_out(ROOT / "build" / "docs" / "relay2relax")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the pages of folders in the navigation."""
    config.nav = _listed(config.nav or [])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that lie at the root."""
    for name, page in _FROM_ROOT.items():
        files.append(File.generated(config, page, content=_moved_down((ROOT / name).read_text())))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to pages of the root to where the site has them, and name what packages offer."""
    for name, there in _FROM_ROOT.items():
        markdown = re.sub(rf"\]\(((?:\.\./)*)\.\./{re.escape(name)}", rf"](\1{there}", markdown)
    return re.sub(r"^::: ([\w.]+)$", lambda match: _with_members(match[1]), markdown, flags=re.M)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Leave out the roles that docstrings put before names, ``:class:`` and its like."""
    return re.sub(r":(?:class|data|func|meth|mod):(<code>)~?", r"\1", html)


def _with_members(package: str) -> str:
    """Return what mkdocstrings is told of a package: its public names, which are loaded when first
    used and therefore not in its source.
    """
    module = import_module(package)
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == package
    ]
    shown = sorted(n for n in names if not n.startswith("_") and not isinstance(getattr(module, n), ModuleType))
    return f"::: {package}\n    options:\n      members: [{', '.join(shown)}]"


def _listed(entries: list[Any]) -> list[Any]:
    """Return navigation with every ``folder/`` replaced by its pages, its ``index.md`` first."""
    found: list[Any] = []
    for entry in entries:
        if isinstance(entry, str):
            found += _pages(entry) if entry.endswith("/") else [entry]
            continue
        (title, inside), *_ = entry.items()
        if isinstance(inside, str) and inside.endswith("/"):
            inside = _pages(inside, "index.md")
        elif isinstance(inside, list):
            inside = _listed(inside)
        if inside:
            found.append({title: inside})
    return found


def _pages(folder: str, first: str = "") -> list[str]:
    """Return the pages of a folder by name; the index only where ``first`` asks for it."""
    names = sorted(path.name for path in (ROOT / "docs" / folder).glob("*.md"))
    ordered = [name for name in names if name == first] + [name for name in names if name != "index.md"]
    return [folder + name for name in ordered]


def _moved_down(text: str) -> str:
    """Return a page of the root with its links as they are from ``docs/``."""
    for name, there in _FROM_ROOT.items():
        text = text.replace(f"]({name}", f"]({there}")
    return text.replace("](docs/", "](")


def _lay_out(place: Path) -> None:
    """Make a folder in which ``relay2relax`` lies as it is installed: every package below it.

    Links would be followed to where the packages lie apart.
    """
    shutil.rmtree(place, ignore_errors=True)
    no_caches = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "relay2relax", place, ignore=no_caches)
    for package in ROOT.glob("*/__init__.py"):
        if package.parent.name not in ("relay2relax", "tests"):
            shutil.copytree(package.parent, place / package.parent.name, ignore=no_caches)
