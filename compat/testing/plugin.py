"""The plugin of pytest that TVM's tests need: fixtures ``target`` and ``dev``, values in rows."""

from __future__ import annotations

from typing import Any

import pytest

from relay2relax.compat import version
from relay2relax.compat.running.ndarray import Device, device
from relay2relax.compat.testing.core import ENABLED, Together


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marks of TVM's tests, and look after the processes of pytest-xdist."""
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Processes())
    for mark in (
        "gpu", "tensorcore", "cuda", "opencl", "rocm", "vulkan", "metal", "llvm", "hexagon", "slow", "skip_on",
    ):  # fmt: skip
        config.addinivalue_line("markers", f"{mark}: a mark of TVM's tests")


class _Processes:
    def pytest_configure_node(self, node: Any) -> None:
        """Let a process of pytest-xdist have the facade before it imports anything."""
        node.gateway.remote_exec(f"from relay2relax import compat; compat.install({version.text()!r})").waitclose()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Let tests that take a target run for each that exists, and rows be taken together."""
    given = {
        name.strip()
        for mark in metafunc.definition.iter_markers("parametrize")
        for name in (mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0])
    }
    if "target" in metafunc.fixturenames and "target" not in {*given, *metafunc._arg2fixturedefs}:
        metafunc.parametrize("target", list(ENABLED))
    groups: dict[int, tuple[Together, dict[str, int]]] = {}
    for name, found in metafunc._arg2fixturedefs.items():
        together = getattr(found[-1].func, "together", None)
        if isinstance(together, Together):
            groups.setdefault(id(together), (together, {}))[1][name] = int(getattr(found[-1].func, "place", 0))
    for together, places in groups.values():
        rows = [tuple(row[place] for place in places.values()) for row in together.rows]
        ids = together.ids if together.ids is not None else [f"row{i}" for i in range(len(rows))]
        metafunc.parametrize(",".join(places), rows if len(places) > 1 else [row[0] for row in rows],
                             indirect=True, ids=ids)  # type: ignore[arg-type]  # fmt: skip


@pytest.fixture
def dev(target: object) -> Device:
    """Return the device of the target."""
    return device(str(target))
