"""TVM's own documents: their code runs as it stands, and prints what they print.

Each is run as the version of TVM that it was written for. Weights, images and inputs are drawn, so
numbers are compared with each other. What a page prints in a dialect that is not written any more
is compared word by word after ``plain``, or read again and compared as a program.

Slips of the pages: S2 imports neither numpy nor ``I`` and ``T``, and reads ``lv0`` and ``b`` where
it has bound ``lv`` and ``n``; S2 and S3 have lost their indentation; in S4 a fragment hands
arguments of wrong shapes on.
"""

from __future__ import annotations

import html
import pickle
import re
from pathlib import Path

import legacy_documents as documents
import numpy as np
import pytest

from relay2relax import relax_ir

pytestmark = pytest.mark.compiler


def plain(text: str) -> list[str]:
    """Return the lines of a text of Relay without what only newer or older dialects write."""
    text = re.sub(r"^(v0\.0\.1|#\[version = .*)\n", "", text)
    text = re.sub(r"^\} /\* ty=fn .*$", "}", text, flags=re.MULTILINE)
    text = re.sub(r"\((\d+),\)", r"(\1)", text)
    lines = text.split("\n")
    signature = r" /\* (ty=Tensor\[[^\]]*\]|span=[^ ]*) \*/(?=[,)])"
    return [re.sub(signature, "", one) if one.startswith(("fn ", "def ")) else one.removesuffix(";") for one in lines]


def same(printed: str, page: str) -> None:
    """Check that a page prints what was printed; a page may cut long lines and long texts."""
    mine, theirs = plain(printed), plain(page.split("\n\n")[0].rstrip())
    assert len(theirs) <= len(mine)
    for line, wanted in zip(mine, theirs, strict=False):
        cut = wanted is theirs[-1] or len(wanted) > 900
        assert line == wanted or (cut and line.startswith(wanted)), f"{line}\n{wanted}"


@pytest.mark.sweep(every=2)
def test_introduction_to_relax(tmp_path: Path) -> None:
    """S0: the MLP of any batch, translated, built and run; the document compares it with Relay."""
    blocks = list(documents.notebook(documents.page("# Introduction To Relax")))
    assert len(blocks) == 7
    printed = documents.run([*(one.code for one in blocks), "print(res.shape)"], tmp_path, "0.11")
    same(printed[1], blocks[1].after)
    # The parameters and the calls of the page.
    for words, least in ((r"(\w+): (?:R\.)?Tensor\(\(", 7), (r"call_tir\((?:cls\.|Module\.)?([a-z_]+)", 6)):
        mine, theirs = (re.findall(words, one) for one in (printed[3], blocks[3].after.split("\n\n")[0]))
        assert len(theirs) >= least
        assert mine[: len(theirs)] == theirs
    assert "def batch_flatten(" in printed[4]
    assert printed[5].split("\n")[0] == blocks[5].after.split("\n")[0]
    assert printed[-1] == "(2, 10)"


@pytest.mark.sweep(every=2)
def test_relay_tutorial(tmp_path: Path) -> None:
    """S1: expressions, texts, importers, executors and devices."""
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    blocks = list(documents.notebook(documents.page("[![Open In Colab]")))
    assert len(blocks) == 18
    printed = documents.run([one.code for one in blocks], tmp_path, "0.5")
    for at in (0, 3, 4, 5, 6, 8, 9, 10, 15, 16, 17):
        same(printed[at], blocks[at].after)
    # The function of the ONNX model, after what PyTorch prints of it.
    imported = blocks[7].after[blocks[7].after.index("v0.0.1") :].split("\n")[1]
    assert plain(printed[7])[0].startswith(plain(imported)[0])
    # Three executors, the same ten numbers.
    for text in (printed[13], blocks[13].after):
        numbers = re.findall(r"(\w+):\s+\[\[([^\]]*)\]\]", text)
        assert [name for name, _ in numbers] == ["Debug", "Graph", "VM"]
        assert {len(one.split()) for _, one in numbers} == {10}
        assert len({one for _, one in numbers}) == 1
    assert printed[16].count("on_device(") == printed[16].count("nn.conv2d(") > 0
    assert "on_device(" not in printed[17]
    assert "device_copy(" in printed[17]


