"""Commands that translate models: ``convert``, ``plan``, ``migrate`` and ``export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from relay2relax.cli.options import (
    AllowMissing,
    AsJson,
    AsJsonLines,
    CpuOption,
    DimsOption,
    ExportFormat,
    FailOn,
    Force,
    MigrationFailOn,
    Model,
    Params,
    Partitions,
    PartitionsOption,
    Quantised,
    QuantisedOption,
    Schedule,
    StrictNan,
    TargetOption,
    Via,
    ViaOption,
)
from relay2relax.cli.options.commands import loud
from relay2relax.cli.options.limits import size
from relay2relax.cli.options.models import reads_a_model


def _schedule(schedule: Schedule | None, arch: str | None) -> str | None:
    """Return a schedule, and for which GPUs it is, in the words of ``translator.translate``."""
    if arch is not None and schedule not in (Schedule.CUDA, Schedule.CUDA_MISSING):
        raise typer.BadParameter("only --schedule cuda and cuda-missing are for an architecture", param_hint="--arch")
    return schedule and schedule.value + (f":{arch}" if arch else "")


@reads_a_model
def convert(
    model: Model,
    params: Params = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_relax].")
    ] = None,
    via: ViaOption = Via.GRAPH,
    bind_params: Annotated[
        bool,
        typer.Option("--bind-params", help="Print params into the script, as text; otherwise a file holds them."),
    ] = False,
    schedule: Annotated[
        Optional[Schedule],
        typer.Option(
            "--schedule",
            help="Fuse PrimFuncs and give them schedules, or kernels of GPUs, for TVM's default pipeline to build; "
            "params that are not bound are packed ahead, as main_transform_params does it. With cuda-missing fuse "
            "nothing, and make those kernels that TVM's pipeline does not.",
        ),
    ] = None,
    arch: Annotated[
        Optional[str],
        typer.Option("--arch", help="The GPUs that schedules for them are for, such as sm_90 [default: sm_80]."),
    ] = None,
    partitions: PartitionsOption = Partitions.KEEP,
    qnn: QuantisedOption = Quantised.INTEGER,
    dims: DimsOption = None,
    allow_missing: AllowMissing = False,
    force: Force = False,
    check: Annotated[
        Optional[bool],
        typer.Option(
            "--check/--no-check",
            help="Read what was written anew and compare it with Relay [default: on backends where that takes a few "
            "seconds].",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and what becomes of every operator.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Translate MODEL to Relax, as a script for today's TVM.

    Writes the script, params as safetensors, the graph as JSON, and a summary, all of them or none.
    The files are called as MODEL is; of a file called `model`, as its folder. The exit code is 1
    where the check finds a difference; the files stay, and the summary says so.
    """
    from relay2relax.cli.commands import convert as command

    _needs_params(bind_params, params)
    form = command.Form(via.value, _schedule(schedule, arch), partitions.value, qnn.value)
    asked = command.Conversion(model, form, params, out, bind_params, dims or (), allow_missing, force)
    if dry_run:
        command.dry_run(asked, as_json)
        return
    command.run(asked, check, as_json)


