"""The option ``--recover`` of commands that read models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from relay2relax.cli.options.shared_options import with_options

_OPTION = Annotated[
    bool,
    typer.Option("--recover", help="Of Relay text that breaks off keep what was read until there, and say what it is."),
]


def recovering(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the option, which holds for the model that it reads."""
    return with_options(command, {"recover": _OPTION}, _recovering)


@contextmanager
def _recovering(_: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[None]:
    from relay2relax.cli import files

    token = files.recovering.set(added["recover"])
    try:
        yield
    finally:
        files.recovering.reset(token)
