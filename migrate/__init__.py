"""From one model to a company's two hundred: what will go, and then all of it, with one report.

``plan`` says of one model what becomes of it, what is lost, and which backends take it. ``migrate``
converts and compares every model of a folder, and goes on where it was cut short. Begin reading
with ``batch.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "artefacts": ["Artefact", "find_artefacts"],
        "batch": ["Options", "Step", "migrate"],
        "plan": ["Plan", "plan", "refused"],
        "report.html": ["report_to_html"],
        "report.junit": ["report_to_junit"],
        "report.markdown": ["plans_as_markdown", "report_as_markdown"],
        "report.model": [
            "Change",
            "Entry",
            "Report",
            "compared",
            "report_from_json",
            "report_schema",
            "report_to_json",
        ],
        "report.sarif": ["report_to_sarif"],
        "verdict": ["Verdict"],
    },
)

if TYPE_CHECKING:
    from relay2relax.migrate.artefacts import Artefact, find_artefacts
    from relay2relax.migrate.batch import Options, Step, migrate
    from relay2relax.migrate.plan import Plan, plan, refused
    from relay2relax.migrate.report.html import report_to_html
    from relay2relax.migrate.report.junit import report_to_junit
    from relay2relax.migrate.report.markdown import plans_as_markdown, report_as_markdown
    from relay2relax.migrate.report.model import (
        Change,
        Entry,
        Report,
        compared,
        report_from_json,
        report_schema,
        report_to_json,
    )
    from relay2relax.migrate.report.sarif import report_to_sarif
    from relay2relax.migrate.verdict import Verdict

__all__ = [
    "Artefact",
    "Change",
    "Entry",
    "Options",
    "Plan",
    "Report",
    "Step",
    "Verdict",
    "compared",
    "find_artefacts",
    "migrate",
    "plan",
    "plans_as_markdown",
    "refused",
    "report_as_markdown",
    "report_from_json",
    "report_schema",
    "report_to_html",
    "report_to_json",
    "report_to_junit",
    "report_to_sarif",
]
