"""Old scripts rewritten: what is written runs, and what was not is said."""

from __future__ import annotations

import json
import runpy
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from commands import run_here

SCRIPT = '''"""Keeps its layout."""
import numpy as np
import tvm
from tvm import relay, te
from tvm.relay import op as _op
from tvm.contrib import graph_executor


# A comment stays where it is.
def make(x):
    y = relay.nn.dense(x, relay.var("w", shape=(4, 3)))   # and this
    return _op.nn.relu(y) + relay.const(1.0)


relay_mod = relay.transform.InferType()(tvm.IRModule.from_expr(make(relay.var("x", shape=(2, 3)))))
print(relay_mod)
'''
AFTER = '''"""Keeps its layout."""
import numpy as np
from relay2relax import relay_ir


# A comment stays where it is.
def make(x):
    y = relay_ir.op.nn.dense(x, relay_ir.var("w", shape=(4, 3)))   # and this
    return relay_ir.op.nn.relu(y) + relay_ir.const(1.0)


relay_mod = relay_ir.transform.InferType()(relay_ir.IRModule.from_expr(make(relay_ir.var("x", shape=(2, 3)))))
print(relay_mod)
'''
BY_HAND = """from tvm import relay
lib = relay.build(mod, target="llvm")
print(mod["main"].body.checked_type)
relay.frontend.from_keras(model)
"""


def test_a_script_is_rewritten_and_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "old.py").write_text(SCRIPT)
    shown = run_here(["modernize", "old.py"], tmp_path, {})
    assert (tmp_path / "old.py").read_text() == SCRIPT
    assert "+from relay2relax import relay_ir" in shown.stdout
    assert "old.py:12: renamed: _op.nn.relu -> relay_ir.op.nn.relu" in shown.stdout
    assert shown.stdout.endswith("3 renamed, 4 replaced, 0 needs a person\n")
    changed = run_here(["modernize", "old.py", "--in-place"], tmp_path, {})
    assert changed.returncode == 0
    assert (tmp_path / "old.py").read_text() == AFTER
    runpy.run_path(str(tmp_path / "old.py"))
    assert "nn.dense(%x, %w" in capsys.readouterr().out


def test_what_needs_a_person_says_why(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "old.py").write_text(BY_HAND)
    done = run_here(["modernize", "old.py", "--json"], tmp_path, {})
    found = json.loads(done.stdout)
    assert [(one["line"], one["kind"], one["theirs"]) for one in found["remarks"]] == [
        (2, "needs a person", "relay.build"),
        (3, "needs a person", ".checked_type"),
        (4, "needs a person", "relay.frontend.from_keras"),
    ]
    assert all(one["why"] for one in found["remarks"])
    assert found["diff"] == ""


