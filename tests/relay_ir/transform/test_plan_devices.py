"""Planning of devices, on small programs."""

from __future__ import annotations

import sys

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import Call, Function, GlobalVar, If, IRModule, Let, cpu, gpu, transform, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.annotation import on_device
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform.device_domains import DeviceConflict


def module(*params: relay_ir.Var, body: relay_ir.Expr) -> IRModule:
    return IRModule({GlobalVar("main"): Function(params, body)})


def copies(mod: IRModule) -> list[tuple[int, int]]:
    return [
        (node.attrs.src_virtual_device.device_type, node.attrs.dst_virtual_device.device_type)
        for node in nodes(mod["main"])
        if isinstance(node, Call) and node.op == relay_ir.Op("device_copy")
    ]


def test_without_annotations_everything_is_on_the_default_device() -> None:
    x = var("x", shape=(2,))
    planned = transform.PlanDevices(gpu())(module(x, body=op.tanh(op.exp(x))))
    assert copies(planned) == []
    assert planned["main"].virtual_device == gpu()
    assert planned["main"].params[0].virtual_device == gpu()


def test_a_value_is_copied_where_it_moves() -> None:
    x = var("x", shape=(2,))
    planned = transform.PlanDevices(cpu())(module(x, body=op.tanh(on_device(op.exp(x), gpu()))))
    assert copies(planned) == [(2, 1)]
    assert planned["main"].params[0].virtual_device == gpu()
    assert planned["main"].virtual_device == cpu()
    assert relay_ir.structural_equal(transform.PlanDevices(cpu())(planned), planned)
    again = relay_ir.parse(relay_ir.infer_type(planned).astext())
    assert relay_ir.structural_equal(relay_ir.infer_type(again), relay_ir.infer_type(planned))


def test_what_is_used_on_two_devices_is_copied_for_one() -> None:
    x, y = var("x", shape=(2,)), var("y", shape=(2,))
    left, right = on_device(op.add(x, y), cpu()), on_device(op.multiply(x, y), gpu())
    planned = transform.PlanDevices(cpu())(module(x, y, body=op.subtract(left, right)))
    assert sorted(copies(planned)) == [(1, 2), (1, 2), (2, 1)]


def test_branches_and_lets() -> None:
    x, c, y = var("x", shape=(2,)), var("c", "bool"), var("y")
    body = Let(y, on_device(op.exp(x), gpu()), If(c, y, op.tanh(y)))
    planned = transform.PlanDevices(gpu())(module(x, c, body=body))
    assert copies(planned) == []
    assert planned["main"].params[1].virtual_device == gpu()


def test_a_conflict() -> None:
    x = var("x", shape=(2,))
    marked = on_device(op.exp(x), gpu(), constrain_result=True)
    body = on_device(marked, cpu(), constrain_result=True)
    with pytest.raises(DeviceConflict, match="two devices: type 1, number 0 and type 2, number 0"):
        transform.PlanDevices(cpu())(module(x, body=body))


def test_a_primitive_function_is_one_operator() -> None:
    x, n = var("x", shape=(2,)), var("n", shape=(2,))
    fused = Function((n,), op.tanh(op.exp(n)), attrs={"Primitive": 1})
    planned = transform.PlanDevices(cpu())(module(x, body=on_device(Call(fused, (x,)), gpu())))
    assert planned["main"].params[0].virtual_device == gpu()
    assert any(node is fused for node in nodes(planned["main"]))


def test_long_chains() -> None:
    x = var("x", shape=(1,))
    body: relay_ir.Expr = x
    for index in range(2 * sys.getrecursionlimit()):
        body = op.tanh(body)
        if index % 1000 == 0:
            body = on_device(body, gpu() if index % 2000 else cpu())
    planned = transform.PlanDevices(cpu())(module(x, body=body))
    assert len(copies(planned)) >= 1
