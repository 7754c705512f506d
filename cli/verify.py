"""The option ``--verify`` of commands that read weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

_OPTION = Annotated[
    bool,
    typer.Option("--verify", help="Read params only if they have the SHA-256 that FILE.sha256 beside them states."),
]


def verified(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the option, which holds for the weights that it reads."""

    @wraps(command)
    def run(*args: Any, verify: bool = False, **given: Any) -> None:
        from relay2relax.cli import files

        if verify and given.get("params") is None:
            raise typer.BadParameter("there are no --params to look at", param_hint="--verify")
        token = files.verifying.set(verify)
        try:
            command(*args, **given)
        finally:
            files.verifying.reset(token)

    signature = inspect.signature(command, eval_str=True)
    added = inspect.Parameter("verify", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_OPTION)
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), added])  # type: ignore[attr-defined]
    run.__annotations__ = {**get_type_hints(command, include_extras=True), "verify": _OPTION}
    return run
