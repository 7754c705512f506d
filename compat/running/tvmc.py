"""``tvm.driver.tvmc``: models compiled into packages, and packages run, from Python."""

from __future__ import annotations

import io
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from relay2relax.compat.running.factory import build
from relay2relax.compat.running.graph_executor import GraphModule, Module
from relay2relax.compat.running.loading import load_module
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import FileError, ParseError, UnsupportedError
from relay2relax.core.file_kinds import torch_program
from relay2relax.core.limits import read_file
from relay2relax.core.output import reported
from relay2relax.core.passes import PassContext
from relay2relax.relay_ir import frontend
from relay2relax.relay_ir.io.loader import load as load_relay
from relay2relax.relay_ir.io.params import save_params
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType
from relay2relax.relay_ir.pipeline.tvmc_transforms import transformed
from relay2relax.tir.extent import static

# The files of a package, as TVM's graph executor takes them.
_LIBRARY, _GRAPH, _PARAMS = "mod.so", "mod.json", "mod.params"
FORMATS = ("keras", "onnx", "pb", "tflite", "pytorch", "paddle", "relay")


@dataclass
class Model:
    """A model and its parameters."""

    mod: IRModule
    params: Mapping[str, object] = field(default_factory=dict)

    def summary(self, file: object = None) -> None:
        """Print the model."""
        print(self.mod.astext(show_meta_data=False), file=file)  # type: ignore[call-overload]


@dataclass
class Package:
    """A compiled model in a file: an archive of a library, its graph and its parameters."""

    package_path: str

    def library(self) -> Module:
        """Return the library in the package.

        Raises FileError where there is no such file, ParseError for another file.
        """
        path = Path(self.package_path)
        if not path.is_file():
            raise FileError(f"there is no package {path}")
        try:
            with tarfile.open(path) as archive:
                stream = archive.extractfile(_LIBRARY)
                content = stream.read() if stream is not None else b""
        except (tarfile.TarError, KeyError, EOFError) as error:
            raise ParseError(f"{path} is no package that tvmc of relay2relax compiled") from error
        with tempfile.TemporaryDirectory(prefix="relay2relax-") as folder:
            (Path(folder) / _LIBRARY).write_bytes(content)
            found = load_module(Path(folder) / _LIBRARY)
        assert isinstance(found, Module)
        return found


@dataclass
class Result:
    """What a run gave, and the times of its repetitions in seconds."""

    outputs: dict[str, Array]
    times: Sequence[float]

    def format_times(self) -> str:
        """Return the times as a table."""
        values = [1000 * one for one in self.times]
        return f"mean {np.mean(values):.4f} ms, median {np.median(values):.4f} ms of {len(values)}"

    def get_output(self, name: str) -> Array:
        """Return an output, such as ``output_0``."""
        return self.outputs[name]

    def save(self, output_path: str) -> None:
        """Write the outputs into an ``.npz`` file."""
        np.savez(output_path, **self.outputs)  # type: ignore[arg-type]


def load(path: str, model_format: str | None = None, shape_dict: Mapping[str, Sequence[int]] | None = None,
         **others: object) -> Model:  # fmt: skip
    """Return the model of a file: ONNX, PyTorch, Relay's text or JSON, by its content.

    Raises Relay2RelaxError for other files.
    """
    if model_format not in (None, "onnx", "pytorch", "relay"):
        getattr(frontend, f"from_{ {'pb': 'tensorflow'}.get(model_format, model_format) }")()
    if model_format == "onnx" or (model_format is None and path.endswith(".onnx")):
        return Model(*frontend.from_onnx(path, shape=shape_dict))
    if model_format == "pytorch" or (model_format is None and _is_torch(path)):
        from relay2relax.relay_ir.frontend.pytorch.files import read_program

        program = read_program(read_file(path), path)
        return Model(*frontend.from_pytorch(program, shape_dict or {}))
    return Model(load_relay(Path(path)))


def _is_torch(path: str) -> bool:
    return Path(path).is_file() and bool(torch_program(memoryview(Path(path).read_bytes())))


def compile(
    tvmc_model: Model, target: object = "llvm", tuning_records: object = None, package_path: str | None = None,
    cross: object = None, cross_options: str | None = None, output_format: str = "so", *, opt_level: int = 3,
    pass_context_configs: Mapping[str, object] | None = None, disabled_pass: Sequence[str] = (),
    mod_name: str = "default", desired_layout: str | None = None,
    additional_target_options: object = None, transform_args: Mapping[str, object] | None = None, **others: object,
) -> Package:  # fmt: skip
    """Return a package of a model, written to ``package_path``, ``module.tar`` by default.

    Raises UnsupportedError for targets other than ``llvm`` and ``c``, and for other formats.
    """
    if output_format != "so":
        raise UnsupportedError(f"packages of the format {output_format} are not written here; so is")
    args = {"desired_layout": desired_layout, **(transform_args or {})}
    with PassContext(opt_level=opt_level, config=dict(pass_context_configs or {}), disabled_pass=list(disabled_pass)):
        mod = transformed(tvmc_model.mod, **args)  # type: ignore[arg-type]
        library = build(mod, target, params=tvmc_model.params, mod_name=mod_name)
    path = Path(package_path or "module.tar")
    with tempfile.TemporaryDirectory(prefix="relay2relax-") as folder:
        made = Path(folder) / _LIBRARY
        library.export_library(made, _crossing(cross, cross_options) if cross else None)
        graph, params = library.get_graph_json().encode(), save_params(library.bound)
        with reported(path), tarfile.open(path, "w") as archive:
            archive.add(made, _LIBRARY)
            for name, content in ((_GRAPH, graph), (_PARAMS, params)):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return Package(str(path))


def _crossing(cross: object, options: str | None) -> Callable[..., None]:
    from relay2relax.backends.c.export.linking import cross_compiler

    return cross_compiler(cross, (options or "").split())


_FILLS: Mapping[str, Callable[[tuple[int, ...]], Array]] = {
    "zeros": np.zeros,
    "ones": np.ones,
    "random": lambda shape: np.random.default_rng(0).random(shape),
}
FILLS = tuple(_FILLS)


def run(
    tvmc_package: Package, device: str = "cpu", inputs: Mapping[str, Array] | None = None,
    fill_mode: str = "random", repeat: int = 10, number: int = 10, **others: object,
) -> Result:  # fmt: skip
    """Return what a package gives for inputs, those that are not given filled.

    Raises UnsupportedError for a device that is not the processor.
    """
    if device != "cpu":
        raise UnsupportedError(f"there is no device {device!r} here; programs run on cpu")
    module = GraphModule(tvmc_package.library())
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
