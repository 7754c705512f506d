"""Write the pages of docs/reference/python/, which name the public names of each package:
``python tools/python_pages.py``. mkdocstrings fills in what their docstrings say.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference" / "python"
# Pages by name: what they are about, and their packages.
PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "relay_ir": ("Relay: programs as data, reading, writing, inference, building", ("relay_ir",)),
    "relay_transform": ("Passes over Relay", ("relay_ir.transform",)),
    "graph": ("The graph between Relay and Relax", ("graph",)),
    "relax_ir": ("Relax: programs as data, reading, writing, inference, building", ("relax_ir",)),
    "relax_transform": ("Passes over Relax", ("relax_ir.transform",)),
    "translator": ("Translation and comparison", ("translator",)),
    "backends": ("Running: executors, the virtual machine, export", ("backends",)),
    "tir": ("Tensor programs", ("tir",)),
    "te": ("Tensor expressions", ("tir.te",)),
    "schedule": ("Schedules", ("tir.schedule",)),
    "ops": ("Records of operators", ("ops",)),
    "core": ("Errors, passes and tolerances of both", ("core.errors", "core.passes", "core.tolerance")),
}


def pages() -> dict[Path, str]:
    """Return the text of every page by its place."""
    found = {FOLDER / f"{name}.md": _page(*about) for name, about in PAGES.items()}
    return found | {FOLDER / "index.md": _index()}


def _index() -> str:
    rows = [f"| [{_title(packages)}]({name}.md) | {about} |" for name, (about, packages) in PAGES.items()]
    head = ["# Python", "", "Public names, from their docstrings. They follow TVM's names.", ""]
    return "\n".join([*head, "| package | what it holds |", "|---|---|", *rows]) + "\n"


def _title(packages: tuple[str, ...]) -> str:
    return ", ".join(f"`{one}`" for one in packages)


def _page(about: str, packages: tuple[str, ...]) -> str:
    parts = [f"# {_title(packages)}\n\n{about}.\n"]
    for package in packages:
        full = f"relay2relax.{package}"
        names = "".join(f"        - {name}\n" for name in _names(import_module(full)))
        parts.append(f"::: {full}\n    options:\n      members:\n{names}")
    return "\n".join(parts)


def _names(module: ModuleType) -> list[str]:
    """Return the public names of a module that are not modules themselves."""
    given: list[str] | None = getattr(module, "__all__", None)
    if given is None:
        given = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    shown = [name for name in given if not name.startswith("_")]
    return sorted(name for name in shown if not isinstance(getattr(module, name), ModuleType))


if __name__ == "__main__":
    for place, text in pages().items():
        place.write_text(text)
