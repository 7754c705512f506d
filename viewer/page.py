"""Pages as one file: HTML, style and script, and data that the script unpacks.

Names and texts of models are data: JSON, compressed, in base64. The script makes text nodes of
them, and no markup. A content security policy admits this page's own style and script, by their
hashes, and nothing from anywhere.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

# The script, in the order in which its files build on each other.
GRAPH_SCRIPTS = (
    "data.js", "model.js", "place.js", "scene.js", "paint.js", "camera.js", "overlay.js", "texts.js",
    "search.js", "outline.js", "details.js", "link.js", "export.js", "graphview.js", "main.js",
)  # fmt: skip
# What a page may load besides itself where it lies beside other files.
_BESIDE = " 'self' 'wasm-unsafe-eval'; connect-src 'self'; frame-src 'self'"
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=const |function |class |async )", re.MULTILINE)


def assembled(
    title: str,
    body: str,
    scripts: Sequence[str],
    styles: Sequence[str],
    data: Mapping[str, Any],
    *,
    beside: bool = False,
) -> bytes:
    """Return a page: the ``body``, with scripts and styles of ``page/``, and the values of ``data``
    as sections that the script reads by their names.

    With ``beside`` it may load what the same server has, WebAssembly among it.
    """
    script = "\n".join(_module(one) for one in scripts)
    style = "\n".join(file_text(one) for one in styles)
    allowed = _hash(script) if script else "'none'"
    besides = _BESIDE if beside else ""
    policy = (
        f"default-src 'none'; script-src {allowed}{besides}; style-src {_hash(style)}; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    sections = "\n".join(
        f'<script type="text/plain" id="data-{name}">{packed(value)}</script>' for name, value in data.items()
    )
    run = f'<script type="module">{script}</script>\n' if script else ""
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(policy)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        f"<body>\n{body}\n{sections}\n{run}</body>\n</html>\n"
    ).encode()


def packed(value: Any) -> str:
    """Return a value as compressed JSON in base64, the same for the same value."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 6, mtime=0)).decode()


def _module(name: str) -> str:
    """Return a module of the script as part of one that has them all: without imports and
    exports.
    """
    return _EXPORT.sub("", _IMPORT.sub("", file_text(name)))


def file_text(name: str) -> str:
    """Return a file of ``page/``."""
    return resources.files("relay2relax.viewer").joinpath("page").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
