"""Write docs/reference/legacy-tests.md: which of TVM 0.18's tests of Relay pass on the facade.

    python tools/legacy_tests_page.py REPORT…

Reports are what ``tools/legacy_tests.py --out`` writes; of a file that several have the last
counts.
"""

from __future__ import annotations

import json
import re
import sys
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
# Tests that need what Relay alone does not have, by file and test: they are not counted.
OUTSIDE = {
    r"^(aot|collage|opencl_texture|strategy)/|test_pass_collage|test_micro": "microTVM, or other compilers' code",
    r"auto_scheduler|autotvm|test_roofline": "schedules are searched",
    r"test_backend_graph_executor.*plan_|reshape_nop|test_name_mangling|test_name_transforms|te_compiler|lower_te"
    r"|schedule_record|optimize_dynamic|vm_reshape_|constant_shape_with|test_lowered|test_used_memory"
    r"|build_relay_graph|floor_div_op|test_pass_remove_standalone": "internals of TVM's lowering",
    r"_rpc|pipeline_executor": "a server of TVM's",
    r"tensorcore|custom_datatypes|alter_layout_nhwc_|alter_layout_depthwise|alter_op_dense|NHWC_legalize"
    r"|test_op_fast_math|unary_elementwise": "kernels and layouts of other machines' code",
    r"dnnl|test_not_bind_constant|CcompilerAnnotator|multi_node_compiler|extern_gcc": "external compilers",
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


def page(report: Report) -> str:
    """Return the text of the page."""
    tests = list(collected(report))
    lines = [
        "# TVM's tests of Relay",
        "",
        "What becomes of TVM 0.18's own tests of Relay on the [facade](legacy-api.md). This page is made",
        "from reports of `make test-legacy` by `python tools/legacy_tests_page.py REPORT…`.",
        "",
        "Not counted are tests that need a GPU, microTVM, code of other accelerators, a search of",
        "schedules, or internals of TVM's lowering; and those that TVM's own marks skip.",
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
    for kind, title in (("failed", "Tests that do not pass"), ("outside", "Tests that are not counted")):
        lines += ["", f"## {title}", "", "| file | test | | reason |", "|---|---|---|---|"]
        rows = Counter((file, re.sub(r"\[.*", "", name), why) for file, name, what, why in tests if what == kind)
        lines += [f"| {file} | {name} | {count} | {why} |" for (file, name, why), count in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    report: dict[str, Mapping[str, object]] = {}
    for path in sys.argv[1:]:
        report.update(json.loads(Path(path).read_text(encoding="utf-8")))
    PAGE.write_text(page(dict(sorted(report.items()))), encoding="utf-8")


if __name__ == "__main__":
    main()
