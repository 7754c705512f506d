"""Commands over passes and old scripts, and those about this package itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from relay2relax.cli.options import AsJson, CacheAction, DimsOption, ModernNames, Params
from relay2relax.cli.options.commands import loud
from relay2relax.cli.options.models import reads_a_model


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
    compare: Annotated[
        bool, typer.Option("--compare", help="Run MODEL behind each pass, and name the first that changes results.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the passes over Relay, or show what each of some changes in MODEL.

    Shows the time of each pass and the operators that it calls more or less often. With --compare
    the exit code is 1 where results differ.
    """
    from relay2relax.cli.commands import passes as command

    if suggest is not None:
        command.run_suggest(suggest, as_json)
        return
    command.run(model, apply, params, dims or [], diff, compare, as_json)


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


@loud
def modernize(
    script: Annotated[Path, typer.Argument(metavar="SCRIPT", help="A Python script or a notebook; it is not run.")],
    in_place: Annotated[
        bool, typer.Option("--in-place/--diff", help="Change the file, or show how it would change.")
    ] = False,
    to: Annotated[
        ModernNames, typer.Option("--to", help="Whose names come first: this package's, or today's apache-tvm's.")
    ] = ModernNames.RELAY2RELAX,
    as_json: AsJson = False,
) -> None:
    """Rewrite a Python script that uses `tvm.relay` in names of this package, or of today's TVM.

    Says of each line what was renamed or replaced, and what needs a person and why. Needs the extra
    modernize.
    """
    from relay2relax.cli.commands import modernize as command

    command.run(script, in_place, to.value, as_json)


@loud
def doctor(as_json: AsJson = False) -> None:
    """Show what is installed: C compiler, apache-tvm, onnx, torch."""
    from relay2relax.cli.commands import doctor as command

    command.run(as_json)


@loud
def cache(
    action: Annotated[CacheAction, typer.Argument(metavar="ACTION", help="`info` or `clear`.")],
    as_json: AsJson = False,
) -> None:
    """Show how much is kept of builds, and where (`info`), or remove it (`clear`)."""
    from relay2relax.cli.commands import cache as command

    (command.info if action is CacheAction.INFO else command.clear)(as_json)


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


@loud
def demo() -> None:
    """Show every stage of a model that ships with the package.

    Converts an MLP with a dynamic batch both ways, and compares.
    """
    from relay2relax.cli.commands import demo as command

    command.run()
