"""What apache-tvm writes for GPUs of our scripts, and what NVIDIA's compiler makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import pytest
from golden_folder import golden_root
from gpu_programs import PROGRAMS
from known_differences import TRANSLATIONS, VALUES
from recorded_cases import arguments, entry, has_data, problem, typed_case
from sweep import sampled

from relay2relax import backends, relax_ir, relay_ir, translator
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.backends.tvm.cuda import (
    Kernel,
    compile_cuda,
    device_sources,
    gpu_target,
    joined_sources,
    nvrtc_problem,
)
from relay2relax.core.errors import CompilerError, Relay2RelaxError, UnsupportedError

pytestmark = [pytest.mark.tvm]
needs_nvrtc = pytest.mark.skipif(nvrtc_problem() is not None, reason="nvrtc is not installed (make test-cuda does it)")
WAYS: list[tuple[Literal["graph", "tir"], str | None]] = [
    ("graph", None),
    ("tir", None),
    ("graph", "cuda"),
    ("tir", "cuda"),
]
RECORDED = golden_root()
MODELS = [] if RECORDED is None else sorted(one.name for one in (RECORDED / "models").iterdir())
SYNC = 'tvm_storage_sync("shared")'


@lru_cache
def source(name: str) -> tuple[str, str]:
    """Return the script of a program with its kernels, and the source that apache-tvm makes of
    it.
    """
    mod = relay_ir.parse(f'#[version = "0.0.5"]\n{PROGRAMS[name]}')
    script = translator.via_graph(mod, schedule="cuda")
    (written,) = device_sources(script, gpu_target())
    return str(script), written


@pytest.mark.sweep(every=7)
@pytest.mark.parametrize("name", PROGRAMS)
def test_tvm_finds_no_barrier_missing(name: str) -> None:
    script, written = source(name)
    # apache-tvm looks for accesses that have to wait for each other, and adds barriers for them.
    # That of two tiles in turn one is read while the other is stored, it does not see.
    ours, tiles = script.count(SYNC), script.count("left_tile = T.alloc_buffer")
    assert ours <= written.count("__syncthreads()") <= ours + tiles
    assert "__global__" in written


@needs_nvrtc
@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90"])
def test_nvrtc_compiles_every_kind_of_kernel_without_spills(arch: str) -> None:
    kernels = compile_cuda(joined_sources([source(name)[1] for name in PROGRAMS]), arch)
    assert len(kernels) >= len(PROGRAMS)
    assert all(kernel.spilled == 0 and kernel.registers <= 128 for kernel in kernels)


@needs_nvrtc
def test_nvrtc_says_what_it_refuses() -> None:
    written = (
        source("a normalisation by rows")[1].replace("rsqrtf", "no_such_function").replace("sqrtf", "no_such_function")
    )
    with pytest.raises(CompilerError, match="no_such_function"):
        compile_cuda(written)


STATISTICS = """
def @main(%x: Tensor[(1, 4, 6, 6), float32], %w: Tensor[(8, 4, 3, 3), float32], %g: Tensor[(8), float32],
          %b: Tensor[(8), float32], %m: Tensor[(8), float32], %v: Tensor[(8), float32], %i: Tensor[(3), int64]) {
  %0 = nn.batch_norm(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3]), %g, %b, %m, %v);
  (nn.relu(%0.0), take(%i, 1i64))
}"""


def test_nothing_is_left_to_the_processor() -> None:
    # On a GPU (an H200) scripts that left something ended the process.
    text = str(translator.lower_to_tir(relay_ir.parse(f'#[version = "0.0.5"]\n{STATISTICS}')))
    assert device_sources(relax_ir.parse(text), gpu_target())
    fused, rootless = re.sub(r', "op_pattern": 8', "", text), re.sub(r" +vi = T.axis.spatial.*\n", "", text)
    assert len({text, fused, rootless}) == 3
    for broken, name in ((fused, "batch_norm"), (rootless, "take")):
        with pytest.raises(UnsupportedError, match=f"leaves a part of .*{name} to the processor"):
            device_sources(relax_ir.parse(broken), gpu_target())


@pytest.mark.sweep(every=16)
@pytest.mark.parametrize("kind", ["opencl", "metal", "webgpu"])
def test_other_kinds_of_gpus_are_written_for(kind: str) -> None:
    mod = relay_ir.parse(f'#[version = "0.0.5"]\n{PROGRAMS["a product with tails"]}')
    (written,) = device_sources(translator.via_graph(mod, schedule="cuda"), gpu_target(kind))
    assert "barrier" in written.lower()


def model_source(name: str, via: Literal["graph", "tir"], schedule: str | None, bound: bool) -> list[str]:
    assert RECORDED is not None
    folder = RECORDED / "models" / name
    mod = relay_ir.parse((folder / "model.relay").read_text())
    weights = folder / "model.params"
    params = relay_ir.load_params(weights.read_bytes()) if weights.exists() else {}
    given: dict[str, Any] = {"params": params} if bound else {"weights": list(params)}
    return device_sources(translator.translate(mod, via, schedule=schedule, **given), gpu_target())


@pytest.mark.golden
@needs_nvrtc
@pytest.mark.parametrize("bound", [False, True], ids=["weights as parameters", "weights bound"])
@pytest.mark.parametrize(("via", "schedule"), WAYS)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.sweep(every=64)
def test_every_model_builds(name: str, via: Literal["graph", "tir"], schedule: str | None, bound: bool) -> None:
    kernels: list[Kernel] = []
    for written in model_source(name, via, schedule, bound):
        kernels += compile_cuda(written)
    assert kernels
    if schedule == "cuda":
        assert [kernel for kernel in kernels if kernel.spilled] == []


@pytest.mark.golden
@pytest.mark.parametrize("via", ["graph", "tir"])
@pytest.mark.parametrize("name", ["operators", "dynamic"])
@pytest.mark.sweep(every=2)
def test_kernels_of_recorded_operators_are_right(recorded: Any, name: str, via: Literal["graph", "tir"]) -> None:
    wrong: list[str] = []
    agreeing = 0
    for case in sampled(_cases(recorded, name), 12):
        mod, function = typed_case(case)
        try:
            script = translator.translate(mod, via, schedule="cuda")
            with watching(most_blocks=16) as reports:
                machine = backends.VirtualMachine(backends.build(script, target="numpy"))
                found = problem(machine[entry(case)](*arguments(case, function)), case, mod)
        except Relay2RelaxError as error:
            found = f"{type(error).__name__}: {error}"
        found = found or "".join(str(finding) for report in reports for finding in report.findings)
        agreeing += not found
        if found and case["id"] not in VALUES and case["id"] not in TRANSLATIONS:
            wrong.append(f"{case['id']}: {found}")
    assert not wrong, "\n".join(wrong)
    assert agreeing


def _cases(recorded: Any, name: str) -> Iterator[dict[str, Any]]:
    return (case for case in recorded(name) if has_data(case))


@pytest.mark.golden
@needs_nvrtc
@pytest.mark.parametrize(("via", "schedule"), WAYS)
@pytest.mark.sweep(every=8)
def test_recorded_operators_build(recorded: Any, via: Literal["graph", "tir"], schedule: str | None) -> None:
    written: list[tuple[str, str]] = []
    wrong: list[str] = []
    for case in sampled(_cases(recorded, "operators"), 5):
        mod, _ = typed_case(case)
        try:
            found = device_sources(translator.translate(mod, via, schedule=schedule), gpu_target())
        except Relay2RelaxError as error:
            wrong.append(f"{case['id']}: {error}")
            continue
        written += [(case["id"], one) for one in found]
    for begin in range(0, len(written), 40):
        part = written[begin : begin + 40]
        try:
            compile_cuda(joined_sources([one for _, one in part]))
        except CompilerError as error:
            wrong.append(f"one of {', '.join(name for name, _ in part)}: {error}")
    assert len(wrong) <= 0.01 * len(written), "\n".join(wrong)
