"""What apache-tvm's default pipeline for GPUs makes no kernels of, and ours in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from relay2relax import backends, migrate, relax_ir, relay_ir, translator
from relay2relax.backends.numpy.threads.launch import watching
from relay2relax.backends.tvm.cuda import (
    compile_cuda,
    device_sources,
    gpu_target,
    host_is_watched,
    joined_sources,
    nvrtc_problem,
)
from relay2relax.backends.tvm.limits import missing_kernels
from relay2relax.relax_ir.tvm_bridge import to_tvm
from relay2relax.tir.ir.stmt import PrimFunc

Via = Literal["graph", "tir"]
Numbers = npt.NDArray[np.float32] | npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
needs_nvrtc = pytest.mark.skipif(nvrtc_problem() is not None, reason="nvrtc is not installed (make test-cuda does it)")


class Case(NamedTuple):
    """A program of ``x`` and perhaps ``w``: its ``operator`` is left, which is ``said`` so."""

    body: str
    shapes: tuple[tuple[int, ...], ...]
    operator: str
    said: str
    expected: Callable[..., Numbers]
    via: Via = "tir"


def grouped(x: Floats, w: Floats) -> Floats:
    """A convolution with two groups of four channels each."""
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(2, 3))
    halves = [np.einsum("nchwij,ocij->nohw", windows[:, 2 * g : 2 * g + 2], w[4 * g : 4 * g + 4]) for g in (0, 1)]
    return np.concatenate(halves, axis=1)


def spread(x: Floats) -> Floats:
    return x.repeat(2, axis=2).repeat(2, axis=3)


GROUPED = "nn.conv2d(%x, %w, groups=2, channels=8, kernel_size=[3, 3])"
IMAGES = ((1, 4, 8, 8), (8, 2, 3, 3))
CASES = {
    "several results": Case(
        "argmax(%x, axis=[1])", ((4, 70),), "argmax", "several tensors", lambda x: x.argmax(1).astype("int32")
    ),
    "statements": Case("cumsum(%x, axis=1)", ((4, 70),), "cumsum", "statements", lambda x: x.cumsum(1)),
    "rows": Case(
        "variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1])", ((4, 70),), "variance", "rows", lambda x: x.var(1)
    ),
    "one term": Case(
        "nn.adaptive_avg_pool2d(%x, output_size=[2, 2])", ((3, 2, 1, 1),), "nn.adaptive_avg_pool2d", "one term", spread
    ),
    "a quotient": Case(GROUPED, IMAGES, "nn.conv2d", "quotient", grouped),
    "an operator": Case(GROUPED, IMAGES, "nn.conv2d", "several channels", grouped, "graph"),
}


def program(case: Case) -> relay_ir.IRModule:
    params = ", ".join(f"%{name}: Tensor[{shape}, float32]" for name, shape in zip("xw", case.shapes, strict=False))
    return relay_ir.parse(f'#[version = "0.0.5"]\ndef @main({params}) {{ {case.body} }}')


@pytest.mark.parametrize("name", CASES)
def test_it_is_said_and_gets_kernels_that_are_right(name: str) -> None:
    case = CASES[name]
    mod = program(case)
    found = missing_kernels(translator.translate(mod, case.via))
    assert list(found) == [case.operator]
    assert case.said in found[case.operator]
    assert found == migrate.plan(mod, via=case.via).missing_kernels
    script = translator.translate(mod, case.via, schedule="cuda-missing:sm_90")
    assert missing_kernels(script) == {}
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape).astype("float32") for shape in case.shapes]
    with watching(most_blocks=64) as reports:
        result = backends.VirtualMachine(backends.build(relax_ir.parse(str(script))))["main"](*arrays)
    np.testing.assert_allclose(result, case.expected(*arrays), rtol=1e-4, atol=1e-5)
    assert reports
    assert [str(one) for report in reports for one in report.findings] == []


def test_what_needs_none_stays_as_it_is() -> None:
    mod = relay_ir.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(?, 70), float32], %w: Tensor[(8, 70), float32]) "
        '{ (nn.softmax(nn.relu(nn.dense(%x, %w, units=8))), topk(%x, k=3, axis=1, dtype="int32")) }'
    )
    plain, made = (translator.lower_to_tir(mod, schedule=schedule) for schedule in (None, "cuda-missing"))
    assert list(missing_kernels(plain)) == ["topk"]
    texts = [
        {var.name: str(func) for var, func in script.functions.items() if isinstance(func, PrimFunc)}
        for script in (plain, made)
    ]
    assert texts[0].keys() - texts[1].keys() == {"topk"}
    assert {name: texts[1][name] for name in texts[0].keys() & texts[1].keys()}.items() <= texts[0].items()


def test_operators_that_apache_tvm_lowers_to_loops_are_said() -> None:
    mod = relay_ir.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%b: Tensor[(1, 5, 4), float32], %s: Tensor[(1, 2, 5), float32]) "
        "{ vision.all_class_non_max_suppression(%b, %s, 3i64, 0.5f, 0.1f) }"
    )
    plain = translator.via_graph(mod)
    assert list(missing_kernels(plain)) == ["vision.all_class_non_max_suppression"]
    (said,) = missing_kernels(relax_ir.parse(VALID_COUNTS)).values()
    assert "loops of the processor" in said


VALID_COUNTS = """
@I.ir_module
class Module:
    @R.function
    def main(data: R.Tensor((1, 8, 6), dtype="float32")):
        gv = R.vision.get_valid_counts(data, score_threshold=0.5, id_index=0, score_index=1)
        return gv
"""


def builds_alone(script: relax_ir.IRModule) -> bool:
    """Whether apache-tvm builds a script as it is, and leaves nothing to the processor."""
    import tvm

    try:
        with host_is_watched() as touching:
            tvm.relax.build(to_tvm(script), target=tvm.target.Target(gpu_target(), host="llvm"))
    except Exception:  # noqa: BLE001 (its rules end in all kinds of errors)
        return False
    return not touching


@needs_nvrtc
@pytest.mark.tvm
def test_apache_tvm_builds_it_with_them_alone() -> None:
    sources: list[str] = []
    for case in CASES.values():
        plain = translator.translate(program(case), case.via)
        assert not builds_alone(plain)
        sources += device_sources(plain, gpu_target())
    assert len(compile_cuda(joined_sources(sources))) >= len(CASES)
