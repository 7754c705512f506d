"""Reading what a command names, and where it writes."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from relay2relax.cli import outcome, screen, streams
from relay2relax.cli.names import importable, plain_name
from relay2relax.core import Diagnostic, FileError, ParseError, Relay2RelaxError
from relay2relax.core.amounts import counted, listed
from relay2relax.core.dtype import Array, of_array
from relay2relax.core.errors import about, mistake
from relay2relax.core.errors.table import files, running
from relay2relax.core.file_kinds import is_onnx, torch_program
from relay2relax.core.limits import read_file
from relay2relax.core.output import Origin, OutputFile, OutputFolder, file_digest, reported

if TYPE_CHECKING:
    from relay2relax import relax_ir
    from relay2relax.relay_ir import IRModule
    from relay2relax.relay_ir.io.binding import Bound
    from relay2relax.translator import Argument, Dims, Drawn

# How folders are called that commands make when none is named, behind the model's name and `_`:
# names that Python can import.
_FOLDERS = {"convert": "relax", "export": "c", "extract": "extract", "reduce": "reduced", "split": "parts"}
# A line of TVMScript that no Relay text has: the decorator of a module or function.
_DECORATOR = re.compile(rb"^[ \t]*@(?:\w+\.)+(?:ir_module|function|prim_func)\b", re.MULTILINE)
# A line of Relay that no Python has.
_RELAY = re.compile(rb"^(?:def @\w+[\[(]|fn \(%)", re.MULTILINE)


# Whether a text that breaks off is read as far as it goes.
recovering: ContextVar[bool] = ContextVar("recovering", default=False)
# The weights of the model that was read last, where its own file holds them.
own_weights: ContextVar[Mapping[str, Array]] = ContextVar("own_weights", default={})  # noqa: B039 - never changed
# The function that a model begins with, "" for main.
entry: ContextVar[str] = ContextVar("entry", default="")
# What --attrs says of attributes that a text leaves out.
attributes: ContextVar[Path | None] = ContextVar("attributes", default=None)

_TRANSLATED = "run, compare and inspect take what convert wrote: the folder, or the script in it"


def shown(model: Path) -> str:
    """Return what messages call the file of a model."""
    return "<stdin>" if model in streams.INPUT else str(model)


def read_content(model: Path) -> bytes:
    """Return what the file of a model contains, or standard input; raises FileError where that
    fails.
    """
    try:
        return streams.read_input() if model in streams.INPUT else read_file(model)
    except OSError as error:
        raise FileError.unread(shown(model), error) from None


def load_model(path: Path, dims: Dims | None = None, library: bool = False, begin: str | None = None) -> IRModule:
    """Return the Relay module in ``path``, or of standard input, with its types inferred.

    Parameters of one name are told apart as in text. Numbers in ``dims`` are the extents of inputs.
    Where a function is named, by ``begin`` or by ``--entry``, or is the only one, it is ``main``. A
    module without ``main`` is refused otherwise, unless it may be a ``library``.
    """
    from relay2relax import relay_ir
    from relay2relax.relay_ir.inference.fixed_extents import fix_extents
    from relay2relax.relay_ir.io.accounting import names_apart

    _tell_of(path)
    with about(shown(path)):
        mod = _begun(_relay_module(path, dims), shown(path), library, entry.get() if begin is None else begin)
        mod = relay_ir.infer_type(names_apart(mod) if "main" in mod else mod, declare_results=True)
    return fix_extents(mod, dims)


def _relay_module(path: Path, dims: Dims | None) -> IRModule:
    """Return the module in ``path``; ``dims`` may say shapes that TorchScript leaves out."""
    from relay2relax.relay_ir.io.loader import read_module

    if path.is_dir():
        title = f"{shown(path)!r} is a folder; expected the file of a Relay module"
        raise FileError(Diagnostic(title, help=_TRANSLATED))
    content = read_content(path)
    if _is_script(content):
        title = f"{shown(path)!r} is a TVMScript of Relax; expected a Relay module"
        raise ParseError(Diagnostic(title, help=_TRANSLATED))
    own_weights.set({})
    if is_onnx(memoryview(content)):
        return _onnx_module(path, content)
    if torch_program(memoryview(content)):
        return _torch_module(path, content, dims or {})
    return read_module(content, shown(path), recovering.get(), _attributes("meta["))


def _begun(mod: IRModule, name: str, library: bool, begin: str) -> IRModule:
    """Return the module called ``name`` that begins at ``main``, unless it may be a ``library``."""
    from relay2relax import translator

    if begin:
        return translator.beginning_at(mod, begin)
    if "main" in mod or (library and mod.functions):
        return mod
    there = [var.name for var in mod.functions]
    if len(there) == 1:
        return translator.beginning_at(mod, there[0])
    listed = ", ".join(f"@{one}" for one in there[:8]) or "none"
    title = f"{name!r} has no function @main, where a model begins; its functions: {listed}"
    help = f"name the one that is meant: --entry {there[-1]}" if there else "name a module with functions"
    raise Relay2RelaxError(Diagnostic(title, help=help, kind=running.NO_FUNCTION))


def _onnx_module(path: Path, content: bytes) -> IRModule:
    """Return an ONNX model; its weights are those of the module unless params are given."""
    from relay2relax.relay_ir.frontend import from_onnx

    mod, weights = from_onnx(content if path in streams.INPUT else path)
    own_weights.set(weights)
    return mod


def _torch_module(path: Path, content: bytes, dims: Dims) -> IRModule:
    """Return a program of PyTorch's; its weights are the module's unless params are given."""
    from relay2relax.relay_ir.frontend import from_pytorch
    from relay2relax.relay_ir.frontend.pytorch.files import read_program

    stated = {
        name: [one for one in extents if isinstance(one, int)]
        for name, extents in dims.items()
        if all(isinstance(one, int) for one in extents)
    }
    mod, weights = from_pytorch(read_program(content, shown(path)), stated)
    own_weights.set(weights)
    return mod


def _attributes(language: str) -> dict[str, dict[str, object]]:
    """Return what ``--attrs`` names a file of, by the words that stand for it; the words of each
    language begin otherwise, Relay's with ``meta[`` and Relax's with ``metadata[``.
    """
    from relay2relax.core.schema import parse_json

    path = attributes.get()
    if path is None:
        return {}
    found = parse_json(read_content(path), shown(path))
    if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
        title = f"{shown(path)!r} holds no attributes"
        form = 'an object of objects, as in {"meta[relay.attrs.ScatterNDAttrs][0]": {"mode": "add"}}'
        raise ParseError(Diagnostic(title, label=f"expected {form}"))
    return {
        name: {key: _value(value) for key, value in one.items()}
        for name, one in found.items()
        if name.startswith(language)
    }


def _value(value: object) -> object:
    """Return a value of JSON as the reader of attributes has it: lists are tuples."""
    return tuple(map(_value, value)) if isinstance(value, list) else value


def load_params(path: Path | None, mod: IRModule, allow_missing: bool = False) -> Bound:
    """Return what the params in ``path`` are to the parameters of ``mod``; without a path what an
    ONNX model that was read last holds itself.

    Warnings are said on standard error. Raises Relay2RelaxError as ``bind_values`` does.
    """
    from relay2relax.relay_ir.io.binding import Bound, bind_values

    if path is None and not own_weights.get():
        return Bound()
    values = own_weights.get() if path is None else _named(load_arrays(path), path, mod)
    found = bind_values(mod, values, allow_missing)
    for one in found.warnings:
        outcome.warn(one)
    return found


def load_inputs(path: Path | None, mod: IRModule, params: Bound) -> dict[str, Array]:
    """Return the values of inputs: those among the params, and those in ``path``, which come
    first. A dtype that is not the parameter's is said.
    """
    from relay2relax.ops.registry.types import TensorType

    found = _named(load_arrays(path), path, mod, params.weights)
    types = {param.name: mod.types[param] for param in mod["main"].params}
    changed = [
        f"{name} ({of_array(value)} to {type_.dtype})"
        for name, value in found.items()
        if isinstance(type_ := types.get(name), TensorType) and of_array(value) != type_.dtype
    ]
    if changed:
        outcome.note(f"inputs are converted to the dtypes of the model: {listed(changed)}")
    return params.inputs | found


def _named(values: dict[str, Array], path: Path | None, mod: IRModule, taken: Iterable[str] = ()) -> dict[str, Array]:
    """Return ``values`` of ``path``; a single array that is called as the file is becomes the one
    of the only parameter that is not ``taken``.
    """
    from relay2relax.relay_ir.io.accounting import named_alone

    if path is None or list(values) != [path.stem]:
        return values
    return {named_alone(mod, name, taken): value for name, value in values.items()}


def load_script(path: Path, begin: str | None = None) -> relax_ir.IRModule | None:
    """Return the Relax module in ``path`` where that is TVMScript, None where it is something else.

    A function that ``begin`` or ``--entry`` names is its ``main``.
    """
    content = read_content(path)
    if not _is_script(content):
        return None
    from relay2relax import relax_ir, translator

    with about(shown(path)):
        try:
            module = relax_ir.parse(content.decode("utf-8"), shown(path), attrs=_attributes("metadata["))
        except UnicodeDecodeError as error:
            raise ParseError(f"{shown(path)!r} is no TVMScript: byte {error.start} is not UTF-8") from None
        return translator.beginning_at(module, (entry.get() if begin is None else begin) or "main")


def load_compiled(path: Path) -> relax_ir.Compiled | None:
    """Return the program of kernels in ``path`` where TVM compiled that, None where it is something
    else.

    That it has no operators is said on standard error.
    """
    from relay2relax import relax_ir
    from relay2relax.relax_ir.compiled.graph_executor import kernels_of

    content = read_content(path)
    with about(shown(path)):
        found = relax_ir.read_compiled(content, shown(path))
    if found is not None and entry.get():
        title = f"--entry names a function of a module, and {shown(path)!r} is one compiled program"
        raise Relay2RelaxError(title, kind=files.OPTION)
    if found is not None:
        kernels = counted(len(kernels_of(found.module)), "kernel")
        outcome.note(
            f"{shown(path)} was compiled: its operators are gone. To run it takes {kernels} that only the library has"
        )
    return found


def holds_script(path: Path) -> bool:
    """Whether ``path`` is a file, or standard input, that holds TVMScript.

    What can be read only once is not looked at, and what cannot be read holds none.
    """
    if path not in streams.INPUT and not path.is_file():
        return False
    try:
        return _is_script(read_content(path))
    except FileError:
        return False


def _is_script(content: bytes) -> bool:
    """Whether that is TVMScript: no JSON, with a decorator in it, and no page that shows Relay as
    well.
    """
    script = content.lstrip()[:1] != b"{" and _DECORATOR.search(content) is not None
    return script and _RELAY.search(content) is None


def model_stem(path: Path) -> str:
    """Return what the files made of the model in ``path`` are called, a word that Python imports:
    as the model, without its ending.
    """
    # Recorded cases and many exports call the file `model`; the folder says which.
    return importable("" if path in streams.INPUT else plain_name(path))


def tell_stem(model: Path) -> None:
    """Say what the files made of a model are called, where that is not what the model is called."""
    if model not in streams.INPUT and model_stem(model) != plain_name(model):
        outcome.note(f"the files are called {model_stem(model)}, a name that Python can import")


def output_folder(
    command: str, model: Path, out: Path | None, *, others: Iterable[Path | None], force: bool
) -> OutputFolder:
    """Return the folder for what ``command`` makes of ``model``: ``out``, or else one that is
    called as the model is and as ``command`` names its outputs.

    ``others`` are the files that are read beside the model.
    """
    stem = model_stem(model)
    if out is not None:
        check_folder(command, out)
    out = Path(f"{stem}_{_FOLDERS[command]}") if out is None else out
    if model in streams.INPUT:
        sha256 = model_digest(model)
        return OutputFolder(out, Origin(command, f"standard input of SHA-256 {sha256}", sha256), _given(*others), force)
    name = seen_from(model, out)
    with reported(out):
        sha256 = model_digest(model)
    return OutputFolder(out, Origin(command, name, sha256), _given(model, *others), force)


def check_folder(command: str, out: Path) -> None:
    """Raise Relay2RelaxError where ``out`` is standard output, and no name of a folder."""
    if streams.is_output(out):
        title = f"--out of {command} is a folder, which standard output is not"
        help = f"{command} writes several files: name a folder for them"
        raise Relay2RelaxError(Diagnostic(title, help=help, kind=files.OPTION))


def model_digest(model: Path) -> str:
    """Return the SHA-256 of a model's file, or of standard input; "" for what can be read once."""
    if model in streams.INPUT:
        return hashlib.sha256(read_content(model)).hexdigest()
    return file_digest(model) if model.is_file() else ""


def seen_from(path: Path, folder: Path) -> str:
    """Return how ``path`` is called in a file of ``folder``: relative to it, links followed."""
    with reported(folder):
        return os.path.relpath(os.path.realpath(path), os.path.realpath(folder))


@dataclass(frozen=True, slots=True)
class Output:
    """What a command writes that is one file: to that file, or to standard output."""

    file: OutputFile | None

    def write(self, content: bytes) -> None:
        """Write it; raises FileError where that fails or must not be."""
        if self.file is None:
            streams.send(content)
        else:
            self.file.write(content)


def output_file(path: Path, *, reads: Iterable[Path | None], force: bool) -> Output:
    """Return the one file that a command writes, which reads the files ``reads``.

    Raises FileError where it must not be written over.
    """
    if streams.is_output(path):
        return Output(None)
    found = OutputFile(path, _given(*reads), force)
    found.check()
    return Output(found)


def _given(*paths: Path | None) -> tuple[Path, ...]:
    return tuple(path for path in paths if path is not None)


# Whether weights are read only if they have the hash that is stated of them.
verifying: ContextVar[bool] = ContextVar("verifying", default=False)


@contextmanager
def taken_as_known() -> Iterator[None]:
    """Read what is known to be right: nothing has to be stated beside it."""
    token = verifying.set(False)
    try:
        yield
    finally:
        verifying.reset(token)


def load_arrays(path: Path | None) -> dict[str, Array]:
    """Return the arrays in ``path``, params, inputs or outputs, as ``load_params`` does, verified
    where that is asked.

    Empty where no path is given.
    """
    if path is None:
        return {}
    from relay2relax import relay_ir

    _tell_of(path)
    with about(shown(path)):
        return relay_ir.load_params(path, verifying.get())


def arguments(
    mod: IRModule, given: dict[str, Array], seed: int, required: bool = False
) -> tuple[list[Argument], Drawn | None]:
    """Return a value for every parameter of ``main``, what is ``given`` and the others drawn from
    ``seed``, and which these are.

    That is said on standard error as well; Relay2RelaxError where all are ``required``.
    """
    from relay2relax import translator
    from relay2relax.relay_ir.io.accounting import account

    missing = account(mod, given).inputs
    if required:
        require_all(missing)
    made = translator.make_arguments(mod, given, seed)
    drawn = translator.drawn_values(mod, given, made, seed)
    if drawn:
        outcome.note(str(drawn))
    return made, drawn


def inputs(mod: IRModule, weights: Container[str]) -> list[str]:
    """Return which parameters of ``main`` are not ``weights``; none of a library."""
    return [param.name for param in mod["main"].params if param.name not in weights] if "main" in mod else []


def require_verified(values: object) -> None:
    """Raise Relay2RelaxError where ``--verify`` is given and there are no ``values`` to look at."""
    if verifying.get() and not values:
        raise Relay2RelaxError("--verify: there are neither weights nor other values to look at", kind=files.OPTION)


def require_all(missing: Iterable[str]) -> None:
    """Raise Relay2RelaxError where parameters have no values, which are ``missing``."""
    names = list(missing)
    if names:
        raise Relay2RelaxError(f"no values are given for {listed(names)}", kind=running.ARGUMENT)


def parse_dims(options: list[str]) -> dict[str, tuple[str | int | None, ...]]:
    """Return ``NAME=DIM,…`` options as the mapping that translators take.

    A number is an extent, another word its name; ``_`` leaves an extent alone.
    """
    dims: dict[str, tuple[str | int | None, ...]] = {}
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name:
            raise Relay2RelaxError(
                mistake(
                    files.OPTION, name="--dims", value=repr(option), expected="NAME=DIM,DIM,… such as data=batch,_,_,_"
                )
            )
        dims[name] = tuple(map(_dim, text.split(",")))
    return dims


def _dim(text: str) -> str | int | None:
    word = text.strip()
    return None if word in ("", "_") else int(word) if word.isdecimal() else word


def _tell_of(path: Path) -> None:
    """Say that a file is read, where a verbose command does."""
    screen.detail(f"reads {path}{f', {path.stat().st_size:,} bytes' if path.is_file() else ''}")
