"""What stands in a page: data as data, lines of programs where nodes stand, what models show."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser.programs import CHAIN, HOSTILE, hostile_module

from relay2relax import relax_ir, relay_ir, translator, viewer
from relay2relax.translator.summary import summarize


def data_of(page: bytes) -> dict[str, Any]:
    """Return the sections of a page."""
    found = re.findall(rb'<script type="text/plain" id="data-(\w+)">([A-Za-z0-9+/=]*)</script>', page)
    return {name.decode(): json.loads(gzip.decompress(base64.b64decode(text))) for name, text in found}


@pytest.fixture(scope="module")
def chain() -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(CHAIN))


def test_the_policy_admits_this_script_and_style_alone(chain: relay_ir.IRModule) -> None:
    page = viewer.page_of([viewer.relay_subject(chain, "net")]).decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy[1].replace("&#x27;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    for tag, rule in (('<script type="module">', "script-src"), ("<style>", "style-src")):
        text = page.split(tag)[1].split("</")[0] if tag == "<style>" else page.split(tag)[1].split("</script>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    # Nothing is asked of another place, and no element brings its own script or style.
    assert not re.search(
        r"\bon\w+=|\sstyle=|\ssrc=|\shref=[\"'](?!#)", page.split("<body>")[1].split('<script type="module">')[0]
    )
    assert set(re.findall(r"https?://[\w.]+", page)) <= {"http://www.w3.org"}


def test_names_are_data() -> None:
    page = viewer.page_of([viewer.relay_subject(hostile_module(), HOSTILE)])
    assert b"<img" not in page
    # Four sections, the script, and no other end of one.
    assert page.count(b"</script>") == 5
    data = data_of(page)
    assert "<img src=x onerror=alert(1)>" in data["graph"]["title"]
    assert "<img src=x onerror=alert(1)>" in json.dumps(data["details"])


def test_lines_of_nodes(chain: relay_ir.IRModule) -> None:
    data = data_of(viewer.page_of([viewer.relay_subject(chain, "net")]))
    side = data["graph"]["sides"][0]
    texts = {text["key"]: text for text in data["texts"][0]}
    ops = [side["ops"][op] for op in side["op"]]
    assert sorted(ops) == ["input", "log", "nn.dense", "nn.relu", "searchsorted"]

    def lines(key: str, op: str) -> list[str]:
        text, box = texts[key], ops.index(op)
        pairs = zip(text["lines"][::2], text["lines"][1::2], strict=True)
        return [text["text"].split("\n")[line] for one, line in pairs if one == box]

    for op, relax in (("nn.dense", "R.matmul("), ("log", "R.log("), ("nn.relu", "R.nn.relu(")):
        assert any(f"{op}(" in line for line in lines("relay", op))
        assert any(relax in line for line in lines("relax", op))
        name = {"log": "tir_log"}.get(op, op.split(".")[-1])
        assert any(f"R.call_tir(cls.{name}, " in line for line in lines("tir", op))
        assert any(f"def {name}(" in line for line in lines("tir", op))


def test_what_has_no_relax_form(chain: relay_ir.IRModule) -> None:
    module = translator.via_graph(chain)
    lacking = {one.operator for one in translator.calls_as_tensorir(module)}
    assert lacking == {"searchsorted"}
    side = data_of(viewer.page_of([viewer.relay_subject(chain, "net")]))["graph"]["sides"][0]
    finding = next(one for one in side["findings"] if one["title"] == "No Relax form")
    assert [side["ops"][side["op"][box]] for box in finding["boxes"]] == ["searchsorted"]
    forms = next(one["values"] for one in side["overlays"] if one["key"] == "form")
    assert [op for op, form in zip(side["op"], forms, strict=True) if form == "TensorIR"] == [
        side["ops"].index("searchsorted")
    ]


def test_where_nan_begins_and_memory_peaks(chain: relay_ir.IRModule) -> None:
    subject = viewer.relay_subject(chain, "net")
    x, w = np.full((1, 4), 1, np.float32), np.full((3, 4), -1, np.float32)
    viewer.add_values(subject, chain, [x, w])
    viewer.add_errors(subject, chain, [x, w], "numpy")
    side = data_of(viewer.page_of([subject]))["graph"]["sides"][0]
    findings = {one["title"]: one for one in side["findings"]}
    # log(-4) is NaN, and all that takes it.
    assert [side["ops"][side["op"][box]] for box in findings["NaN and infinity"]["boxes"]] == ["log"]
    values = {
        one["key"]: dict(zip((side["ops"][op] for op in side["op"]), one["values"], strict=True))
        for one in side["overlays"]
    }
    assert values["nonfinite"]["log"] == 3
    assert values["magnitude"]["nn.dense"] == 4
    peak = summarize(chain).peak_bytes
    assert f"{peak:,} bytes" in findings["Memory peak"]["text"]
    assert max(value for value in values["memory"].values() if value) == peak
    assert findings["Error in Relax on numpy"]["text"] == "every value agrees"


def test_weights_are_shown() -> None:
    weight = np.concatenate([np.arange(11, dtype=np.float32), [np.nan]]).astype(np.float32).reshape(3, 4)
    mod = relay_ir.infer_type(relay_ir.parse(CHAIN))
    data = data_of(viewer.page_of([viewer.relay_subject(mod, "net", {"w": weight})]))
    shown = data["weights"][0]["w"]
    assert (shown["low"], shown["high"], shown["count"], shown["nonfinite"]) == (0, 10, 12, 1)
    assert sum(shown["bins"]) == 11
    assert shown["mean"] == 5
    assert shown["values"][-1] == "nan"


def test_a_script_has_a_page(chain: relay_ir.IRModule) -> None:
    script = relax_ir.parse(translator.via_graph(chain).script())
    page = viewer.page_of([viewer.relax_subject(script, "net.py", "main"), viewer.relay_subject(chain, "net.relay")])
    sides = data_of(page)["graph"]["sides"]
    assert [side["title"] for side in sides] == ["net.py", "net.relay"]
    assert "relax.matmul" in sides[0]["ops"]


def test_size_and_order(tmp_path: Path) -> None:
    """Pages are the same for the same program, and within their limit."""
    from browser.graphs import long_graph

    subject = viewer.graph_subject(long_graph(2000), {}, "long")
    page = viewer.page_of([subject])
    assert page == viewer.page_of([subject])
    assert len(page) <= 1_000_000 + 200 * 2000
    # Texts that are too long are left out, and say so.
    noise = np.random.default_rng(0).integers(33, 127, 3_000_000, np.uint8).tobytes().decode()
    subject.texts.append(viewer.Text("relay", "Relay", noise))
    page = viewer.page_of([subject])
    assert len(page) <= 1_000_000 + 200 * 2000
    assert data_of(page)["texts"][0][0]["text"].startswith("Left out: 3,000,000 characters")


def test_two_graphs_are_compared() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(CHAIN))
    new = relay_ir.infer_type(relay_ir.parse(CHAIN.replace("nn.relu(%1)", "nn.leaky_relu(%1, alpha=0.1f)")))
    sides = [viewer.relay_subject(one, "net") for one in (mod, new)]
    graph = data_of(viewer.page_of(sides))["graph"]
    said = []
    for side in graph["sides"]:
        values = next(one["values"] for one in side["overlays"] if one["key"] == "difference")
        said.append(dict(zip((side["ops"][op] for op in side["op"]), values, strict=True)))
    assert said[0]["nn.dense"] == said[1]["nn.dense"] == said[0]["log"] == "same"
    assert said[0]["nn.relu"] in ("removed", "changed")
    assert said[1]["nn.leaky_relu"] in ("added", "changed")
    ops = [[side["ops"][op] for op in side["op"]] for side in graph["sides"]]
    assert ("log", "log") in {(ops[0][a], ops[1][b]) for a, b in graph["pairs"]}


def test_a_script_is_paired_with_its_model(chain: relay_ir.IRModule) -> None:
    script = relax_ir.parse(translator.via_graph(chain).script())
    sides = [viewer.relax_subject(script, "net.py", "main"), viewer.relay_subject(chain, "net.relay")]
    graph = data_of(viewer.page_of(sides))["graph"]
    ops = [[side["ops"][op] for op in side["op"]] for side in graph["sides"]]
    pairs = {(ops[0][a], ops[1][b]) for a, b in graph["pairs"]}
    assert {("relax.matmul", "nn.dense"), ("relax.permute_dims", "nn.dense"), ("relax.nn.relu", "nn.relu")} <= pairs
