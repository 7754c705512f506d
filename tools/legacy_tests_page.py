"""Write docs/reference/legacy-tests.md: which of TVM 0.18's tests of Relay pass on the facade.

    python tools/legacy_tests_page.py REPORT… --beside FOLDER REPORT

Reports are what ``tools/legacy_tests.py --out`` writes; of a file that several have the last
counts. ``--beside`` is for other folders than Relay's.
"""

from __future__ import annotations

import argparse
import json
import re
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

PAGE = Path(__file__).parents[1] / "docs/reference/legacy-tests.md"
Report: TypeAlias = Mapping[str, Mapping[str, object]]

# Groups that each have to pass; the rest of the files is one more.
GROUPS = {
    "dataflow_pattern": r"test_dataflow_pattern",
    "ir": r"test_ir_",
    "type": r"test_type",
    "op_level": r"test_op_level",
    "op_qnn": r"test_op_qnn_",
    "any": r"test_any",
    "vm": r"test_vm",
    "pass": r"test_pass_",
    "adt": r"test_adt",
    "expr_functor": r"test_expr_functor",
    "call_graph": r"test_call_graph",
    "dyn": r"dyn/",
    "others": r"",
}
# What the goal leaves out, by file and test, each in the words that leave it out: tests that need a
# GPU, microTVM, other accelerators' code, AutoTVM or the auto-scheduler, or what TVM lowers inside.
OUTSIDE = {
    r"^opencl_texture/|tensorcore": "a GPU",
    r"^aot/(?!test_cpp_aot)|^strategy/arm_cpu/": "microTVM: programs run on its boards' models",
    r"dnnl|test_not_bind_constant|^collage/|pass_collage": "other accelerators' code",
    r"auto_scheduler|autotvm|test_tir_link_params|test_conv[23]d_winograd|depthwise_conv2d_arm_cpu": "AutoTVM, or the "
    "auto-scheduler",
    r"test_backend_graph_executor.*plan_|reshape_nop|te_compiler|lower_te|schedule_record|optimize_dynamic"
    r"|vm_reshape_|constant_shape_with|test_lowered|build_relay_graph|standalone_reshapes"
    r"|test_target_hooks|select_implementation|test_c_link_params": "internals of TVM's lowering",
}
WHY = {
    "ir": "Most of `tests/python/ir` asks for TensorIR's expressions as objects, paths of objects, modules of the "
    "runtime in C++ and functions that TVM registers for its tests: the facade has what Relay has of `tvm.ir`.",
    "msc": "Of MSC's dictionaries the graph here has operators, shapes and dtypes (`tools/msc_dictionaries.py` "
    "compares these), but not MSC's layouts of tensors and its names of results, which nearly every test "
    "of `test_graph_build.py` asks for. Runners, plugins, TensorRT and TensorFlow are not here.",
    "relax": "`test_relay_translator.py` is run with `--noconftest`: the six tests of extracted tasks ask for "
    "meta_schedule, and one for the tensor expressions of `topi.x86`; ten more are skipped by TVM's marks.",
}
REASONS = {
    r"No module named .scipy": "it needs scipy",
    r"the gradient of the operator": "the operator has no gradient here",
    r"argument `.*has shape|field 0 has shape": "arguments of a wrong shape are refused, TVM's machine takes them",
    r"not done after": "the file takes longer than the limit",
    r"collection failure": "it imports something of TVM's lowering",
    r"holds a |objects of type|node \d+ \(": "JSON of parts of programs alone, or of TensorIR, is not read",
    r"dyn\.tile|sparse_to_dense": "operands of other dtypes are refused",
    r"layout_transform does not accept": "layout_transform of an open layout is refused",
    r"DID NOT RAISE": "what TVM refuses is taken here",
    r"is no type of a parameter": "the script of TensorIR is not read",
    r"^AssertionError: Inspect": "layouts and names of tensors differ",
    r"StructuralEqual|assert False|assert not True": "the result is built otherwise",
    r"type_args|'int' object has no": "known extents are Python's numbers",
    r"is not provided|has no attribute|is known$|No module": "the name is absent",
}


