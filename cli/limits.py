"""The options ``--limit-…`` of commands that read, translate or run what somebody else made."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Optional, get_type_hints

import typer

_BYTES = {"": 1, "B": 1, **{f"{prefix}B": 1000**power for power, prefix in enumerate("kMGT", 1)}} | {
    f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)
}
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-z]*)")


def _amount(text: str, units: dict[str, float], example: str) -> float:
    """Return a number with a unit as a plain number."""
    found = _AMOUNT.fullmatch(text.strip())
    known = {unit.lower(): size for unit, size in units.items()}
    if found is None or found["unit"].lower() not in known:
        raise typer.BadParameter(f"{text!r} is not understood; expected a number and a unit, such as {example}")
    value = float(found["number"]) * known[found["unit"].lower()]
    if not value > 0:
        raise typer.BadParameter(f"{text!r} is not above 0")
    return value


def parse_bytes(text: str) -> int:
    """Return a number of bytes written as ``4GB``, ``512MiB`` or ``1000000``.

    Raises typer.BadParameter for anything else.
    """
    return max(int(_amount(text, dict(_BYTES), "4GB")), 1)


def parse_seconds(text: str) -> float:
    """Return a time in seconds written as ``60s``, ``500ms``, ``5m``, ``2h`` or ``60``.

    Raises typer.BadParameter for anything else.
    """
    return _amount(text, _SECONDS, "60s")


OPTIONS: dict[str, Any] = {
    "limit_memory": Annotated[
        Optional[int],
        typer.Option(
            "--limit-memory", metavar="SIZE", parser=parse_bytes, help="Use no more memory than this, such as 4GB."
        ),
    ],
    "limit_time": Annotated[
        Optional[float],
        typer.Option("--limit-time", metavar="TIME", parser=parse_seconds, help="End after this time, such as 60s."),
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
