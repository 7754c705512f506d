"""Write docs/reference/command-line.md, the page of all commands, from the command itself:
``python tools/command_page.py``.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

from relay2relax.cli.app import app
from relay2relax.cli.options.examples import EXAMPLES
from relay2relax.core.errors import ExitCode

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "command-line.md"
HEAD = """# Command line

Made from the command by `python tools/command_page.py`; a test keeps it up to date.

An error is printed without a traceback, with the line of the source that it is about.
`relay2relax --version` shows the version, and `relay2relax COMMAND -h` what stands here.

`relay2relax --install-completion` makes the shell complete commands and options. On a terminal,
what takes more than a second shows how far it is. Colours follow `NO_COLOR` and `FORCE_COLOR`, the
width of tables follows the terminal, or `COLUMNS`.

[Environment variables](environment.md) choose the C compiler, the number of threads, and the build
cache. [Unattended work](../howto/unattended.md) is done with the options `--limit-…`.

## Exit codes

| | |
|---|---|
{exit_codes}

Each [error](errors.md) says which exit code it has. What is wrong in a file has 3; what a file says
rightly and cannot be carried over has 4.

## JSON

With `--json` a command prints one document on standard output, however it ends. Beside what the
command found, it has:

| | |
|---|---|
| `exit_code` | the number above |
| `errors` | each mistake: what is below |
| `warnings` | what may be wrong although the command went on |
| `notes` | what the command decided, such as which values it drew |

A mistake has `code`, `title`, `label`, `notes`, `helps`, and its place, which is null where there
is none: `file`, `line`, `column`, `end_line`, `end_column`. Lines and columns count from 1.

The document is ASCII: other characters are escaped. Text for people stays on standard error.
"""


def page() -> str:
    """Return the text of the page."""
    sections = ("\n".join(_section(one.callback)) for one in app.registered_commands if one.callback is not None)
    codes = "\n".join(f"| {code:d} | {code.meaning} |" for code in ExitCode)
    return "\n".join([HEAD.format(exit_codes=codes), *sections])


def _section(command: Callable[..., Any]) -> Iterator[str]:
    name = command.__name__.strip("_").replace("_", "-")
    hints = get_type_hints(command, include_extras=True)
    params = {
        one.name: (*_split(hints[one.name]), one.default) for one in inspect.signature(command).parameters.values()
    }
    arguments = [(info, default) for _, info, default in params.values() if isinstance(info, ArgumentInfo)]
    options = [
        (key, kind, info, default) for key, (kind, info, default) in params.items() if isinstance(info, OptionInfo)
    ]
    yield f"## {name}"
    yield ""
    yield textwrap.fill(" ".join((command.__doc__ or "").split()), 100, break_on_hyphens=False)
    yield ""
    yield "```text"
    yield " ".join(["relay2relax", name, *(["[OPTIONS]"] if options else []), *(str(a.metavar) for a, _ in arguments)])
    yield "```"
    yield ""
    if not params:
        return
    yield "| | | default |"
    yield "|---|---|---|"
    for argument, _ in arguments:
        yield f"| `{argument.metavar}` | {_cell(argument.help)} | |"
    for key, kind, info, default in options:
        yield f"| {_names(key, kind, info)} | {_cell(info.help)} |{_default(default)} |"
    yield ""
    yield "<!-- not run: the files are made up -->"
    yield "```console"
    yield from (f"$ {line}" for line in EXAMPLES[name])
    yield "```"
    yield ""


def _split(hint: Any) -> tuple[type, ArgumentInfo | OptionInfo]:
    """Return the plain type of a parameter, and what typer is told of it."""
    kind, info = get_args(hint)
    inner = [one for one in get_args(kind) if one is not type(None)]
    while inner:
        kind = inner[0]
        inner = [one for one in get_args(kind) if one is not type(None)]
    return kind, info


def _names(key: str, kind: type, info: OptionInfo) -> str:
    # Within `Annotated`, typer keeps the first name where a default would stand.
    declared = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
    declared = sorted(declared or [f"--{key.replace('_', '-')}"], key=len)
    *short, name = declared
    return ", ".join(f"`{one}`" for one in [*short, *(f"{name} {value}".strip() for value in _values(kind, info))])


def _values(kind: type, info: OptionInfo) -> list[str]:
    """Return what may stand behind an option: its choices, or a word for the value."""
    if kind is bool:
        return [""]
    if info.metavar:
        return [info.metavar]
    if issubclass(kind, Enum):
        return [str(one.value) for one in kind]
    return [{"Path": "PATH", "int": "NUMBER"}.get(kind.__name__, "TEXT")]


def _default(default: object) -> str:
    if default is None or default is inspect.Parameter.empty or isinstance(default, bool):
        return ""
    return f" `{default.value if isinstance(default, Enum) else default}`"


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|").replace("_", "\\_")


if __name__ == "__main__":
    PAGE.write_text(page())
