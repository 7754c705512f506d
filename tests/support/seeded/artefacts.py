"""A folder of artefacts as a company has them: models, cut and changed ones, and other files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from wrong_files import NEITHER

# Recorded models that are small enough to be converted many times.
_MODELS = ("mlp", "mlp_dynamic_batch", "dqn", "dcgan", "lstm_relay", "bert_mini")
_FOREIGN = ("net.onnx", "net.tflite", "net.h5", "net.gguf", "net.so", "net.pkl")


def fill(folder: Path, golden: Path, cases: Iterator[Mapping[str, Any]], count: int) -> int:
    """Write ``count`` artefacts below ``folder``, a tenth of them damaged and a twentieth foreign,
    and return how many there are.

    Every fifth of those that are well is in JSON, where a case has that.
    """
    damaged, foreign = count // 10, count // 20
    (folder / "models").mkdir(parents=True)
    names = _MODELS[: max(1, count // 25)]
    for name in names:
        shutil.copy(golden / "models" / name / "model.relay", folder / "models" / f"{name}.relay")
        if (golden / "models" / name / "model.params").exists():
            shutil.copy(golden / "models" / name / "model.params", folder / "models" / f"{name}.params")
    (folder / "cases").mkdir()
    (folder / "damaged").mkdir()
    rng = np.random.default_rng(3)
    well = count - damaged - foreign - len(names)
    for number, case in enumerate(cases):
        if number < well:
            form = "json" if number % 5 == 0 and "json" in case else "text"
            (folder / "cases" / f"case{number}.relay").write_text(case[form])
        elif number < well + damaged:
            text = case["text"]
            cut = int(rng.integers(len(text) // 4, len(text) // 2))
            broken = text[:cut] if number % 2 else text.replace("(", "[", 1).replace("float32", "flaot32", 1)
            (folder / "damaged" / f"case{number}.relay").write_text(broken)
        else:
            break
    (folder / "foreign").mkdir()
    for number in range(foreign):
        name = _FOREIGN[number % len(_FOREIGN)]
        (folder / "foreign" / f"{number}{name}").write_bytes(NEITHER[name])
    return count
