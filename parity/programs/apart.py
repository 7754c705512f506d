"""Programs of others, each run in a process of its own: what crashes there is a row here.

The process gets a folder with ``inputs.npz`` and leaves ``outputs.npz`` there:

    python -m relay2relax.parity.programs.apart KIND MODEL FOLDER
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, ExecutionError, Relay2RelaxError, UnsupportedError
from relay2relax.core.errors.table import running as kinds
from relay2relax.core.npz import npz_bytes
from relay2relax.relay_ir.io.params import load_params
from relay2relax.relay_ir.text.printer import print_module
from relay2relax.translator.arguments import Argument, flatten
from relay2relax.translator.comparison import Trial
from relay2relax.translator.delivered import Script

INPUTS, OUTPUTS, MODEL = "inputs.npz", "outputs.npz", "model.relay"
# What a process ends with that lacks a package.
_LACKING = 4
_SECONDS = 600.0


def tvm_run(name: str, trial: Trial) -> list[Array]:
    """Return what apache-tvm gives for the translation ``name`` of the model of ``trial``."""
    with _folder() as folder:
        model = folder / MODEL
        model.write_bytes(print_module(trial.module, exact_floats=True).encode())
        return _outputs(name, model, folder, _given(trial))


def tvm_script_run(script: Script, trial: Trial) -> list[Array]:
    """Return what apache-tvm gives for a script of Relax, for the arguments of ``trial``."""
    names = [param.name for param in script.main.params]
    arguments = script.arguments(trial.module, trial.arguments)
    given = {name: _array(name, value) for name, value in zip(names, arguments, strict=True)}
    with _folder() as folder:
        path = folder / f"{script.entry}.py"
        path.write_text(script.module.script())
        return _outputs("script", path, folder, given)


def onnx_run(path: Path, trial: Trial) -> list[Array]:
    """Return what ONNX Runtime gives for the model in ``path``."""
    with _folder() as folder:
        return _outputs("onnx", path, folder, _given(trial))


def torch_run(path: Path, trial: Trial) -> list[Array]:
    """Return what PyTorch gives for the exported program in ``path``."""
    with _folder() as folder:
        return _outputs("torch", path, folder, _given(trial))


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="relay2relax-") as name:
        yield Path(name)


def _given(trial: Trial) -> dict[str, Array]:
    pairs = zip(trial.module["main"].params, trial.arguments, strict=True)
    return {param.name: _array(param.name, value) for param, value in pairs}


def _array(name: str, value: Argument) -> Array:
    if isinstance(value, (tuple, list)):
        raise UnsupportedError(f"parameter {name!r} is a tuple", kind=kinds.ARGUMENT)
    return np.asarray(value)


def _outputs(kind: str, model: Path, folder: Path, given: Mapping[str, Array]) -> list[Array]:
    (folder / INPUTS).write_bytes(npz_bytes(given))
    line = [sys.executable, "-m", __spec__.name, kind, str(model), str(folder)]
    try:
        done = subprocess.run(line, capture_output=True, stdin=subprocess.DEVNULL, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise ExecutionError(f"it takes more than {_SECONDS:g} s") from None
    if done.returncode == 0:
        return list(load_params(folder / OUTPUTS).values())
    said = done.stderr.decode(errors="replace").strip().splitlines()
    why = said[-1] if said else "it says nothing"
    if done.returncode == _LACKING:
        raise UnsupportedError(why, kind=kinds.LIBRARY)
    ended = f"ended by signal {-done.returncode}" if done.returncode < 0 else f"ended with {done.returncode}"
    raise ExecutionError(Diagnostic(f"its process is {ended}: {why}"))


# Here begins what runs in the process.


def _onnx(path: Path, given: Mapping[str, Array]) -> Sequence[object]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return list(session.run(None, _by_name(names, given)))


def _by_name(names: Sequence[str], given: Mapping[str, Array]) -> dict[str, Array]:
    """Return values for inputs: by their names, else by the order of the parameters."""
    if set(names) <= given.keys():
        return {name: given[name] for name in names}
    return dict(zip(names, given.values(), strict=False))


def _torch(path: Path, given: Mapping[str, Array]) -> Sequence[object]:
    import torch

    program = torch.export.load(str(path))
    count = len(program.graph_signature.user_inputs)
    with torch.no_grad():
        found = program.module()(*(torch.from_numpy(one.copy()) for one in list(given.values())[:count]))
    return [one.numpy() for one in (found if isinstance(found, (tuple, list)) else (found,))]


def _tvm(path: Path, given: Mapping[str, Array], translate: Callable[[Any], Any]) -> Sequence[object]:
    from relay2relax import relay_ir

    return _on_tvm(translate(relay_ir.infer_type(relay_ir.load(path))), "main", given)


def _script(path: Path, given: Mapping[str, Array]) -> Sequence[object]:
    from relay2relax import relax_ir

    return _on_tvm(relax_ir.parse(path.read_text()), path.stem, given)


def _on_tvm(module: Any, entry: str, given: Mapping[str, Array]) -> Sequence[object]:
    from relay2relax import backends

    return [backends.VirtualMachine(backends.build(module, target="tvm"))[entry](*given.values())]


_Run: TypeAlias = Callable[[Path, Mapping[str, Array]], Sequence[object]]


def _runs(kind: str) -> _Run:
    from relay2relax.translator.pipeline import lower_to_tir, via_graph

    table: Mapping[str, _Run] = {
        "onnx": _onnx,
        "torch": _torch,
        "script": _script,
        "lower_to_tir": lambda path, given: _tvm(path, given, lower_to_tir),
        "via_graph": lambda path, given: _tvm(path, given, via_graph),
    }
    return table[kind]


def main() -> None:
    """Run one program, as the module says."""
    kind, model, folder = sys.argv[1:]
    given = load_params(Path(folder, INPUTS))
    try:
        found = _runs(kind)(Path(model), given)
    except ImportError as error:
        sys.stderr.write(f"{error.name or kind} is not installed\n")
        sys.exit(_LACKING)
    except Relay2RelaxError as error:
        sys.stderr.write(f"{error.diagnostics[0].title}\n")
        sys.exit(_LACKING if isinstance(error, UnsupportedError) else 1)
    named = {f"output{place}": one for place, one in enumerate(flatten(found))}
    Path(folder, OUTPUTS).write_bytes(npz_bytes(named))


if __name__ == "__main__":
    main()
