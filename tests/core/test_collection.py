"""Pausing the cyclic collector."""

import gc

import pytest

from relay2relax.core.collection import collection_paused


def test_pauses_nest_and_end_however_they_are_left() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()
