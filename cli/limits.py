"""The options ``--limit-…`` of commands that read, translate or run what somebody else made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Optional, get_type_hints

import typer


def _bytes(text: str) -> int:
    from relay2relax.core.amounts import parse_bytes

    found = parse_bytes(text)
    if not found:
        raise typer.BadParameter(f"{text!r} is not understood; expected a size above 0, such as 4GB")
    return found


def _seconds(text: str) -> float:
    from relay2relax.core.amounts import parse_seconds

    found = parse_seconds(text)
    if not found:
        raise typer.BadParameter(f"{text!r} is not understood; expected a time above 0, such as 60s")
    return found


OPTIONS: dict[str, Any] = {
    "limit_memory": Annotated[
        Optional[int],
        typer.Option(
            "--limit-memory", metavar="SIZE", parser=_bytes, help="Use no more memory than this, such as 4GB."
        ),
    ],
    "limit_time": Annotated[
        Optional[float],
        typer.Option("--limit-time", metavar="TIME", parser=_seconds, help="End after this time, such as 60s."),
    ],
    "limit_steps": Annotated[
        Optional[int],
        typer.Option("--limit-steps", metavar="NUMBER", min=1, help="Let programs take no more steps than this."),
    ],
    "limit_extents": Annotated[
        Optional[int],
        typer.Option(
            "--limit-extents", metavar="NUMBER", min=1, help="Refuse tensors with more elements, or a longer axis."
        ),
    ],
}


def limited(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command`` with the options of :data:`OPTIONS`, which hold while it runs."""

    @wraps(command)
    def run(
        *args: Any,
        limit_memory: int | None = None,
        limit_time: float | None = None,
        limit_steps: int | None = None,
        limit_extents: int | None = None,
        **given: Any,
    ) -> None:
        if not (limit_memory or limit_time or limit_steps or limit_extents):
            command(*args, **given)
            return
        from relay2relax.core.limits import Limits

        with Limits(limit_memory, limit_time, limit_steps, limit_extents):
            command(*args, **given)

    # The command's own annotations are text, which nobody evaluates once there is a signature.
    signature = inspect.signature(command, eval_str=True)
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
        for name, option in OPTIONS.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *added])  # type: ignore[attr-defined]
    run.__annotations__ = {**get_type_hints(command, include_extras=True), **OPTIONS}
    return run
