"""A sample of damaged scripts: each ends in a module, which prints and is read again, or in an
exception of ours.
"""

from __future__ import annotations

import random

import pytest
import script_fuzzing


def test_seeds() -> None:
    assert sum(map(script_fuzzing.check, set(script_fuzzing.seeds()))) >= 3


@pytest.mark.parametrize("seed", range(4))
def test_damaged_scripts(seed: int) -> None:
    rng, found = random.Random(seed), script_fuzzing.seeds()
    for _ in range(60):
        text = script_fuzzing.damage(rng, rng.choice(found), found)
        assert script_fuzzing.timed(text) < 10, text


@pytest.mark.parametrize(
    "text",
    [
        "@T.prim_func\ndef f(A: T.Buffer):\n    A[0] = T.float32(0)\n",
        '@T.prim_func\ndef f(A: T.Buffer((8,), "int32")):\n    A[0] = T.int32(float("inf"))\n',
    ],
)
def test_what_damage_found(text: str) -> None:
    assert not script_fuzzing.check(text)
