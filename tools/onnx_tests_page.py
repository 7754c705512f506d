"""Run ONNX's own tests of backends, and write docs/reference/onnx-tests.md: how many pass, and why
the others do not. ``python tools/onnx_tests_page.py [numpy]`` leaves C out, for a quick look.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from imported.onnx_backend import PAGE, cases, problem, reason

HEAD = """# ONNX's tests

`relay_ir.frontend.from_onnx` is tested by what ONNX itself tests backends with
(`onnx.backend.test`, onnx {version}). A model is imported as it is; where Relay has to know an
axis, a shape or a length that is an input, it is given as `fixed_inputs`. Its results are compared
with those that ONNX recorded: numbers of dtype, shape and value, floats within 1e-3 (`bfloat16`
within two last bits). `python tools/onnx_tests_page.py` writes this page.

| tests | all | numpy | C |
|---|---|---|---|
"""
MIDDLE = """
Elements of less than a byte are held in bytes (`int4` in `int8`), floats of four bits in `float16`.
TVM 0.18 was tested with the node tests of onnx 1.12, and named those that it did not pass; which of
the others pass here, run as TVM ran them, is on the page of [imports of
ONNX](frontends/onnx-differences.md).

## What does not pass

| test | where | why |
|---|---|---|
"""


def main(targets: list[str]) -> None:
    """Run all tests on ``targets``, and write the page where that is numpy and C."""
    import onnx

    found = {target: {name: problem(case, target) for name, case in cases().items()} for target in targets}
    for target, results in found.items():
        for name, said in results.items():
            if said:
                print(target, name, said[:150], sep=" | ")
    if len(targets) < 2:
        return
    counts = {
        target: Counter(cases()[name].kind for name, said in found[target].items() if not said) for target in found
    }
    whole = Counter(case.kind for case in cases().values())
    rows = [(kind, whole[kind], *(counts[target][kind] for target in targets)) for kind in whole]
    rows.append(("all", *(sum(column) for column in zip(*(row[1:] for row in rows), strict=True))))
    table = "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
    failing = []
    for name in cases():
        if found["c"][name] or found["numpy"][name]:
            where = "everywhere" if found["numpy"][name] else "on C"
            failing.append(f"| `{name}` | {where} | {reason(name) or found['c'][name]} |\n")
    PAGE.write_text(HEAD.format(version=onnx.__version__) + table + MIDDLE + "".join(failing))


if __name__ == "__main__":
    main(sys.argv[1:] or ["numpy", "c"])
