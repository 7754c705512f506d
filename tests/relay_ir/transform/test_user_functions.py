"""Functions of users that fail: each failure is an error with a code, the function's name and the
place of the program that it was asked about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.extensions import ExtensionError
from relay2relax.relay_ir import IRModule, const, op, quantize, transform
from relay2relax.relay_ir.analysis import CallGraph, all_vars, free_vars, list_op_freqs, well_formed
from relay2relax.relay_ir.dataflow_pattern import (
    DFPatternCallback,
    PatternError,
    has_attr,
    is_function,
    is_op,
    is_tuple,
    partition,
    rewrite,
    wildcard,
)
from relay2relax.relay_ir.ir.expr import BuildError

HEADER = '#[version = "0.0.5"]\n'
CONV = (
    "def @main(%x: Tensor[(1, 16, 8, 8), float32], %w: Tensor[(16, 16, 3, 3), float32])"
    " { nn.relu(nn.conv2d(%x, %w, padding=[1, 1])) }"
)
QUANTISED = (
    'def @main(%x: Tensor[(1, 4), int8]) { qnn.quantize(nn.relu(qnn.dequantize(%x, 1f, 0)), 1f, 0, out_dtype="int8") }'
)
DENSE = (
    "def @main(%x: Tensor[(1, 4), int8], %w: Tensor[(3, 4), int8])"
    ' { qnn.dense(%x, %w, 0, 0, 1f, 1f, units=3, out_dtype="int32") }'
)
# What is asked, of which operator, under which key, on which program; and what places are told.
ASKED: dict[str, tuple[Any, str, str, str, bool]] = {
    "legalize": (transform.Legalize(), "nn.conv2d", "FTVMLegalize", CONV, True),
    "alter": (transform.AlterOpLayout(), "nn.conv2d", "FTVMAlterOpLayout", CONV, True),
    "alter relu": (transform.AlterOpLayout(), "nn.relu", "FTVMAlterOpLayout", CONV, True),
    "convert": (
        transform.ConvertLayout({"nn.conv2d": ["NHWC", "default"]}), "nn.conv2d", "FTVMConvertOpLayout", CONV, True,
    ),
    "integers": (
        transform.FakeQuantizationToInteger(hard_fail=True), "nn.relu", "FTVMFakeQuantizationToInteger", QUANTISED,
        False,
    ),
    "qnn legalize": (transform.QnnLegalize(), "qnn.dense", "FTVMQnnLegalize", DENSE, True),
    "qnn canonicalize": (transform.QnnCanonicalize(), "qnn.dense", "FTVMQnnCanonicalize", DENSE, False),
    "gradient": (transform.FirstOrderGradient(), "nn.relu", "FPrimalGradient", CONV, False),
    "gradient of all": (transform.HigherOrderGradient(), "nn.relu", "FPrimalGradient", CONV, False),
    "partition": (quantize.QuantizePartition(), "nn.relu", "FQPartitionRewrite", CONV, False),
    "annotate": (quantize.QuantizeAnnotate(), "nn.relu", "FQAnnotateRewrite", CONV, False),
    "realize": (quantize.QuantizeRealize(), "nn.relu", "FQRealizeRewrite", CONV, False),
    "mixed precision": (
        transform.ToMixedPrecision(), "nn.conv2d", "FTVMMixedPrecisionConversionType", CONV, False,
    ),
}  # fmt: skip


def raising(*given: object) -> object:
    raise ValueError("of mine")


FAILING: dict[str, tuple[Callable[..., object], str]] = {
    "raises": (raising, "raised ValueError: of mine"),
    "takes nothing": (lambda: None, "raised TypeError"),
    "number": (lambda *given: 5, "returned int, expected"),
    "list": (lambda *given: ["x"], "returned list, expected"),
}


@pytest.mark.parametrize("how", FAILING)
@pytest.mark.parametrize("asked", ASKED)
def test_what_is_registered(asked: str, how: str) -> None:
    apply, name, key, text, has_place = ASKED[asked]
    function, message = FAILING[how]
    mod = relay_ir.parse(HEADER + text)
    with transform.TempOpAttr(name, key, function), pytest.raises(Relay2RelaxError) as caught:
        apply(mod)
    assert message in str(caught.value)
    assert f"what is registered for {name} as {key}" in str(caught.value)
    if has_place:
        assert "<text>:2:" in str(caught.value)
    if how == "raises" and isinstance(caught.value, ExtensionError):
        assert isinstance(caught.value.__cause__, ValueError)
        assert caught.value.diagnostics[0].kind.code == "R2R-0723"  # type: ignore[union-attr]


def test_layouts_ask_for_calls() -> None:
    mod = relay_ir.parse(HEADER + CONV)
    for made in (const(np.zeros(3, "float32")), op.add(const(1.0), const(2.0))):
        altering = transform.TempOpAttr("nn.relu", "FTVMAlterOpLayout", lambda *given, made=made: made)
        expected = pytest.raises(ExtensionError, match=r"expected a call (of an operator|with 1 arguments)")
        with altering, expected:
            transform.AlterOpLayout()(mod)


def test_results_that_do_not_fit_are_found_by_inference() -> None:
    ill: Any = op.add(const(np.ones(3, "float32")), const(np.ones(4, "float32")))
    with transform.TempOpAttr("nn.relu", "FTVMLegalize", lambda *given: ill):
        made = transform.Legalize()(relay_ir.parse(HEADER + CONV))
    with pytest.raises(relay_ir.TypeInferenceError, match="in function @main"):
        relay_ir.infer_type(made)


class Replaced(DFPatternCallback):
    def __init__(self, make: Callable[..., Any]) -> None:
        super().__init__()
        self.pattern = is_op("nn.relu")(wildcard())
        self.make = make

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return self.make(post)


@pytest.mark.parametrize("how", FAILING)
def test_callbacks_and_checks(how: str) -> None:
    function, message = FAILING[how]
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + CONV))
    with pytest.raises(ExtensionError, match=f"Replaced.callback {message}.*"):
        rewrite(Replaced(function), mod["main"], mod)
    if how in ("number", "list"):
        return
    relu = is_op("nn.relu")(wildcard())
    with pytest.raises(ExtensionError, match=f"the check of a partition {message}"):
        partition(relu, mod["main"], check=function)  # type: ignore[arg-type]
    with pytest.raises(ExtensionError, match=f"the check of own.relu {message}"):
        transform.MergeComposite([("own.relu", relu, function)])(mod)  # type: ignore[list-item]
    with pytest.raises(ExtensionError, match=f"what own says of nn.relu {message}"):
        transform.AnnotateTarget({"own": {"nn.relu": function}})(mod)  # type: ignore[dict-item]
    with pytest.raises(ExtensionError, match=f"skip of EliminateCommonSubexpr {message}"):
        transform.EliminateCommonSubexpr(function)(mod)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", FAILING)
def test_passes_of_users(how: str) -> None:
    function, message = FAILING[how]
    mod = relay_ir.parse(HEADER + CONV)
    for decorate in (transform.function_pass, transform.module_pass):
        with pytest.raises(ExtensionError, match=f"the pass mine {message}"):
            decorate(opt_level=0, name="mine")(function)(mod)


def test_what_is_no_pattern_callback_pass_or_module() -> None:
    x: Any = relay_ir.var("x", shape=(2,))
    relu = is_op("nn.relu")(wildcard())
    given: list[Callable[[], object]] = [
        lambda: rewrite(5, x),  # type: ignore[arg-type]
        lambda: rewrite([5], x),  # type: ignore[list-item]
        lambda: rewrite(Replaced(lambda post: post), 5),  # type: ignore[arg-type]
        lambda: rewrite(type("NoPattern", (DFPatternCallback,), {})(), x),
        lambda: has_attr(5),  # type: ignore[arg-type]
        lambda: wildcard().has_shape(5),  # type: ignore[arg-type]
        lambda: is_tuple(5),  # type: ignore[arg-type]
        lambda: is_function(5),  # type: ignore[arg-type]
        lambda: relu.dominates(5),  # type: ignore[arg-type]
        lambda: partition(relu, x, attrs=5),  # type: ignore[arg-type]
        lambda: transform.MergeComposite([5])(IRModule.from_expr(x)),  # type: ignore[list-item]
        lambda: transform.MergeComposite([("own.relu", 5)])(IRModule.from_expr(x)),  # type: ignore[list-item]
    ]
    for one in given:
        with pytest.raises(PatternError):
            one()
    run: Any = transform.FoldConstant()
    for mod in (x, None, "text"):
        with pytest.raises(Relay2RelaxError, match="a module of Relay is expected, found"):
            run(mod)
    analyses: list[Any] = [free_vars, well_formed, all_vars]
    for analyse in analyses:
        with pytest.raises(BuildError, match="an expression of Relay is expected, found IRModule"):
            analyse(IRModule())
    counts: list[Any] = [list_op_freqs, CallGraph]
    for count in counts:
        with pytest.raises(Relay2RelaxError, match="a module of Relay is expected, found Var"):
            count(x)
    sequence: Any = transform.Sequential
    with pytest.raises(ExtensionError, match=r"sequence .* expected passes"):
        sequence([5])(IRModule.from_expr(x))


def test_functions_are_matched() -> None:
    x: Any = relay_ir.var("x", shape=(2,))
    function = relay_ir.Function((x,), op.nn.relu(x))
    assert is_function().match(function)
    assert is_function([wildcard()], is_op("nn.relu")(wildcard())).match(function)
    assert not is_function([wildcard(), wildcard()]).match(function)
    assert not is_function(None, is_op("exp")(wildcard())).match(function)
