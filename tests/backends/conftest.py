"""What the tests of backends share: nothing they compile comes from an earlier run, or is left for
a later one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A cache folder of its own for each file of tests, so that every object is really compiled."""
    patch = pytest.MonkeyPatch()
    patch.setenv("RELAY2RELAX_CACHE", str(tmp_path_factory.mktemp("cache")))
    yield
    patch.undo()
