"""The page of a library for WebAssembly computes, in a browser, what the program does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from browser.driver import Browser

from relay2relax import backends, relay_ir, translator
from relay2relax.cli.commands import export

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(find_spec("ziglang") is None or shutil.which("make") is None, reason="no ziglang or no make"),
]
TEXT = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 3, 5, 4), float32], %i: Tensor[(4), int64], %w: Tensor[(16, 3, 3, 3), float32],
          %table: Tensor[(5, 6), int32]) {
  %0 = nn.relu(nn.conv2d(%data, %w, padding=[1, 1, 1, 1]));
  (nn.softmax(nn.batch_flatten(nn.global_avg_pool2d(%0))), multiply(take(%table, %i, axis=0, mode="clip"), 3))
}"""
RUN = """
const [data, done] = arguments;
(async () => {
  const module = await import(new URL("net.js", location.href));
  const model = await module.load();
  const given = data.map((one, i) => {
    const kind = module.ARRAYS[module.inputs[i].dtype];
    return kind.from(kind === BigInt64Array ? one.map(BigInt) : one);
  });
  const [first, second] = model.run(given, [2]);
  let refused = "";
  try { model.run(given, [3]); } catch (problem) { refused = problem.message; }
  const code = new Uint8Array(await (await fetch("net_module.wasm")).arrayBuffer());
  const foreign = await module.start(code, new Uint8Array(9)).catch((problem) => problem.message);
  return [Array.from(first), Array.from(second), refused, foreign];
})().then(done, (problem) => done([`${problem}`]));
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_page(window: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    weights = {
        "w": draw.standard_normal((16, 3, 3, 3)).astype("float32"),
        "table": np.arange(30, dtype="int32").reshape(5, 6),
    }
    Path("net.relay").write_text(TEXT)
    Path("net.params").write_bytes(relay_ir.save_params(weights))
    place = export.place_of("c", "wasm32", None, None, "native")
    out = tmp_path / "web"
    export.run(Path("net.relay"), Path("net.params"), "c", out, "graph", True, [], place, False, False, False, True)
    # The Makefile starts the wheel's compiler by ``python3``.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = ["make", "-s", "-C", str(out), "net_module.wasm", "CFLAGS=-O1"]
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, "PATH": path})
    given = [draw.standard_normal((2, 3, 5, 4)).astype("float32"), np.array([3, 0, 9, 1])]
    program = translator.via_graph(relay_ir.infer_type(relay_ir.parse(TEXT)), weights)
    expected: list[np.ndarray] = translator.flatten(backends.VirtualMachine(backends.build(program))["main"](*given))
    with served(out) as address:
        window.visit(f"{address}index.html")
        window.wait("return !document.getElementById('run').disabled", 30)
        found = window.awaited(RUN, [one.ravel().tolist() for one in given])
        assert len(found) == 4, found
        np.testing.assert_allclose(np.array(found[0]), expected[0].ravel(), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[1], expected[1].ravel())
        assert found[2:] == [
            "data has 480 bytes, not 720",
            "the file is not the one of this program's weights, or memory is lacking",
        ]
        window.run("document.getElementById('run').click()")
        assert "int32[24]" in window.wait("return document.getElementById('outputs').innerText")
        assert window.run("return document.querySelector('#inputs th:not(:empty)').innerText") != ""
        window.wait("return document.getElementById('graph').contentDocument.body.dataset.ready === 'yes'")
        assert window.messages() == []
