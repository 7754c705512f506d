"""A sample of ``make fuzz``: damaged files end in a result or in an exception of ours, in time."""

from __future__ import annotations

import os
import random

import pytest
import sweep
from file_fuzzing import campaign
from file_fuzzing.format import Format
from file_fuzzing.onnx_models import ONNX
from file_fuzzing.programs import GRAPH, RELAY_VM, VM
from file_fuzzing.weights import NPZ, PARAMS, SAFETENSORS

# Files of each format, and how many times as many the whole sweep reads.
COUNTS = {NPZ: 300, SAFETENSORS: 500, PARAMS: 500, VM: 120, RELAY_VM: 80, GRAPH: 60, ONNX: 800}
WHOLE = 10


@pytest.mark.parametrize("form", COUNTS, ids=lambda form: form.name)
def test_damaged_files(form: Format) -> None:
    count = COUNTS[form] * (1 if sweep.LEVEL == "sample" else WHOLE)
    found = {campaign.finding(form, data) for _, data in campaign.inputs(form, count, seed=0)} - {""}
    assert not found


@pytest.mark.parametrize("form", COUNTS, ids=lambda form: form.name)
def test_seeds_are_read(form: Format) -> None:
    read = sum(map(form.check, form.seeds()))
    # One archive is packed as numpy does not, and some models ask for values of inputs.
    assert read >= len(form.seeds()) - {NPZ: 1, ONNX: 60}.get(form, 0)


def test_a_campaign_names_what_it_finds(tmp_path: object, monkeypatch: pytest.MonkeyPatch, capfd: object) -> None:
    """Exceptions of others and a process that dies are findings, and it goes on behind them."""

    def check(data: bytes) -> bool:
        if data == b"0":
            raise ValueError("not ours")
        if data == b"1":
            os.abort()
        return True

    def damage(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
        return b"%d" % rng.randrange(4)

    monkeypatch.chdir(str(tmp_path))
    form = Format("numbers", lambda: [b""], damage, check)
    drawn = [data for _, data in campaign.inputs(form, 20, seed=1)]
    assert campaign.run(form, 20, seed=1) == drawn.count(b"0") + drawn.count(b"1") > 1
    assert len(os.listdir()) == 2
