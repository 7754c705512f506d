"""Files that a TVM with Relay made (``cases/made_by_tvm/README.md`` says how): read, or named."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest
from commands import run_here
from typed import of_type

from relay2relax import backends, graph, relax_ir, relay_ir, translator
from relay2relax.core.errors import ParseError
from relay2relax.relax_ir.compiled.artefact import read_compiled
from relay2relax.relax_ir.compiled.graph_executor import kernels_of

MADE = Path(__file__).parent / "cases" / "made_by_tvm"
KERNEL = "tvmgen_net_fused_nn_contrib_dense_pack_nn_relu"
_LIBRARY = "a library or program (ELF); a compiled model holds no Relay: use what it was compiled from; where it has"
NAMED = {
    "deploy_lib.so": _LIBRARY,
    "vm.so": _LIBRARY,
    "deploy.o": _LIBRARY,
    "deploy_lib.tar": "a library that TVM compiled, as object files in a compressed archive; it holds no Relay",
    "deploy_graph.json": "the graph of a graph executor, as TVM's relay.build makes it of fused kernels",
    "deploy_param.params": "a file of parameters, as TVM saves them; weights go behind --params",
    "code.ro": "the bytecode of TVM's virtual machine; it names kernels of a library and holds no Relay",
    "tvmc.tar": "what tvmc compiled, which holds no Relay: use what it was compiled from; where it has the graph",
    "module.pkl": "a pickle of Python, which may run anything when it is read",
}


def made(name: str) -> bytes:
    return lzma.decompress((MADE / f"{name}.xz").read_bytes())


@pytest.mark.parametrize("name", NAMED)
def test_what_holds_no_relay_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(made(name))
    with pytest.raises(ParseError) as caught:
        relay_ir.load(tmp_path / name)
    assert NAMED[name] in str(caught.value)
    done = run_here(["convert", name], cwd=tmp_path)
    assert done.returncode == 3
    assert NAMED[name].split(";")[0] in done.stderr


@pytest.mark.parametrize("name", ["mlf_graph.tar", "mlf_aot.tar"])
def test_archives_are_read_and_compute_what_tvm_computed(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(made(name))
    mod = relay_ir.infer_type(relay_ir.load(tmp_path / name))
    # The compiler keeps weights under names of its own, or in its code.
    assert list(relay_ir.load_params(made(name))) == (["p0"] if name == "mlf_graph.tar" else [])
    weight, values = np.load(MADE / "w.npz")["w"], np.load(MADE / "io.npz")
    relax = translator.translate(mod, params={"w": weight})
    result = backends.VirtualMachine(backends.build(relax))["main"](values["data"])
    np.testing.assert_allclose(result, values["out0"], rtol=1e-6)


@pytest.mark.parametrize("name", ["deploy_graph.json", "deploy_lib.so", "mlf_graph.tar"])
def test_graphs_of_executors_are_found_and_name_their_kernels(name: str) -> None:
    found = read_compiled(made(name), name)
    assert found is not None
    assert kernels_of(found.module) == [KERNEL]
    shown, _ = graph.from_relax(found.module)
    assert shown.find_tensor(shown.inputs[0]).shape == (2, 4)
    assert shown.get_outputs()[0].shape == (2, 3)
    assert of_type(found.module["main"], relax_ir.Function).params[0].name == "data"


def test_the_library_of_a_virtual_machine_holds_no_graph() -> None:
    assert read_compiled(made("vm.so"), "vm.so") is None


def test_parameters_beside_a_library_are_read() -> None:
    found = relay_ir.load_params(made("deploy_param.params"))
    # The compiler packed them for its kernel.
    np.testing.assert_array_equal(found["p0"].reshape(4, 3), np.load(MADE / "w.npz")["w"].T)


def test_a_saved_module_is_read_and_computes_what_tvm_computed(tmp_path: Path) -> None:
    (tmp_path / "module.json").write_bytes(made("module.json"))
    mod = relay_ir.infer_type(relay_ir.load(tmp_path / "module.json"))
    assert {var.name for var in mod.functions} == {"main", "helper"}
    values = np.load(MADE / "io.npz")
    result = backends.VirtualMachine(backends.build(translator.translate(mod)))["main"](values["data"])
    np.testing.assert_allclose(result, values["out0"], rtol=1e-6)
    assert relay_ir.structural_equal(relay_ir.load_json(relay_ir.save_json(mod)), mod)
    done = run_here(["convert", "module.json", "--out", "out", "--json"], tmp_path)
    assert done.returncode == 0, done.stderr


def test_parameters_that_tvm_saved_are_read() -> None:
    np.testing.assert_array_equal(relay_ir.load_params(made("w.params"))["w"], np.load(MADE / "w.npz")["w"])
