"""Commands and options. ``entry.py`` runs them and says what they end with."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from typer.core import TyperGroup

from relay2relax.cli.options import (
    AllowMissing,
    AsJson,
    Backend,
    CacheAction,
    DimsOption,
    ExportFormat,
    FailOn,
    Force,
    GraphFormat,
    Inputs,
    Library,
    MigrationFailOn,
    Model,
    Params,
    Partitions,
    PartitionsOption,
    Quantised,
    QuantisedOption,
    RunVia,
    Schedule,
    Seed,
    Via,
)
from relay2relax.cli.options.commands import Command, loud
from relay2relax.cli.options.models import reads_a_model


class Commands(TyperGroup):
    """The commands; their help lists the exit codes."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        from relay2relax.core.errors import ExitCode

        with formatter.section("Exit codes"):
            formatter.write_dl([(str(int(code)), code.meaning) for code in ExitCode])
        super().format_epilog(ctx, formatter)


app = typer.Typer(
    name="relay2relax",
    cls=Commands,
    help="Carry models out of Relay, the graph IR that Apache TVM removed, into Relax.",
    epilog="An error is printed with its code: `relay2relax explain CODE` says more of it.",
    no_args_is_help=True,
    add_completion=True,
    context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@lru_cache(maxsize=1)
def made() -> Any:
    """Return what reads the command line: the signatures of all commands are read once."""
    return typer.main.get_command(app)


@app.command(cls=Command)
@reads_a_model
def convert(
    model: Model,
    params: Params = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_relax].")
    ] = None,
    via: Annotated[Via, typer.Option("--via", help="High-level operators through the graph, or TensorIR.")] = Via.GRAPH,
    bind_params: Annotated[
        bool,
        typer.Option("--bind-params", help="Print params into the script, as text; otherwise a file holds them."),
    ] = False,
    schedule: Annotated[
        Optional[Schedule],
        typer.Option(
            "--schedule",
            help="Fuse PrimFuncs and give them schedules, for TVM's default pipeline to build; params that are not "
            "bound are packed ahead, as main_transform_params does it.",
        ),
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
    form = command.Form(via.value, schedule and schedule.value, partitions.value, qnn.value)
    asked = command.Conversion(model, form, params, out, bind_params, dims or (), allow_missing, force)
    if dry_run:
        command.dry_run(asked, as_json)
        return
    command.run(asked, check, as_json)


@app.command(cls=Command)
@reads_a_model
def plan(
    models: Annotated[
        list[Path], typer.Argument(metavar="MODEL…", help="Relay modules: text or save_json files, by content.")
    ],
    params: Params = None,
    via: Annotated[Via, typer.Option("--via", help="High-level operators through the graph, or TensorIR.")] = Via.GRAPH,
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


@app.command(cls=Command)
@loud
def migrate(
    places: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Folders of models, or models.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for all results and the reports.")],
    via: Annotated[Via, typer.Option("--via", help="High-level operators through the graph, or TensorIR.")] = Via.GRAPH,
    schedule: Annotated[
        Optional[Schedule], typer.Option("--schedule", help="As convert takes it, for every model.")
    ] = None,
    partitions: PartitionsOption = Partitions.KEEP,
    qnn: QuantisedOption = Quantised.INTEGER,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="So many models are converted at a time.")] = 1,
    timeout: Annotated[float, typer.Option("--timeout", min=1, help="Seconds that each model has.")] = 600,
    limit_memory: Annotated[
        Optional[str], typer.Option("--limit-memory", metavar="SIZE", help="Memory that each has, such as 4GB.")
    ] = None,
    check: Annotated[
        Optional[bool],
        typer.Option("--check/--no-check", help="Compare every result with Relay, as convert does it."),
    ] = None,
    fail_on: Annotated[
        MigrationFailOn, typer.Option("--fail-on", help="Fail where a model fares so or worse.")
    ] = MigrationFailOn.DIFFERENCE,
    baseline: Annotated[
        Optional[Path], typer.Option("--baseline", help="An earlier report.json: say what changed since.")
    ] = None,
    dask: Annotated[str, typer.Option("--dask", metavar="ADDRESS", help="Convert on a dask cluster.")] = "",
    as_json: AsJson = False,
) -> None:
    """Convert and compare all models below each FOLDER, and write one report.

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
    options = Options((*given, f"--limit-time={timeout:g}s"), timeout, jobs)
    command.run(places, out, command.How(options, fail_on.value, baseline, dask, as_json))


@app.command(cls=Command)
@reads_a_model
def export(
    model: Model,
    params: Params = None,
    form: Annotated[
        ExportFormat, typer.Option("--format", "-f", help="A C library, or an ONNX model.")
    ] = ExportFormat.C,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the files [default: NAME_c, NAME_onnx].")
    ] = None,
    via: Annotated[Via, typer.Option("--via", help="High-level operators through the graph, or TensorIR.")] = Via.GRAPH,
    bind_params: Annotated[
        bool,
        typer.Option(
            "--bind-params", help="Make params the library's weights; otherwise they are inputs. ONNX models hold them."
        ),
    ] = False,
    dims: DimsOption = None,
    march: Annotated[
        str,
        typer.Option(
            "--march",
            help="Instruction set, as the C compiler calls it, or levels of x86-64 with commas between.",
        ),
    ] = "native",
    allow_missing: AllowMissing = False,
    force: Force = False,
    checked: Annotated[
        bool, typer.Option("--checked", help="Look at every access; otherwise at those that data decide.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write MODEL as a C library that needs no Python, or as an ONNX model.

    Of a library it writes header, sources, weights, a command, and a Makefile, all of them or none.
    The files are called as MODEL is; of a file called `model`, as its folder. Weights of an ONNX
    model of more than 2 GB lie in a file beside it.
    """
    from relay2relax.cli.commands import export as command

    _needs_params(bind_params, params)
    command.run(
        model,
        params,
        form.value,
        out,
        via.value,
        bind_params,
        dims or [],
        march,
        allow_missing,
        force,
        checked,
        as_json,
    )


