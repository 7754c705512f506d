"""A constant evaluator for Relay, as a user of the library would write it.

The pass is an ``ExprMutator``: a call of an operator whose arguments are all constants is run, on
an executor, and replaced by its value. It is an ordinary pass then: it runs in a sequence, beside
those of the library.
"""

from __future__ import annotations

import numpy as np

from relay2relax import backends, relay_ir
from relay2relax.relay_ir import transform


class ConstantEvaluator(relay_ir.ExprMutator):
    """Replaces calls of operators on constants by their values."""

    def visit_call(self, call: relay_ir.Call) -> relay_ir.Expr:
        """Return the value of a call whose arguments, once visited themselves, are constants."""
        visited = super().visit_call(call)
        if not isinstance(visited, relay_ir.Call) or not isinstance(call.op, relay_ir.Op):
            return visited
        if not call.args or not all(isinstance(arg, relay_ir.Constant) for arg in visited.args):
            return visited
        mod = relay_ir.IRModule({relay_ir.GlobalVar("main"): relay_ir.Function((), visited)})
        value = backends.create_executor("debug", mod).evaluate()()
        return relay_ir.const(value) if isinstance(value, np.ndarray) else visited


def evaluate_constants(function: relay_ir.Function, mod: relay_ir.IRModule) -> relay_ir.Function:
    """Return ``function`` with its constants evaluated."""
    evaluated = ConstantEvaluator().visit(function)
    assert isinstance(evaluated, relay_ir.Function)
    return evaluated


def main() -> None:
    """Print a program before and after, and check that it still computes the same."""
    x = relay_ir.var("x", shape=(2, 3))
    scale = relay_ir.op.sqrt(relay_ir.const(np.float32(16)))
    weight = relay_ir.op.transpose(relay_ir.const(np.arange(6, dtype="float32").reshape(2, 3)), axes=[1, 0])
    body = relay_ir.op.nn.dense(x * scale, relay_ir.op.transpose(weight, axes=[1, 0]), units=2)
    mod = relay_ir.Module({})
    mod["main"] = relay_ir.Function((x,), body)
    print(mod)

    folding = transform.FunctionPass(evaluate_constants, name="ConstantEvaluator")
    timing = transform.PassTimingInstrument()
    with transform.PassContext(opt_level=2, instruments=[timing]):
        folded = transform.Sequential([folding, transform.InferType()])(mod)
        print(folded)
        print(timing.render())

    # The library's own pass finds the same.
    assert relay_ir.structural_equal(folded, relay_ir.infer_type(transform.FoldConstant()(mod)))
    data = np.ones((2, 3), "float32")
    before, after = (backends.create_executor("debug", one).evaluate()(data) for one in (mod, folded))
    np.testing.assert_array_equal(before, after)
    print(after)


if __name__ == "__main__":
    main()
