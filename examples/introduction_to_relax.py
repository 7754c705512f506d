"""From a Relay model to Relax and back to numbers, step by step.

The steps are those of TVM's "Introduction to Relax": a model with an unknown batch is taken from
the library, translated with a TensorIR function per operator, looked at, built, run with a batch of
its own, and compared.
"""

from __future__ import annotations

import numpy as np

from relay2relax import backends, relax_ir, relay_ir, tir, translator


def main() -> None:
    """Print every stage; fails where Relay and Relax disagree."""
    # A Relay model of the library; `?` is a batch that is not known yet.
    relay_mod, params = relay_ir.testing.mlp.get_workload(batch_size=relay_ir.Any())
    print(relay_mod)

    # One high-level function and a TensorIR function for each distinct operator.
    relax_mod = translator.lower_to_tir(relay_mod["main"])
    relax_main = relax_mod["main"]
    assert isinstance(relax_main, relax_ir.Function)
    print(relax_ir.print_function(relax_main))
    batch_flatten = relax_mod["batch_flatten"]
    assert isinstance(batch_flatten, tir.PrimFunc)
    print("\n".join(tir.print_prim_func(batch_flatten)))

    # The unknown batch is one symbolic dimension from the input to the result.
    taken = relax_main.params[0].info
    assert isinstance(taken, relax_ir.TensorStructInfo)
    assert taken.shape is not None
    print(f"{taken.shape[0]} is in {relax_ir.print_struct_info(relax_main.ret)}")

    # Build for the virtual machine, and see what was built.
    executable = backends.build(relax_mod, target="numpy")
    print(executable.stats())
    print(executable.as_text())

    # Run with a batch of two.
    data = np.random.default_rng(0).standard_normal((2, 1, 28, 28)).astype(np.float32)
    machine = backends.VirtualMachine(executable)
    result = machine["main"](data, *params.values())

    # Relay gives the same numbers, to the last bit.
    expected = backends.create_executor("debug", relay_mod).evaluate()(data, **params)
    np.testing.assert_array_equal(result, expected)
    print(result)


if __name__ == "__main__":
    main()
