"""The command from its call to its exit code: what fails is told in text, and in JSON."""

from __future__ import annotations

import io
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.cli import outcome, streams

_REPORT = "This is a mistake of relay2relax itself. Please report it, with the lines above."


@dataclass(frozen=True, slots=True)
class _End:
    """How the command ended: its exit code, what is said of that, and the same as plain values."""

    code: int
    text: str = ""
    errors: Sequence[dict[str, object]] = ()


def main() -> None:
    """Run the command and exit with its code (``core/errors/exit_code.py``).

    Mistakes are printed on standard error, without a traceback, and with ``--json`` in the document
    on standard output as well.
    """
    streams.prepare()
    # Until options are read: what is wrong with them is told in JSON, too.
    lines = "--json-lines" in sys.argv
    told = outcome.Outcome(as_json=lines or "--json" in sys.argv, on_a_line=lines)
    with outcome.collected(told):
        end = _ended(lambda: _run(told))
        _say(end)
        last = _ended(lambda: _finish(told, end))
        _say(last)
    streams.finish()
    sys.exit(end.code or last.code)


def _run(told: outcome.Outcome) -> int:
    """Run the command; return its exit code."""
    import typer

    from relay2relax.cli.app import made

    for argument in sys.argv[1:]:
        if not argument or (argument.startswith("--") and argument.endswith("=")):
            raise typer.BadParameter(f"an argument is empty: {' '.join(map(repr, sys.argv[1:]))}")
    code = made()(prog_name="relay2relax", standalone_mode=False)
    if code is not None:  # help, the version, or Ctrl-C: no command came to its end
        told.as_json = told.as_json and code != 0
        if code == 130:
            raise KeyboardInterrupt
    return code or 0


def _finish(told: outcome.Outcome, end: _End) -> int:
    """Print the document where one is asked for; raise OSError where the screen takes no more."""
    if told.as_json:
        outcome.print_document(told.document(end.code, end.errors), told.on_a_line)
    left = streams.finish()
    if left is not None:
        raise left
    return 0


def _ended(work: Callable[[], int]) -> _End:
    """Return how ``work`` ends."""
    try:
        return _End(work())
    except SystemExit as end:
        # Typer ends so, too, where a pipe is closed.
        if isinstance(end.__context__, BrokenPipeError):
            return _failed(end.__context__)
        return _End(end.code if isinstance(end.code, int) else int(end.code is not None))
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - each of them is said
        return _failed(error)


def _failed(error: BaseException) -> _End:
    """Return how a command ends that raises ``error``."""
    import typer

    from relay2relax.core.errors import Diagnostic, ExitCode, FileError, Relay2RelaxError

    # Its name is another module's in each release of typer.
    usage_error = typer.BadParameter.__mro__[2]
    assert usage_error.__name__ == "ClickException"
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        # `python -m` ends by the signal where the interrupt came within a text that is executed, of
        # a dataclass, say, although it is caught; Python forgets it when another begins.
        exec("")  # noqa: S102
        return _plain(ExitCode.STOPPED, ExitCode.STOPPED.meaning)
    if isinstance(error, BrokenPipeError):
        return _End(ExitCode.UNREAD)
    if isinstance(error, usage_error):
        return _misused(error)
    if isinstance(error, MemoryError):
        from relay2relax.core.limits import out_of_memory

        error = out_of_memory("the command", error)
    elif isinstance(error, OSError) and error.filename is None:  # of files we say which
        error = FileError(f"cannot write to standard output: {error.strerror}")
    elif isinstance(error, OSError):
        title = f"the system refuses {error.filename}: {error.strerror}"
        error = FileError(Diagnostic(title, file=str(error.filename)))
    if isinstance(error, Relay2RelaxError):
        text = f"{error}\n\nmore: relay2relax explain {error.code}"
        return _End(error.first_kind.exit, text, [outcome.mistake_as_json(one) for one in error.diagnostics])
    text = "".join(traceback.format_exception(error))
    return _plain(ExitCode.INTERNAL, f"{type(error).__name__}: {error}", f"{text}\n{_REPORT}")


def _plain(code: int, title: str, text: str = "") -> _End:
    """Return an end that is of no kind of mistakes."""
    from relay2relax.core.errors import Diagnostic

    return _End(code, text or title, [outcome.mistake_as_json(Diagnostic(title))])


def _misused(error: BaseException) -> _End:
    """Return the end of a command that is called with wrong options."""
    from relay2relax.core.errors import Diagnostic
    from relay2relax.core.errors.table import files

    shown = io.StringIO()
    error.show(shown)  # type: ignore[attr-defined]
    # Typer says so of words that are none of a choice's, in some of its releases.
    text, title = (
        said.replace(": Value error, ", ": ")
        for said in (shown.getvalue().rstrip(), error.format_message())  # type: ignore[attr-defined]
    )
    kind = files.OPTION
    return _End(kind.exit, text, [outcome.mistake_as_json(Diagnostic(title, kind=kind))])


def _say(end: _End) -> None:
    if end.text:
        print(end.text, file=sys.stderr)
