"""Every operator of TVM 0.18 has a record, or a reason why not.

The pages of operators are up to date.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from golden_folder import golden_root, load_module

from relay2relax.ops import relay_op
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.ops.registry.refusal import WITHOUT_RECORD, Refusal
from relay2relax.ops.registry.table import all_ops

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def reference() -> list[dict[str, Any]]:
    """The reference list of Relay operators, which lies beside the folder of recorded cases."""
    golden = golden_root()
    path = golden.parent / "reference" / "relay-operators.json" if golden is not None else None
    if path is None or not path.exists():
        pytest.skip("the reference list of operators is absent")
    found: list[dict[str, Any]] = json.loads(path.read_text())
    return found


def test_every_name_has_a_record_or_a_reason(reference: list[dict[str, Any]]) -> None:
    names = {one["name"] for one in reference}
    missing = {name for name in names if relay_op(name) is None}
    assert missing == set(WITHOUT_RECORD)


def test_records_take_the_inputs_and_attributes_of_the_reference(reference: list[dict[str, Any]]) -> None:
    wrong = []
    for one in reference:
        op = relay_op(one["name"])
        if op is None:
            continue
        if not op.variadic and one["num_inputs"] is not None and 0 <= one["num_inputs"] != len(op.inputs):
            wrong.append(f"{op.name}: {len(op.inputs)} inputs, the reference has {one['num_inputs']}")
        ours = [field.name for field in attr_fields(op.attrs)]
        theirs = [attribute["name"] for attribute in one["attrs"]]
        if sorted(ours) != sorted(theirs):
            wrong.append(f"{op.name}: attributes {ours}, the reference has {theirs}")
    assert not wrong, "\n".join(wrong)


def test_every_record_is_documented() -> None:
    for op in all_ops():
        assert op.doc, op.name
        assert op.source, op.name
        if op.relay is not None and not isinstance(op.numpy, Refusal):
            assert callable(op.compute), op.name


def test_the_pages_are_up_to_date(request: pytest.FixtureRequest) -> None:
    module = load_module("operator_pages", ROOT / "tools" / "operator_pages.py")
    if request.config.getoption("--update-golden"):
        module.write()
    written = {path.name: path.read_text(encoding="utf-8") for path in module.PAGES.glob("*.md")}
    assert written == module.pages(), "run: python tools/operator_pages.py"
