"""Kinds of mistakes with files."""

from relay2relax.core.errors.exit_code import ExitCode
from relay2relax.core.errors.kind import ErrorKind

FILE = ErrorKind(
    "R2R-0900",
    "a file cannot be read or written",
    """The system refuses; the message says which file and why.""",
    """
    from relay2relax import relay_ir

    relay_ir.load("no/such/model.relay")
    """,
    """
    from pathlib import Path
    from relay2relax import relay_ir

    Path("model.relay").write_text('#[version = "0.0.5"] def @main(%x: Tensor[(2), float32]) { %x }')
    relay_ir.load("model.relay")
    """,
    template="cannot {action} {file}: {problem}",
)
OPTION = ErrorKind(
    "R2R-0910",
    "a command does not take such an argument, option or value",
    """The message says what it takes instead; `relay2relax COMMAND --help` lists all of it.""",
    """
    from relay2relax.cli.files import parse_dims

    parse_dims(["data"])
    """,
    """
    from relay2relax.cli.files import parse_dims

    parse_dims(["data=batch,_,_"])
    """,
    template="{name} cannot be {value}: expected {expected}",
    exit=ExitCode.USAGE,
)
OVERWRITE = ErrorKind(
    "R2R-0920",
    "a file would be lost",
    """A file that is read is never written over, and a file that was not written here, or was changed since, only where
    that is asked for: by `--force`, or by `force=True`. What was written here is known by a mark in the file, or by the
    list `.relay2relax.json` in its folder.""",
    """
    from pathlib import Path
    from relay2relax.core.output import OutputFile

    Path("notes.txt").write_text("mine")
    OutputFile(Path("notes.txt")).write(b"a result")
    """,
    """
    from pathlib import Path
    from relay2relax.core.output import OutputFile

    Path("notes.txt").write_text("mine")
    OutputFile(Path("result.txt")).write(b"a result")
    """,
    template="{path} would be written over: {why}",
    exit=ExitCode.USAGE,
)
