"""Kernels for GPUs: Relay's numbers, nothing wrong with them, and built by a real TVM."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from gpu_programs import PROGRAMS
from typed import of_type

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.gpu.device import DEVICES, device_of
from relay2relax.backends.numpy.threads.findings import KernelReport
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.core.dtype import Array
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import PassContext
from relay2relax.core.tolerance import difference

A100 = device_of("sm_80")


@lru_cache
def program(name: str) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{PROGRAMS[name]}'))


@lru_cache
def scheduled(name: str, joined: bool = False) -> relax_ir.IRModule:
    """Return the kernels of a program; small ones as one only where ``joined``."""
    with PassContext(disabled_pass=[] if joined else ["gpu.JoinSmall"]):
        return backends.schedule_module(translator.via_graph(program(name)), device=A100)


def arguments(name: str) -> list[Array]:
    rng = np.random.default_rng(3)
    mod = program(name)
    found: list[Array] = []
    for param in mod["main"].params:
        type_ = of_type(mod.types[param], relay_ir.TensorType)
        shape = [extent if isinstance(extent, int) else 37 for extent in type_.shape]
        small = rng.integers(-4, 5, shape) if type_.dtype == "int64" else rng.integers(-50, 50, shape)
        value = rng.standard_normal(shape) if "float" in type_.dtype else small
        found.append(value.astype(type_.dtype))
    return found


def check(actual: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected, strict=True):
            check(one, other)
        return
    found = difference(np.asarray(actual), np.asarray(expected))
    assert found.agrees, found


def expected(name: str) -> Any:
    return backends.create_executor("debug", program(name)).evaluate()(*arguments(name))


@lru_cache
def run(name: str, joined: bool = False) -> tuple[Any, list[KernelReport]]:
    machine = backends.VirtualMachine(backends.build(scheduled(name, joined), target="numpy"))
    with watching() as reports:
        return machine["main"](*arguments(name)), reports


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(every=2)
def test_kernels_agree_with_relay_and_nothing_is_found_in_them(name: str) -> None:
    results, reports = run(name)
    check(results, expected(name))
    assert [str(finding) for report in reports for finding in report.findings] == []
    assert sum(report.bank_conflicts for report in reports) == 0


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.sweep(every=4)
def test_small_kernels_are_joined_and_agree_with_relay(name: str) -> None:
    results, reports = run(name, joined=True)
    check(results, expected(name))
    assert [str(finding) for report in reports for finding in report.findings] == []
    assert len(reports) <= len(run(name)[1])


def test_a_small_network_is_one_kernel() -> None:
    assert len(run("few rows by a warp each, and softmax stage by stage", joined=True)[1]) == 1


def with_weights(text: str, weights: list[str]) -> tuple[list[KernelReport], list[str], Any, Any]:
    """Return how the kernels of a program ran whose ``weights`` are known ahead, the names of its
    functions, its result, and Relay's.
    """
    mod = relay_ir.infer_type(relay_ir.parse(f'#[version = "0.0.5"]\n{text}'))
    rng = np.random.default_rng(5)
    names = [param.name for param in mod["main"].params]
    types = [of_type(mod.types[param], relay_ir.TensorType) for param in mod["main"].params]
    shapes = [tuple(int(str(extent)) for extent in type_.shape) for type_ in types]
    values = {name: rng.standard_normal(shape).astype("float32") for name, shape in zip(names, shapes, strict=True)}
    script = translator.via_graph(mod, weights=weights, schedule="cuda:sm_90")
    ahead = backends.transform_params(script, [values[name] for name in weights])
    machine = backends.VirtualMachine(backends.build(script, target="numpy"))
    with watching() as reports:
        found = machine["main"](*(values[name] for name in names if name not in weights), *ahead.values())
    wanted = backends.create_executor("debug", mod).evaluate()(*values.values())
    return reports, [var.name for var in script.functions], found, wanted


def test_weights_lie_as_tiles_read_them_and_borders_are_conditions() -> None:
    reports, names, found, wanted = with_weights(
        """
def @main(%x: Tensor[(1, 16, 12, 12), float32], %v: Tensor[(32, 16, 3, 3), float32],
          %w: Tensor[(32, 32, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %v, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]));
  nn.conv2d(%0, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])
}""",
        ["v", "w"],
    )
    check(found, wanted)
    assert [str(finding) for report in reports for finding in report.findings] == []
    assert sum(report.bank_conflicts for report in reports) == 0
    assert {"v_packed", "w_packed"} <= set(names)
    assert not any("pad" in name for name in names)


def test_weights_are_laid_out_once_where_products_are_parts_of_one_tensor() -> None:
    reports, _, found, wanted = with_weights(
        """