@reads_a_model
def plan(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL…", help="Relay modules: text or save_json files, by content.")
    ],
    params: Params = None,
    via: ViaOption = Via.GRAPH,
    dims: DimsOption = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Fail where a model fares so or worse.")
    ] = FailOn.REFUSED,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown, for a pull request.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what will become of each MODEL, before anything is converted.

    What cannot be translated, what becomes TensorIR and why, what is lost, which extents are open,
    which backends take the result, and about how long building and a run take. Nothing is written,
    built or run. The exit code is that of the worst error, or 4 where --fail-on asks for it.
    """
    from relay2relax.cli.commands import plan as command

    command.run(models, params, dims or [], command.How(via.value, fail_on.value, markdown, as_json))


@loud
def migrate(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="FOLDER|LIST…", help="Folders of models, models, or lists: a path on each line."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for all results and the reports.")],
    via: ViaOption = Via.GRAPH,
    schedule: Annotated[
        Optional[Schedule], typer.Option("--schedule", help="As convert takes it, for every model.")
    ] = None,
    partitions: PartitionsOption = Partitions.KEEP,
    qnn: QuantisedOption = Quantised.INTEGER,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="So many models are converted at a time.")] = 1,
    timeout: Annotated[float, typer.Option("--timeout", min=1, max=1e7, help="Seconds that each model has.")] = 600,
    limit_memory: Annotated[
        Optional[str],
        typer.Option("--limit-memory", metavar="SIZE", parser=size, help="Memory that each has, such as 4GB."),
    ] = None,
    check: Annotated[
        Optional[bool],
        typer.Option("--check/--no-check", help="Compare every result with Relay, as convert does it."),
    ] = None,
    fail_on: Annotated[
        MigrationFailOn,
        typer.Option("--fail-on", help="Fail where a model fares so or worse, or worse than in the baseline."),
    ] = MigrationFailOn.DIFFERENCE,
    baseline: Annotated[
        Optional[Path], typer.Option("--baseline", help="An earlier report.json: say what changed since.")
    ] = None,
    pages: Annotated[bool, typer.Option("--pages", help="Write a page that shows each model, too.")] = False,
    library: Annotated[bool, typer.Option("--library", help="Write a C library of each model, too.")] = False,
    dask: Annotated[str, typer.Option("--dask", metavar="ADDRESS", help="Convert on a dask cluster.")] = "",
    as_json: AsJson = False,
    json_lines: AsJsonLines = False,
) -> None:
    """Convert and compare all models below each FOLDER, or in each LIST, and write one report.

    Finds models and their weights by content, names and fit. Each is converted in a process of its
    own. What is done is kept: the same command goes on where it was cut short, and does again only
    what has changed. Writes report.json, report.md, report.html, junit.xml and report.sarif.
    """
    from relay2relax.cli.commands import migrate as command
    from relay2relax.migrate import Options

    given = [f"--via={via.value}", f"--partitions={partitions.value}", f"--qnn={qnn.value}"]
    given += [f"--schedule={schedule.value}"] if schedule else []
    given += [f"--limit-memory={limit_memory}"] if limit_memory else []
    given += [] if check is None else ["--check" if check else "--no-check"]
    options = Options((*given, f"--limit-time={timeout:g}s"), timeout, jobs, pages, library)
    command.run(places, out, command.How(options, fail_on.value, baseline, dask, as_json, json_lines))


@reads_a_model
def export(
    model: Model,
    params: Params = None,
    form: Annotated[
        ExportFormat,
        typer.Option("--format", "-f", help="A C library, an ONNX model, or a library for apache-tvm's runtime."),
    ] = ExportFormat.C,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the files [default: NAME_c, NAME_onnx, NAME_tvm].")
    ] = None,
    via: ViaOption = Via.GRAPH,
    bind_params: Annotated[
        bool,
        typer.Option(
            "--bind-params",
            help="Make params the library's weights; otherwise they are inputs. ONNX models and libraries for "
            "apache-tvm hold them.",
        ),
    ] = False,
    target: TargetOption = None,
    arch: Annotated[
        Optional[str], typer.Option("--arch", help="The GPUs of --target cuda, such as sm_90 [default: sm_80].")
    ] = None,
    dims: DimsOption = None,
    cpu: CpuOption = None,
    march: Annotated[
        str,
        typer.Option(
            "--march",
            help="Instruction set, as the C compiler calls it, or levels of x86-64 or AArch64 with commas between.",
        ),
    ] = "native",
    allow_missing: AllowMissing = False,
    force: Force = False,
    checked: Annotated[
        bool, typer.Option("--checked", help="Look at every access; otherwise at those that data decide.")
    ] = False,
    strict_nan: StrictNan = False,
    as_json: AsJson = False,
) -> None:
    """Write MODEL as a C library that needs no Python, as an ONNX model, or as a library that
    apache-tvm's runtime runs without its compiler.

    Of a library it writes header, sources, weights, a command, and a Makefile, all of them or none.
    The files are called as MODEL is; of a file called `model`, as its folder. Weights of an ONNX
    model of more than 2 GB lie in a file beside it.
    """
    from relay2relax.cli.commands import export as command

    _needs_params(bind_params, params)
    place = command.place_of(form.value, target, cpu, arch, march)
    command.run(model, params, form.value, out, via.value, bind_params, dims or [], place, allow_missing, force,
                checked, as_json, strict_nan)  # fmt: skip


def _needs_params(bind_params: bool, params: Path | None) -> None:
    if bind_params and params is None:
        raise typer.BadParameter("there are no --params to bind", param_hint="--bind-params")
