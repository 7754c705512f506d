"""Peak memory of reading, inference and translation over a module with 500 MB of params: weights
are never copied.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from common import table

# The measured stages run in a process of their own, so that the peak is theirs. Params are held in
# memory, as a user who read the file does; the baseline is the same process before it reads
# anything.
_CHILD = """
import json, pathlib, resource, sys
import numpy as np
from relay2relax import graph, relay_ir, translator

def peak():
    status = pathlib.Path("/proc/self/status")
    if status.exists():  # ru_maxrss there begins with the peak of the process that started this one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)

text, path = open(sys.argv[1]).read(), sys.argv[2]
tiny = '#[version = "0.0.5"] def @main(%x: Tensor[(1), float32]) { nn.relu(%x) }'
translator.lower_to_tir(relay_ir.infer_type(relay_ir.parse(tiny)))
base = peak()
content = open(path, "rb").read()
params = relay_ir.load_params(content)
held = sum(array.nbytes for array in params.values())
typed = relay_ir.infer_type(relay_ir.parse(text))
translator.lower_to_tir(typed, params=params)
translator.via_graph(typed, params=params)
print(json.dumps({"params": held, "peak": peak() - base}))
"""
_ONNX_CHILD = (
    _CHILD.split("text, path")[0]
    + """
import onnx
from relay2relax.relay_ir.frontend import from_onnx

node = onnx.helper.make_node("Relu", ["x"], ["y"])
ends = [onnx.helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
tiny = onnx.helper.make_model(onnx.helper.make_graph([node], "g", ends[:1], ends[1:]))
translator.via_graph(relay_ir.infer_type(from_onnx(tiny)[0]))
base = peak()
mod, params = from_onnx(sys.argv[1])
held = sum(array.nbytes for array in params.values())
translator.via_graph(relay_ir.infer_type(mod), params)
print(json.dumps({"params": held, "peak": peak() - base}))
"""
)
LAYERS, WIDTH = 32, 2000
# Of the model of ONNX: 32 layers with 2 GB of weights.
ONNX_WIDTH = 4096


def module_text() -> str:
    """Return a chain of dense layers whose weights hold about 500 MB."""
    weights = ", ".join(f"%w{i}: Tensor[({WIDTH}, {WIDTH}), float32]" for i in range(LAYERS))
    lines = [f"  %{i} = nn.dense(%{i - 1 if i else 'x'}, %w{i}, units={WIDTH});" for i in range(LAYERS)]
    head = f"def @main(%x: Tensor[(1, {WIDTH}), float32], {weights}) {{"
    return "\n".join(['#[version = "0.0.5"]', head, *lines, f"  nn.relu(%{LAYERS - 1})", "}", ""])


def run() -> dict[str, float]:
    """Print the ratio of peak memory to the size of the params."""
    import numpy as np

    from relay2relax import relay_ir

    with tempfile.TemporaryDirectory() as folder:
        text, params = Path(folder) / "model.relay", Path(folder) / "model.params"
        text.write_text(module_text())
        weight = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)
        params.write_bytes(relay_ir.save_params({f"w{i}": weight for i in range(LAYERS)}))
        child = [sys.executable, "-c", _CHILD, str(text), str(params)]
        found = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
    ratio = found["peak"] / found["params"]
    row = [f"{found['params'] / 1e6:.0f} MB", f"{found['peak'] / 1e6:.0f} MB", f"{ratio:.3f}"]
    table("Peak memory of read, infer and translate both ways, params bound", ["params", "peak", "ratio"], [row])
    return {**found, "ratio": ratio}


def run_onnx() -> dict[str, float]:
    """Print the ratio of peak memory to the weights of an ONNX model, 2 GB in a file beside it."""
    import numpy as np
    from onnx import TensorProto, helper

    shape = [ONNX_WIDTH, ONNX_WIDTH]
    size = 4 * ONNX_WIDTH**2
    with tempfile.TemporaryDirectory() as folder:
        weight = np.random.default_rng(0).standard_normal(shape).astype(np.float32) / ONNX_WIDTH
        held, nodes, value = [], [], "x"
        with (Path(folder) / "weights.bin").open("wb") as file:
            for place in range(LAYERS):
                file.write(weight.tobytes())
                tensor = TensorProto(name=f"w{place}", data_type=TensorProto.FLOAT, dims=shape)
                tensor.data_location = TensorProto.EXTERNAL
                for key, told in (("location", "weights.bin"), ("offset", place * size), ("length", size)):
                    tensor.external_data.add(key=key, value=str(told))
                held.append(tensor)
                nodes.append(helper.make_node("MatMul", [value, tensor.name], [value := f"v{place}"]))
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, ONNX_WIDTH]) for name in ("x", value)]
        model = helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], held))
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        child = [sys.executable, "-c", _ONNX_CHILD, str(path)]
        found = json.loads(subprocess.run(child, check=True, capture_output=True, text=True).stdout)
    ratio = found["peak"] / found["params"]
    row = [f"{found['params'] / 1e6:.0f} MB", f"{found['peak'] / 1e6:.0f} MB", f"{ratio:.3f}"]
    table("Peak memory of importing ONNX and translating it", ["weights", "peak", "ratio"], [row])
    return {**found, "ratio": ratio}
