"""Constants that a script carries beside its text, in the JSON table that TVM prints with ``show_meta=True``."""

from __future__ import annotations

from typing import Any

from relay2relax.core.script_source import ScriptSource


def metadata_of(source: ScriptSource) -> dict[str, Any]:
    return {}
