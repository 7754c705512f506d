"""Putting the facade into a process, and taking it out again."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from relay2relax.compat import version as standing_for
from relay2relax.compat.finder import LegacyFinder
from relay2relax.compat.table import all_modules
from relay2relax.compat.vocabulary import lessons
from relay2relax.compat.vocabulary.teaching import teach
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import translating

VERSIONS = tuple(f"0.{minor}" for minor in range(5, 20))


def install(version: str = "0.18") -> Callable[[], None]:
    """Let ``import tvm`` find the facade, as TVM ``version``; return what takes it out again.

    It stands in front of a TVM that is installed, in this process only; modules of one that is
    loaded already are set aside until then. Raises Relay2RelaxError for a version that Relay is not
    known of.

        from relay2relax import compat
        uninstall = compat.install()
        from tvm import relay
    """
    wanted = version if version in VERSIONS else version.rpartition(".")[0]
    if wanted not in VERSIONS:
        known = ", ".join(VERSIONS)
        raise Relay2RelaxError(mistake(translating.CHOICE, what="version of TVM", name=repr(version), known=known))
    finder = LegacyFinder(all_modules(), standing_for.as_version(wanted))
    aside = {name: sys.modules.pop(name) for name in list(finder.provided())}
    forget = teach(lessons())
    sys.meta_path.insert(0, finder)
    standing_for.enter(standing_for.as_version(wanted))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 10_000))  # as tvm.relay does: functors of scripts are recursive

    def uninstall() -> None:
        if next(one for one in sys.meta_path if isinstance(one, LegacyFinder)) is not finder:
            raise Relay2RelaxError("the facade was installed once more: what is installed last is taken out first")
        sys.meta_path.remove(finder)
        for name in finder.provided():
            del sys.modules[name]
        sys.modules.update(aside)
        forget()
        standing_for.leave()
        sys.setrecursionlimit(limit)

    return uninstall


@contextmanager
def installed(version: str = "0.18") -> Iterator[None]:
    """Let ``import tvm`` find the facade inside the block; see :func:`install`."""
    uninstall = install(version)
    try:
        yield
    finally:
        uninstall()
