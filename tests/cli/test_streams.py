"""The command on standard streams that are closed, full, broken, or take ASCII alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

MODEL = '#[version = "0.0.5"]\ndef @main(%é: Tensor[(2, 3), float32]) { nn.relu(%é) }'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "m.relay").write_text(MODEL, encoding="utf-8")
    return tmp_path


def shell(line: str, folder: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, in which ``$R`` is the command; no traceback is ever seen."""
    given = {**os.environ, "R": f"{sys.executable} -m relay2relax", **env}
    done = subprocess.run(
        ["bash", "-c", line], capture_output=True, cwd=folder, env=given, timeout=60, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    return done


@pytest.mark.sweep(every=2)
def test_ascii_alone(folder: Path) -> None:
    done = shell("$R inspect m.relay", folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert r"N_0 \xe9 " in done.stdout
    done = shell("$R inspect né.relay", folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 3
    assert r"cannot read 'n\xe9.relay'" in done.stderr


@pytest.mark.parametrize(("stream", "said"), [(">&-", "Bad file descriptor"), ("> /dev/full", "No space left")])
def test_output_that_takes_nothing(folder: Path, stream: str, said: str) -> None:
    done = shell(f"$R inspect m.relay {stream}", folder)
    assert done.returncode == 3
    assert f"cannot write to standard output: {said}" in done.stderr


def test_pipe_that_nobody_reads(folder: Path) -> None:
    done = shell("{ sleep 1; $R explain all; echo $? >&2; } | true", folder)
    assert done.stderr.strip() == "141"


@pytest.mark.sweep(every=2)
def test_nothing_is_printed_into_a_file_of_the_result(folder: Path) -> None:
    """A file that is opened where standard output is closed would be standard output."""
    done = shell("$R convert m.relay --out out >&- 2>&-", folder)
    assert done.returncode == 3
    script = (folder / "out" / "m.py").read_text()
    assert script.startswith("from tvm.script import")
    assert "Relay calls" not in script


def test_mistakes_that_nobody_sees(folder: Path) -> None:
    assert shell("$R inspect none.relay 2>&-", folder).returncode == 3


@pytest.mark.parametrize("command", ["run m.relay --backend c", "export m.relay --out c"])
@pytest.mark.sweep(every=2)
def test_a_compiler_that_is_no_command(folder: Path, command: str) -> None:
    done = shell(f"$R {command}", folder, CC="gcc '")
    assert done.returncode == 5
    assert """CC is not a command: "gcc '": No closing quotation""" in done.stderr


def test_seeds_are_not_negative(folder: Path) -> None:
    assert shell("$R run m.relay --seed -1", folder).returncode == 2


@pytest.mark.sweep(every=2)
def test_weights_are_verified_where_that_is_asked(folder: Path) -> None:
    from relay2relax import relay_ir

    model = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32], %w: Tensor[(2), float32]) { add(%x, %w) }'
    (folder / "m.relay").write_text(model)
    (folder / "w.params").write_bytes(relay_ir.save_params({"w": np.ones(2, np.float32)}))
    done = shell("sha256sum w.params > w.params.sha256; $R inspect m.relay --params w.params --verify", folder)
    assert done.returncode == 0, done.stderr
    done = shell("echo >> w.params; $R run m.relay --params w.params --verify", folder)
    assert done.returncode == 3
    assert "was made of" in done.stderr
    assert shell("$R inspect m.relay --verify", folder).returncode == 2


@pytest.mark.sweep(every=2)
def test_a_script_is_compared_with_standard_input(folder: Path) -> None:
    shell("$R convert m.relay --no-check", folder)
    for line in ("cat m.relay | $R compare - m_relax/m.py", "$R compare /dev/stdin m_relax < m.relay"):
        done = shell(f"{line} --backend numpy", folder)
        assert done.returncode == 0, done.stderr
        assert "m.py is compared with <stdin>" in done.stdout
        assert "is not the file" not in done.stdout
    done = shell("(cat m.relay; echo) | $R compare - m_relax/m.py --backend numpy", folder)
    assert "<stdin> is not the file that was converted" in done.stdout


@pytest.mark.sweep(every=2)
def test_standard_input_is_a_model(folder: Path) -> None:
    shown = shell("$R inspect m.relay", folder).stdout
    for line in ("cat m.relay | $R inspect -", "$R inspect /dev/stdin < m.relay", "$R inspect - --out - < m.relay"):
        done = shell(line, folder)
        assert (done.returncode, done.stdout) == (0, shown), done.stderr
    done = shell("cat m.relay | $R convert - && echo 'no relay' | $R run -", folder)
    assert done.returncode == 3
    assert "(<stdin>:1:1)" in done.stderr
    assert (folder / "model_relax" / "model.py").exists()
    # Another model of standard input is another model.
    assert shell("echo '#[version = \"0.0.5\"] def @main() { 1f }' | $R convert -", folder).returncode == 2
    assert shell("$R convert m.relay --out -", folder).returncode == 2


@pytest.mark.sweep(every=2)
def test_standard_output_takes_arrays(folder: Path) -> None:
    read = f"{sys.executable} -c 'import io, sys, numpy; print(*numpy.load(io.BytesIO(sys.stdin.buffer.read())))'"
    for out in ("-", "/dev/stdout"):
        done = shell(f"$R run m.relay --out {out} | {read}", folder)
        assert (done.returncode, done.stdout) == (0, "out0\n"), done.stderr
    assert not (folder / "-").exists()
    assert shell("$R run m.relay --out - --json", folder).returncode == 2


def test_json_is_json_in_ascii(folder: Path) -> None:
    done = shell("$R inspect m.relay --format json", folder, PYTHONIOENCODING="ascii")
    assert done.stdout.isascii()
    assert "é" in json.dumps(json.loads(done.stdout), ensure_ascii=False)


def test_empty_arguments_are_refused(folder: Path) -> None:
    for line in ("convert m.relay --out ''", "convert m.relay --out=", "run ''"):
        done = shell(f"$R {line}", folder)
        assert done.returncode == 2
        assert "an argument is empty" in done.stderr
