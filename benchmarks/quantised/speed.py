"""Recorded models, quantised by ONNX Runtime: our C, ONNX Runtime, and our C on the floats.

    python benchmarks/quantised/speed.py [--threads N] [--seconds S] [MODEL …]

Models are calibrated on the recorded input. Each is run in turns, a second of one and a second of
the other; what counts is processor time, the fastest run of each.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).resolve().parents[1])]

FORMS = ("QOperator", "QDQ")
_MODELS = ("resnet18_cifar", "mobilenetv2", "bert_mini")


def quantised(content: bytes, inputs: dict[str, Any], folder: Path, form: str) -> bytes:
    """Return an ONNX model of floats with unsigned data and signed weights, one scale a channel."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Recorded(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            self.left: Iterator[dict[str, Any]] = iter([inputs])

        def get_next(self) -> dict[str, Any] | None:
            return next(self.left, None)

    given, ready, made = (folder / f"{name}.onnx" for name in ("given", "ready", "made"))
    given.write_bytes(content)
    quant_pre_process(str(given), str(ready))
    quantize_static(
        str(ready), str(made), Recorded(), quant_format=getattr(QuantFormat, form), activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8, per_channel=True,
    )  # fmt: skip
    return made.read_bytes()


def ours(content: bytes, given: Sequence[Any]) -> Callable[[], Any]:
    """Return a run of an ONNX model in C."""
    from relay2relax import backends, relay_ir, translator
    from relay2relax.relay_ir.frontend import from_onnx

    mod, params = from_onnx(content, freeze_params=True)
    executable = backends.build(translator.via_graph(relay_ir.infer_type(mod), params), target="c")
    main = backends.VirtualMachine(executable)["main"]
    return lambda: main(*given)


def theirs(content: bytes, inputs: dict[str, Any], threads: int) -> Callable[[], Any]:
    """Return a run of an ONNX model in ONNX Runtime."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)


def fastest(runs: Sequence[Callable[[], Any]], seconds: float, turns: int = 3) -> list[float]:
    """Return the milliseconds of processor time that a run takes at least."""
    best = [float("inf")] * len(runs)
    for _ in range(turns):
        for place, run in enumerate(runs):
            run()
            end = time.perf_counter() + seconds / turns
            while time.perf_counter() < end:
                begin = time.process_time()
                run()
                best[place] = min(best[place], (time.process_time() - begin) * 1e3)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("models", nargs="*", default=_MODELS)
    asked = parser.parse_args()
    os.environ["RELAY2RELAX_THREADS"] = str(asked.threads)
    from common import table
    from measure import find_case
    from peers import Model

    rows = []
    for name in asked.models:
        model = Model(find_case(name))
        floats = model.onnx()
        inputs = {one.name: array for one, array in zip(floats.graph.input, model.given, strict=False)}
        for form in FORMS:
            with tempfile.TemporaryDirectory() as folder:
                content = quantised(floats.SerializeToString(), inputs, Path(folder), form)
            runs = [
                ours(content, model.given),
                theirs(content, inputs, asked.threads),
                ours(floats.SerializeToString(), model.given),
            ]
            own, other, wide = fastest(runs, asked.seconds)
            times = (own, other, wide, own / other, own / wide)
            rows.append([name, form, *(f"{number:.2f}" for number in times)])
    head = ["model", "form", "ours", "ONNX Runtime", "ours, floats", "of ONNX Runtime's", "of floats'"]
    table(f"Quantised models: milliseconds of processor time on {asked.threads} threads", head, rows)


if __name__ == "__main__":
    main()
