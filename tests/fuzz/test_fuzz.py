"""A sample of ``make fuzz``: damaged Relay ends in a module or in an exception of ours, in time."""

from __future__ import annotations

import random

import fuzzing
import pytest

SAMPLE = 500
SECONDS = 5.0


@pytest.fixture(scope="module")
def seeds() -> list[bytes]:
    """Valid inputs."""
    return fuzzing.seeds()


@pytest.mark.sweep(every=2)
def test_seeds_are_of_every_kind(seeds: list[bytes]) -> None:
    kinds = {
        "params" if one.startswith(fuzzing.PARAMS_MARK) else "json" if one[:1] == b"{" else "text" for one in seeds
    }
    assert kinds == {"params", "json", "text"}
    # Without recorded cases two of five are ill typed on purpose.
    assert sum(map(fuzzing.check, seeds)) > len(seeds) * 0.5


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("seed", range(6))
def test_damaged_inputs(seeds: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    slowest = max(fuzzing.timed(fuzzing.damage(rng, rng.choice(seeds), seeds)) for _ in range(SAMPLE))
    assert slowest < SECONDS


@pytest.mark.parametrize("seed", range(2))
def test_damage_of_what_is_rare_among_the_seeds(seeds: list[bytes], seed: int) -> None:
    rng = random.Random(seed)
    params = next(one for one in seeds if one.startswith(fuzzing.PARAMS_MARK))
    for data in (params, fuzzing.OLDER.encode(), fuzzing.DEEP.encode()):
        for _ in range(100):
            fuzzing.check(fuzzing.damage(rng, data, seeds))


HOSTILE = {
    "digits in a dtype": "def @main(%x: Tensor[(1), int" + "1" * 5000 + "]) { %x }",
    "digits in a number": "def @main() { " + "9" * 100_000 + " }",
    "digits in a dimension": "def @main(%x: Tensor[(" + "9" * 100_000 + "), float32]) { %x }",
    "digits in a projection": "def @main(%x: (int32,)) { %x." + "1" * 100_000 + " }",
    "digits in an index": "def @main() { meta[relay.Constant][" + "1" * 100_000 + "] }",
    "a long shape": "def @main(%x: Tensor[(" + "1, " * 10_000 + "1), float32]) { nn.relu(%x) }",
    "half of a pair": "def @main(%\ud800: int32) { %x }",
    "half of a pair in a string": 'def @main(%x: int32, a="\ud800") { %x }',
    "NUL": "def @main(%x: int32) { \0 }",
    "doubled tuples": "def @main(%x: int32) { " + "".join(f"%{i + 1} = (%{i}, %{i}); " for i in range(60)).replace(
        "%0,", "%x,").replace("%0)", "%x)") + "%60 }",
    "doubled extents": "def @main(%x: Tensor[(2), float32]) { " + "".join(
        f"%{i + 1} = concatenate((%{i}, %{i})); " for i in range(200)).replace("%0,", "%x,").replace("%0)", "%x)")
        + "%200 }",
    "doubled closures": "def @main(%x: int32) { " + "".join(
        f"%{i + 1} = fn (%y: int32) {{ (%{i}, %{i}) }}; " for i in range(60)).replace("%0,", "%x,").replace(
        "%0)", "%x)") + "%60 }",
    "an unclosed comment": "/*" * 50_000,
    "stars": "/*" + "*" * 100_000,
    "an unclosed string": 'def @main(a="' + "\\" * 100_001,
    "minus signs": "def @main() { " + "-" * 100_000 + "1 }",
    "dots": "def @main() { " + "a." * 50_000 + "a }",
    "a long name": "def @main(%" + "a" * 200_000 + ": int32) { %" + "a" * 200_000 + " }",
    "projections of a name": "def @main(%x: int32) { %x" + ".0" * 5_000 + " }",
    "spans": "def @main(%x: int32) { %x /*" + " span=a:1:1," * 20_000 + " */ }",
    "negations of 0.6": "v0.0.4\ndef @main(%x: int32) { " + "- " * 5_000 + "%x }",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_inputs(name: str) -> None:
    assert fuzzing.timed(HOSTILE[name].encode("utf-8", "surrogatepass")) < SECONDS
