"""The exercises at the end of the chapter "End to End Model Execution": one model from operators to
machine code.

The module is built binding by binding. Some of its calls then go to a library, the others become
tensor programs, one of which gets a schedule; what is left is fused, planned, built and kept in a
file. Every form is run and compared.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from relay2relax import backends, relax_ir
from relay2relax.relax_ir import transform
from relay2relax.tir.ir.stmt import PrimFunc
from relay2relax.tir.schedule import Schedule

# Of the input and the weights.
SHAPES: dict[str, tuple[int, ...]] = {"x": (1, 784), "w0": (784, 128), "b0": (128,), "w1": (128, 10), "b1": (10,)}


def build_module() -> relax_ir.IRModule:
    """Return a two-layer perceptron of operators, made by hand."""
    x, w0, b0, w1, b1 = (relax_ir.Var(n, relax_ir.TensorStructInfo(s, "float32")) for n, s in SHAPES.items())
    builder = relax_ir.BlockBuilder()
    call = relax_ir.call_op
    with builder.function("main", [x, w0, b0, w1, b1], {"num_input": 1}):
        with builder.dataflow():
            hidden = builder.emit(call("nn.relu", call("add", call("matmul", x, w0), b0)))
            out = builder.emit_output(call("add", call("matmul", hidden, w1), b1), "out")
        builder.emit_func_output(out)
    return builder.get()


@backends.register_func("library.matmul", override=True)
def library_matmul(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """A product of matrices into memory that is there."""
    np.matmul(a, b, out=out)


def scheduled(program: PrimFunc) -> PrimFunc:
    """Return a product of matrices with its columns in blocks of sixteen, sums kept apart, blocks
    in parallel.
    """
    schedule = Schedule(program)
    (block,) = schedule.get_blocks()
    _, columns, inner = schedule.get_loops(block)
    outer, lanes = schedule.split(columns, [None, 16])
    schedule.reorder(outer, inner, lanes)
    schedule.decompose_reduction(block, inner)
    schedule.parallel(outer)
    return schedule.func


def is_input(value: relax_ir.Expr) -> bool:
    """Tell whether a value is the model's input."""
    return isinstance(value, relax_ir.Var) and value.name == "x"


def versions(module: relax_ir.IRModule) -> dict[str, relax_ir.IRModule]:
    """Return the model in several forms that compute the same."""
    # Product by product: the larger one goes to the library.
    mixed = transform.DispatchCalls({"matmul": lambda call: "library.matmul" if is_input(call.args[0]) else None})
    library = mixed(module)
    programs = transform.LegalizeOps()(module)
    matmul = programs["matmul"]
    assert isinstance(matmul, PrimFunc)
    by_schedule = transform.DispatchCalls({"matmul": scheduled(matmul)})(programs)
    # The calling convention is the same, so a program takes the place of the library's function as
    # well.
    back = transform.DispatchCalls({"library.matmul": matmul})(transform.LegalizeOps()(library))
    fused = transform.Sequential([transform.FuseOps(), transform.FuseTIR()])(programs)
    return {
        "operators": module,
        "library and operators": library,
        "library and programs": transform.LegalizeOps()(library),
        "programs": programs,
        "programs instead of the library": back,
        "scheduled": by_schedule,
        "fused": fused,
    }


def main(target: str = "numpy") -> None:
    """Run every form; fails where two of them disagree."""
    rng = np.random.default_rng(8)
    module = build_module()
    args = [rng.standard_normal(shape).astype("float32") / 8 for shape in SHAPES.values()]
    x, w0, b0, w1, b1 = args
    expected = np.maximum(x @ w0 + b0, 0) @ w1 + b1
    for name, form in versions(module).items():
        relax_ir.check_well_formed(form)
        kernels = sorted(var.name for var, func in form.functions.items() if isinstance(func, PrimFunc))
        result = backends.VirtualMachine(backends.build(form, target=target))["main"](*args)
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
        print(f"{name}: {', '.join(kernels) or 'no programs'}")

    bound = transform.BindParams("main", {"w0": w0, "b0": b0, "w1": w1, "b1": b1})(versions(module)["fused"])
    executable = backends.build(bound, target=target)
    print(executable.as_text())
    if target == "tvm":
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.exe"
        executable.save(path)
        loaded = backends.Executable.load(path)
        print(f"{path.stat().st_size} bytes; the same instructions: {loaded.as_text() == executable.as_text()}")
    np.testing.assert_allclose(backends.VirtualMachine(loaded)["main"](x), expected, rtol=1e-4, atol=1e-4)


if __name__ == "__main__":
    main(*sys.argv[1:])
