"""``relay_ir.quantize`` against what a TVM 0.16 with Relay makes of the same programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.passes import PassContext
from relay2relax.relay_ir import IRModule, op, quantize
from relay2relax.relay_ir.ir.rewrite import nodes
from tests.relay_ir.quantize.programs import ALL, CASES, HEADER, PROGRAMS, dataset, values

FOLDER = Path(__file__).parent / "cases"


def quantised(program: str, level: int = 3, **options: Any) -> IRModule:
    mod = relay_ir.infer_type(relay_ir.parse(HEADER + program))
    with PassContext(opt_level=level), quantize.qconfig(**options):
        return quantize.quantize(mod, values(program, False), dataset(program))


def read(text: str) -> IRModule:
    return relay_ir.infer_type(relay_ir.parse(text))


def run(mod: IRModule, inputs: dict[str, Any], executor: str = "debug") -> Any:
    return backends.create_executor(executor, mod).evaluate()(**inputs)


@pytest.mark.parametrize(("name", "program", "options", "level"), CASES, ids=[one[0] for one in CASES])
@pytest.mark.sweep(every=2)
def test_as_tvm_quantises(name: str, program: str, options: dict[str, Any], level: int) -> None:
    # Texts hold six digits of numbers, so ours is read back, too.
    found = read(quantised(PROGRAMS[program], level, **options).astext())
    expected = read((FOLDER / f"{name}.relay").read_text())
    assert relay_ir.first_difference(found, expected) is None


# Computed by the minimisation of TVM 0.16 for the samples below.
THRESHOLDS = (
    1.9840019941329956, 3.075944662094116, 1.9915010929107666, 3.0546090602874756,
    1.9820022583007812, 3.300795078277588, 1.9810023307800293, 3.099194288253784,
    1.969494104385376, 3.05106520652771, 1.9835020303726196, 3.3722105026245117,
)  # fmt: skip


@pytest.mark.parametrize("seed", [1, 10])
def test_thresholds_by_divergence(seed: int) -> None:
    drawn = np.random.RandomState(seed)
    samples = drawn.randn(2000) if seed % 2 else drawn.randint(-128, 128, 432) / 64
    assert quantize.threshold_by_kl(samples.astype(np.float32)) == THRESHOLDS[seed]


@pytest.mark.parametrize("program", ["conv", "residual", "network", "line"])
def test_integers_compute_nearly_what_floats_do(program: str) -> None:
    text = PROGRAMS[program]
    # Small weights: sums stay within the scale.
    mod = relay_ir.bind_params(read(HEADER + text), {k: v / 8 for k, v in values(text, False).items()})
    inputs = values(text, True, 9)
    expected = run(mod, inputs)
    with PassContext(opt_level=3), quantize.qconfig(calibrate_mode="percentile", weight_scale="max", **ALL):
        found = quantize.quantize(mod, None, [inputs])
    assert "int8" in relay_ir.analysis.all_dtypes(found["main"])
    np.testing.assert_allclose(run(found, inputs), expected, atol=0.05 * np.abs(expected).max())


def test_simulation_is_what_integers_compute() -> None:
    text = PROGRAMS["conv"]
    inputs = values(text, True, 9)
    simulated = run(quantised(text, **ALL, do_simulation=True), inputs)
    # Floats hold every number of these scales; halves are rounded differently by a shift.
    step = 8 / 128
    np.testing.assert_allclose(run(quantised(text, **ALL), inputs), simulated, atol=step)


def test_parts_compute_the_same() -> None:
    text = PROGRAMS["network"]
    whole, parts = (quantised(text, **ALL, partition_conversions=one) for one in ("disabled", "enabled"))
    names = {var.name for var in parts.functions}
    assert names == {"main", "quantize_inputs", "quantized_main", "dequantize_outputs"}
    inputs = values(text, True, 9)
    np.testing.assert_array_equal(run(parts, inputs), run(whole, inputs))


def test_what_is_registered_decides() -> None:
    def annotated(call: Any, args: Any, ctx: object) -> Any:
        expr = args[0].expr if isinstance(args[0], quantize.QAnnotateExpr) else args[0]
        rounded = quantize.attach_simulated_quantize(expr, quantize.QAnnotateKind.INPUT)
        return quantize.QAnnotateExpr(quantize.forward_op(call, [rounded]), quantize.QAnnotateKind.INPUT)

    from relay2relax.relay_ir.transform import TempOpAttr

    text = "def @main(%x: Tensor[(2), float32]) { negative(%x) }"
    with TempOpAttr("negative", "FQAnnotateRewrite", annotated), quantize.qconfig(do_simulation=True):
        found = quantize.quantize(read(HEADER + text))
    names = relay_ir.analysis.list_op_freqs(found)
    assert names["relay.op.annotation.simulated_quantize"] == 1
    # 8 / 128 is the step of the default scale.
    assert run(found, {"x": np.array([0.07, -3.0], np.float32)}).tolist() == [-0.0625, 3.0]


def test_configurations_nest() -> None:
    assert quantize.current_qconfig().skip_conv_layers is None
    with quantize.qconfig(global_scale=4.0) as outer:
        assert quantize.current_qconfig() is outer
        assert list(outer.skip_conv_layers or ()) == [0]
        with quantize.qconfig(nbit_input=4):
            assert quantize.current_qconfig().global_scale == 8.0
            assert quantize.current_qconfig().get_nbit_by_kind(quantize.QAnnotateKind.INPUT) == 4
        assert quantize.current_qconfig() is outer
    with pytest.raises(Relay2RelaxError, match="skip_conv_layer"):
        quantize.qconfig(skip_conv_layer=[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrate_mode": "percentil"}, "calibrate_mode"),
        ({"weight_scale": "min"}, "weight_scale"),
        ({"partition_conversions": "yes"}, "partition_conversions"),
    ],
)
def test_options_that_there_are_not(options: dict[str, Any], message: str) -> None:
    with pytest.raises(Relay2RelaxError, match=message):
        quantised(PROGRAMS["conv"], **ALL, **options)


def test_data_sets_have_the_inputs() -> None:
    mod = read(HEADER + PROGRAMS["conv"])
    params = values(PROGRAMS["conv"], False)
    with quantize.qconfig(calibrate_mode="percentile", **ALL):
        with pytest.raises(Relay2RelaxError, match="none is given"):
            quantize.quantize(mod, params)
        with pytest.raises(Relay2RelaxError, match="no input 'x'"):
            quantize.quantize(mod, params, [{"y": np.zeros(3)}])


def test_weights_are_constant_and_products_of_one_value() -> None:
    with quantize.qconfig(**ALL), pytest.raises(UnsupportedError, match="constant"):
        quantize.quantize(read(HEADER + PROGRAMS["conv"]))
    text = PROGRAMS["conv"].replace("nn.relu(%1)", "multiply(%1, %1)")
    with pytest.raises(UnsupportedError, match="two quantised values"):
        quantised(text, **ALL)


def test_floats_between_conversions_are_refused() -> None:
    with pytest.raises(quantize.NotIntegralError):
        quantised(PROGRAMS["network"], **ALL, partition_conversions="fully_integral")
    quantised(PROGRAMS["residual"], **ALL, partition_conversions="fully_integral")


@pytest.mark.sweep(every=2)
def test_long_programs() -> None:
    x = relay_ir.var("x", shape=(1, 2, 1, 1))
    weight = relay_ir.const(np.ones((2, 2, 1, 1), np.float32))
    value: Any = op.nn.conv2d(x, weight, channels=2, kernel_size=(1, 1))
    for _ in range(3000):
        value = op.nn.relu(value)
    mod = IRModule.from_expr(value)
    with quantize.qconfig(**ALL):
        found = quantize.quantize(mod)
    assert sum(1 for _ in nodes(found["main"])) > 3000
