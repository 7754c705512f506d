"""Pausing the cyclic collector."""

import gc

import pytest

from relay2relax.core.collection import collection_paused


def test_pauses_nest() -> None:
    assert gc.isenabled()
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_pause_ends_with_an_error() -> None:
    @collection_paused()
    def fail() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert gc.isenabled()
