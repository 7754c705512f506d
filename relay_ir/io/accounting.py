"""Which parameters of a function have values, and which values have a parameter.

    found = account(mod, values)
    found.left_over        # values that nothing takes
    found.missing_weights  # weights that have no value, while others have

``bind_params`` leaves a name that no parameter has out of account, as TVM does. Commands do not:
a file of another version of the model would be converted without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from relay2relax.core.amounts import listed
from relay2relax.core.dtype import Array
from relay2relax.core.errors import Diagnostic, Relay2RelaxError
from relay2relax.core.errors.nearest import near
from relay2relax.core.errors.table import relax
from relay2relax.relay_ir.io.roles import learned_parameters
from relay2relax.relay_ir.ir.expr import Expr, Var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute


@dataclass(frozen=True, slots=True)
class Account:
    """What parameters and values have to do with each other, by names in the order of each.

    ``bound``  parameters that have a value. ``inputs``  those that have none. ``missing_weights``
    the ones among ``inputs`` that are only used where learned values stand: the weight of a
    convolution, the mean of a normalisation. ``left_over``  values that no parameter takes.
    """

    bound: tuple[str, ...]
    inputs: tuple[str, ...]
    missing_weights: tuple[str, ...]
    left_over: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a person should be told although nothing is wrong."""
        if not self.left_over:
            return ()
        return (f"no parameter takes these values of the params: {listed(self.left_over)}",)


def account(mod: IRModule, values: Mapping[str, Array], entry: str = "main") -> Account:
    """Return which parameters of ``entry`` are among ``values``, and which are not."""
    function = mod[entry]
    names = [param.name for param in function.params]
    return Account(
        tuple(name for name in names if name in values),
        tuple(name for name in names if name not in values),
        tuple(param.name for param in learned_parameters(function) if param.name not in values),
        tuple(name for name in values if name not in names),
    )


def require_complete(found: Account, allow_missing: bool = False) -> None:
    """Raise Relay2RelaxError where values were promised that are not there.

    None of them is a parameter's, or a weight has none; the latter is fine with ``allow_missing``.
    """
    if found.left_over and not found.bound:
        title = (
            f"the params have none of the model's parameters: it takes {listed(found.inputs)}; "
            f"they have {listed(found.left_over)}"
        )
        raise Relay2RelaxError(Diagnostic(title, help=_nearest(found)), kind=relax.BIND_PARAMS)
    if found.bound and found.missing_weights and not allow_missing:
        title = f"the params have no values for these weights: {listed(found.missing_weights)}"
        notes = (f"no parameter takes {listed(found.left_over)}",) if found.left_over else ()
        help = _nearest(found) or "--allow-missing makes them inputs"
        raise Relay2RelaxError(Diagnostic(title, notes=notes, help=help), kind=relax.BIND_PARAMS)


def names_apart(mod: IRModule, entry: str = "main") -> IRModule:
    """Return ``mod`` with parameters of ``entry`` of one name told apart as its text does it: data,
    data1, ….

    Types are forgotten where a name changes.
    """
    var = mod.get_global_var(entry)
    function = mod.functions[var]
    taken: dict[str, int] = {}
    renamed: dict[Var, Var] = {}
    changed: dict[Expr, Expr] = {}
    for param in function.params:
        name = param.name
        while name in taken:
            taken[param.name] += 1
            name = f"{param.name}{taken[param.name]}"
        taken[name] = 0
        if name != param.name:
            renamed[param] = changed[param] = replace(param, name=name)
    if not renamed:
        return mod
    params = tuple(renamed.get(param, param) for param in function.params)
    body = substitute(function.body, changed)
    return mod.with_function(var, replace(function, params=params, body=body))


def named_alone(mod: IRModule, name: str, taken: Iterable[str] = (), entry: str = "main") -> str:
    """Return the parameter that a file with a single array, called ``name``, is meant for: the one
    of that name, or else the only one that is not ``taken``; ``name`` where there are more.
    """
    names = [param.name for param in mod[entry].params]
    given = set(taken)
    left = [one for one in names if one not in given]
    return left[0] if name not in names and len(left) == 1 else name


def _nearest(found: Account) -> str:
    """Return which names may have been meant; "" where none is near."""
    pairs = []
    for name in found.missing_weights or found.inputs:
        close = near(name, found.left_over, 1, cutoff=0.75)
        pairs += [f"{close[0]} for {name}"] if close else []
    return f"is it {listed(pairs)}?" if pairs else ""
