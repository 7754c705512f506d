"""A script by itself: values for what its ``main`` takes, given or drawn, without the model that it
was made of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax import backends, graph
from relay2relax.core.amounts import listed
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.nearest import nearest
from relay2relax.core.errors.table import running
from relay2relax.relax_ir import Call, CallTIR, Var
from relay2relax.relax_ir.ir import symbols
from relay2relax.relax_ir.ir.struct_info import TensorStructInfo, to_type
from relay2relax.relax_ir.ir.visit import all_sequences, bindings
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import Var as PrimVar
from relay2relax.translator.arguments import (
    DEFAULT_EXTENT,
    SHIFTING,
    Argument,
    drawn_argument,
    drawn_leaves,
)
from relay2relax.translator.delivered import Script
from relay2relax.translator.drawing import Drawn, DrawnValue


def values_for_script(
    script: Script, params: Mapping[str, Array], inputs: Mapping[str, Array], allow_missing: bool = False
) -> dict[str, Array]:
    """Return values by the script's parameters: the weights beside it, and what is given, by its
    own names or Relay's.

    ``params`` may be in the order of its weights, too, or those that ``main_transform_params``
    takes. Raises Relay2RelaxError for names that it does not have, and where weights were given but
    not all of them, unless ``allow_missing``.
    """
    values = dict(script.weights)
    own = {param.name for param in script.main.params}
    names = script.names
    known = own | names.keys() | set(script.packed)
    if params and not known.intersection(params):
        values |= script.weights_of(params)
        params = {}
    given = {**params, **inputs}
    unknown = [name for name in given if name not in known]
    if unknown:
        title = f"{script.name} has no parameter {unknown[0]!r}; it has: {listed(p.name for p in script.main.params)}"
        raise Relay2RelaxError(Diagnostic(title, help=nearest(unknown[0], sorted(known))), kind=running.ARGUMENT)
    values |= {place: value for name, value in given.items() if (place := names.get(name, name)) in own}
    packed = [name for name in script.packed if name in given]
    if packed and len(packed) == len(script.packed):
        values |= backends.transform_params(script.module, [given[name] for name in packed])
    promised = script.main.params[script.main.num_input :] if values.keys() & own else ()
    missing = [param.name for param in promised if param.name not in values]
    if missing and not allow_missing:
        title = f"these weights of {script.name} have no values: {listed(missing)}"
        raise Relay2RelaxError(Diagnostic(title, help="--allow-missing draws them"), kind=running.ARGUMENT)
    return values


def script_arguments(script: Script, given: Mapping[str, Array], seed: int = 0) -> tuple[list[Argument], Drawn | None]:
    """Return an argument for every parameter of ``main``, and which of them were drawn.

    What is not ``given`` is drawn from ``seed``, as ``make_arguments`` draws it for the model that
    the script was made of. Symbolic extents are those of given values, else ``DEFAULT_EXTENT``.
    Raises Relay2RelaxError for parameters that nothing can be drawn for.
    """
    params = script.main.params
    sizes = _sizes(params, given)
    relay = {own: name for name, own in script.names.items()}
    weights, shifts = _behind_the_first(script), _shifts(script)
    made: list[Argument] = []
    drawn: list[DrawnValue] = []
    for param in params:
        if param.name in given:
            made.append(given[param.name])
            continue
        try:
            type_, closed = (to_type(info) for info in (param.info, symbols.substitute(param.info, sizes)))
        except TypeError:
            title = f"parameter {param.name!r} of {script.name} is no tensor of known rank; give its value"
            raise Relay2RelaxError(title, kind=running.ARGUMENT) from None
        name, roles = relay.get(param.name, param.name), (param.name in weights, param.name in shifts)
        made.append(drawn_argument(closed, name, seed, *roles))
        drawn += drawn_leaves(param.name, type_, made[-1])
    return made, Drawn(seed, tuple(drawn)) if drawn else None


def _sizes(params: Sequence[Var], given: Mapping[str, Array]) -> dict[PrimVar, Extent]:
    """Return a number for every symbolic extent of ``params``."""
    found: dict[PrimVar, Extent] = {one: DEFAULT_EXTENT for param in params for one in symbols.used(param.info)}
    for param in params:
        info, value = param.info, given.get(param.name)
        if value is None or not isinstance(info, TensorStructInfo) or info.shape is None:
            continue
        if len(info.shape) == value.ndim:
            pairs = zip(info.shape, value.shape, strict=True)
            found |= {extent: size for extent, size in pairs if isinstance(extent, PrimVar)}
    return found


def _behind_the_first(script: Script) -> set[str]:
    """Return the parameters that stand behind the first argument of a call, as weights do: in the
    graph of the model, or where there is none in the script.
    """
    if script.graph_text:
        found = graph.from_json(script.graph_text)
        used = {name for node in found.nodes if node.op for name in node.operands[1:]}
        hints = {str(found.find_node(name).attrs.hint) for name in found.params if name in used}
        return {script.names.get(hint, hint) for hint in hints}
    calls = [one.value for seq in all_sequences([script.main.body]) for one in bindings(seq)]
    later = {arg for call in calls if isinstance(call, (Call, CallTIR)) for arg in call.args[1:]}
    return {param.name for param in script.main.params if param in later}


def _shifts(script: Script) -> set[str]:
    """Return the parameters that the graph of the model only adds to others."""
    if not script.graph_text:
        return set()
    found = graph.from_json(script.graph_text)
    added: set[str] = set()
    others: set[str] = set()
    for node in found.nodes:
        if node.op in SHIFTING and len(node.operands) == 2:
            others.add(node.operands[0])
            added.add(node.operands[1])
        elif node.op:
            others.update(node.operands)
    hints = {str(found.find_node(name).attrs.hint) for name in found.params if name in added - others}
    return {script.names.get(hint, hint) for hint in hints}
