"""Which apache-tvm is installed, and whether it can work with the apache-tvm-ffi beside it.

The wheels of apache-tvm declare only a lower bound on apache-tvm-ffi, whose binary interface
changes between releases; what pip picks by itself fails at import or crashes.
"""

from __future__ import annotations

import re
from importlib import metadata

from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import running

# For each release that reads our scripts: the first apache-tvm-ffi that works with it, and the
# first that does not.
_PAIRS = {
    "0.25": ("0.1.12", "0.1.13"),
    "0.26": ("0.1.13.post2", "0.1.15"),
    "0.27": ("0.1.14.post0", "0.1.15"),
}
RELEASES = tuple(_PAIRS)
_HOW_TO_INSTALL = "install relay2relax[tvm]"


class TvmError(Relay2RelaxError):
    """apache-tvm is missing, cannot work as it is installed, or refuses a program."""

    kind = running.TVM


def _key(version: str) -> tuple[int, ...]:
    """Return what versions are ordered by: a release comes before its own post-releases."""
    release, _, post = version.partition(".post")
    numbers = [int(part) for part in re.findall(r"\d+", release)]
    return (*numbers, *(0,) * (3 - len(numbers)), int(post) if post.isdigit() else -1)


def installation_problem() -> str | None:
    """Return why apache-tvm cannot be used, in words, or None where it can.

    TVM is not imported for that.
    """
    try:
        version = metadata.version("apache-tvm")
    except metadata.PackageNotFoundError:
        return f"apache-tvm is not installed; {_HOW_TO_INSTALL}"
    pair = _PAIRS.get(".".join(version.split(".")[:2]))
    if pair is None:
        return f"apache-tvm {version} is installed; scripts are for {', '.join(_PAIRS)}: {_HOW_TO_INSTALL}"
    first, end = pair
    try:
        companion = metadata.version("apache-tvm-ffi")
    except metadata.PackageNotFoundError:
        return f"apache-tvm-ffi is not installed; apache-tvm {version} needs >={first},<{end}"
    if not _key(first) <= _key(companion) < _key(end):
        return f"apache-tvm-ffi {companion} is installed, but apache-tvm {version} needs >={first},<{end}"
    return None


def tvm_available() -> bool:
    """Whether a usable apache-tvm is installed."""
    return installation_problem() is None


def require_tvm() -> None:
    """Raise TvmError unless a usable apache-tvm is installed."""
    problem = installation_problem()
    if problem is not None:
        raise TvmError(problem)
