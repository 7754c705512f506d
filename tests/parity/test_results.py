"""Every result of parity and migrate is data: plain values, a frame of pandas, a table."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import migrate, parity, relax_ir, relay_ir, translator
from relay2relax.migrate import Entry, Report
from relay2relax.relay_ir import pipeline

TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(4), float32]) { tanh(exp(%x)) }'
X = np.array([0.1, 0.2, 0.3, -0.4], np.float32)


def parsed() -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(TEXT))


def other(mod: relay_ir.IRModule) -> relax_ir.IRModule:
    return relax_ir.parse(translator.via_graph(mod).script().replace("R.exp(", "R.negative("))


def judgement() -> Any:
    return parity.judge(parsed(), [X], {"right": [np.tanh(np.exp(X))], "off": [X]})[0]


def after_folding() -> Any:
    return parity.compare_passes(pipeline.apply(parsed(), pipeline.read("FoldConstant")), [X])[0]


def bisected() -> Any:
    return parity.bisect(parsed(), [X], "passes", passes=["FoldConstant"], backend="numpy")


RESULTS: dict[str, tuple[Callable[[], Any], int, str]] = {
    "judgement": (judgement, 2, "right"),
    "pass": (after_folding, 1, "FoldConstant"),
    "nodes": (lambda: parity.node_report(parsed(), [X], "other", other, "numpy"), 2, "exp"),
    "matrix": (lambda: parity.compare(parsed(), backends=["numpy"]), 2, "via_graph"),
    "bisected": (bisected, 1, "FoldConstant"),
    "reduced": (lambda: parity.reduce(parsed(), [X], lambda mod, _: "bad" * ("exp" in str(mod))), 1, "bad"),
    "plan": (lambda: migrate.plan(parsed()), 2, "fine"),
    "report": (lambda: Report("1", (), (Entry("a<b>", "fine"),)), 1, "a&lt;b&gt;"),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_data(name: str) -> None:
    pandas = pytest.importorskip("pandas")
    make, rows, word = RESULTS[name]
    found = make()
    frame = found.to_dataframe()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == rows
    json.dumps(found.to_json(), allow_nan=False)
    assert word in found._repr_html_()


def test_the_nearest_is_first() -> None:
    pytest.importorskip("pandas")
    frame = judgement().to_dataframe()
    assert list(frame["program"]) == ["right", "off"]
    assert list(frame["nearest"]) == [True, False]


def test_every_value_has_its_error() -> None:
    values = RESULTS["nodes"][0]().to_json()["values"]
    assert [one["operator"] for one in values] == ["exp", "tanh"]
    assert values[0]["max_abs"] == pytest.approx(float(np.abs(np.exp(X) + X).max()), rel=1e-6)
    assert [one["verdict"] for one in values] == ["DIFFERS", "DIFFERS"]
