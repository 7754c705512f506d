"""The option ``--verify`` of commands that read weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from relay2relax.cli.options.shared_options import with_options

_OPTION = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="Read params and other values only if they have the SHA-256 that FILE.sha256 beside them states.",
    ),
]


def verified(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the option, which holds for the weights that it reads."""
    return with_options(command, {"verify": _OPTION}, _verifying)


@contextmanager
def _verifying(given: Mapping[str, Any], added: Mapping[str, Any]) -> Iterator[None]:
    from relay2relax.cli import files

    # A script may have weights beside it.
    from relay2relax.cli.converted.folder import is_translated

    paths = [given.get("model"), given.get("script")] if given.keys() & {"script", "require_params"} else []
    script = any(path is not None and is_translated(path) for path in paths)
    if added["verify"] and not script and all(given.get(name) is None for name in ("params", "inputs", "expected")):
        raise typer.BadParameter("there are neither --params nor other values to look at", param_hint="--verify")
    token = files.verifying.set(added["verify"])
    try:
        yield
    finally:
        files.verifying.reset(token)
