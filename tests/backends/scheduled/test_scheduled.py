"""Relax with scheduled PrimFuncs: read back as written, and the same numbers on our backends and on
a real TVM.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.c.machine import Machine
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.core.limits import Limits
from relay2relax.core.tolerance import difference
from relay2relax.tir.ir.expr import IntImm
from relay2relax.tir.ir.stmt import Allocate, For, LoopKind, PrimFunc
from relay2relax.tir.ir.visit import statements

RANDOM = np.random.default_rng(11)
# One thread's work is set low, so that small tensors get parallel loops as well.
MACHINES = [Machine(16, 16, 1), Machine(32, 16), Machine(64, 32, 64)]
PROGRAMS = {
    "dense chain with odd extents": """
def @main(%x: Tensor[(5, 33), float32], %w: Tensor[(19, 33), float32], %b: Tensor[(19), float32]) {
  %0 = nn.bias_add(nn.dense(%x, %w, units=19), %b);
  nn.softmax(nn.relu(%0))
}""",
    "convolution, pooling, and a sum with a residue": """
def @main(%x: Tensor[(1, 3, 9, 11), float32], %w: Tensor[(8, 3, 3, 3), float32], %s: Tensor[(8, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]);
  %1 = nn.relu(multiply(%0, %s));
  (nn.max_pool2d(add(%1, %0), pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]), mean(%1, axis=[2, 3]))
}""",
    "joined and reshaped tensors": """
def @main(%x: Tensor[(2, 3, 70), float32], %y: Tensor[(2, 5, 70), float32]) {
  %0 = concatenate((exp(%x), %y), axis=1);
  %1 = transpose(reshape(%0, newshape=[16, 70]), axes=[1, 0]);
  (%1, sum(%1, axis=[0]), argmax(%0, axis=[1]))
}""",
    "attention": """
def @main(%q: Tensor[(2, 33, 8), float32], %k: Tensor[(2, 40, 8), float32], %v: Tensor[(2, 12, 40), float32]) {
  nn.batch_matmul(nn.softmax(nn.batch_matmul(%q, %k, transpose_b=True)), %v, transpose_b=True)
}""",
    "a batch that is not known": """
def @main(%x: Tensor[(?, 24), float32], %w: Tensor[(40, 24), float32]) {
  tanh(nn.dense(%x, %w, units=40))
}""",
    "one number, and a function without vectors": """
def @main(%x: Tensor[(40), float32], %y: Tensor[(), float32]) {
  multiply(sinh(%x), exp(negative(%y)))
}""",
    "convolutions of bytes, a border turned around, and a slope": """
def @main(%x: Tensor[(1, 20, 9, 7), int8], %w: Tensor[(12, 20, 3, 3), int8], %a: Tensor[(12), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], kernel_size=[3, 3], out_dtype="int32");
  %1 = nn.prelu(multiply(cast(%0, dtype="float32"), 0.01f), %a);
  (%0, %1, transpose(strided_slice(%x, begin=[0, 0, 0, 0], end=[1, 20, 9, 5]), axes=[0, 2, 3, 1]))
}""",
    "a matrix turned by tiles": """
def @main(%x: Tensor[(70, 1024), float32], %y: Tensor[(?, 20), float32]) {
  (transpose(%x, axes=[1, 0]), transpose(%y, axes=[1, 0]))
}""",
    "a tensor that is written early and late": """
def @main(%x: Tensor[(8, 32), float32], %v: Tensor[(32, 32), float32], %w: Tensor[(32, 32), float32]) {
  %0 = tanh(nn.dense(%x, %v, units=32));
  %1 = nn.softmax(nn.dense(nn.softmax(%0), %w, units=32));
  concatenate((%0, sigmoid(nn.dense(nn.softmax(nn.dense(%1, %v, units=32)), %w, units=32))), axis=1)
}""",
    "integers, and sorting": """
