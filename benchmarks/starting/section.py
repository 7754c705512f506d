"""The section ``starting``: seconds until a model runs, with an empty cache and with a full one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common import Options, shown, table
from threads import ENVIRONMENT

_HERE = Path(__file__).resolve().parent
MODELS = ("resnet50", "bert_base")
# Who runs a model, and what it is called; what was built is found where it is a second run.
ROWS = (
    ("built", "ours, step by step, empty cache"),
    ("built again", "ours, step by step, full cache"),
    ("opened", "`open_program`, empty cache"),
    ("opened again", "`open_program`, full cache"),
    ("command again", "`relay2relax run`, full cache"),
    ("onnxruntime", "ONNX Runtime"),
    ("openvino", "OpenVINO"),
    ("inductor", "`torch.compile`"),
)
_PARTS = ("reading", "translating", "building", "opening", "first run")
# So often is measured what takes little; the least counts.
_TIMES = 5


def run(options: Options) -> dict[str, Any]:
    """Print a table for each model; return all that was measured."""
    found: dict[str, Any] = {}
    try:
        for name in filter(options.wants, MODELS):
            found[name] = measure(name, options)
            _print(name, found[name])
    except KeyboardInterrupt:
        return {**found, "stopped": True}
    return found


def measure(name: str, options: Options) -> dict[str, dict[str, Any]]:
    """Return what everybody took from the start of a process to the first result of a model."""
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "starting.models", name, made]
        subprocess.run(command, cwd=_HERE.parent, check=True, capture_output=True)
        with tempfile.TemporaryDirectory() as cache:
            for what, _ in ROWS:
                peer, _, again = what.partition(" ")
                if options.peers and peer in ("onnxruntime", "openvino", "inductor") and peer not in options.peers:
                    continue
                # What is cold leaves nothing that another row would find.
                folder = str(Path(cache) / {"opened": "opened", "command": "command"}.get(peer, "built"))
                tries = [_ask(peer, made, folder, options.limit) for _ in range(_TIMES if again else 1)]
                found[what] = min(tries, key=lambda one: float(one.get("start", "inf")))
                print(f"  {name}, {what}: {tries[-1].get('failed') or 'measured'}", file=sys.stderr, flush=True)
    return found


def _ask(peer: str, made: str, cache: str, limit: float) -> dict[str, Any]:
    """Return the seconds from the start of a process to its end, and what it says itself."""
    environment = {**os.environ, **ENVIRONMENT, "RELAY2RELAX_CACHE": cache, "TORCHINDUCTOR_CACHE_DIR": f"{cache}.torch"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    files = [f"{made}/model.relay", "--params", f"{made}/model.params", "--inputs", f"{made}/inputs.npz"]
    command = [sys.executable, str(_HERE / "child.py"), peer, made]
    if peer == "command":
        command = [sys.executable, "-m", "relay2relax", "run", *files, "--backend", "c", "--via", "graph"]
    begin = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"over {limit:.0f} s"}
    seconds = time.perf_counter() - begin
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no output"])[-1]}
    said: Mapping[str, Any] = {} if peer == "command" else json.loads(done.stdout.strip().splitlines()[-1])
    return {"start": seconds, **said}


def _print(name: str, found: Mapping[str, dict[str, Any]]) -> None:
    lines = []
    for what, title in ROWS:
        row = found.get(what, {})
        parts = row.get("parts", {})
        cells = [row.get("start"), row.get("imports"), *(parts.get(one) for one in _PARTS), row.get("compilers")]
        lines.append([title, *("–" if one is None else shown(one) for one in cells)])
    head = ["", "process", "imports", *_PARTS, "compilers"]
    table(
        f"{name}: seconds from the start of a process to its end, behind the first result\n"
        "(parts of it by its own clock; compilers: processor seconds of programs that it started)",
        head,
        lines,
    )
