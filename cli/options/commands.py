"""What all commands have: `-h`, `-q`, `-v`, whole summaries, and examples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from relay2relax.cli.loudness import Loudness, loudness
from relay2relax.cli.options.examples import EXAMPLES
from relay2relax.cli.options.shared_options import with_options

_OPTIONS = {
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="Print results, warnings and errors alone.")],
    "verbose": Annotated[
        bool, typer.Option("--verbose", "-v", help="Say on stderr which files are read, and how long each stage takes.")
    ],
}


class Command(TyperCommand):
    """A command whose help has examples, and whose summary in the list of commands is whole."""

    def get_short_help_str(self, limit: int = 0) -> str:
        """Return the first paragraph of the help."""
        return " ".join((self.help or "").partition("\n\n")[0].split())

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return the arguments that are left; an option with one value is given once."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in given:
            if not isinstance(option, TyperOption) or option.multiple or option.is_flag:
                continue
            if given.count(option) > 1:
                raise typer.BadParameter(f"is given {given.count(option)} times, and takes one value", ctx, option)
        return super().parse_args(ctx, args)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples."""
        with formatter.section("Examples"):
            for line in EXAMPLES[self.name or ""]:
                formatter.write(f"{' ' * formatter.current_indent}{line}\n")


def loud(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the options that choose how much it says."""
    return with_options(command, _OPTIONS, _chosen)


@contextmanager
def _chosen(_: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[None]:
    if added["quiet"] and added["verbose"]:
        raise typer.BadParameter("a command is quiet or verbose, not both", param_hint="--quiet")
    chosen = Loudness.QUIET if added["quiet"] else Loudness.VERBOSE if added["verbose"] else Loudness.NORMAL
    token = loudness.set(chosen)
    try:
        yield
    finally:
        loudness.reset(token)
