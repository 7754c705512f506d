"""The option ``--entry`` of commands that read models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Optional

import typer

from relay2relax.cli.options.shared_options import with_options

_OPTION = Annotated[
    Optional[str],
    typer.Option("--entry", metavar="NAME", help="The function of the module to begin with, instead of main."),
]


def beginning(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the option, which holds for the models that it reads."""
    return with_options(command, {"entry": _OPTION}, _beginning)


@contextmanager
def _beginning(_: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[None]:
    from relay2relax.cli import files

    token = files.entry.set((added["entry"] or "").removeprefix("@"))
    try:
        yield
    finally:
        files.entry.reset(token)