@app.command(cls=Command)
@reads_a_model
def compare(
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

    if script is not None and of is not None:
        raise typer.BadParameter("the model is named twice", param_hint="--model")
    tolerance = command.tolerance(rtol, atol)
    chosen = tuple(one.value for one in backend or ())
    how = command.How(chosen, seed, tuple(dims or ()), allow_missing, per_node, tolerance, float64)
    command.run(model, script, of, params, inputs, expected, how, as_json, command.Page(report, force))


@app.command(cls=Command)
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
    as_json: AsJson = False,
) -> None:
    """Run MODEL, as Relay or translated, and print or save its outputs.

    Of a folder that `convert` wrote, the script runs, with the weights beside it.
    """
    from relay2relax.cli.commands import run as command

    how = command.How(command.chosen_via(model, via.value if via else None, backend.value), backend.value,
                      library and library.value, profile or chart is not None, chart)  # fmt: skip
    command.run(model, params, inputs, how, seed, dims or [], out, allow_missing, require_params, force, as_json)


@app.command(cls=Command)
@reads_a_model
def inspect(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A Relay module, a TVMScript of Relax, or a folder of one.")
    ],
    params: Params = None,
    dims: DimsOption = None,
    form: Annotated[
        Optional[GraphFormat],
        typer.Option(
            "--format",
            "-f",
            help="A tree that fits the terminal, text, text as TVM's MSC spells it, JSON, DOT, or JSON of Google's "
            "Model Explorer [default: tree on a terminal, else text].",
        ),
    ] = None,
    summary: Annotated[
        bool, typer.Option("--summary", help="Show operators, parameters, arithmetic and memory instead.")
    ] = False,
    weights: Annotated[
        bool, typer.Option("--weights", help="In DOT, draw weights as nodes, not in the boxes that use them.")
    ] = False,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Write to this file instead of the screen.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Show the graph of MODEL, operators and tensors, or a summary.

    `--format dot | dot -Tsvg` makes a picture with Graphviz.
    """
    from relay2relax.cli.commands import inspect as command

    view = command.View(form and form.value, summary, weights, as_json)
    command.run(model, params, dims or [], view, out, force)


@app.command(cls=Command)
@reads_a_model
def diff(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A Relay module, a TVMScript of Relax, or a folder of one.")
    ],
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="What it is compared with.")],
    params: Params = None,
    other_params: Annotated[
        Optional[Path], typer.Option("--other-params", help="Values for the parameters of OTHER.")
    ] = None,
    dims: DimsOption = None,
    as_json: AsJson = False,
) -> None:
    """Show what was added, removed and changed in the graph from MODEL to OTHER.

    Nodes are found again whatever they are called; the parts that are the same are told. Values of
    weights are compared where both models have them. The exit code is 1 where anything but names
    differs.
    """
    from relay2relax.cli.commands import diff as command

    command.run(model, other, params, other_params, dims or [], as_json)


@app.command(cls=Command)
@reads_a_model
def extract(
    model: Model,
    params: Params = None,
    inputs: Inputs = None,
    node: Annotated[Optional[str], typer.Option("--node", metavar="%N", help="Extract this node alone.")] = None,
    between: Annotated[
        Optional[tuple[str, str]],
        typer.Option("--between", metavar="%N %M", help="Extract all by way of which M is computed from N."),
    ] = None,
    seed: Seed = 0,
    dims: DimsOption = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_extract].")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a part of MODEL as a model of its own, with the values that go in and come out.

    Nodes are named as in the text of the model; without --node and --between they are listed.
    """
    from relay2relax.cli.commands import extract as command

    values = command.Values(model, params, inputs, dims or [], seed)
    command.run_extract(values, node, between, out, force, as_json)


