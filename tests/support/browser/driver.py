"""The requests of WebDriver that tests of pages make."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
LACKING = "Chromium or its driver is absent (apt-get install chromium chromium-driver)"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--force-device-scale-factor=1", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
# Keys as the protocol writes them.
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Left": "\ue012", "Up": "\ue013", "Right": "\ue014", "Down": "\ue015",
    "Backspace": "\ue003"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Browser:
    """A window; ``address`` is that of its session."""

    address: str

    def open(self, page: Path, hash: str = "") -> None:
        """Show a file, and wait until it is ready."""
        self.visit(page.as_uri() + hash)
        self.wait("return document.body.dataset.ready === 'yes'")

    def visit(self, address: str) -> None:
        """Show what is at an address; what the page before it has said is forgotten."""
        self._send("url", {"url": "about:blank"})
        self.messages()
        self._send("url", {"url": address})

    def run(self, script: str, *args: Any) -> Any:
        """Return what a script returns, as the body of a function."""
        return self._send("execute/sync", {"script": script, "args": list(args)})

    def awaited(self, script: str, *args: Any) -> Any:
        """Return what a script gives to its last argument, a function, when it is done."""
        return self._send("execute/async", {"script": script, "args": list(args)})

    def wait(self, script: str, seconds: float = 10.0) -> Any:
        """Return what a script returns as soon as that is true."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < end, f"still false after {seconds} s: {script}"
            time.sleep(0.02)
        return found

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Click at a point of the window."""
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._mouse([{"type": "pointerMove", "x": round(x), "y": round(y)}, *press * times])

    def drag(self, begin: tuple[int, int], end: tuple[int, int], milliseconds: int = 300) -> None:
        """Press the mouse at one point, move it 60 times a second, and let it go at another."""
        count = max(1, milliseconds * 60 // 1000)
        way = [[a + (b - a) * step // count for a, b in zip(begin, end, strict=True)] for step in range(count + 1)]
        moves = [{"type": "pointerMove", "x": x, "y": y, "duration": milliseconds // count} for x, y in way]
        self._mouse([moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}])

    def press(self, *keys: str) -> None:
        """Press keys one after the other; names of ``KEYS``, or characters."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self._send("actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def resize(self, width: int, height: int) -> None:
        """Make the window so large."""
        self._send("window/rect", {"width": width, "height": height})

    def messages(self) -> list[str]:
        """Return what the page has said on its console since it was last asked, errors among it."""
        return [one["message"] for one in self._send("se/log", {"type": "browser"})]

    def picture(self) -> bytes:
        """Return the window as a PNG."""
        return base64.b64decode(self._send("screenshot", None, "GET"))

    def _mouse(self, actions: Sequence[dict[str, Any]]) -> None:
        mouse = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}
        self._send("actions", {"actions": [mouse]})

    def _send(self, command: str, value: Any, method: str = "POST") -> Any:
        return _request(f"{self.address}/{command}", value, method)


@contextmanager
def browser(width: int = 1400, height: int = 900) -> Iterator[Browser]:
    """Yield a window of a new Chromium, which is ended afterwards; it reaches this machine only."""
    assert CHROMIUM is not None
    assert DRIVER is not None
    with tempfile.TemporaryDirectory() as profile:
        process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            root = f"http://127.0.0.1:{_port(process)}"
            flags = [*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"]
            wanted = {
                "goog:chromeOptions": {"binary": CHROMIUM, "args": flags},
                "goog:loggingPrefs": {"browser": "ALL"},
            }
            made = _request(f"{root}/session", {"capabilities": {"alwaysMatch": wanted}}, "POST")
            session = f"{root}/session/{made['sessionId']}"
            try:
                yield Browser(session)
            finally:
                _request(session, None, "DELETE")
        finally:
            process.terminate()
            process.wait(10)
            assert process.stdout is not None
            process.stdout.close()


def _port(process: subprocess.Popen[str]) -> int:
    """Return the port that the driver says it listens on."""
    assert process.stdout is not None
    for line in process.stdout:
        if "started successfully on port" in line:
            return int(line.split("on port")[1].split()[0].rstrip("."))
    raise AssertionError("the driver ended before it listened")


_open: Callable[..., Any] = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def _request(address: str, value: Any, method: str) -> Any:
    body = None if method != "POST" else json.dumps(value or {}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"}, method=method)
    try:
        with _open(request, timeout=60) as answer:
            return json.load(answer)["value"]
    except urllib.error.HTTPError as error:
        raise AssertionError(json.load(error)["value"]["message"]) from None