def test_notebooks_keep_their_cells(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    cells = [["!pip install tvm\n", "from tvm import relay"], ["x = relay.var('x', shape=(2,))\n", "%time x"]]
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": one} for one in cells]
    text = {"cell_type": "markdown", "metadata": {}, "source": ["# relay.var"]}
    document = {"cells": [code[0], text, code[1]], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "old.ipynb").write_text(json.dumps(document))
    done = run_here(["modernize", "old.ipynb", "--in-place"], tmp_path, {})
    assert done.stdout.startswith("old.ipynb:cell 2, 1: replaced: relay.var -> relay_ir.var\n")
    found = json.loads((tmp_path / "old.ipynb").read_text())["cells"]
    assert "".join(found[0]["source"]) == "from relay2relax import relay_ir\n\n!pip install tvm"
    assert found[1] == text
    assert "".join(found[2]["source"]) == "x = relay_ir.var('x', shape=(2,))\n%time x"


FOREIGN = (
    "%%bash\nrelay.var is no name here\n\n  done",
    "%%time\nx = 1",
    "!pip install tvm \\\n    torch",
    "if x:\n    %timeit x \\\n  + 1\n?x",
    "said = ('%s'\n    % x)\nsaid = (x\n    != 2)",
)


def test_what_is_not_python_in_a_notebook_stays(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    from relay2relax.cli import modernize

    sources = ["from tvm import relay\nx = relay.const(1)", *FOREIGN]
    cells = [{"cell_type": "code", "source": one.splitlines(keepends=True)} for one in sources]
    found = modernize.rewrite(json.dumps({"cells": cells}), "old.ipynb")
    assert [one.cell for one in found.remarks] == [1]
    after = ["".join(one["source"]) for one in json.loads(found.after)["cells"]]
    assert after == ["from relay2relax import relay_ir\n\nx = relay_ir.const(1)", *FOREIGN]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("old.py", b"def (\n", "is not Python"),
        ("old.py", b"\xff\xfe", "is not UTF-8"),
        ("old.py", b"x = " + b"(" * 5000 + b"1" + b")" * 5000, "too many nested parentheses"),
        ("old.py", b"x = " + b"not " * 2000 + b"1", "nested too deeply"),
        ("old.py", b"x = " + b"a + " * 2000 + b"1", "nested too deeply"),
        ("old.py", b"x = 1\0", "is not Python"),
        ("old.ipynb", b"[]", "is not a notebook"),
        ("old.ipynb", b'{"cells": [{}]}', "is not a notebook"),
    ],
)
def test_files_that_are_none_are_refused(name: str, content: bytes, words: str, tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    (tmp_path / name).write_bytes(content)
    done = run_here(["modernize", name, "--in-place"], tmp_path, {})
    assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (3, True, False), done.stderr
    assert (tmp_path / name).read_bytes() == content


OLD = """import numpy as np
import tvm
from tvm import nd, relay, te
from tvm.contrib import graph_executor


@tvm.register_func("tests.modernize.doubled")
def doubled(x):
    return 2 * x


dev = tvm.cpu(0)
target = tvm.target.create("llvm")
x = tvm.nd.array(np.arange(3, dtype="float32"), dev)
with tvm.transform.PassContext(opt_level=3):
    total = tvm.get_global_func("tests.modernize.doubled")(int(x.numpy().sum()))
assert tvm.ir.structural_equal(tvm.tir.IntImm("int32", total), tvm.tir.IntImm("int32", 6))
n = te.var("n")
relay.save_param_dict({"x": nd.array(x.numpy())})
print(target.kind.name, total)
"""
NEW = """import numpy as np
import tvm
from tvm import te
import tvm.ir.transform
import tvm.runtime
import tvm.target
import tvm.tirx
import tvm_ffi


@tvm.register_global_func("tests.modernize.doubled")
def doubled(x):
    return 2 * x


dev = tvm.cpu(0)
target = tvm.target.Target("llvm")
x = tvm.runtime.tensor(np.arange(3, dtype="float32"), dev)
with tvm.ir.transform.PassContext(opt_level=3):
    total = tvm.get_global_func("tests.modernize.doubled")(int(x.numpy().sum()))
assert tvm_ffi.structural_equal(tvm.tirx.IntImm("int32", total), tvm.tirx.IntImm("int32", 6))
n = te.var("n")
tvm.runtime.save_param_dict({"x": tvm.runtime.tensor(x.numpy())})
print(target.kind.name, total)
"""


def test_a_script_is_rewritten_for_todays_tvm(tmp_path: Path) -> None:
    pytest.importorskip("libcst")
    (tmp_path / "old.py").write_text(OLD)
    done = run_here(["modernize", "old.py", "--in-place", "--to", "tvm"], tmp_path, {})
    assert (tmp_path / "old.py").read_text() == NEW
    assert done.stdout.endswith("8 renamed, 0 replaced, 0 needs a person\n")


@pytest.mark.tvm
@pytest.mark.sweep(every=2)
def test_what_is_rewritten_runs_in_todays_tvm(tmp_path: Path) -> None:
    pytest.importorskip("tvm")
    (tmp_path / "new.py").write_text(NEW)
    done = subprocess.run([sys.executable, "new.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout == "llvm 6\n", done.stderr


@pytest.mark.tvm
def test_every_name_of_today_is_there() -> None:
    pytest.importorskip("tvm")
    from relay2relax.cli.modernize.today import names

    missing = [str(one) for one in names().values() if not hasattr(import_module(one.module), one.name)]
    assert missing == []


def test_what_has_no_name_here_is_todays(tmp_path: Path) -> None:
    # Programs stay with this package, unless TVM is asked for.
    pytest.importorskip("libcst")
    text = "import tvm\nfrom tvm import relay, te\nn = te.var('n')\nmod, p = relay.frontend.from_onnx(m, shape=s)\n"
    (tmp_path / "old.py").write_text(text + "relay.nothing\n")
    here = json.loads(run_here(["modernize", "old.py", "--json"], tmp_path, {}).stdout)
    there = json.loads(run_here(["modernize", "old.py", "--json", "--to", "tvm"], tmp_path, {}).stdout)
    assert [one["ours"] for one in here["remarks"]] == ["relay_ir.frontend.from_onnx", ""]
    assert [one["ours"] for one in there["remarks"]] == ["tvm.relax.frontend.onnx.from_onnx", ""]
    assert "shape_dict=" in there["remarks"][0]["why"]


def test_every_equivalent_of_the_tables_is_there() -> None:
    from relay2relax.cli.modernize.equivalents import equivalent, room_exists
    from relay2relax.compat.table import all_modules
    from relay2relax.compat.table.entry import Names

    for module in all_modules():
        for part in module.parts:
            if isinstance(part, Names):
                for word in part.today.split():
                    assert room_exists(word.partition("=")[2]), word
    found = equivalent("tvm.relay.nn.conv2d")
    assert found is not None
    assert found[0].ours == "relay_ir.op.nn.conv2d"
