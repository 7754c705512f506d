"""Where in a program an instruction stands, in words for messages: it is asked only when something
has gone wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.vm import bytecode as bc


def describe_place(functions: Sequence[bc.FunctionEntry], function: bc.VMFunction, position: int) -> str:
    """Return which function runs, and what its instruction ``position`` calls.

    Memory is asked for by itself, so for such an instruction it is the kernel that uses it first.
    """
    if position >= len(function.code):
        return f"in @{function.name}"  # A check of arguments, repeated behind the code.
    instruction = function.code[position]
    if not isinstance(instruction, bc.Call):
        return f"in @{function.name}"
    called = functions[instruction.function]
    if called.name == "vm.builtin.alloc_storage":
        kernel = _first_use(functions, function.code[position + 1 :], instruction.destination)
        if kernel is not None:
            return f"in @{function.name}, for {kernel}"
    return f"in @{function.name}, where it calls {_described(called)}"


def _first_use(
    functions: Sequence[bc.FunctionEntry], code: Sequence[bc.Instruction], storage: bc.Register
) -> str | None:
    """Return the kernel that is given the first tensor in ``storage``."""
    tensor: bc.Register | None = None
    for one in code:
        if not isinstance(one, bc.Call):
            continue
        called = functions[one.function]
        if called.name == "vm.builtin.alloc_tensor" and one.args[0] == storage:
            tensor = one.destination
        elif tensor is not None and tensor in one.args and isinstance(called, (bc.Kernel, bc.OperatorCall)):
            return _described(called, one.args.index(tensor))
    return None


def _described(entry: bc.FunctionEntry, place: int | None = None) -> str:
    """Return the name of a function, its operator, and what it calls the argument at ``place``."""
    if not isinstance(entry, bc.Kernel):
        return entry.name
    names = [buffer.name for buffer in entry.func.buffers]
    told = [str(entry.func.attrs["op_name"])] if "op_name" in entry.func.attrs else []
    told += [f"its `{names[place]}`"] if place is not None and len(names) == len(entry.func.params) else []
    return f"{entry.name} ({', '.join(told)})" if told else entry.name
