"""The options by which ``compare`` runs more programs, on more values, and looks closer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from relay2relax.cli.options import Draw

_OPTIONS: Mapping[str, tuple[object, object]] = {
    "programs": (
        Annotated[
            Optional[list[str]],
            typer.Option(
                "--program",
                "-p",
                help="Compare this too (repeatable): relay-graph, relay-vm, or the path of a script, an ONNX model, a "
                ".pt2 file, or a C library that export wrote.",
            ),
        ],
        None,
    ),
    "batches": (
        Annotated[Optional[list[Path]], typer.Option("--batch", help="Values for inputs of one run (repeatable).")],
        None,
    ),
    "loader": (
        Annotated[
            Optional[str],
            typer.Option("--loader", metavar="FILE.py:FUNCTION", help="A function of yours that yields batches."),
        ],
        None,
    ),
    "draws": (
        Annotated[
            Optional[list[Draw]], typer.Option("--draw", help="Draw inputs so, as a run of its own (repeatable).")
        ],
        None,
    ),
    "sweep": (
        Annotated[
            Optional[str],
            typer.Option("--sweep", metavar="N,…", help="Run with each of these for all extents that are open."),
        ],
        None,
    ),
    "tolerances": (
        Annotated[
            Optional[list[str]],
            typer.Option("--tolerance", metavar="OUTPUT=RTOL[,ATOL]", help="Allow one output this (repeatable)."),
        ],
        None,
    ),
    "repeats": (
        Annotated[
            bool, typer.Option("--repeat", help="Run twice, and on one thread and two; the bits have to be the same.")
        ],
        False,
    ),
    "save": (
        Annotated[Optional[Path], typer.Option("--save", help="Write inputs and expected outputs to this .npz file.")],
        None,
    ),
    "saved": (
        Annotated[
            Optional[Path], typer.Option("--load", help="Run what --save wrote; its outputs are what is expected.")
        ],
        None,
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparisons:
    """What the options say."""

    programs: tuple[str, ...] = ()
    batches: tuple[Path, ...] = ()
    loader: str = ""
    draws: tuple[Draw, ...] = ()
    sweep: str = ""
    tolerances: tuple[str, ...] = ()
    repeats: bool = False
    save: Path | None = None
    saved: Path | None = None

    @property
    def asked(self) -> bool:
        """Whether there is any such option."""
        return self != Comparisons()

    def with_program(self, script: Path | None) -> Comparisons:
        """Return the same with a script among the programs, if there is one."""
        return self if script is None else replace(self, programs=(*self.programs, str(script)))


def reads_comparisons(command: Callable[..., None]) -> Callable[..., None]:
    """Return ``command``, which takes :class:`Comparisons` as ``more``, with the options that say
    what is in them.
    """

    @wraps(command)
    def run(**given: Any) -> None:
        asked: dict[str, Any] = {}
        for name, (_, default) in _OPTIONS.items():
            value = given.pop(name, default)
            if value != default:
                asked[name] = tuple(value) if isinstance(value, list) else value
        command(**given, more=Comparisons(**asked))

    kind = inspect.Parameter.KEYWORD_ONLY
    own = [one.replace(kind=kind) for name, one in inspect.signature(command, eval_str=True).parameters.items()
           if name != "more"]  # fmt: skip
    params = own + [
        inspect.Parameter(name, kind, default=default, annotation=option)
        for name, (option, default) in _OPTIONS.items()
    ]
    run.__signature__ = inspect.Signature(params)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in params} | {"return": None}
    return run