@app.command(cls=Command)
@reads_a_model
def reduce(
    model: Model,
    params: Params = None,
    inputs: Inputs = None,
    check: Annotated[
        str,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="A command that fails; {model} and {inputs} in it become the files of a part [default: compare Relay "
            "with both translations].",
        ),
    ] = "",
    seconds: Annotated[float, typer.Option("--check-time", min=1, help="Seconds that the command has.")] = 600,
    backend: Annotated[
        Optional[list[Backend]],
        typer.Option("--backend", "-b", help="Backends to compare on (repeatable) [default: numpy, c]."),
    ] = None,
    seed: Seed = 0,
    dims: DimsOption = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_reduced].")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Find the smallest part of MODEL that fails as the whole does.

    Writes the part, its inputs, and a script that compares it. What is taken away comes in as the
    value that it had. Ctrl-C writes the smallest part so far.
    """
    from relay2relax.cli.commands import reduce as command
    from relay2relax.cli.commands.extract import Values

    how = command.How(check, seconds, tuple(one.value for one in backend or ()) or ("numpy", "c"))
    command.run(Values(model, params, inputs, dims or [], seed), how, out, force, as_json)


@app.command(cls=Command)
@reads_a_model
def split(
    model: Model,
    params: Params = None,
    inputs: Inputs = None,
    at: Annotated[
        Optional[list[str]], typer.Option("--at", metavar="%N", help="End a part with this node; may be repeated.")
    ] = None,
    seed: Seed = 0,
    dims: DimsOption = None,
    out: Annotated[
        Optional[Path], typer.Option("--out", "-o", help="Folder for the results [default: NAME_parts].")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write MODEL in parts, with the values that go from one to the other.

    Every node is in one part. The parts one after the other give the bits that MODEL gives.
    """
    from relay2relax.cli.commands import extract as command

    values = command.Values(model, params, inputs, dims or [], seed)
    command.run_split(values, at or [], out, force, as_json)


