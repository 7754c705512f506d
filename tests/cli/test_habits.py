"""What people expect of every command: short options, whole help, quiet and verbose runs, progress,
colours, tables that fit.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from commands import run_here

from relay2relax import migrate
from relay2relax.cli import screen
from relay2relax.cli.app import app, made
from relay2relax.cli.options.examples import EXAMPLES

COMMANDS = [one.callback.__name__ for one in app.registered_commands if one.callback]
MODULE = """#[version = "0.0.5"]
def @main(%data: Tensor[(?, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%data, %w, channels=4, kernel_size=[3, 3]);
  %1 = negative(%0);
  negative(%1)
}
"""


def command(*arguments: str, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return run_here(arguments, cwd, env)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.relay").write_text(MODULE)
    (tmp_path / "new.relay").write_text(MODULE)
    (tmp_path / "script.py").write_text("from tvm import relay\nprint(relay.const(1))\n")
    (tmp_path / "mine.py").write_text("import sys\nsys.exit(1)\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "net.relay").write_text(MODULE)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "report.json").write_text(migrate.report_to_json(migrate.Report("1.0", (), ())))
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_short_help_with_examples(name: str, tmp_path: Path) -> None:
    done = command(name, "-h", cwd=tmp_path, COLUMNS="100")
    assert done.returncode == 0
    assert "-q, --quiet" in done.stdout
    assert "-v, --verbose" in done.stdout
    assert f"\nExamples:\n  {EXAMPLES[name][0]}\n" in done.stdout


def test_examples_are_of_commands_that_there_are() -> None:
    assert list(EXAMPLES) == COMMANDS
    assert all(
        line.startswith(f"relay2relax {name} ") or line == f"relay2relax {name}"
        for name in EXAMPLES
        for line in EXAMPLES[name]
    )


@pytest.mark.parametrize("line", [line for lines in EXAMPLES.values() for line in lines if "schedule" not in line])
@pytest.mark.sweep(every=2)
def test_examples_run(line: str, folder: Path) -> None:
    rng = np.random.default_rng(0)
    data, weight = rng.standard_normal((2, 3, 8, 8)), rng.standard_normal((4, 3, 3, 3))
    np.savez(folder / "net.params", w=weight.astype(np.float32))
    (folder / "net.params.npz").rename(folder / "net.params")
    np.savez(folder / "inputs.npz", data=data.astype(np.float32))
    expected = np.einsum("ncxyij,ocij->noxy", np.lib.stride_tricks.sliding_window_view(data, (3, 3), (2, 3)), weight)
    np.savez(folder / "outputs.npz", out0=expected.astype(np.float32))
    if "net_relax" in line:
        assert command("convert", "net.relay", cwd=folder).returncode == 0
    if line.endswith("--out outputs.npz"):
        (folder / "outputs.npz").unlink()
    first, *_ = line.replace("models/*.relay", "models/net.relay").split(" | ")
    # What is cleared is not the cache that tests share.
    env = {"RELAY2RELAX_CACHE": str(folder / "cache")} if " cache " in first else {}
    done = command(*shlex.split(first)[1:], cwd=folder, **env)
    # Without a check of one's own, there is nothing to reduce in a model that agrees.
    assert (done.returncode == 0) != (first == EXAMPLES["reduce"][0]), done.stderr


@pytest.mark.parametrize("width", ["40", "60", "200"])
def test_summaries_of_commands_are_whole(width: str, tmp_path: Path) -> None:
    shown = command("-h", cwd=tmp_path, COLUMNS=width).stdout
    assert "…" not in shown
    assert "..." not in shown.replace("[ARGS]...", "")
    assert "where (`info`), or remove it (`clear`)." in " ".join(shown.split())
    assert max(map(len, shown.splitlines())) <= max(50, int(width))  # the parser's help has no fewer columns


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_what_is_known_of_a_model_and_a_machine_fits_the_screen(width: int, folder: Path) -> None:
    wide, narrow = (command("inspect", "net.relay", "--summary", cwd=folder, COLUMNS=str(w)) for w in (1000, width))
    assert max(map(len, narrow.stdout.splitlines())) <= width
    facts, in_few = (done.stdout.split("\n\n")[0].split() for done in (wide, narrow))
    assert in_few[: len(facts)] == facts
    found = command("doctor", cwd=folder, COLUMNS=str(width)).stdout.split("\nto ")[0]
    assert max(map(len, found.splitlines())) <= width
    assert "keeps builds; without it each is made anew" in " ".join(found.split())


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_version(option: str, tmp_path: Path) -> None:
    assert re.fullmatch(r"relay2relax \d+\.\d+\.\d+\S*\n", command(option, cwd=tmp_path).stdout)


def test_completion_is_for_this_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the shell asks for when `relay2relax con` is completed, as typer's script asks it."""
    # Which options there are depends on the environment, and each process reads them once.
    monkeypatch.setattr("relay2relax.cli.app.made", made.__wrapped__)
    # Else the shell that runs the tests decides, and there may be none.
    script = _process(["--show-completion", "bash"], tmp_path, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    found = re.search(r"_\w+_COMPLETE", script.upper())
    assert found, script
    asked = {"COMP_WORDS": "relay2relax con", "COMP_CWORD": "1", found[0]: "complete_bash"}
    assert _process([], tmp_path, **asked).split() == ["convert"]


def _process(arguments: list[str], cwd: Path, **env: str) -> str:
    """Return what a process of its own prints: commands are made once in a process."""
    line = [sys.executable, "-m", "relay2relax", *arguments]
    done = subprocess.run(line, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)
    return done.stdout


def test_a_quiet_command_prints_results_alone(folder: Path) -> None:
    run = command("run", "net.relay", "-q", cwd=folder)
    assert run.stderr == ""
    assert run.stdout.startswith("output 0: float32[3, 4, 6, 6]")
    convert = command("convert", "net.relay", "-q", cwd=folder)
    assert (convert.returncode, convert.stdout, convert.stderr) == (0, "", "")
    assert (folder / "net_relax" / "net.py").is_file()


def test_a_verbose_command_says_files_and_times_on_stderr(folder: Path) -> None:
    plain, verbose = (command("run", "net.relay", *more, cwd=folder) for more in ([], ["-v"]))
    assert verbose.stdout == plain.stdout
    assert f"reads net.relay, {len(MODULE)} bytes" in verbose.stderr
    assert re.search(r"^reading net\.relay: \d+\.\d\d s$", verbose.stderr, re.MULTILINE)
    assert re.search(r"^running on numpy: \d+\.\d\d s$", verbose.stderr, re.MULTILINE)
    assert "drawn from seed 0" in verbose.stderr


def test_inspect_says_what_it_wrote(folder: Path) -> None:
    said = command("inspect", "net.relay", "--format", "dot", "--out", "net.dot", cwd=folder).stdout
    assert said == "wrote net.dot\n"
    document = command("inspect", "net.relay", "--json", "--out", "net.txt", cwd=folder).stdout
    assert isinstance(json.loads(document), dict)
    assert command("inspect", "net.relay", "-q", "--out", "again.txt", cwd=folder).stdout == ""


def test_quiet_and_verbose_exclude_each_other(folder: Path) -> None:
    assert command("run", "net.relay", "-q", "-v", cwd=folder).returncode == 2


def test_a_number_among_dims_is_the_extent_that_runs(folder: Path) -> None:
    done = command("run", "net.relay", "--dims", "data=2,_,_,_", cwd=folder)
    assert done.stdout.startswith("output 0: float32[2, 4, 6, 6]")
    assert "data (2, 3, 8, 8)" in done.stderr
    wrong = command("run", "net.relay", "--dims", "data=2,4,_,_", cwd=folder)
    assert wrong.returncode == 2
    assert "dimension 1 of 'data' is 4, but its extent is 3" in wrong.stderr


WATCHED = """
import time
from relay2relax import migrate
from relay2relax.cli import screen
from relay2relax.core.progress import going_on
done = [0]
with screen.progress("working"), going_on("steps", lambda: (done[0], 8)):
    for _ in range(8):
        time.sleep(0.2)
        done[0] += 1
"""


def on_a_terminal(script: str) -> str:
    """Return what a Python script writes to standard error where that is a terminal."""
    leader, follower = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", script], stderr=follower)
    os.close(follower)
    written = b""
    try:
        while part := os.read(leader, 4096):
            written += part
    except OSError:  # the end of a terminal
        pass
    finally:
        os.close(leader)
    assert child.wait() == 0
    return written.decode()


def test_a_terminal_shows_the_share_that_is_done() -> None:
    written = on_a_terminal(WATCHED)
    shares = [int(found) for found in re.findall(r"working, steps (\d+)%", written)]
    assert shares
    assert shares == sorted(shares)
    assert 40 <= shares[0] < shares[-1] <= 100
    # Nothing of the bar is left, and the cursor is there again.
    assert written.rstrip("\r\n").endswith(("\x1b[2K", "\x1b[?25h"))
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h")


@pytest.mark.sweep(every=2)
def test_a_pipe_shows_no_progress() -> None:
    done = subprocess.run([sys.executable, "-c", WATCHED], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_is_quick_shows_nothing_on_a_terminal() -> None:
    assert on_a_terminal("from relay2relax.cli import screen\nwith screen.progress('x'): pass") == ""


@pytest.mark.parametrize(
    ("env", "coloured"), [({}, False), ({"FORCE_COLOR": "1"}, True), ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False)]
)
def test_colours_follow_the_environment(env: dict[str, str], coloured: bool, folder: Path) -> None:
    assert ("\x1b[" in command("run", "net.relay", cwd=folder, **env).stderr) is coloured


@pytest.mark.parametrize("width", ["40", "200"])
@pytest.mark.parametrize(
    ("options", "colour", "word"), [("", "32", "agrees|equal"), ("--expected no.npz", "31", "DIFFERS")]
)
def test_verdicts_are_words_in_colours(options: str, colour: str, word: str, width: str, folder: Path) -> None:
    np.savez(folder / "no.npz", out0=np.full((2, 3), -9, np.float32))
    shown = command("compare", "net.relay", "-b", "numpy", *options.split(), cwd=folder, FORCE_COLOR="1", COLUMNS=width)
    plain = command("compare", "net.relay", "-b", "numpy", *options.split(), cwd=folder, COLUMNS=width)
    assert re.search(rf"\x1b\[{colour}m({word}) *\x1b\[0m", shown.stdout)
    assert re.sub(r"\x1b\[\d+m", "", shown.stdout).replace(" ", "") == plain.stdout.replace(" ", "")
    assert "\x1b" not in plain.stdout


@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_the_check_of_convert_has_colours(env: dict[str, str], coloured: bool, folder: Path) -> None:
    said = command("convert", "net.relay", "--force", cwd=folder, FORCE_COLOR="1", **env).stdout
    assert ("on numpy: \x1b[32m" in said) is coloured
    assert ("\x1b" in said) is coloured


HEAD = ("program", "backend", "what is said of it")
ROWS = [
    ("lower_to_tir", "numpy", "agrees with what was recorded, to within some tolerance"),
    ("via_graph", "c", "DIFFERS"),
]


@pytest.mark.parametrize("width", [40, 41, 57, 80, 200])
def test_tables_fit_and_lose_nothing(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    shown = screen.table(HEAD, ROWS)
    assert max(map(len, shown.splitlines())) <= width
    assert {word for row in ROWS for cell in row for word in cell.split()} <= set(shown.split())


def test_a_table_in_a_pipe_is_as_wide_as_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert ROWS[0][2] in screen.table(HEAD, ROWS)


def test_a_narrow_table_is_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    rows = [("a name of 20 letters", "one two three four five six"), ("b", "")]
    expected = """\
        name   a name of 20 letters
        value  one two three four five
               six

        name   b
        value"""
    assert screen.table(("name", "value"), rows) == textwrap.dedent(expected)


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("run net.relay -b c --backend numpy", 2, "given 2 times"),
        ("run net.relay --backend cuda", 2, ": 'cuda' is not one of"),
        ("run net.relay --out o.npy", 2, "--out o.npz"),
        ("convert net.relay --bind-params", 2, "no --params to bind"),
        ("export net.relay --bind-params", 2, "no --params to bind"),
        ("run net.relay --dims data=4", 2, "names 1 dimension of 'data', which has 4\n\nhelp: write a word for each: "
         "--dims data=_,_,_,_"),
        ("run net.relay --dims data=_,4,_,_", 2, "the type of 'data' fixes this extent"),
        ("run .", 3, "no model was converted into it"),
        ("convert .", 3, "compare and inspect take"),
        ("inspect .", 3, "no model was converted into it"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_what_to_write(line: str, code: int, words: str, folder: Path) -> None:
    done = command(*line.split(), cwd=folder)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Value error" not in done.stderr
    assert "note:" not in done.stderr


def test_options_that_repeat_are_given_more_than_once(folder: Path) -> None:
    line = "compare net.relay -b numpy -b numpy --dims data=_,_,_,_ --dims w=_,_,_,_"
    assert command(*line.split(), cwd=folder).returncode == 0


def test_what_convert_wrote_is_inspected_and_not_exported(folder: Path) -> None:
    (folder / "net.relay").rename(folder / "a-net.relay")
    assert "a name that Python can import" in command("convert", "a-net.relay", "--no-check", cwd=folder).stderr
    of_folder = command("inspect", "a_net_relax", cwd=folder)
    assert (of_folder.returncode, of_folder.stderr) == (0, "")
    assert of_folder.stdout == command("inspect", "a_net_relax/a_net.py", cwd=folder).stdout
    done = command("export", "a_net_relax/a_net.py", cwd=folder)
    assert done.returncode == 3
    assert "is a TVMScript of Relax; expected a Relay module" in done.stderr
    assert "run, compare and inspect take what convert wrote" in done.stderr


def test_run_says_what_it_wrote_and_what_it_converted(folder: Path) -> None:
    np.savez(folder / "in.npz", data=np.full((1, 3, 8, 8), 0.1))
    done = command("run", "net.relay", "--inputs", "in.npz", "--out", "o.npz", cwd=folder)
    assert "note: inputs are converted to the dtypes of the model: data (float64 to float32)" in done.stderr
    assert done.stdout.endswith("\nwrote o.npz\n")
    quiet = command("run", "net.relay", "--out", "q.npz", "-q", cwd=folder)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    with np.load(folder / "q.npz") as arrays:
        assert arrays["out0"].shape == (3, 4, 6, 6)
