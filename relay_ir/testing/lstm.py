"""A long short-term memory, unrolled: a function per step, its state a tuple."""

from __future__ import annotations

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.build.scope_builder import ScopeBuilder
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.relay_ir.testing.workload import create_workload


def get_workload(
    iterations: int, num_hidden: int, batch_size: int = 1, dtype: str = "float32"
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params) of ``iterations`` steps of ``num_hidden`` units, each step with
    weights of its own.

    Inputs: ``data`` of each step, (batch_size, num_hidden); output: the last step's, of the same
    shape.
    """
    sb = ScopeBuilder()
    shape = (batch_size, num_hidden)
    state = TensorType(shape, dtype)
    zeros = sb.let("zeros", op.zeros(shape=shape, dtype=dtype))
    states: Expr = sb.let("init_states", Tuple((zeros, zeros)))
    out: Expr = zeros
    for step in range(iterations):
        data = var("data", state)
        weights = [
            var(f"{gate}_{step}_{part}", ty)
            for gate in ("i2h", "h2h")
            for part, ty in (
                ("weight", TensorType((4 * num_hidden, num_hidden), dtype)),
                ("bias", TensorType((4 * num_hidden,), dtype)),
            )
        ]
        call = sb.let(f"call_{step}", Call(_cell(num_hidden, state), (data, states, *weights)))
        out = sb.let(f"out_{step}", TupleGetItem(call, 0))
        states = sb.let(f"states_{step}", TupleGetItem(call, 1))
    sb.ret(out)
    return create_workload(sb.get())


def _cell(num_hidden: int, state: TensorType) -> Function:
    """Return the function of one step: (input, (hidden, cell), weights …) to (output, (hidden,
    cell)).
    """
    sb = ScopeBuilder()
    units = 4 * num_hidden
    inputs, states = var("inputs", state), var("states", TupleType((state, state)))
    weight, bias = TensorType((units, num_hidden), state.dtype), TensorType((units,), state.dtype)
    i2h_weight, i2h_bias = var("i2h_weight", weight), var("i2h_bias", bias)
    h2h_weight, h2h_bias = var("h2h_weight", weight), var("h2h_bias", bias)
    i2h = sb.let("i2h", op.nn.bias_add(op.nn.dense(inputs, i2h_weight, units=units), i2h_bias, axis=-1))
    hidden = op.nn.dense(TupleGetItem(states, 0), h2h_weight, units=units)
    h2h = sb.let("h2h", op.nn.bias_add(hidden, h2h_bias, axis=-1))
    gates = sb.let("gates", op.add(i2h, h2h))
    parts = sb.let("slice_gates", op.split(gates, indices_or_sections=4, axis=1))
    in_gate = sb.let("in_gate", op.sigmoid(TupleGetItem(parts, 0)))
    forget_gate = sb.let("forget_gate", op.sigmoid(TupleGetItem(parts, 1)))
    in_transform = sb.let("in_transform", op.tanh(TupleGetItem(parts, 2)))
    out_gate = sb.let("out_gate", op.sigmoid(TupleGetItem(parts, 3)))
    kept = op.multiply(forget_gate, TupleGetItem(states, 1))
    next_c = sb.let("next_c", op.add(kept, op.multiply(in_gate, in_transform)))
    next_h = sb.let("next_h", op.multiply(out_gate, op.tanh(next_c)))
    sb.ret(sb.let("ret", Tuple((next_h, Tuple((next_h, next_c))))))
    params = (inputs, states, i2h_weight, i2h_bias, h2h_weight, h2h_bias)
    result = TupleType((state, TupleType((state, state))))
    return Function(params, sb.get(), result)
