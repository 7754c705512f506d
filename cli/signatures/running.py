"""Commands that run models: ``compare`` and ``run``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from relay2relax.cli.devices import on_device
from relay2relax.cli.options import (
    AllowMissing,
    AsJson,
    Backend,
    Device,
    DeviceOption,
    DimsOption,
    Force,
    Inputs,
    Library,
    Params,
    RunVia,
    Seed,
    StrictNan,
)
from relay2relax.cli.options.comparisons import Comparisons, reads_comparisons
from relay2relax.cli.options.models import reads_a_model


@reads_a_model
@reads_comparisons
def compare(
    more: Comparisons,
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A Relay module; or a folder that `convert` wrote, or the script in it."),
    ],
    script: Annotated[
        Optional[Path],
        typer.Argument(
            metavar="[SCRIPT]", help="A TVMScript of Relax to compare it with, ours or TVM's.", show_default=False
        ),
    ] = None,
    of: Annotated[
        Optional[Path],
        typer.Option("--model", help="The Relay module that a converted folder was made of, where it has moved."),
    ] = None,
    params: Params = None,
    inputs: Inputs = None,
    backend: Annotated[
        Optional[list[Backend]],
        typer.Option("--backend", "-b", help="Backends to run on (repeatable) [default: numpy, c; of scripts, all]."),
    ] = None,
    device: DeviceOption = Device.CPU,
    seed: Seed = 0,
    dims: DimsOption = None,
    allow_missing: AllowMissing = False,
    per_node: Annotated[bool, typer.Option("--per-node", help="Find the first node whose value differs.")] = False,
    float64: Annotated[
        bool, typer.Option("--float64", help="Say which outputs are nearest to the same program in float64.")
    ] = False,
    expected: Annotated[
        Optional[Path], typer.Option("--expected", help="Outputs that were recorded elsewhere: the reference then.")
    ] = None,
    rtol: Annotated[
        Optional[float], typer.Option("--rtol", min=0, help="Allow this share of what is expected, instead of ours.")
    ] = None,
    atol: Annotated[Optional[float], typer.Option("--atol", min=0, help="Allow this much as well.")] = None,
    report: Annotated[
        Optional[Path], typer.Option("--report", metavar="PAGE", help="Write a page with figures of every output.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Run MODEL as Relay and as both translations, or as SCRIPT.

    Of a folder that `convert` wrote, script and weights are read anew and compared with the model
    they were made of. The exit code is 1 where an output disagrees.
    """
    from relay2relax.cli.commands import compare as command
    from relay2relax.cli.commands import matrix

    _one_comparison(more, script, of, expected)
    chosen = tuple(one.value for one in backend or ())
    how = command.How(chosen, seed, tuple(dims or ()), allow_missing, per_node, command.tolerance(rtol, atol), float64)
    page = command.Page(report, force)
    with on_device(device.value, chosen):
        if more.asked:
            matrix.run(model, params, inputs, how, more.with_program(script), as_json, page)
        else:
            command.run(model, script, of, params, inputs, expected, how, as_json, page)


def _one_comparison(more: Comparisons, script: Path | None, of: Path | None, expected: Path | None) -> None:
    """Raise BadParameter for options that do not go together."""
    if script is not None and of is not None:
        raise typer.BadParameter("the model is named twice", param_hint="--model")
    if more.asked and (of is not None or expected is not None):
        raise typer.BadParameter("it is of one comparison, and here are several", param_hint="--model, --expected")


@reads_a_model
def run(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="A Relay module; or a folder that `convert` wrote, or the script in it."),
    ],
    params: Params = None,
    inputs: Inputs = None,
    via: Annotated[
        Optional[RunVia],
        typer.Option(
            "--via",
            help="Relay itself, or one of its translations [default: relay; with --backend tvm, which has no Relay, "
            "graph]. Not of a script, which is one.",
        ),
    ] = None,
    backend: Annotated[Backend, typer.Option("--backend", "-b", help="What runs the program.")] = Backend.NUMPY,
    device: DeviceOption = Device.CPU,
    library: Annotated[
        Optional[Library],
        typer.Option(
            "--library", help="Let this library compute products and convolutions (--via graph or a script; numpy, c)."
        ),
    ] = None,
    seed: Seed = 0,
    dims: DimsOption = None,
    out: Annotated[Optional[Path], typer.Option("--out", "-o", help="Write outputs to this .npz file.")] = None,
    allow_missing: AllowMissing = False,
    require_params: Annotated[
        bool, typer.Option("--require-params", help="Refuse to draw values; every parameter must be given.")
    ] = False,
    force: Force = False,
    profile: Annotated[
        bool,
        typer.Option(
            "--profile", help="Show time and rates of every kernel (--backend c with --via graph or tir, or a script)."
        ),
    ] = False,
    chart: Annotated[
        Optional[Path],
        typer.Option(
            "--profile-out",
            metavar="FILE",
            help="Write the profile: a flame chart, .html, or Chrome's trace, .json.",
        ),
    ] = None,
    strict_nan: StrictNan = False,
    as_json: AsJson = False,
) -> None:
    """Run MODEL, as Relay or translated, and print or save its outputs.

    Of a folder that `convert` wrote, the script runs, with the weights beside it.
    """
    from relay2relax.cli.commands import run as command

    program = command.chosen_via(model, via.value if via else None, backend.value)
    how = command.How(program, backend.value, library and library.value, profile or chart is not None, chart,
                      device.value, strict_nan)  # fmt: skip
    command.run(model, params, inputs, how, seed, dims or [], out, allow_missing, require_params, force, as_json)
