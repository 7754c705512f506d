"""The page on which a library for WebAssembly is run, with the model's graph beside it."""

from __future__ import annotations

from relay2relax.viewer.page import assembled, file_text


def running_page(name: str, title: str) -> bytes:
    """Return the page, ``index.html``, that lies beside ``NAME.js``, the library's files and
    ``NAME_graph.html``, for the library ``name``.

    Browsers load its parts from a server only.
    """
    data = {"model": {"name": name, "title": title}}
    scripts, styles = ("data.js", "running/running.js"), ("common.css", "running/running.css")
    return assembled(title, file_text("running/running.html"), scripts, styles, data, beside=True)