def @main(%x: Tensor[(4, 37), int32]) {
  (sort(%x), cumsum(%x, axis=1), divide(%x, 3), cast(%x, dtype="float16"))
}""",
}  # fmt: skip


def arguments(mod: relay_ir.IRModule) -> list[np.ndarray]:
    found = []
    for param in mod["main"].params:
        type_ = of_type(mod.types[param], relay_ir.TensorType)
        shape = [extent if isinstance(extent, int) else 6 for extent in type_.shape]
        value = RANDOM.standard_normal(shape) if type_.dtype == "float32" else RANDOM.integers(-50, 50, shape)
        found.append(value.astype(type_.dtype))
    return found


def functions_of(program: relax_ir.IRModule) -> list[PrimFunc]:
    return [func for func in program.functions.values() if isinstance(func, PrimFunc)]


def check(actual: Any, expected: Any) -> None:
    for one, wanted in zip(translator.flatten(actual), translator.flatten(expected), strict=True):
        found = difference(one, wanted, 64)
        assert found.agrees, found


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{machine.vector_bytes} bytes")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(every=10)
def test_the_same_numbers(name: str, machine: Machine) -> None:
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS[name]))
    args = arguments(mod)
    expected = backends.create_executor("debug", mod).evaluate()(*args)
    program = backends.schedule_module(translator.via_graph(mod), machine)
    relax_ir.check_well_formed(program)
    check(backends.VirtualMachine(backends.build(program, target="numpy"))["main"](*args), expected)


@pytest.mark.compiler
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(every=2)
def test_what_is_read_back_is_what_was_written(name: str) -> None:
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS[name]))
    args = arguments(mod)
    program = translator.lower_to_tir(mod, schedule="cpu")
    text = relax_ir.print_module(program)
    again = relax_ir.parse(text)
    assert relax_ir.structural_equal(again, program)
    assert relax_ir.print_module(again) == text
    expected = backends.create_executor("debug", mod).evaluate()(*args)
    check(backends.VirtualMachine(backends.build(again, target="c"))["main"](*args), expected)


@pytest.mark.tvm
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{machine.vector_bytes} bytes")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(every=10)
def test_in_apache_tvm(name: str, machine: Machine) -> None:
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS[name]))
    args = arguments(mod)
    expected = backends.create_executor("debug", mod).evaluate()(*args)
    program = backends.schedule_module(translator.via_graph(mod), machine)
    check(backends.VirtualMachine(backends.build(program, target="tvm"))["main"](*args), expected)


@pytest.mark.tvm
@pytest.mark.golden
@pytest.mark.parametrize("bound", [True, False], ids=["bound", "free"])
@pytest.mark.sweep(every=2)
def test_a_recorded_model_in_apache_tvm(get_model_case: Any, bound: bool) -> None:
    case = get_model_case("mlp")
    weights = {spec["name"]: spec["role"] == "param" for spec in case.specs()}
    values = dict(zip(weights, case.arguments(), strict=True))
    params = {name: value for name, value in values.items() if weights[name]} if bound else {}
    program = translator.via_graph(relay_ir.parse(case.text), params, schedule="cpu")
    args = [value for name, value in values.items() if name not in params]
    check(backends.VirtualMachine(backends.build(program, target="tvm"))["main"](*args), tuple(case.expected()))


def test_temporaries_of_a_function_share_places() -> None:
    mod = relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS["a tensor that is written early and late"])
    program = backends.schedule_module(translator.via_graph(mod), Machine())
    made = [node for func in functions_of(program) for node in statements(func.body) if isinstance(node, Allocate)]
    (memory,) = (node.buffer for node in made if node.of is None and node.buffer.name == "memory")
    # Of the products and softmaxes of 8x32 between the two, no more than three are alive at once.
    assert 0 < of_type(memory.shape[0], IntImm).value <= 3 * 8 * 32


def test_parallel_loops_around_each_other_are_one() -> None:
    text = "def @main(%x: Tensor[(64, 32), float32], %w: Tensor[(96, 32), float32]) { nn.dense(%x, %w, units=96) }"
    mod = relay_ir.parse(f'#[version = "0.0.5"] {text}')
    program = backends.schedule_module(translator.via_graph(mod), Machine(64, 32, 1))
    nodes = [node for func in functions_of(program) for node in statements(func.body)]
    loops = [node for node in nodes if isinstance(node, For) and node.kind is LoopKind.PARALLEL]
    # Two panels of 48 columns are packed; of the product each has eight tiles of eight rows.
    assert [of_type(loop.extent, IntImm).value for loop in loops] == [2, 16]


def test_stages_are_fused_and_weights_are_packed_ahead() -> None:
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS["dense chain with odd extents"]))
    weight = RANDOM.standard_normal((19, 33)).astype("float32")
    program = backends.schedule_module(translator.via_graph(mod, {"w": weight}), Machine())
    calls = [
        binding.value for block in of_type(program["main"], relax_ir.Function).body.blocks for binding in block.bindings
    ]
    functions = [call.func.name for call in calls if isinstance(call, relax_ir.CallTIR)]
    # Bias and relu have become part of what reads them.
    assert not [name for name in functions if "add" in name or "relu" in name]
    given = [arg for call in calls if isinstance(call, relax_ir.CallTIR) for arg in call.args]
    # Of the weights there is one form alone: packed, as the product reads them.
    (packed,) = [arg.data for arg in given if isinstance(arg, relax_ir.Constant)]
    assert packed.ndim == 1
    assert set(packed.tolist()) - {0.0} == set(weight.ravel().tolist())


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: f"{machine.vector_bytes} bytes")
@pytest.mark.parametrize("name", ["dense chain with odd extents", "convolution, pooling, and a sum with a residue"])
@pytest.mark.sweep(every=2)
def test_weights_that_are_parameters_are_packed_by_a_function_of_their_own(name: str, machine: Machine) -> None:
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS[name]))
    x, *weights = arguments(mod)
    names = [param.name for param in mod["main"].params[1:]]
    program = backends.schedule_module(translator.via_graph(mod, weights=names), machine)
    relax_ir.check_well_formed(program)
    packed = backends.transform_params(program, weights)
    with pytest.raises(Relay2RelaxError, match="model_params"):
        backends.transform_params(program, weights[::-1])
    bound = backends.schedule_module(translator.via_graph(mod, dict(zip(names, weights, strict=True))), machine)
    # What main is left with is what it would be with bound weights.
    free = relax_ir.transform.BindParams("main", packed)(program)["main"]
    assert relax_ir.structural_equal(replace(free, attrs={}), bound["main"])
    expected = backends.create_executor("debug", mod).evaluate()(x, *weights)
    check(backends.VirtualMachine(backends.build(program, target="numpy"))["main"](x, *packed.values()), expected)


@pytest.mark.sweep(every=2)
def test_weights_are_packed_over_whole_tensors_at_a_time() -> None:
    text = """
