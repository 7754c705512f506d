"""LiftTransformParams: what the installed TVM's pass makes.

Where that is ill-formed, what it should be.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.relax_ir.transform import CanonicalizeBindings, LegalizeOps, LiftTransformParams, Sequential

ROW = 'R.Tensor((4,), dtype="float32")'
RANDOM = np.random.default_rng(7)


def module(body: str, result: str, params: str, returns: str = ROW, count: int = 1) -> rx.IRModule:
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    return rx.parse(
        f"@I.ir_module\nclass Module:\n    @R.function\n    def main({params}) -> {returns}:\n"
        f'        R.func_attr({{"num_input": {count}}})\n{lines}\n        return {result}\n'
    )


def dataflow(lines: str, output: str) -> str:
    return "with R.dataflow():\n" + "".join(f"    {line}\n" for line in (*lines.split("; "), f"R.output({output})"))


# What TVM's pass makes well-formed.
MODULES = {
    "chain, a bare weight, one that is not used, and what needs no parameter": module(
        dataflow(
            'w2 = R.add(w, w); z = R.zeros(R.shape([4]), "float32"); wz = R.add(w2, z); y = R.multiply(x, wz); '
            "y2 = R.add(y, b); y3 = R.add(y2, z); y4 = R.add(y3, w)",
            "y4",
        ),
        "y4",
        f"x: {ROW}, w: {ROW}, b: {ROW}, unused: {ROW}",
    ),
    "outside of dataflow, and tuples": module(
        f"w2: {ROW} = R.add(w, w)\n"
        + dataflow(
            "w3 = R.add(w2, w); v = R.add(w, w); s = R.split(v, 2); s0 = s[0]; c = R.concat((s0, s0)); "
            "y = R.multiply(x, w3); z = R.add(y, c)",
            "z",
        ),
        "z",
        f"x: {ROW}, w: {ROW}",
    ),
    "two weights together, no input that they meet": module(
        dataflow("a = R.multiply(u, v); b = R.exp(a); c = R.add(a, b); y = R.add(x, b); z = R.add(y, c)", "z"),
        "z",
        f"x: {ROW}, u: {ROW}, v: {ROW}",
    ),
    "symbolic dimensions": module(
        dataflow("v = R.sum(w, axis=[0]); e = R.exp(w); y = R.matmul(x, e); z = R.add(y, v)", "z"),
        "z",
        'x: R.Tensor((2, "n"), dtype="float32"), w: R.Tensor(("n", 4), dtype="float32")',
        'R.Tensor((2, 4), dtype="float32")',
    ),
    "no weights": module(dataflow("y = R.add(x, x)", "y"), "y", f"x: {ROW}"),
}
# What TVM's pass leaves ill-formed: results and dimensions that come from weights alone.
ALONE = {
    "results": module(
        dataflow("w2 = R.add(w, w); y = R.multiply(x, x)", "w2, y"),
        "(y, w2, w)",
        f"x: {ROW}, w: {ROW}",
        f"R.Tuple({ROW}, {ROW}, {ROW})",
    ),
    "dimensions": module(
        "n = T.int64()\n"
        + dataflow(
            "v = R.sum(w, axis=[0]); y = R.multiply(x, v); "
            'z = R.full(R.shape([n]), R.const(1.0, "float32"), "float32"); '
            "s = R.sum(z); q = R.add(s, y)",
            "q",
        ),
        "q",
        f'x: {ROW}, w: R.Tensor(("n", 4), dtype="float32")',
    ),
}


def drawn(func: rx.Function) -> list[np.ndarray]:
    infos = [of_type(param.info, rx.TensorStructInfo) for param in func.params]
    shapes = [[e if isinstance(e, int) else 3 for e in present(info.shape)] for info in infos]
    return [RANDOM.standard_normal(shape).astype(np.float32) for shape in shapes]


def run(mod: rx.IRModule, name: str, *args: Any, target: str = "numpy") -> Any:
    return backends.VirtualMachine(backends.build(mod, target=target))[name](*args)


def check_numbers(mod: rx.IRModule, lifted: rx.IRModule, target: str = "numpy") -> None:
    rx.check_well_formed(lifted)
    main = of_type(mod["main"], rx.Function)
    arguments = drawn(main)
    count = of_type(main.attrs["num_input"], int)
    made = run(lifted, "main_transform_params", tuple(arguments[count:]), target=target)
    assert len(made) == len(lifted["main"].params) - count
    actual = run(lifted, "main", *arguments[:count], *made, target=target)
    expected = run(mod, "main", *arguments)
    for one, other in zip(*(x if isinstance(x, tuple) else (x,) for x in (actual, expected)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("passes", [(), (LegalizeOps(),)], ids=["operators", "tensor programs"])
@pytest.mark.parametrize("name", [*MODULES, *ALONE])
def test_the_same_numbers(name: str, passes: tuple[Any, ...]) -> None:
    mod = Sequential(passes)((MODULES | ALONE)[name])
    lifted = LiftTransformParams()(mod)
    check_numbers(mod, lifted)
    check_numbers(mod, LiftTransformParams()(lifted))
    again = rx.parse(lifted.script())
    assert rx.structural_equal(again, lifted)


@pytest.mark.tvm
@pytest.mark.parametrize("name", MODULES)
def test_as_tvm_does_it(name: str) -> None:
    from tvm import relax

    mod = MODULES[name]
    ours = CanonicalizeBindings()(LiftTransformParams()(mod))
    theirs = rx.from_tvm(relax.transform.LiftTransformParams()(rx.to_tvm(mod)))
    assert {var.name for var in ours.functions} == {var.name for var in theirs.functions}
    assert rx.structural_equal(ours["main"], theirs["main"])
    assert [p.name for p in ours["main"].params] == [p.name for p in theirs["main"].params]
    one, other = (of_type(each["main_transform_params"], rx.Function) for each in (ours, theirs))
    shown = rx.print_struct_info
    assert [shown(p.info) for p in one.params] == [shown(p.info) for p in other.params]
    assert shown(one.ret) == shown(other.ret)
    assert one.attrs == other.attrs
    check_numbers(mod, theirs)


@pytest.mark.tvm
@pytest.mark.parametrize("name", ALONE)
def test_tvm_runs_what_its_own_pass_does_not_make(name: str) -> None:
    check_numbers(ALONE[name], LiftTransformParams()(ALONE[name]), target="tvm")


def test_a_mark_stops_it() -> None:
    mod = module(
        dataflow(f"a = R.exp(w); s: {ROW} = R.builtin.stop_lift_params(a); b = R.negative(s); y = R.add(x, b)", "y"),
        "y",
        f"x: {ROW}, w: {ROW}",
    )
    main = LiftTransformParams()(mod)["main"]
    assert isinstance(main, rx.Function)
    assert [param.name for param in main.params] == ["x", "a"]
    assert [binding.var.name for block in main.body.blocks for binding in block.bindings] == ["b", "y"]


def test_branches_keep_what_stands_in_them() -> None:
    mod = module(
        f"if c:\n    p: {ROW} = R.add(w, w)\n    y: {ROW} = R.add(x, p)\nelse:\n    y: {ROW} = R.add(x, w)",
        "y",
        f'c: R.Tensor((), dtype="bool"), x: {ROW}, w: {ROW}',
        count=2,
    )
    lifted = LiftTransformParams()(mod)
    rx.check_well_formed(lifted)
    assert [param.name for param in lifted["main"].params] == ["c", "x", "w"]


def test_functions_without_the_attribute_stay_and_wrong_counts_are_refused() -> None:
    mod = rx.transform.BindParams("main", {})(MODULES["no weights"])
    assert LiftTransformParams()(mod)["main"].attrs == {"num_input": 1}
    with pytest.raises(Relay2RelaxError, match="main has 1 parameters; num_input is 2"):
        LiftTransformParams()(module(dataflow("y = R.add(x, x)", "y"), "y", f"x: {ROW}", count=2))
