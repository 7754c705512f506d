"""Nothing of the package writes files past the output layer, but for those that are its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = ["backends", "cli", "core", "graph", "ops", "relax_ir", "relay2relax", "relay_ir", "tir", "translator"]
# Who makes files that are no user's, below folders of its own.
OWN = {
    "core/output": "the layer",
    "backends/cache": "the cache",
    "backends/c/toolchain.py": "sources for the compiler",
    "backends/c/export/shared.py": "objects for the linker, and the library that a script exports, as TVM writes it",
    "relay_ir/frontend/onnx/naming.py": "the renamed model in the folder that a script names, as TVM writes it",
    "relay_ir/testing/folders.py": "temporary folders of scripts",
    "backends/c/loading.py": "objects that are about to be loaded",
    "cli/streams.py": "the standard streams",
    "backends/tvm/bundle.py": "apache-tvm and the compiler for its host write into a temporary folder",
    "backends/tvm/executable.py": "apache-tvm writes into a temporary folder",
}
# Functions that make, replace or remove files: of these modules, and of paths and arrays.
OF_MODULES = {
    "os": {
        "chmod", "chown", "link", "makedirs", "mkdir", "mkfifo", "remove", "removedirs", "rename", "renames", "replace",
        "rmdir", "symlink", "truncate", "umask", "unlink",
    },
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree"},
    "tempfile": {"NamedTemporaryFile", "TemporaryDirectory", "TemporaryFile", "mkdtemp", "mkstemp"},
}  # fmt: skip
OTHERS = {
    "hardlink_to", "mkdir", "rmdir", "save_file", "savetxt", "savez", "savez_compressed", "symlink_to", "tofile",
    "touch", "unlink", "write_bytes", "write_text",
}  # fmt: skip
# What numpy writes into memory.
ELSEWHERE = {("core/npz.py", "savez")}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found = node.func
            yield (found.attr if isinstance(found, ast.Attribute) else getattr(found, "id", "")), node


def writes(name: str, call: ast.Call) -> bool:
    """Whether a call opens a file to write, or is one of the writers."""
    if name == "open":
        words = [one.value for one in ast.walk(call) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        flags = [one.attr for one in ast.walk(call) if isinstance(one, ast.Attribute)]
        return any(set(word) & set("wxa+") and len(word) <= 3 for word in words) or "O_CREAT" in flags
    owner = getattr(call.func.value, "id", "") if isinstance(call.func, ast.Attribute) else ""
    return name in OTHERS or name in OF_MODULES.get(owner, set())


@pytest.mark.parametrize("package", PACKAGES)
@pytest.mark.sweep(every=2)
def test_files_are_written_by_the_layer(package: str) -> None:
    found = []
    for path in sorted((ROOT / package).rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if any(name == own or name.startswith(f"{own}/") for own in OWN):
            continue
        for called, call in calls(ast.parse(path.read_text(encoding="utf-8"))):
            if writes(called, call) and (name, called) not in ELSEWHERE:
                found.append(f"{name}:{call.lineno}: {called}")
    assert not found, "\n".join(found)


def test_those_that_are_named_exist() -> None:
    assert all((ROOT / own).exists() for own in OWN)
