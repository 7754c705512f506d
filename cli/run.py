"""``relay2relax run``: run a model, or a translation of it, on one backend."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np

from relay2relax import backends, translator
from relay2relax.cli import files, screen


def run(
    model: Path, params: Path | None, inputs: Path | None, via: str, backend: str, seed: int, out: Path | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Run and print a line per output, or write the outputs to ``out``."""
    with screen.progress(f"reading {model.name}"):
        module = files.load_model(model)
        arguments = translator.make_arguments(module, files.load_params(params) | files.load_inputs(inputs), seed)
    with screen.progress(f"running on {backend}"):
        if via == "relay":
            result = backends.create_executor("debug", module, backend=backend).evaluate()(*arguments)
        else:
            translate = translator.lower_to_tir if via == "tir" else translator.via_graph
            relax = translate(module)
            for one in translator.calls_as_tensorir(relax):
                print(one, file=sys.stderr)
            executable = backends.build(relax, target=backend)
            result = backends.VirtualMachine(executable)["main"](*arguments)
    outputs = translator.flatten(result)
    if out is not None:
        content = io.BytesIO()
        np.savez(content, **{f"out{i}": array for i, array in enumerate(outputs)})  # type: ignore[arg-type]
        files.write_all({out: content.getvalue()})
    if as_json:
        screen.print_json(
            [{"shape": list(o.shape), "dtype": str(o.dtype), "values": o.ravel()[:16].tolist()} for o in outputs]
        )
        return
    for index, array in enumerate(outputs):
        print(f"output {index}: {array.dtype}{list(array.shape)}")
        print(np.array2string(array, threshold=64))
