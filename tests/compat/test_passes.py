"""Passes of old scripts on the facade, where TVM's behave otherwise than ours alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import numpy as np
import tvm
from tvm import relay
from tvm.relay import transform

# Inference writes into the program what it finds.
x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w")
conv = relay.nn.conv2d(x, w, kernel_size=(3, 3), channels=4)
mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, w], conv)))
assert mod["main"].params[1].type_annotation == relay.TensorType((4, 3, 3, 3), "float32")
assert mod["main"].ret_type == relay.TensorType((1, 4, 6, 6), "float32")


# Passes over functions are followed by inference, unless an instrument leaves them out.
@tvm.instrument.pass_instrument
class Names:
    def __init__(self, skipped=()):
        self.names, self.skipped = [], skipped

    def should_run(self, mod, info):
        return info.name not in self.skipped

    def run_before_pass(self, mod, info):
        self.names.append(info.name)


for skipped, expected in ((), ["FoldConstant", "InferType"]), (("FoldConstant",), []):
    names = Names(skipped)
    with tvm.transform.PassContext(instruments=[names]):
        transform.FoldConstant()(mod)
    assert names.names == expected, names.names

# Kernels take what the target allows: metal 31 arguments, the result among them.
params = [relay.var(f"x{index}", shape=(2,)) for index in range(40)]
total = params[0]
for one in params[1:]:
    total = relay.add(total, one)
mod = transform.InferType()(tvm.IRModule.from_expr(relay.Function(params, total)))
with tvm.target.Target("metal"):
    fused = transform.FuseOps(2)(mod)
sizes = []
relay.analysis.post_order_visit(
    fused["main"], lambda one: sizes.append(len(one.params)) if isinstance(one, relay.Function) else None
)
assert max(sizes[:-1]) == 30, sizes

# What a compiler registered looks at its functions.
tvm.register_func("relay.ext.test_passes.optimize", transform.FoldConstant())
one = relay.annotation.compiler_begin(relay.const(np.ones((2,), "float32")), "test_passes")
both = relay.annotation.compiler_end(one + one, "test_passes")
y = relay.var("y", shape=(2,))
mod = transform.PartitionGraph()(tvm.IRModule.from_expr(relay.Function([y], both * y)))
made = mod["tvmgen_default_test_passes_main_0"]
assert isinstance(made.body, relay.Constant), made
assert made.body.data.numpy().tolist() == [2, 2]
assert made.attrs["Compiler"] == "test_passes"

# Parameters of one name are given one value; the library has lists of tensors of every dtype.
a, b = relay.var("data", shape=()), relay.var("data", shape=())
run = relay.create_executor("debug", tvm.IRModule.from_expr(relay.Function([a, b], a + b))).evaluate()
assert run(data=np.float32(2)).numpy() == 4
library = tvm.IRModule()
relay.prelude.Prelude(library)
library["tensor_concatenate_int64"]
print("done")
"""


def test_passes_behave_as_those_of_tvm(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-m", "relay2relax.compat", "old.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
