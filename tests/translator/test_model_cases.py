"""The main job on every recorded model: both translations run everywhere and give what TVM 0.18
gave.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from typed import present

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.core.tolerance import LONGEST_CHAIN, difference

TRANSLATORS = {"lower_to_tir": translator.lower_to_tir, "via_graph": translator.via_graph}

pytestmark = pytest.mark.golden


@lru_cache(maxsize=1)
def typed(case: Any) -> relay_ir.IRModule:
    return relay_ir.infer_type(relay_ir.parse(case.text, case.name))


def assert_close(actual: Any, expected: list[np.ndarray]) -> None:
    arrays = translator.flatten(actual)
    assert len(arrays) == len(expected)
    for one, other in zip(arrays, expected, strict=True):
        found = difference(one, other, LONGEST_CHAIN)
        assert found.agrees, found


def check_memory(plan: str) -> None:
    """The arena of every function is at most 1.2 times the largest set of temporaries alive.

    Those lie apart.
    """
    for function in re.split(r"\n(?! )", plan):
        head, *lines = function.splitlines()
        size = re.search(r"arena (.*?) bytes", head)
        assert size is not None, head
        found = [re.fullmatch(r"  arena (.*): (.*) bytes, stages (\d+) to (\d+), .*", line) for line in lines]
        rows = [[evaluated(part) for part in match.groups()] for match in found if match is not None]
        assert len(rows) == sum(line.startswith("  arena") for line in lines)
        for stage in range(max((row[3] for row in rows), default=0) + 1):
            alive = sorted((begin, begin + count) for begin, count, first, last in rows if first <= stage <= last)
            assert all(end <= begin for (_, end), (begin, _) in pairwise(alive))
        most = max((sum(c for _, c, first, last in rows if first <= s <= last) for _, _, s, _ in rows), default=0)
        assert evaluated(size[1]) <= 1.2 * most


def evaluated(extent: str) -> int:
    """Return the value of an extent of the memory plan.

    The symbolic one of a recorded model is its batch.
    """
    return int(eval(re.sub(r"[a-z]\w*", "6", extent)))  # noqa: S307  (the text is our own)


@pytest.fixture(params=list(TRANSLATORS))
def translate(request: pytest.FixtureRequest) -> Any:
    return TRANSLATORS[request.param]


@pytest.mark.sweep(every=10)
def test_relax_on_numpy_equals_relay(model_case: Any, translate: Any) -> None:
    """Kernels are the same; their last bits are not where a processor's matrix products add in
    another order because a transposed matrix is a view in one program and a copy in the other.
    """
    mod, arguments = typed(model_case), model_case.arguments()
    relay = translator.flatten(backends.create_executor("graph", mod).evaluate()(*arguments))
    assert_close(relay, model_case.expected())
    relax = translate(mod)
    relax_ir.check_well_formed(relax)
    result = translator.flatten(backends.VirtualMachine(backends.build(relax, target="numpy"))["main"](*arguments))
    for one, other in zip(result, relay, strict=True):
        assert one.dtype == other.dtype
    assert_close(result, relay)


@pytest.mark.compiler
@pytest.mark.sweep(every=9)
def test_relax_on_c(model_case: Any, translate: Any) -> None:
    executable = backends.build(translate(typed(model_case)), target="c")
    assert_close(backends.VirtualMachine(executable)["main"](*model_case.arguments()), model_case.expected())
    check_memory(present(executable.native).memory())


@pytest.mark.compiler
@pytest.mark.sweep(every=7)
def test_relay_on_c(model_case: Any) -> None:
    executor = backends.create_executor("graph", typed(model_case), backend="c")
    assert_close(executor.evaluate()(*model_case.arguments()), model_case.expected())


@pytest.mark.tvm
@pytest.mark.sweep(every=32)
def test_relax_in_apache_tvm(model_case: Any, translate: Any) -> None:
    executable = backends.build(translate(typed(model_case)), target="tvm")
    assert_close(backends.VirtualMachine(executable)["main"](*model_case.arguments()), model_case.expected())


@pytest.mark.sweep(every=2)
def test_result_dtypes_and_shapes_do_not_drift(model_case: Any, translate: Any) -> None:
    mod = typed(model_case)
    ret = mod["main"].ret_type
    assert isinstance(ret, relay_ir.TensorType)
    info = translate(mod)["main"].ret
    assert info.dtype == ret.dtype
    assert info.ndim == ret.rank


def test_graph_returns_the_module_that_came_in(model_case: Any) -> None:
    mod = typed(model_case)
    if model_case.name == "lstm_relay":
        mod = relay_ir.infer_type(relay_ir.transform.ToGraphNormalForm()(mod))
    found, weights = graph.from_relay(mod)
    assert relay_ir.first_difference(graph.to_relay(found, weights), mod) is None


def test_params_file_binds(get_model_case: Any) -> None:
    case = get_model_case("mlp")
    mod, values = typed(case), relay_ir.load_params(case.params)
    relax = translator.via_graph(mod, params=values)
    assert [p.name for p in relax["main"].params] == ["data"]
    result = backends.VirtualMachine(backends.build(relax, target="numpy"))["main"](case.arguments()[0])
    assert_close(result, case.expected())


@pytest.mark.parametrize(
    "target",
    ["numpy", pytest.param("c", marks=pytest.mark.compiler), pytest.param("tvm", marks=pytest.mark.tvm)],
)
@pytest.mark.sweep(every=2)
def test_one_executable_serves_every_batch(get_model_case: Any, translate: Any, target: str) -> None:
    case = get_model_case("mlp_dynamic_batch")
    mod = typed(case)
    relax = translate(mod)
    main = relax["main"]
    assert relax_ir.print_struct_info(main.ret) == 'R.Tensor(("d", 10), dtype="float32")'
    machine = backends.VirtualMachine(backends.build(relax, target=target))
    _, *weights = case.arguments()
    executor = backends.create_executor("graph", mod).evaluate()
    for batch in (1, 3, 64):
        data = np.random.default_rng(batch).standard_normal((batch, 1, 28, 28)).astype(np.float32)
        assert_close(machine["main"](data, *weights), [executor(data, *weights)])


def test_symbolic_batch_in_every_struct_info(get_model_case: Any, translate: Any) -> None:
    relax = translate(typed(get_model_case("mlp_dynamic_batch")), dims={"data": ("batch", None, None, None)})
    main = relax["main"]
    batch = main.params[0].info.shape[0]
    assert batch.name == "batch"
    bindings = [b for block in main.body.blocks for b in block.bindings]
    carrying = [b for b in bindings if batch in (b.var.info.shape or ())]
    # Weights that are transposed on the way have no batch; everything that depends on the data has.
    assert len(carrying) >= 10
    assert all(None is not b.var.info.shape for b in bindings)
    assert main.ret.shape == (batch, 10)