# Blocks of S2 by their first lines: how deep each of their lines stands.
NUMPY_MLP = ("def numpy_mlp(data, w0, b0, w1, b1):", "01111")
RELAX_MLP = ("from tvm.script import relax as R", "000" + "11111" + "01" + "22221")
LOOPS = (
    "def lnumpy_linear(X: np.ndarray, W: np.ndarray, B: np.ndarray, Z: np.ndarray):",
    "011123454123" + "01123" + "011111111",
)
MODULE = (
    "@I.ir_module",
    "0011" + "222222" + "23445423" + "44" + "11" + "2222344" + "11" + "22222" + "1" + "222" + "3333" + "2",
)
SLIPS = {
    "import": "import numpy as np\nfrom tvm.script import ir as I, tir as T\n",
    "(lv0,)": "(lv,)",
    "(b, 10)": "(n, 10)",
}
CALLED = """
import tvm
from tvm import relax
rng = np.random.default_rng(0)
shapes = [(3, 784), (784, 256), (256,), (256, 10), (10,)]
values = [rng.standard_normal(one).astype("float32") / 16 for one in shapes]
vm = relax.VirtualMachine(relax.build(Module, target="llvm"), tvm.cpu())
found = vm["main"](*map(tvm.nd.array, values)).numpy()
np.testing.assert_allclose(found, numpy_mlp(*values), rtol=1e-4, atol=1e-4)
z, y = np.empty((3, 10), "float32"), np.empty((3, 10), "float32")
lnumpy_linear(values[0][:, :5], values[1][:5, :10], values[4], z)
np.testing.assert_allclose(z, values[0][:, :5] @ values[1][:5, :10] + values[4], rtol=1e-4, atol=1e-4)
print(relax_mlp)
"""


@pytest.mark.sweep(every=2)
def test_relax_abstraction(tmp_path: Path) -> None:
    """S2: a program of Relax and one of TensorIR are what numpy computes; slips are pointed at."""
    text = documents.page("Understand Relax")
    blocks = [documents.outdented(text, *one) for one in (NUMPY_MLP, RELAX_MLP, LOOPS, MODULE)]
    with pytest.raises(AssertionError, match="lv0"):
        documents.run([SLIPS["import"], *blocks], tmp_path, "0.18")
    mended = blocks[3].replace("(lv0,)", SLIPS["(lv0,)"]).replace("(b, 10)", SLIPS["(b, 10)"])
    printed = documents.run([SLIPS["import"], *blocks[:3], mended, CALLED], tmp_path, "0.18")
    assert "R.nn.relu(" in printed[-1]


ANNOUNCEMENT = ("import numpy as np", "000000000" + "012332311" + "0111" + "22" + "1" * 14)


@pytest.mark.sweep(every=2)
def test_msc_announcement(tmp_path: Path) -> None:
    """S3: a linear layer of PyTorch as Relay, as a graph, as Relax; it is what TVM imports."""
    pytest.importorskip("torch")
    pytest.importorskip("tvm")
    text = documents.page("Why do this?")
    [printed] = documents.run([documents.outdented(text, *ANNOUNCEMENT)], tmp_path, "0.14")
    # The page has lost its indentation, and the names of what follows stand on lines of their own.
    wanted = text[text.index("\nResult:\n") :].strip().split("\n")[1:]
    shown = [re.sub(r"^(expected|relay|graph|relax) (?=\S)", r"\1\n", one) for one in printed.split("\n")]
    mine = [one.strip() for one in "\n".join(shown).split("\n") if one.strip()]
    mine = [re.sub(r"(permute_dims\(.*\])\)", r"\1, axes=None)", one) for one in mine]
    assert [sorted(one.split()) for one in mine if "import tirx" not in one] == [sorted(one.split()) for one in wanted]


@pytest.mark.sweep(every=2)
def test_end_to_end_models(tmp_path: Path) -> None:
    """S4: modules in the TVMScript of 2022, library functions, bound parameters."""
    pytest.importorskip("torch")
    blocks = list(documents.chapter(documents.page("End to End")))
    assert len(blocks) == 23
    random = np.random.default_rng(0)
    shapes = {"w0": (128, 784), "b0": (128,), "w1": (10, 128), "b1": (10,)}
    params = {name: random.standard_normal(shape).astype("float32") / 16 for name, shape in shapes.items()}
    params["b1"][8] = 40  # the class of the page, Bag
    (tmp_path / "fasionmnist_mlp_params.pkl").write_bytes(pickle.dumps(params))
    printed = documents.run([one.code for one in blocks], tmp_path, "0.11")
    programs, results = [], []
    for mine, block in zip(printed, blocks, strict=True):
        if "IPython.display" in block.code:
            programs.append((mine, html.unescape(re.sub("<[^>]*>", "", block.after)).split("*/")[-1]))
        elif "[[" in mine:
            results.append(np.array(re.findall(r"-?\d+\.\d*", mine), "float32"))
        elif "type(ex)" in block.code:
            assert (mine.endswith("Executable'>"), block.after) == (True, "tvm.relax.vm.Executable")
        elif "torchvision" not in block.code:
            assert mine == block.after
    first, second = results
    np.testing.assert_allclose(first, second, rtol=1e-4, atol=1e-4)
    # The programs that the page prints, which has them in the dialect of its day.
    assert len(programs) == 2
    constants = {"metadata": {"relax.expr.Constant": [params[name] for name in ("w0", "b0", "w1", "b1")]}}
    for pair in programs:
        texts = [re.sub(r"meta\[relay\.Constant\]", 'metadata["relax.expr.Constant"]', one) for one in pair]
        mods = [relax_ir.parse(one, constants=constants, check_well_formed=False) for one in texts]
        mine, theirs = (re.sub(r"\) -> .*:\n", "):\n", one.script()) for one in mods)
        assert mine == theirs
