"""The option ``--attrs`` of commands that read models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from relay2relax.cli.options.shared_options import with_options

_OPTION = Annotated[
    Optional[Path],
    typer.Option(
        "--attrs",
        help="What Relay text or a script without its metadata leaves out, as JSON: the error that asks for it shows "
        "an example.",
    ),
]


def told_attributes(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the option, which holds for the model that it reads."""
    return with_options(command, {"attrs": _OPTION}, _told)


@contextmanager
def _told(_: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[None]:
    from relay2relax.cli import files

    token = files.attributes.set(added["attrs"])
    try:
        yield
    finally:
        files.attributes.reset(token)
