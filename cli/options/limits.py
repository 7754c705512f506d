"""The options ``--limit-…`` of commands that read, translate or run what somebody else made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Annotated, Any, Optional

import typer

from relay2relax.cli.options.shared_options import with_options


def _bytes(text: str) -> int:
    from relay2relax.core.amounts import parse_bytes

    found = parse_bytes(text)
    if not found:
        raise typer.BadParameter(f"{text!r} is not understood; expected a size above 0, such as 4GB")
    return found


def size(text: str) -> str:
    """Return the text of a size, once it is understood."""
    _bytes(text)
    return text


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
        typer.Option("--limit-steps", metavar="NUMBER", min=1, help="Let programs that run take no more steps."),
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
    return with_options(command, OPTIONS, _limits)


def _limits(_: Mapping[str, Any], added: Mapping[str, Any]) -> AbstractContextManager[object]:
    if not any(added.values()):
        return nullcontext()
    from relay2relax.core.limits import Limits

    return Limits(*(added[name] for name in OPTIONS))
