"""Pages that show graphs, comparisons and profiles, each one file that needs no network.

``page_of`` makes the page of what ``subject_of`` and ``relax_subject`` gather of a program: its
graph in layers, and its texts beside it, linked by the map of the translation. Assumes modules
whose types are inferred. Begin reading with ``subject.py``.
"""

from typing import TYPE_CHECKING

import lazy_loader

__getattr__, __dir__, _ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "answers": ["findings_json", "findings_text", "found_text"],
        "document": ["page_of"],
        "flame": ["chrome_trace", "flame_page"],
        "matrix": ["matrix_page"],
        "model": ["Finding", "Overlay", "Subject", "Text"],
        "report": ["Figures", "report_page"],
        "running": ["running_page"],
        "subject": ["graph_subject", "relax_subject", "relay_subject"],
        "values": ["add_errors", "add_times", "add_values"],
    },
)

if TYPE_CHECKING:
    from relay2relax.viewer.answers import findings_json, findings_text, found_text
    from relay2relax.viewer.document import page_of
    from relay2relax.viewer.flame import chrome_trace, flame_page
    from relay2relax.viewer.matrix import matrix_page
    from relay2relax.viewer.model import Finding, Overlay, Subject, Text
    from relay2relax.viewer.report import Figures, report_page
    from relay2relax.viewer.running import running_page
    from relay2relax.viewer.subject import graph_subject, relax_subject, relay_subject
    from relay2relax.viewer.values import add_errors, add_times, add_values

__all__ = [
    "Figures",
    "Finding",
    "Overlay",
    "Subject",
    "Text",
    "add_errors",
    "add_times",
    "add_values",
    "chrome_trace",
    "findings_json",
    "findings_text",
    "flame_page",
    "found_text",
    "graph_subject",
    "matrix_page",
    "page_of",
    "relax_subject",
    "relay_subject",
    "report_page",
    "running_page",
]
