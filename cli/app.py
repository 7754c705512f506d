"""The command and its subcommands. ``entry.py`` runs them and says what they end with."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from relay2relax.cli.options.commands import Command
from relay2relax.cli.signatures import converting, graphs, others, running


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


# In the order in which help and the page of all commands list them.
_COMMANDS = (
    converting.convert,
    converting.plan,
    converting.migrate,
    converting.export,
    running.compare,
    running.run,
    graphs.inspect,
    graphs.diff,
    graphs.extract,
    graphs.bisect,
    graphs.reduce,
    graphs.split,
    others.passes,
    others.python,
    others.modernize,
    graphs.view,
    others.doctor,
    others.cache,
    others.explain,
    others.demo,
)
# What stands behind the script is for the script.
_PASSED_ON = {"ignore_unknown_options": True, "allow_interspersed_args": False}

for _one in _COMMANDS:
    app.command(cls=Command, context_settings=_PASSED_ON if _one is others.python else None)(_one)


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
