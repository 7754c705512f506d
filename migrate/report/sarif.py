"""A report as SARIF 2.1.0, which code hosts show beside the files."""

from __future__ import annotations

import json
from urllib.parse import quote

from relay2relax.migrate.report.model import Entry, Report
from relay2relax.migrate.verdict import Verdict

_LEVELS = {
    Verdict.TENSORIR: "note",
    Verdict.LOSSY: "warning",
    Verdict.UNCHECKED: "warning",
}
_MEANINGS = {
    Verdict.TENSORIR: "Operators become TensorIR",
    Verdict.LOSSY: "Something that the model says is dropped",
    Verdict.UNCHECKED: "The result could not be compared with Relay",
    Verdict.DIFFERENCE: "The result computes something else than Relay",
    Verdict.REFUSED: "The model cannot be translated",
    Verdict.UNREADABLE: "The model cannot be read",
    Verdict.STOPPED: "A limit of time, memory or the disk was reached",
    Verdict.CRASHED: "Converting the model ended the process",
}


def report_to_sarif(report: Report) -> bytes:
    """Return ``report`` as a log of one run, with a result for each model that is not fine."""
    rules = [
        {"id": verdict.value, "name": verdict.value, "shortDescription": {"text": text}}
        for verdict, text in _MEANINGS.items()
    ]
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "relay2relax", "version": report.version, "rules": rules}},
                "results": [_result(one) for one in report.models if Verdict(one.verdict) in _MEANINGS],
            }
        ],
    }
    return (json.dumps(log, indent=2) + "\n").encode()


def _result(entry: Entry) -> dict[str, object]:
    verdict = Verdict(entry.verdict)
    return {
        "ruleId": verdict.value,
        "level": _LEVELS.get(verdict, "error"),
        "message": {"text": "; ".join((*entry.why, *entry.where)) or _MEANINGS[verdict]},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": quote(entry.path or entry.name)}}}],
    }
