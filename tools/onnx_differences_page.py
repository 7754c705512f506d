"""Run TVM 0.18's tests of its ONNX importer, compare what is imported with what TVM's importer was
recorded to make, and write docs/reference/frontends/onnx-differences.md.

``python tools/onnx_differences_page.py TVM ONNX`` takes a checkout of TVM 0.18 and one of onnx
1.12, whose node tests TVM's tests run. It takes about ten minutes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from golden_folder import ROOT, golden_root
from imported.recorded_networks import NETWORKS, exported
from imported.structure import inputs, operators, plain, recorded, without_names
from legacy_tests import Outcome, run

from relay2relax.relay_ir.frontend import from_onnx
from relay2relax.relay_ir.frontend.onnx.operators import find_operator

GOLDEN = golden_root() or Path("absent")
PAGE = ROOT / "docs/reference/frontends/onnx-differences.md"
# Why a test of TVM's does not pass here: by its name.
TESTS: dict[str, str] = {
    "test_maxunpool": "ONNX Runtime of today refuses a model of the test: places beyond the result",
    "test_qlinearsoftmax": "ONNX Runtime fuses quantisation after a softmax into an operator that counts in 254 steps "
    "where the model says 255",
    "test_linear_regressor": "ONNX Runtime of today refuses a model of the test: fewer coefficients than features",
    "test_dft": "ONNX Runtime of today refuses a model of the test: half a spectrum of complex numbers",
    "test_adam_multiple": "the model leaves `epsilon` out, which is 1e-6 then, and the values that onnx 1.12 "
    "recorded are those of 1e-2; onnx states it since, and that test passes",
    "test_optional_get_element_sequence": "an input that is an optional sequence is asked for its shapes, which the "
    "test does not state",
    "test_optional_has_element_empty": "an input has a value: Relay has no optionals",
}
# Why imports differ from what TVM's importer made in its tests.
REASONS: dict[str, tuple[str, str, str]] = {
    "test_batch_matmul": ("`batch_matmul` of a vector that is broadcast", "product of a row or column", "any rank"),
    "test_batch_matmul_dynamic_model": (
        "every extent by `maximum` of both", "extents of the one, where the other has none to match",
        "a matrix of two axes is not broadcast",
    ),
    "test_if": ("branches of several results were not recorded", "others", "there is no module beside"),
    "test_conv": ("`nn.pad` before a convolution for `SAME`", "its padding", "the extents are known"),
    "test_convtranspose": ("paddings that were not recorded", "others of the same inputs", "there is no module beside"),
    "test_lppool": ("`abs` after the pool", "`abs` before it", "odd powers of negative numbers"),
    "test_maxunpool": ("`dyn.reshape` by a constant, `dyn.nn.pad`", "`reshape`, `nn.pad`", "the shape is known"),
    "test_non_max_suppression": (
        "boxes as they are", "corners in order before", "ONNX takes the corners of a box in any order",
    ),
    "test_onehot": ("indices in the dtype of the depth, `take`", "indices in int64, `strided_slice`",
                    "any depth; negative indices count from behind"),
    "test_prelu": ("`nn.prelu` of flattened data", "`where`", "slopes broadcast as ONNX says; layouts stay"),
    "test_qlinear_global_average_pool": ("`qnn.quantize`, `qnn.dequantize`", "plain operators",
                                         "halves are rounded to even, to the bit"),
    "test_size": ("`ndarray_size`", "a number", "the extents are known"),
    "test_slice": ("ends as the model says them: -1, 1000, the greatest int64", "places in the tensor",
                   "no end is past the extent"),
    "test_split": ("`split` in one part", "`copy`", "nothing is cut"),
    "test_resize": ("sizes that were not recorded", "others of the same inputs", "there is no module beside"),
    "bert": ("the extent of a table by `shape_of` and `take`", "a number", "the extent is known"),
    "lstm": ("weights joined, and joined again in each step", "one product of all inputs, one for each step's state",
             "fewer and smaller products"),
}  # fmt: skip
HEAD = """# Where imports of ONNX differ from TVM's

`python tools/onnx_differences_page.py TVM ONNX` writes this page.

## TVM's own tests

TVM 0.18's tests of its ONNX importer run on the [facade](../legacy-api.md), as they are: models,
their results in ONNX Runtime, structures. PyTorch exports by tracing there, as it did then, and
models have the opset 18 where a test names none. ONNX's node tests among them are those of onnx
1.12, which TVM 0.18 was tested with; TVM left {left} of these out.

| tests | run | pass |
|---|---|---|
| of the importer | {tests} | {passed} |
| ONNX's node tests that TVM passed | {nodes} | {nodes_passed} |

What does not pass:

| test | why |
|---|---|
"""
STRUCTURE = """
## Structure

TVM's importer was recorded while its tests ran: whole modules, and parts of them. Of our imports in
the same tests {all} have a recorded module of the same inputs beside them; {same} of these are the
same text but for spans and data. In the others ONNX's meaning is the same, and the Relay is
another:

