"""A report as JUnit XML, which continuous integration shows."""

from __future__ import annotations

import re
from xml.etree import ElementTree as xml

from relay2relax.migrate.report.model import Entry, Report
from relay2relax.migrate.verdict import Verdict

# What XML 1.0 has no form for.
_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FINE = (Verdict.FINE, Verdict.TENSORIR, Verdict.LOSSY)


def report_to_junit(report: Report) -> bytes:
    """Return ``report`` as a suite with a test for each model.

    Models that compute something else are failures, those that were not compared are skipped, and
    those that were not converted are errors.
    """
    kinds = [_kind(one) for one in report.models]
    suite = xml.Element(
        "testsuite",
        name="relay2relax migrate",
        tests=str(len(kinds)),
        failures=str(kinds.count("failure")),
        errors=str(kinds.count("error")),
        skipped=str(kinds.count("skipped")),
    )
    for one, kind in zip(report.models, kinds, strict=True):
        case = xml.SubElement(suite, "testcase", classname="relay2relax.migrate", name=_text(one.name))
        if kind:
            why = _text("; ".join(one.why))
            found = xml.SubElement(case, kind, message=f"{one.verdict}: {why}")
            if kind != "skipped":
                found.set("type", one.verdict)
            if one.where:
                found.text = _text("\n".join(one.where))
    suites = xml.Element("testsuites")
    suites.append(suite)
    xml.indent(suites)
    return bytes(xml.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _kind(entry: Entry) -> str:
    verdict = Verdict(entry.verdict)
    if verdict in _FINE:
        return ""
    return {Verdict.DIFFERENCE: "failure", Verdict.UNCHECKED: "skipped"}.get(verdict, "error")


def _text(text: str) -> str:
    return _NOT_XML.sub("�", text)
