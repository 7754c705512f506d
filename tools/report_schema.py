"""Write docs/reference/report.schema.json, the JSON Schema of a migration's report:
``python tools/report_schema.py``.
"""

from __future__ import annotations

import json
from pathlib import Path

from relay2relax.migrate import report_schema

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "report.schema.json"


def page() -> str:
    """Return the content of the file."""
    return json.dumps(report_schema(), indent=2) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