def collected(report: Report) -> Iterator[tuple[str, str, str, str]]:
    """Yield file, test, ``passed``, ``failed`` or ``outside``, and the reason of each test."""
    for file, outcome in report.items():
        passed, failed = outcome["passed"], outcome["failed"]
        assert isinstance(passed, list)
        assert isinstance(failed, dict)
        for name in passed:
            yield file, name, "passed", ""
        for name, error in failed.items():
            place = f"{file}::{name}"
            why = next((reason for words, reason in OUTSIDE.items() if re.search(words, place)), "")
            said = next((reason for words, reason in REASONS.items() if re.search(words, error)), "")
            yield file, name, "outside" if why else "failed", why or said or short(error)


def short(error: str) -> str:
    """Return an error for a table."""
    return re.sub(r"^[\w.]*\.(\w+Error)", r"\1", error.replace("|", "/"))[:90]


def elsewhere(others: Mapping[str, Report]) -> Iterator[str]:
    """Yield the share of tests of other folders, and why the others fail."""
    if not others:
        return
    yield from ("", "## Tests beside Relay's", "")
    yield from textwrap.wrap(" ".join(WHY.values()), 100)
    yield from ("", "| folder | file | passed | of | most frequent reason |", "|---|---|---|---|---|")
    for folder, report in others.items():
        for file, outcome in report.items():
            passed, failed = outcome["passed"], outcome["failed"]
            assert isinstance(passed, list)
            assert isinstance(failed, dict)
            reasons = Counter(
                next((reason for words, reason in REASONS.items() if re.search(words, error)), short(error))
                for error in failed.values()
            )
            most = next((f"{reason} ({count})" for reason, count in reasons.most_common(1)), "")
            yield f"| {folder} | {file} | {len(passed)} | {len(passed) + len(failed)} | {most} |"


def page(report: Report, others: Mapping[str, Report]) -> str:
    """Return the text of the page."""
    tests = list(collected(report))
    lines = [
        "# TVM's tests of Relay",
        "",
        "What becomes of TVM 0.18's own tests of Relay on the [facade](legacy-api.md). This page is made",
        "from reports of `make test-legacy` by `python tools/legacy_tests_page.py REPORT…`.",
        "",
        "Not counted are tests that need a GPU, microTVM, code of other accelerators, AutoTVM or the",
        "auto-scheduler, or internals of TVM's lowering; and those that TVM's own marks skip. Of a file",
        "that cannot be imported each function counts.",
        "",
        "| group | passed | of | share | not counted |",
        "|---|---|---|---|---|",
    ]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for file, _, kind, _ in tests:
        group = next(name for name, words in GROUPS.items() if re.search(words, file))
        counts[group][kind] += 1
        counts["all"][kind] += 1
    for group in (*GROUPS, "all"):
        one = counts[group]
        total = one["passed"] + one["failed"]
        share = f"{100 * one['passed'] / total:.1f} %" if total else ""
        lines.append(f"| {group} | {one['passed']} | {total} | {share} | {one['outside']} |")
    lines += elsewhere(others)
    for kind, title in (("failed", "Tests that do not pass"), ("outside", "Tests that are not counted")):
        lines += ["", f"## {title}", "", "| file | test | | reason |", "|---|---|---|---|"]
        rows = Counter((file, re.sub(r"\[.*", "", name), why) for file, name, what, why in tests if what == kind)
        lines += [f"| {file} | {name} | {count} | {why} |" for (file, name, why), count in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("reports", nargs="+", type=Path)
    parser.add_argument("--beside", action="append", default=[], nargs=2, metavar=("FOLDER", "REPORT"))
    given = parser.parse_args()
    report: dict[str, Mapping[str, object]] = {}
    for path in given.reports:
        report.update(json.loads(path.read_text(encoding="utf-8")))
    others = {folder: json.loads(Path(path).read_text(encoding="utf-8")) for folder, path in given.beside}
    PAGE.write_text(page(dict(sorted(report.items())), others), encoding="utf-8")


if __name__ == "__main__":
    main()