def @main(%x: Tensor[(1, 16, 12, 12), float32], %v: Tensor[(16, 16, 3, 3), float32],
          %w: Tensor[(32, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %v, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3]);
  concatenate((%0, %1), axis=1)
}""",
        ["v", "w"],
    )
    check(found, wanted)
    # One kernel for each product, and none that only moves.
    assert len(reports) == 2


def test_a_long_sum_with_few_results_is_done_in_parts() -> None:
    reports, names, found, wanted = with_weights(
        """
def @main(%x: Tensor[(24, 2048), float32], %w: Tensor[(40, 2048), float32], %b: Tensor[(40), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=40), %b))
}""",
        ["w", "b"],
    )
    check(found, wanted)
    parts = [report for report in reports if "parts" in report.name]
    assert len(parts) == 1
    assert parts[0].blocks >= 16
    assert parts[0].findings == []
    assert parts[0].bank_conflicts == 0
    assert "relu_parts" in names


# Where an index follows from a position below a bound that is not a multiple, the C backend does
# not see that it lies inside, and refuses the program.
UNSEEN = {
    "a convolution, pooling, and a sum with a residue",
    "bytes, a border turned around, and a slope",
}


@pytest.mark.compiler
@pytest.mark.sweep(every=12)
@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - UNSEEN))
def test_threads_one_after_the_other_agree_with_relay(name: str) -> None:
    check(backends.VirtualMachine(backends.build(scheduled(name), "c"))["main"](*arguments(name)), expected(name))


@pytest.mark.parametrize(
    "name", ["a normalisation by rows", "sums of rows, of columns, and of all", "joined and reshaped tensors"]
)
def test_what_is_read_once_is_read_whole(name: str) -> None:
    reports = [report for report in run(name)[1] if report.blocks * report.threads >= 512]
    assert reports
    assert max(report.coalescing for report in reports) <= 1.2


def test_small_tensors_are_read_once() -> None:
    reports = run("short rows, and pieces of a small tensor")[1]
    assert max(report.coalescing for report in reports) <= 1.2


def test_stores_of_a_constant_are_vectors() -> None:
    script = translator.via_graph(
        relay_ir.parse('def @main() { zeros(shape=[124, 50], dtype="float64") }'), schedule="cuda"
    )
    machine = backends.VirtualMachine(backends.build(script, target="numpy"))
    with watching() as reports:
        assert not np.asarray(machine["main"]()).any()
    assert [report.coalescing for report in reports] == [1.0]


@pytest.mark.parametrize("name", list(PROGRAMS)[::5])
def test_scripts_read_back_as_they_are(name: str) -> None:
    text = str(scheduled(name))
    assert str(relax_ir.parse(text)) == text


def test_occupancy_is_bound_by_threads_registers_and_shared_memory() -> None:
    # By hand: 2,048 threads, 65,536 registers and 164 kB on a multiprocessor of an A100.
    assert A100.occupancy(256, 32, 0) == 1.0
    assert A100.occupancy(256, 64, 0) == 0.5
    assert A100.occupancy(256, 32, 40 * 1024) == 4 * 256 / 2048
    assert A100.least_time(1555e9, 1.0) == 1.0
    # One block has one of 108 multiprocessors; 109 blocks take two rounds.
    assert A100.kernel_time(1, 1555e9, 1.0, 0.0) == pytest.approx(108.0)
    assert A100.kernel_time(109, 1.0, 19.5e12, 0.0) == pytest.approx(216 / 109)
    assert A100.kernel_time(108, 1.0, 1.0, 108 * 1.41e9) == pytest.approx(1.0)
    assert set(DEVICES) >= {"sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"}
    with pytest.raises(UnsupportedError, match="the architecture 'sm_10'"):
        device_of("sm_10")


def test_no_power_is_of_a_negative_number() -> None:
    """Fast mathematics gives NaN of these, so `pow` is asked for absolute values alone."""
    text = scheduled("powers of numbers of both signs").script()
    asked = [line.partition("T.pow(")[2] for line in text.splitlines() if "T.pow(" in line]
    assert asked
    assert all(one.startswith("T.fabs(") for one in asked)
