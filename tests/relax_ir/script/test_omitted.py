"""Scripts that were printed without their metadata: what stands for constants, what is asked
for.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relax_ir
from relay2relax.core import ParseError
from relay2relax.relax_ir import Function, TensorStructInfo
from relay2relax.tir.extent import static

HEAD = "# from tvm.script import ir as I\n# from tvm.script import relax as R\n\n"
TAIL = "\n# Metadata omitted. Use show_meta=True in script() method to show it."


def script(call: str, result: str, data: str = "(1, 3, 9, 9)") -> str:
    return f"""{HEAD}@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({data}, dtype="float32")) -> R.Tensor({result}, dtype="float32"):
        with R.dataflow():
            gv: R.Tensor({result}, dtype="float32") = {call}
            R.output(gv)
        return gv
{TAIL}"""


def types(module: relax_ir.IRModule) -> dict[str, tuple[list[int | None], str]]:
    """Return the types of the parameters that stand for constants."""
    params = of_type(module["main"], Function).params
    infos = {one.name: of_type(one.info, TensorStructInfo) for one in params if one.name.startswith("constant_")}
    return {name: ([static(extent) for extent in info.shape or ()], info.dtype) for name, info in infos.items()}


C = 'metadata["relax.expr.Constant"]'
CONV = f'R.nn.conv2d(x, {C}[0], strides=S, padding=[1, 1, 1, 1], dilation=[1, 1], groups=3, data_layout="NCHW", ' \
    'kernel_layout="OIHW", out_layout="NCHW", out_dtype="float32")'  # fmt: skip


def test_a_weight_is_decided_where_one_size_alone_gives_the_result() -> None:
    text = script(CONV.replace("S", "[1, 1]"), "(1, 6, 9, 9)")
    assert types(relax_ir.parse(text)) == {"constant_0": ([6, 1, 3, 3], "float32")}
    # With a stride of 2 a window of 3 gives 5 places as well as one of 2.
    with pytest.raises(ParseError, match=r"the text leaves out `metadata.*` and its type"):
        relax_ir.parse(script(CONV.replace("S", "[2, 2]"), "(1, 6, 5, 5)"))


def test_it_runs_with_values_for_the_parameters() -> None:
    call = f"R.permute_dims({C}[0], axes=[1, 0])"
    module = relax_ir.parse(script(call, "(4, 2)"))
    value = np.arange(8, dtype=np.float32).reshape(2, 4)
    machine = backends.VirtualMachine(backends.build(module, target="numpy"))
    np.testing.assert_array_equal(machine["main"](np.zeros((1, 3, 9, 9), np.float32), value), value.T)


def test_what_is_told_is_taken_and_has_to_fit() -> None:
    text = script(f"R.add(x, {C}[7])", "(1, 3, 9, 9)")
    with pytest.raises(ParseError) as caught:
        relax_ir.parse(text)
    (one,) = caught.value.diagnostics
    assert '{"metadata[\\"relax.expr.Constant\\"][7]": {"shape": [2, 3], "dtype": "float32"}}' in one.help
    told = {"shape": [3, 1, 1], "dtype": "float32"}
    assert types(relax_ir.parse(text, attrs={f"{C}[7]": told})) == {"constant_7": ([3, 1, 1], "float32")}
    with pytest.raises(ParseError, match="which the script does not leave out"):
        relax_ir.parse(text, attrs={f"{C}[7]": told, f"{C}[8]": told})
    with pytest.raises(ParseError, match="is no type"):
        relax_ir.parse(text, attrs={f"{C}[7]": {"shape": "3"}})


def test_a_function_that_others_call_has_no_parameters_added() -> None:
    text = f"""{HEAD}@I.ir_module
class Module:
    @R.function(private=True)
    def inner() -> R.Tensor((2,), dtype="float32"):
        return {C}[0]

    @R.function
    def main(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        cls = Module
        gv: R.Tensor((2,), dtype="float32") = cls.inner()
        return gv
{TAIL}"""
    with pytest.raises(ParseError, match="inner, which others call, uses constants"):
        relax_ir.parse(text)


@pytest.mark.golden
def test_recorded_scripts_have_the_types_that_were_recorded_or_ask_for_them(recorded: Any) -> None:
    """TVM's own words on the weights are the witness."""
    decided, asked = 0, 0
    for case in recorded("msc"):
        if "Metadata omitted" not in (case["relax"] or ""):
            continue
        wanted = {f"constant_{place}": one for place, one in enumerate(case["weights"].values())}
        told: dict[str, dict[str, object]] = {}
        try:
            relax_ir.parse(case["relax"])
        except ParseError as error:
            for one in error.diagnostics:
                word, place = re.findall(r"`(metadata\[.*\]\[(\d+)\])`", one.title)[0]
                told[word] = wanted[f"constant_{place}"]
            asked += len(told)
        found = types(relax_ir.parse(case["relax"], attrs=told))
        assert found == {name: (one["shape"], one["dtype"]) for name, one in wanted.items()}, case["id"]
        decided += len(found) - len(told)
    assert (decided, asked) == (17, 5)
