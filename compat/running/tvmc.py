"""``tvm.driver.tvmc``: models compiled into packages, and packages run, from Python or by verbs."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from relay2relax.compat.running.factory import build
from relay2relax.compat.running.graph_executor import GraphModule
from relay2relax.compat.running.loading import load_module
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.passes import PassContext
from relay2relax.relay_ir import frontend, transform
from relay2relax.relay_ir.io.loader import load as load_relay
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.tir.extent import static


@dataclass
class Model:
    """A model and its parameters."""

    mod: IRModule
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass
class Package:
    """A compiled model in a file."""

    package_path: str


@dataclass
class Result:
    """What a run gave, and the times of its repetitions in seconds."""

    outputs: dict[str, Array]
    times: Sequence[float]

    def format_times(self) -> str:
        """Return the times as a table."""
        values = [1000 * one for one in self.times]
        return f"mean {np.mean(values):.4f} ms, median {np.median(values):.4f} ms of {len(values)}"

    def save(self, output_path: str) -> None:
        """Write the outputs into an ``.npz`` file."""
        np.savez(output_path, **self.outputs)  # type: ignore[arg-type]


def load(path: str, model_format: str | None = None, shape_dict: Mapping[str, Sequence[int]] | None = None,
         **others: object) -> Model:  # fmt: skip
    """Return the model of a file: ONNX, Relay's text or JSON, by its content.

    Raises Relay2RelaxError for other files.
    """
    if model_format == "onnx" or (model_format is None and path.endswith(".onnx")):
        return Model(*frontend.from_onnx(path, shape=shape_dict))
    if model_format not in (None, "relay"):
        raise UnsupportedError(f"models of the format {model_format} are not read here; onnx and relay are")
    return Model(load_relay(Path(path)))


def compile(
    tvmc_model: Model, target: object = "llvm", opt_level: int = 3, package_path: str | None = None,
    desired_layout: str | None = None, pass_context_configs: Mapping[str, object] | None = None, **others: object,
) -> Package:  # fmt: skip
    """Return a package of a model, written to ``package_path``, ``module.tar`` by default.

    Raises UnsupportedError for targets other than ``llvm`` and ``c``.
    """
    mod = tvmc_model.mod
    with PassContext(opt_level=opt_level, config=dict(pass_context_configs or {})):
        if desired_layout is not None:
            mod = transform.ConvertLayout({"nn.conv2d": [desired_layout, "default"]})(mod)
        library = build(mod, target, params=tvmc_model.params)
    path = package_path or "module.tar"
    library.export_library(path)
    return Package(path)


_FILLS: Mapping[str, Callable[[tuple[int, ...]], Array]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "random": lambda shape: np.random.default_rng(0).random(shape),
}


def run(
    tvmc_package: Package, device: str = "cpu", inputs: Mapping[str, Array] | None = None,
    fill_mode: str = "random", repeat: int = 10, number: int = 10, **others: object,
) -> Result:  # fmt: skip
    """Return what a package gives for inputs, those that are not given filled.

    Raises UnsupportedError for a device that is not the processor.
    """
    if device != "cpu":
        raise UnsupportedError(f"there is no device {device!r} here; programs run on cpu")
    module = GraphModule(load_module(tvmc_package.package_path))  # type: ignore[arg-type]
    given = dict(inputs or {})
    for name, ty in module._library.inputs:
        if name not in given and isinstance(ty, TensorType):
            shape = tuple(static(one) or 1 for one in ty.shape)
            given[name] = np.asarray(_FILLS[fill_mode](shape)).astype(numpy_dtype(ty.dtype))
    module.run(**given)
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(number):
            module.run()
        times.append((time.perf_counter() - begin) / number)
    outputs = {f"output_{at}": np.asarray(module.get_output(at)) for at in range(module.get_num_outputs())}
    return Result(outputs, times)


def main(arguments: Sequence[str]) -> int:
    """Run a verb of the command ``tvmc``; return the exit code."""
    parser = argparse.ArgumentParser(prog="tvmc")
    verbs = parser.add_subparsers(dest="verb", required=True)
    compiling = verbs.add_parser("compile", help="compile a model into a package")
    compiling.add_argument("FILE")
    compiling.add_argument("--target", default="llvm")
    compiling.add_argument("-o", "--output", default="module.tar")
    compiling.add_argument("--model-format")
    compiling.add_argument("--input-shapes", type=_shapes, help="name:[1,3,224,224], with spaces between several")
    compiling.add_argument("--desired-layout")
    compiling.add_argument("-O", "--opt-level", type=int, default=3)
    compiling.add_argument("--pass-config", action="append", default=[], help="name=value")
    running = verbs.add_parser("run", help="run a package")
    running.add_argument("FILE")
    running.add_argument("--device", default="cpu")
    running.add_argument("--fill-mode", choices=sorted(_FILLS), default="random")
    running.add_argument("-i", "--inputs")
    running.add_argument("-o", "--outputs")
    running.add_argument("--print-time", action="store_true")
    running.add_argument("--print-top", type=int)
    running.add_argument("--repeat", type=int, default=1)
    running.add_argument("--number", type=int, default=1)
    given = parser.parse_args(list(arguments))
    try:
        (_compiled if given.verb == "compile" else _ran)(given)
    except Relay2RelaxError as problem:
        parser.exit(int(problem.first_kind.exit), f"{problem}\n")
    return 0


def _compiled(given: argparse.Namespace) -> None:
    configs = {name: json.loads(value) for name, _, value in (one.partition("=") for one in given.pass_config)}
    model = load(given.FILE, given.model_format, given.input_shapes)
    compile(model, given.target, given.opt_level, given.output, given.desired_layout, configs)


def _ran(given: argparse.Namespace) -> None:
    inputs = {}
    if given.inputs is not None:
        with np.load(os.fspath(given.inputs)) as stored:
            inputs = dict(stored)
    found = run(Package(given.FILE), given.device, inputs, given.fill_mode, given.repeat, given.number)
    if given.print_time:
        print(found.format_times())
    if given.print_top:
        for name, value in found.outputs.items():
            order = np.argsort(value.reshape(-1))[::-1][: given.print_top]
            print(name, [order.tolist(), value.reshape(-1)[order].tolist()])
    if given.outputs is not None:
        found.save(given.outputs)


def _shapes(text: str) -> dict[str, list[int]]:
    found = (one.rpartition(":") for one in text.replace(" ", "").replace("],", "] ").split())
    return {name: [int(extent) for extent in shape.strip("[]").split(",") if extent] for name, _, shape in found}