| test | same | TVM | here | why |
|---|---|---|---|---|
"""
# Why ONNX's operators are not imported that are not.
ABSENT: dict[str, str] = {
    r"String|Regex|TfIdf|CategoryMapper": "Relay has no strings",
    r"ImageDecoder": "Relay reads no files of images",
    r"ZipMap|DictVectorizer|CastMap": "Relay has no maps",
    r"Det": "Relay has no determinant",
    r"Gradient": "gradients are made by a pass",
}
OPERATORS = """
## Operators

Of the {all} operators of onnx {version}, its own, of `ai.onnx.ml` and of previews, {left} are not
imported:

| operators | why |
|---|---|
"""
MODELS = """
Eight of the recorded models came from PyTorch by way of ONNX. The same networks, exported and
imported, are compared with them:

| model | TVM's operators | ours | the rest |
|---|---|---|---|
"""


def structures(imports: Path) -> tuple[int, int, list[str]]:
    """Return how many imports can be compared, how many are the same, and rows of the others."""
    known = recorded(GOLDEN / "frontend_onnx.jsonl.gz")
    ours: dict[str, set[str]] = defaultdict(set)
    for line in imports.read_text().splitlines():
        found = json.loads(line)
        ours[found["test"]].add(plain(found["text"]))
    every, same, rows = 0, 0, []
    for test, texts in sorted(ours.items()):
        theirs = {text for text, _ in known.get(test, [])}
        whole = {inputs(text) for text, complete in known.get(test, []) if complete}
        beside = {text for text in texts if text in theirs or inputs(text) in whole}
        every, same = every + len(beside), same + len(beside & theirs)
        if beside - theirs:
            why = " | ".join(REASONS.get(test, ("?", "?", "?")))
            rows.append(f"| `{test}` | {len(beside & theirs)} of {len(beside)} | {why} |\n")
    return every, same, rows


def models() -> list[str]:
    """Return rows of the recorded models that came by way of ONNX."""
    rows = []
    for name, (make, data) in NETWORKS.items():
        theirs = plain((GOLDEN / "models" / name / "model.relay").read_text())
        mine = plain(str(from_onnx(exported(make(), data()))[0]))
        if without_names(theirs) == without_names(mine):
            rows.append(f"| {name} | {operators(theirs).total()} | {operators(mine).total()} | the same text |\n")
            continue
        why = REASONS[re.split("_", name)[0]]
        counts = f"{operators(theirs).total()} | {operators(mine).total()}"
        rows.append(f"| {name} | {counts} | {why[0]}; here {why[1]}: {why[2]} |\n")
    return rows


def absent() -> str:
    """Return the section of operators that are not imported."""
    import onnx

    left: dict[str, list[str]] = {}
    schemas = onnx.defs.get_all_schemas()
    for one in schemas:
        defined = one.has_function or one.has_context_dependent_function
        if not defined and find_operator(one.domain, one.name, one.since_version) is None:
            why = next((said for pattern, said in ABSENT.items() if re.search(pattern, one.name)), "?")
            left.setdefault(why, []).append(f"`{one.name}`")
    rows = "".join(f"| {', '.join(sorted(names))} | {why} |\n" for why, names in sorted(left.items()))
    count = sum(map(len, left.values()))
    return OPERATORS.format(all=len(schemas), left=count, version=onnx.__version__) + rows


def bare(name: str) -> str:
    """Return the name of a test, of ONNX's node tests that of the model."""
    return re.sub(r"^test_onnx_nodes\[\w+-|\[.*|\]$", "", name)


def written(outcome: Outcome, imports: Path) -> str:
    """Return the page."""
    node = [name for name in outcome.passed if name.startswith("test_onnx_nodes")]
    bad = [name for name in outcome.failed if name.startswith("test_onnx_nodes")]
    left = [name for name in outcome.skipped if name.startswith("test_onnx_nodes")]
    text = HEAD.format(
        left=len(left), nodes=len(node) + len(bad), nodes_passed=len(node), passed=len(outcome.passed) - len(node),
        tests=len(outcome.passed) + len(outcome.failed) - len(node) - len(bad),
    )  # fmt: skip
    text += "".join(f"| `{bare(name)}` | {TESTS.get(bare(name), '?')} |\n" for name in outcome.failed)
    every, same, rows = structures(imports)
    return text + STRUCTURE.format(all=every, same=same) + "".join(rows) + MODELS + "".join(models()) + absent()


def main(tvm: Path, onnx: Path) -> None:
    """Run the tests, and write the page."""
    with tempfile.TemporaryDirectory() as scratch:
        imports = Path(scratch) / "imports.jsonl"
        os.environ |= {"RELAY2RELAX_ONNX": str(onnx.resolve()), "RELAY2RELAX_IMPORTS": str(imports)}
        outcome = run(tvm / "tests/python/frontend/onnx/test_forward.py", tvm)
        PAGE.write_text(written(outcome, imports))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