@app.command(cls=Command)
@reads_a_model
def passes(
    model: Annotated[
        Optional[Path], typer.Argument(metavar="[MODEL]", help="A Relay module: text or save_json file, by content.")
    ] = None,
    apply: Annotated[
        Optional[str],
        typer.Option(
            "--apply",
            metavar="PASSES",
            help="Names of passes with commas between them, and options as in FuseOps(fuse_opt_level=2).",
        ),
    ] = None,
    suggest: Annotated[
        Optional[Path],
        typer.Option(
            "--suggest",
            metavar="SCRIPT",
            help="Show what stands today for the passes of a Python script, which is not executed.",
        ),
    ] = None,
    params: Params = None,
    dims: DimsOption = None,
    diff: Annotated[bool, typer.Option("--diff", help="Show how the text changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the passes over Relay, or show what each of some changes in MODEL.

    Shows the time of each pass and the operators that it calls more or less often.
    """
    from relay2relax.cli.commands import passes as command

    if suggest is not None:
        command.run_suggest(suggest, as_json)
        return
    command.run(model, apply, params, dims or [], diff, as_json)


@app.command(cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@loud
def python(
    script: Annotated[
        list[str],
        typer.Argument(
            metavar="SCRIPT...", help="A script, `-m` and a module, or `-c` and a text; then what it is given."
        ),
    ],
    tvm: Annotated[str, typer.Option("--tvm", help="The version of TVM that the script was written for.")] = "0.18",
) -> None:
    """Run a Python script that uses `tvm.relay`, without TVM.

    Names of TVM are those of this package; the reference page on the legacy API lists them. The
    exit code is the script's.
    """
    from relay2relax.cli.commands import python as command

    command.run(script, tvm)


@app.command(cls=Command)
@reads_a_model
def view(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A Relay module, a TVMScript of Relax, or a folder of one.")
    ],
    other: Annotated[
        Optional[Path],
        typer.Argument(metavar="[OTHER]", help="Another one, to stand beside it.", show_default=False),
    ] = None,
    params: Params = None,
    inputs: Inputs = None,
    dims: DimsOption = None,
    run: Annotated[
        bool, typer.Option("--run", help="Run it: values, times and errors in Relax of every node.")
    ] = False,
    seed: Seed = 0,
    allow_missing: AllowMissing = False,
    find: Annotated[
        Optional[str],
        typer.Option(
            "--find",
            metavar="NAME",
            help="Say where a node, an operator, a layer or a binding stands in every text; a page only with --out.",
        ),
    ] = None,
    out: Annotated[Optional[Path], typer.Option("--out", "-o", help="The page [default: NAME.html].")] = None,
    force: Force = False,
    serve: Annotated[bool, typer.Option("--serve", help="Open the page in a browser instead of writing it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write a page that shows the graph of MODEL, its Relay, Relax and C, and what is known of its
    nodes.

    The page is one file that needs no network.
    """
    from relay2relax.cli.commands import view as command

    shown = command.Shown(params, inputs, tuple(dims or ()), run, seed, allow_missing, find, as_json)
    command.page(model, other, shown, out, force, serve)


@app.command(cls=Command)
@loud
def doctor(as_json: AsJson = False) -> None:
    """Show what is installed: C compiler, apache-tvm, onnx, torch."""
    from relay2relax.cli.commands import doctor as command

    command.run(as_json)


@app.command(cls=Command)
@loud
def cache(
    action: Annotated[CacheAction, typer.Argument(metavar="ACTION", help="`info` or `clear`.")],
    as_json: AsJson = False,
) -> None:
    """Show how much is kept of builds, and where (`info`), or remove it (`clear`)."""
    from relay2relax.cli.commands import cache as command

    (command.info if action is CacheAction.INFO else command.clear)(as_json)


@app.command(cls=Command)
@loud
def explain(
    code: Annotated[str, typer.Argument(metavar="CODE", help="A code of an error, such as R2R-0203, or `all`.")],
    as_json: AsJson = False,
) -> None:
    """Show what the code of an error means.

    Says what is expected and why, with an example and its mend.
    """
    from relay2relax.cli.commands import explain as command

    command.run(code, as_json)


@app.command(cls=Command)
@loud
def demo() -> None:
    """Show every stage of a model that ships with the package.

    Converts an MLP with a dynamic batch both ways, and compares.
    """
    from relay2relax.cli.commands import demo as command

    command.run()


def _needs_params(bind_params: bool, params: Path | None) -> None:
    if bind_params and params is None:
        raise typer.BadParameter("there are no --params to bind", param_hint="--bind-params")


def _version(value: bool) -> None:
    if value:
        from relay2relax import __version__

        typer.echo(f"relay2relax {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Options of the command itself."""
