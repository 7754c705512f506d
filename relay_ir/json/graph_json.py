"""Programs as the documents that TVM's graph executor reads: calls, their inputs, their types."""

from __future__ import annotations

import json
from typing import cast

from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import static


def output_types(ty: Type) -> list[TensorType]:
    """Return the types of a result's tensors, in order."""
    found: list[TensorType] = []
    stack = [ty]
    while stack:
        one = stack.pop()
        if isinstance(one, TupleType):
            stack += reversed(one.fields)
        elif isinstance(one, TensorType):
            found.append(one)
    return found


def graph_json(mod: IRModule) -> str:
    """Return the calls of ``main`` as the document that TVM's graph executor reads."""
    main = mod["main"]
    places: dict[Expr, list[list[int]]] = {}
    listed: list[dict[str, object]] = []
    arguments: list[int] = []
    shapes: list[TensorType] = []
    rows = [0]
    inside = {
        inner for node in nodes(main.body) if isinstance(node, Function) for inner in (*node.params, *nodes(node))
    }
    for node in (*main.params, *nodes(main.body)):
        if node in places or node in inside or isinstance(node, (Op, GlobalVar)):
            continue
        if isinstance(node, Tuple):
            places[node] = [one for part in node.fields for one in places[part]]
            continue
        if isinstance(node, TupleGetItem):
            places[node] = [places[node.tuple_value][node.index]]
            continue
        types = output_types(mod.types[node])
        number = len(listed)
        places[node] = [[number, output, 0] for output in range(len(types))]
        shapes += types
        rows.append(rows[-1] + len(types))
        if isinstance(node, (Var, Constant)):
            arguments.append(number)
            listed.append({"op": "null", "name": node.name if isinstance(node, Var) else f"p{number}", "inputs": []})
        else:
            inputs = [one for part in cast(Call, node).args for one in places[part]]
            listed.append(_called(cast(Call, node), number, inputs, len(types)))
    document = {
        "nodes": listed,
        "arg_nodes": arguments,
        "heads": places[main.body],
        "attrs": {
            "dltype": ["list_str", [one.dtype for one in shapes]],
            "shape": [
                "list_shape",
                [[static(extent) or -1 for extent in one.shape] for one in shapes],
            ],
            "storage_id": ["list_int", list(range(len(shapes)))],
        },
        "node_row_ptr": rows,
    }
    return json.dumps(document, indent=2)


def _called(call: Call, number: int, inputs: list[list[int]], outputs: int) -> dict[str, object]:
    callee = call.op.body if isinstance(call.op, Function) else call
    names = [one.op.name for one in nodes(callee) if isinstance(one, Call) and isinstance(one.op, Op)]
    name = "_".join(names).replace(".", "_")
    words = {"func_name": f"tvmgen_default_fused_{name}", "num_inputs": str(len(inputs)), "num_outputs": str(outputs),
             "flatten_data": "0"}  # fmt: skip
    return {"op": "tvm_op", "name": f"{words['func_name']}_{number}", "attrs": words, "inputs": inputs}
