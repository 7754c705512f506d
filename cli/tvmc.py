"""The command ``tvmc``: its verbs and their flags. Those without an effect here are said once."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from relay2relax.cli import files
from relay2relax.compat import version
from relay2relax.compat.running import tvmc
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.output import OutputFile
from relay2relax.relax_ir.script.printer import script_file
from relay2relax.relay_ir.io.params import save_params
from relay2relax.relay_ir.json.writer import save_json
from relay2relax.relay_ir.pipeline.tvmc_transforms import LAYOUT_OPS, PRECISION_OPS, transformed
from relay2relax.translator import translate

_REFUSED = {
    "tune": "programs are not tuned here: compile without records of tuning",
    "micro": "there is no microTVM here: `relay2relax export MODEL --format c` writes C for any machine",
}
# Flags that TVM's verbs have, with as many values, and what to do instead.
_SILENT = (
    "--tuning-records --dump-offloads --executor --runtime --print-ir-before --print-ir-after --workspace-pools "
    "--rpc-key --rpc-tracker"
)
_SILENT_SWITCHES = "--print-pass-times --end-to-end --profile --list-options"
# Options of parts of TVM, one for each: only those of targets that exist here mean something.
_OPTION = re.compile(r"--(executor|runtime|target)-([\w-]+?)-(.+)")


def main(arguments: Sequence[str]) -> int:
    """Run a verb of the command ``tvmc``; return the exit code."""
    parser = argparse.ArgumentParser(prog="tvmc", description="Compile and run models as TVM's command does.")
    parser.add_argument("--version", action="version", version=version.text())
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="{compile,run,convert}")
    _add_compile(verbs.add_parser("compile", help="compile a model into a package"))
    _add_run(verbs.add_parser("run", help="run a package"))
    _add_convert(verbs.add_parser("convert", help="write a model as Relay or as a script of Relax"))
    if arguments and arguments[0] in _REFUSED:
        parser.exit(2, f"tvmc {arguments[0]} is not provided by relay2relax: {_REFUSED[arguments[0]]}\n")
    given, left = parser.parse_known_args(list(arguments))
    try:
        given.target_options = _options(parser, left)
        _say_silent(given)
        {"compile": _compile, "run": _run, "convert": _convert}[given.verb](given)
    except Relay2RelaxError as problem:
        parser.exit(int(problem.first_kind.exit), f"{problem}\n")
    return 0


def _add_model(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("FILE", help="the model: ONNX, PyTorch, Relay as text or JSON")
    verb.add_argument("--model-format", choices=tvmc.FORMATS)
    verb.add_argument("--input-shapes", type=_shapes, help='"name:[1,3,224,224] other:[1,2]"')
    verb.add_argument("--desired-layout", nargs="+", help="NCHW, or NHWC:HWIO; one, or one for each operator")
    verb.add_argument("--desired-layout-ops", nargs="+", default=list(LAYOUT_OPS))
    verb.add_argument("--mixed-precision", action="store_true")
    verb.add_argument("--mixed-precision-ops", nargs="+", default=list(PRECISION_OPS))
    for kind in ("calculation", "acc"):
        verb.add_argument(f"--mixed-precision-{kind}-type", choices=["float16", "float32"], default="float16")
    verb.add_argument("-v", "--verbose", action="count", default=0)


def _add_silent(verb: argparse.ArgumentParser) -> None:
    for flag in _SILENT.split():
        verb.add_argument(flag, help="changes nothing here")
    for flag in _SILENT_SWITCHES.split():
        verb.add_argument(flag, action="store_true", default=None, help="changes nothing here")


def _add_compile(verb: argparse.ArgumentParser) -> None:
    _add_model(verb)
    _add_silent(verb)
    verb.add_argument("--target", default="llvm", help="llvm or c; --target-llvm-mcpu NAME chooses the instructions")
    verb.add_argument("-o", "--output", default="module.tar")
    verb.add_argument("-f", "--output-format", choices=["so", "mlf"], default="so")
    verb.add_argument("-O", "--opt-level", type=int, choices=range(4), default=3, metavar="[0-3]")
    verb.add_argument("--pass-config", action="append", default=[], metavar="name=value")
    verb.add_argument("--disabled-pass", default="", help="names, with commas between")
    verb.add_argument("--module-name", default="default")
    verb.add_argument("--cross-compiler", default="", help="what links the library, e.g. aarch64-linux-gnu-gcc")
    verb.add_argument("--cross-compiler-options", default="")
    verb.add_argument("--dump-code", default="", metavar="FORMAT", help="relay: the program, beside the package")


def _add_run(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("PATH", help="a package that tvmc compile wrote")
    _add_silent(verb)
    verb.add_argument("--device", default="cpu", choices=["cpu", "cuda", "cl", "metal", "vulkan", "rocm", "micro"])
    verb.add_argument("--fill-mode", choices=tvmc.FILLS, default="random")
    verb.add_argument("-i", "--inputs", help="an .npz file")
    verb.add_argument("-o", "--outputs", help="an .npz file")
    verb.add_argument("--print-time", action="store_true")
    verb.add_argument("--print-top", type=int, metavar="N")
    verb.add_argument("--repeat", type=int, default=1, metavar="N")
    verb.add_argument("--number", type=int, default=1, metavar="N")
    verb.add_argument("-v", "--verbose", action="count", default=0)


def _add_convert(verb: argparse.ArgumentParser) -> None:
    _add_model(verb)
    verb.add_argument("-o", "--output", default="module.py", help="parameters are written beside it, as .params")
    verb.add_argument("-f", "--output-format", choices=["relax", "relay", "json"], default="relax")
    verb.add_argument("--force", action="store_true", help="write over files that are there")


def _options(parser: argparse.ArgumentParser, words: Sequence[str]) -> str:
    """Return options of the target, such as ``-mcpu=…``, of what is left of a command."""
    found, left = [], list(words)
    while left:
        flag, given, value = left.pop(0).partition("=")
        named = _OPTION.fullmatch(flag)
        if named is None:
            parser.error(f"unrecognized arguments: {flag}")
        value = value if given else left.pop(0) if left and not left[0].startswith("--") else ""
        if named[1] == "target" and named[2] in ("llvm", "c"):
            found.append(f" -{named[3]}={value}")
        else:
            print(f"{flag} changes nothing here", file=sys.stderr)
    return "".join(found)


def _say_silent(given: argparse.Namespace) -> None:
    for flag in (*_SILENT.split(), *_SILENT_SWITCHES.split()):
        if getattr(given, flag.strip("-").replace("-", "_"), None) is not None:
            print(f"{flag} changes nothing here", file=sys.stderr)


def _transform_args(given: argparse.Namespace) -> dict[str, object]:
    return {name: value for name, value in vars(given).items() if name.startswith(("desired_", "mixed_"))}


def _compile(given: argparse.Namespace) -> None:
    if unknown := set(filter(None, given.dump_code.split(","))) - {"relay"}:
        raise UnsupportedError(f"code of the format {min(unknown)} is not made here; --dump-code takes relay")
    configs = {name: _value(value) for name, _, value in (one.partition("=") for one in given.pass_config)}
    model = tvmc.load(given.FILE, given.model_format, given.input_shapes)
    tvmc.compile(
        model, given.target + given.target_options, None, given.output, given.cross_compiler,
        given.cross_compiler_options, given.output_format, opt_level=given.opt_level, pass_context_configs=configs,
        disabled_pass=list(filter(None, given.disabled_pass.split(","))), mod_name=given.module_name,
        transform_args=_transform_args(given),
    )  # fmt: skip
    if given.dump_code:
        # It belongs to the package, which TVM's command writes over.
        dump = OutputFile(Path(f"{given.output}.relay"), (Path(given.FILE),), force=True)
        dump.check()
        dump.write(model.mod.astext().encode())


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _convert(given: argparse.Namespace) -> None:
    path, reads = Path(given.output), (Path(given.FILE),)
    outputs = [OutputFile(one, reads, given.force) for one in (path, path.with_suffix(".params"))]
    outputs[0].check()
    model = tvmc.load(given.FILE, given.model_format, given.input_shapes)
    if model.params:
        outputs[1].check()
    mod = transformed(model.mod, **_transform_args(given))  # type: ignore[arg-type]
    if given.output_format == "relax":
        text: str = script_file(translate(mod))
    else:
        text = save_json(mod) if given.output_format == "json" else mod.astext()
    outputs[0].write(text.encode())
    if model.params:
        outputs[1].write(save_params({n: np.asarray(v) for n, v in model.params.items()}))


def _run(given: argparse.Namespace) -> None:
    inputs = files.load_arrays(None if given.inputs is None else Path(given.inputs))
    found = tvmc.run(tvmc.Package(given.PATH), given.device, inputs, given.fill_mode, given.repeat, given.number)
    if given.print_time:
        print(found.format_times())
    if given.print_top:
        for name, value in found.outputs.items():
            order = np.argsort(value.reshape(-1))[::-1][: given.print_top]
            print(name, [order.tolist(), value.reshape(-1)[order].tolist()])
    if given.outputs is not None:
        found.save(given.outputs)


def _shapes(text: str) -> dict[str, list[int]]:
    found = re.findall(r"(\S+?)\s*:\s*\[([^]]*)\]", text)
    if not found:
        raise argparse.ArgumentTypeError('shapes are given as "input_name:[dim1,dim2,...] input_name2:[dim1,dim2]"')
    return {name: [int(extent) for extent in shape.split(",")] for name, shape in found}
