"""Run the models that are not in a file of results yet, and write docs/reference/pytorch-models.md.

``PYTHONPATH=tools python -m zoo.run STATE [NAME…]``, and for the page ``… --page STATE``, needs
``pip install torchvision timm transformers onnxscript``; nothing is fetched. STATE has a line of
JSON for each model and road: what is there is not run again. Each model runs in a process of its
own, for at most half an hour.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from itertools import product
from pathlib import Path

from zoo.trial import ROADS, TRANSLATIONS, UNEXPORTED, models

PAGE = Path(__file__).parents[2] / "docs/reference/pytorch-models.md"
SECONDS = 1800
# What a result may be away from PyTorch's, relative to the greatest of them.
ALLOWED = 1e-3
WORDS = {"export": "torch.export", "onnx": "ONNX"}
HEAD = """# Models of PyTorch

Models of others with random weights, on two roads: `torch.export`, and ONNX as `torch.onnx.export`
writes it
({versions}).
Each is imported, translated both ways, run as C, and compared with
PyTorch: the error is the greatest difference, relative to the greatest result, by way of the graph
and of TensorIR. Seconds of an import are those of a machine that did other things as well; rows are
of several states. `make zoo STATE=FILE` runs what FILE does not have, and writes this page.

| models of | road | all | agree | PyTorch makes no ONNX model |
|---|---|---|---|---|
{counts}

| model | of | road | operators | import s | via graph | TensorIR | |
|---|---|---|---|---|---|---|---|
"""
LIBRARIES = ("transformers", "torchvision", "timm")


def known(state: Path) -> dict[tuple[str, str, str], dict[str, object]]:
    """Return what a file of results says, the last word on each model and road."""
    lines = state.read_text().splitlines() if state.exists() else []
    rows = map(json.loads, lines)
    return {(row["library"], row["model"], row["road"]): row for row in rows}


def run(state: Path, names: Sequence[str]) -> None:
    """Run what is not known, by turns from each library."""
    queues = [models(library) for library in LIBRARIES]
    longest = max(map(len, queues))
    order = [queue[place] for place in range(longest) for queue in queues if place < len(queue)]
    for one in order:
        if names and one.name not in names:
            continue
        found = known(state)
        if all((one.library, one.name, road) in found for road in ROADS):
            continue
        command = [sys.executable, "-W", "ignore", "-m", "zoo.trial", one.library, one.name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            text, problem = done.stdout, (done.stderr.strip().splitlines() or ["it ended"])[-1][:200]
        except subprocess.TimeoutExpired as error:
            text, problem = (error.stdout or b"").decode(), f"not done after {SECONDS} s"
        lines = [line for line in text.splitlines() if line.startswith("{")]
        roads = {json.loads(line)["road"] for line in lines}
        row = {"library": one.library, "model": one.name, "problem": problem}
        lines += [json.dumps({**row, "road": road}) for road in ROADS if road not in roads]
        with state.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
        print(*lines, sep="\n", flush=True)


def verdict(row: Mapping[str, object]) -> str:
    """Return what became of a model on a road."""
    if "problem" in row:
        return str(row["problem"]).replace("|", "/").removeprefix("error")
    return "agrees" if max(float(str(row[name])) for name in TRANSLATIONS) < ALLOWED else "differs"


def page(state: Path) -> str:
    """Return the page of the results."""
    found = known(state)
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", *LIBRARIES))
    lines, counts = [], []
    for library, road in product(LIBRARIES, ROADS):
        said = [verdict(row) for (one, _, by), row in found.items() if (one, by) == (library, road)]
        unmade = sum(one.startswith(UNEXPORTED) for one in said)
        counts.append(f"| {library} | {WORDS[road]} | {len(said)} | {said.count('agrees')} | {unmade} |")
    for (library, model, road), row in sorted(found.items()):
        errors = [f"{float(str(row[name])):.0e}" if name in row else "" for name in TRANSLATIONS]
        took = f"{float(str(row['import'])):.0f}" if "import" in row else ""
        cells = (model, library, WORDS[road], str(row.get("operators", "")), took, *errors, verdict(row))
        lines.append(f"| {' | '.join(cells)} |")
    text = HEAD.format(versions=versions, counts="\n".join(counts))
    return text + "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1] == "--page":
        PAGE.write_text(page(Path(sys.argv[2])))
    else:
        run(Path(sys.argv[1]), sys.argv[2:])
