"""Every operator that the importers of the installed TVM emit has a record, or a reason why it has
none.
"""

from __future__ import annotations

from typing import Any

import pytest
from imported.models import emitted_operators, registered_operators

from relay2relax.ops import relax_op
from relay2relax.relax_ir.inference.op_signatures import foreign_op, operator_names, signature

# Operators that importers emit and that have no record.
WITHOUT_RECORD = {
    "assert_op": "it has an effect and no value: the machine calls relax.run.assert_op",
    "null_value": "it stands for an argument that is left out, which no tensor is",
}


@pytest.mark.tvm
def test_every_operator_of_the_importers_has_a_record_or_a_reason() -> None:
    pytest.importorskip("tvm")
    names = emitted_operators()
    assert len(names) > 130
    assert {name for name in names if relax_op(name) is None} == set(WITHOUT_RECORD)


@pytest.mark.tvm
def test_every_operator_of_the_installed_tvm_is_known_by_name() -> None:
    # That one is written as R.nn.attention with one more argument.
    pytest.importorskip("tvm")
    assert registered_operators() - set(operator_names()) <= {"nn.attention_bias"}


@pytest.mark.parametrize("name", operator_names())
def test_names_are_read_or_kept(name: str) -> None:
    assert signature(name) is not None
    found: Any = relax_op(name) or foreign_op(name)
    assert found is not None
