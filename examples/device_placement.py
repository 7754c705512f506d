"""Convolutions on one device, everything else on another: the tutorial's pass, and the plan that
follows from it.
"""

from __future__ import annotations

from relay2relax import relay_ir
from relay2relax.relay_ir import transform


class ScheduleConv2d(relay_ir.ExprMutator):
    """Marks every two-dimensional convolution as computed on a device, and other calls as computed
    elsewhere.
    """

    def __init__(self, device: relay_ir.VirtualDevice, elsewhere: relay_ir.VirtualDevice | None = None) -> None:
        super().__init__()
        self.device = device
        self.elsewhere = elsewhere

    def visit_call(self, call: relay_ir.Call) -> relay_ir.Expr:
        """Return the call, marked for its device."""
        visited = super().visit_call(call)
        device = self.device if call.op == relay_ir.op.get("nn.conv2d") else self.elsewhere
        return visited if device is None else relay_ir.annotation.on_device(visited, device)


def schedule_conv2d_on_gpu(
    mod: relay_ir.IRModule, elsewhere: relay_ir.VirtualDevice | None = None
) -> relay_ir.IRModule:
    """Return ``mod`` with its convolutions marked for the first GPU, which need not exist on this
    machine.
    """
    schedule = ScheduleConv2d(relay_ir.gpu(0), elsewhere)
    main = schedule.visit(mod["main"])
    assert isinstance(main, relay_ir.Function)
    return relay_ir.infer_type(relay_ir.IRModule({relay_ir.GlobalVar("main"): main}))


def main() -> None:
    """Print a network as it is, with its annotations, and with the copies that they cause."""
    resnet, _ = relay_ir.testing.resnet.get_workload(num_classes=10, num_layers=8, image_shape=(3, 28, 28))
    print(resnet)

    marked = schedule_conv2d_on_gpu(resnet)
    print(marked)

    # Nothing is said of the operators between two convolutions: they stay on the GPU, and only the
    # last results move.
    plan = transform.PlanDevices(default_device=relay_ir.cpu())
    print(relay_ir.infer_type(plan(marked)))

    # Everything else pinned to the CPU, as `rewrite_annotated_ops` did: each convolution is fed and
    # read by copies.
    pinned = schedule_conv2d_on_gpu(resnet, elsewhere=relay_ir.cpu())
    print(relay_ir.infer_type(plan(pinned)))


if __name__ == "__main__":
    main()
