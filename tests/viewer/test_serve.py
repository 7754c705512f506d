"""``relay2relax view --serve``: the page from this machine, until Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from browser.driver import Browser
from browser.programs import CHAIN


def test_the_page_is_served_until_it_is_ended(window: Browser, tmp_path: Path) -> None:
    (tmp_path / "net.relay").write_text(CHAIN)
    process = subprocess.Popen(
        [sys.executable, "-m", "relay2relax", "view", "net.relay", "--serve"],
        cwd=tmp_path,
        env={**os.environ, "BROWSER": "true", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = re.fullmatch(r"(http://127\.0\.0\.1:\d+/) \(Ctrl-C ends it\)\n", said)
        assert found is not None, said
        window.visit(found[1])
        window.wait("return document.body.dataset.ready === 'yes'")
        assert "log" in window.run("return relay2relax.view.model.names")
        with urllib.request.urlopen(found[1], timeout=10) as page:
            assert page.headers["X-Content-Type-Options"] == "nosniff"
            assert b"Content-Security-Policy" in page.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(found[1] + "net.relay", timeout=10)
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert sorted(one.name for one in tmp_path.iterdir()) == ["net.relay"]
