"""Recurrences in C: what does not depend on the step before is done at once.

Equal stages are done once.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends, relay_ir, translator
from relay2relax.backends.c.fusion.cse import eliminate_common
from relay2relax.backends.c.fusion.recurrence import batch_recurrences
from relay2relax.backends.c.stages import Stage, stages_of
from relay2relax.tir import te
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import if_then_else
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import PrimFunc

RANDOM = np.random.default_rng(21)
STEPS, WIDE, STATE = 6, 12, 20


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def recurrence(rows: int) -> PrimFunc:
    """``state = tanh([x[step], state] @ w)``, for every step."""
    x = te.placeholder((STEPS, rows, WIDE), name="X")
    state = te.placeholder((rows, STATE), name="S")
    w = te.placeholder((WIDE + STATE, STATE), name="W")
    now = state
    for step in range(STEPS):
        part = te.compute((rows, WIDE), lambda i, j, step=step: x[step, i, j], "part")
        joined = te.compute(
            (rows, WIDE + STATE),
            lambda i, j, part=part, now=now: if_then_else(j < WIDE, part[i, j], now[i, j - WIDE]),
            "joined",
        )
        k = te.reduce_axis(WIDE + STATE)
        total = te.compute((rows, STATE), lambda i, j, z=joined, k=k: te.sum(z[i, k] * w[k, j], axis=k), "total")
        now = te.compute((rows, STATE), lambda i, j, total=total: call("tanh", total[i, j]), "now")
    return te.create_prim_func([x, state, w], [now], name="main")


def test_inputs_of_all_steps_are_multiplied_at_once() -> None:
    before = stages_of(recurrence(3))
    after = batch_recurrences(before, lambda buffer: buffer)
    stages = [of_type(stage, Stage) for stage in after]
    axes = [(*s.axes, s.reduction.axes[0]) for s in stages if s.reduction]
    extents = [[static(axis.extent) for axis in one] for one in axes]
    assert extents == [[STEPS, 3, STATE, WIDE]] + [[3, STATE, STATE]] * STEPS


def test_a_matrix_is_packed_once_for_all_steps() -> None:
    from relay2relax.backends.c.codegen.program import generate
    from relay2relax.backends.c.machine import Machine

    func = recurrence(3)
    weights = next(buffer for buffer in func.buffers if buffer.name == "W")
    kept = tuple(p for p in func.params if func.buffer_map[p] is not weights)
    bound = PrimFunc(func.name, kept, {p: func.buffer_map[p] for p in kept}, func.body, func.root_buffers)
    entry = generate([bound], Machine(), [weights])[1]["main"]
    # Panels are filled up to whole vectors.
    assert integer(entry.prepared.size, {}) <= (WIDE + STATE) * 24 * 4


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.compiler
def test_recurrence(rows: int) -> None:
    from relay2relax.backends.c.loaded_module import compile_prim_funcs

    x, state, w = normal(STEPS, rows, WIDE), normal(rows, STATE), normal(WIDE + STATE, STATE)
    result = np.empty((rows, STATE), np.float32)
    compile_prim_funcs([recurrence(rows)]).call("main", x, state, w, result)
    for step in x:
        state = np.tanh(np.concatenate([step, state], 1) @ w)
    np.testing.assert_allclose(result, state, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
def test_lstm_of_two_layers() -> None:
    """As PyTorch's own LSTM, whose gates are input, forget, cell, output."""
    torch = pytest.importorskip("torch")
    lstm = torch.nn.LSTM(WIDE, STATE, 2)
    lines, layer = [], [f"take(%x, {step}i64, axis=0)" for step in range(STEPS)]
    params, weights = [], {}
    for number in range(2):
        wide = WIDE if number == 0 else STATE
        parts = [getattr(lstm, f"{kind}_l{number}") for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
        weights[f"w{number}"] = torch.cat(parts[:2], 1).detach().numpy()
        weights[f"b{number}"] = (parts[2] + parts[3]).detach().numpy()
        params += [f"%w{number}: Tensor[({4 * STATE}, {wide + STATE}), float32]"]
        params += [f"%b{number}: Tensor[({4 * STATE}), float32]"]
        lines += [f'let %h{number} = zeros(shape=[1, {STATE}], dtype="float32");']
        lines += [f'let %c{number} = zeros(shape=[1, {STATE}], dtype="float32");']
        outputs = []
        for step in range(STEPS):
            name = f"{number}_{step}"
            last = f"{number}_{step - 1}" if step else f"{number}"
            lines += [
                f"let %z{name} = concatenate(({layer[step]}, %h{last}), axis=1);",
                f"let %g{name} = split(nn.bias_add(nn.dense(%z{name}, %w{number}, units={4 * STATE}), %b{number}),"
                f" indices_or_sections=4, axis=1);",
                f"let %c{name} = add(multiply(sigmoid(%g{name}.1), %c{last}),"
                f" multiply(sigmoid(%g{name}.0), tanh(%g{name}.2)));",
                f"let %h{name} = multiply(sigmoid(%g{name}.3), tanh(%c{name}));",
            ]
            outputs.append(f"%h{name}")
        layer = outputs
    body = "\n".join([*lines, layer[-1]])
    head = f"%x: Tensor[({STEPS}, 1, {WIDE}), float32], {', '.join(params)}"
    text = f'#[version = "0.0.5"]\ndef @main({head}) {{\n{body}\n}}'
    module = relay_ir.infer_type(relay_ir.parse(text))
    x = normal(STEPS, 1, WIDE)
    relax = translator.lower_to_tir(module, weights)
    result = backends.VirtualMachine(backends.build(relax, target="c"))["main"](x)
    expected = lstm(torch.tensor(x))[0][-1].detach().numpy()
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


def test_equal_stages_are_done_once() -> None:
    x = te.placeholder((8, 4), name="X")
    one, two = (te.compute((4, 8), lambda i, j: x[j, i], "turned") for _ in range(2))
    three = te.compute((4, 8), lambda i, j: x[j, i] * 2.0, "doubled")
    k, r = te.reduce_axis(8), te.reduce_axis(8)
    sums = [te.compute((4,), lambda i, t=t, k=k: te.sum(t[i, k], axis=k), "sum") for t, k in ((one, k), (two, r))]
    out = te.compute((4,), lambda i: sums[0][i] + sums[1][i] + three[i, 0], "out")
    func = te.create_prim_func([x], [out])
    assert len(stages_of(func)) == 6
    assert len(eliminate_common(stages_of(func), frozenset(func.buffers))) == 4