def @main(%x: Tensor[(3, 500), float32], %w: Tensor[(1000, 500), float32], %b: Tensor[(1000), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=1000), %b))
}"""
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + text))
    x, *weights = arguments(mod)
    program = backends.schedule_module(translator.via_graph(mod, weights=["w", "b"]), Machine(64, 32))
    # Loop by loop, half a million elements are as many steps.
    with Limits(steps=100):
        packed = backends.transform_params(program, weights)
    assert all(name.partition("_")[0] in ("w", "b") for name in packed)
    found = backends.VirtualMachine(backends.build(program))["main"](x, *packed.values())
    check(found, np.maximum(x @ weights[0].T + weights[1], 0))


def test_weights_of_unknown_extents_stay_inputs() -> None:
    text = """
def @main(%w: Tensor[(?, 24), float32], %x: Tensor[(5, 24), float32], %b: Tensor[(1, 1), float32]) {
  add(nn.dense(%x, %w, units=None), exp(%b))
}"""
    mod = relay_ir.infer_type(relay_ir.parse('#[version = "0.0.5"]' + text))
    program = translator.via_graph(mod, weights=["w", "b"], schedule="cpu")
    assert [param.name for param in program["main"].params][:2] == ["w", "x"]
    w, x, b = arguments(mod)
    (packed,) = backends.transform_params(program, [b]).values()
    found = backends.VirtualMachine(backends.build(program))["main"](w, x, packed)
    check(found, x @ w.T + np.exp(b))


def test_another_schedule_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="there are: 'cpu'"):
        translator.via_graph(relay_ir.parse('#[version = "0.0.5"]' + PROGRAMS["integers, and sorting"]), schedule="gpu")
