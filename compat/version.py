"""Which version of TVM the facade stands for: older ones did some things in another way."""

from __future__ import annotations

NEWEST = (0, 18)
_installed: list[tuple[int, ...]] = []


def as_version(text: str) -> tuple[int, ...]:
    """Return ``0.18`` as numbers; raises ValueError for other texts."""
    return tuple(map(int, text.split(".")))


def enter(version: tuple[int, ...]) -> None:
    """Note that the facade is installed as ``version``."""
    _installed.append(version)


def leave() -> None:
    """Note that the facade that was installed last is taken out."""
    _installed.pop()


def until(version: str) -> bool:
    """Whether the facade stands for ``version`` or an older one."""
    return bool(_installed) and _installed[-1] <= as_version(version)


def text() -> str:
    """Return the version as ``tvm.__version__`` has it."""
    return ".".join(map(str, (*(_installed[-1] if _installed else NEWEST), 0)))
