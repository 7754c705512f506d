"""Lay out the sources as they are imported: ``python tools/source_tree.py .venv/tree``.

Folders at the root become subpackages of ``relay2relax``; a type checker and a reader of imports
look at files and do not know. They get a tree of symbolic links to the files that are edited:
``relay2relax/`` with all packages, ``tests/``, and in ``scripts/`` the modules that are run or
imported by their plain names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from house import PACKAGE, ROOT, packages

SCRIPTS = (
    "benchmarks",
    "benchmarks/evidence",
    "benchmarks/gpu",
    "docs",
    "examples",
    "tests/support",
    "tests/support/calls",
    "tests/support/gpu",
    "tools",
)


def links() -> dict[str, Path]:
    """Return each link's place in the tree and what it leads to."""
    found = {f"{PACKAGE}/{one.name}": one for one in (ROOT / PACKAGE).iterdir() if one.name != "__pycache__"}
    found |= {f"{PACKAGE}/{name}": ROOT / name for name in packages() if name != PACKAGE}
    found |= {
        f"tests/{one.name}": one for one in (ROOT / "tests").iterdir() if one.name not in ("support", "__pycache__")
    }
    for folder in SCRIPTS:
        for one in modules_of(ROOT / folder):
            if f"scripts/{one.name}" in found:
                raise ValueError(f"two scripts are named {one.name}")
            found[f"scripts/{one.name}"] = one
    return found


def modules_of(folder: Path) -> list[Path]:
    """Return the modules and packages in ``folder``."""
    own = {ROOT / one for one in SCRIPTS}
    return [*folder.glob("*.py"), *(one.parent for one in folder.glob("*/__init__.py") if one.parent not in own)]


def main() -> int:
    """Make the tree, or what is missing or too much in it."""
    tree = Path(sys.argv[1])
    wanted = {tree / place: target for place, target in links().items()}
    for old in tree.glob("*/*"):
        if old.is_symlink() and (old not in wanted or old.resolve() != wanted[old].resolve()):
            old.unlink()
    for place, target in wanted.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.is_symlink():
            place.symlink_to(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
