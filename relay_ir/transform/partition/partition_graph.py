"""Partitioning: what is annotated for an external compiler becomes functions of the module."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from relay2relax.core.errors import Diagnostic, UnsupportedError
from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.core.walk import post_order
from relay2relax.ops.target.annotation import OWN_COMPILER
from relay2relax.relay_ir.analysis.annotated_regions import AnnotatedRegionSet
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import (
    Call,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, rewrite, with_children
from relay2relax.relay_ir.ir.types import TupleType
from relay2relax.relay_ir.transform.infrastructure import map_functions
from relay2relax.relay_ir.transform.partition.annotations import BEGIN, END, annotated, annotation, compiler, operand

if TYPE_CHECKING:
    from networkx.utils import UnionFind

# These belong to no region: whoever mentions them shares them.
_SHARED = (Op, GlobalVar, Constructor, Constant)


@dataclass(frozen=True, slots=True)
class PartitionGraph(Pass[IRModule]):
    """Move every region between ``compiler_begin`` and ``compiler_end`` into a global function.

    The function has ``Compiler``, ``global_symbol``, ``Primitive`` and ``Inline``, and is named as
    TVM names it: ``tvmgen_default_dnnl_main_0``, where ``default`` is ``mod_name``. Regions that
    share a node are one; a region with several results gives a tuple, and so does one whose result
    is a tuple, with the fields of it. With ``bind_constants``, constants and tuples of them that go
    in become part of the function. Annotations for the compiler ``default`` are left out. Functions
    that have a ``Compiler`` already stay.

    Raises UnsupportedError where a region needs its own result through what is outside of it, and
    where a region mixes compilers. TVM 0.18 src/relay/transforms/partition_graph.cc.
    """

    mod_name: str = "default"
    bind_constants: bool = True
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its regions as functions; infers types where ``mod`` has none."""
        # A walk meets each operator once, however many calls it has.
        met = (node for node in nodes(*mod.functions.values()) if isinstance(node, Op))
        if not any(op.name in (BEGIN, END) for op in met):
            return mod
        mod = map_functions(mod, _with_flat_results)
        typed = typed_module(mod)
        functions = dict(mod.functions)
        for var, function in mod.functions.items():
            if "Compiler" not in function.attrs:
                made = _Partitioning(typed, var.name, function, self)
                functions[var] = made.rewritten()
                functions |= made.functions
        return replace(mod, functions=functions, types={})


@dataclass(eq=False, slots=True)
class _Region:
    """What lies between annotations: its compiler, and in the order of the program the values that
    go in (annotated) and those that come out.
    """

    compiler: str
    number: int = 0
    inputs: list[Expr] = field(default_factory=list)
    outputs: list[Expr] = field(default_factory=list)

    def __hash__(self) -> int:
        return id(self)

    @property
    def results(self) -> list[Expr]:
        """The values that come out, each once."""
        return list(dict.fromkeys(operand(end) for end in self.outputs))


class _Partitioning:
    """One function of the module, and the functions that its regions become."""

    def __init__(self, mod: IRModule, name: str, function: Function, options: PartitionGraph) -> None:
        self.mod, self.options = mod, options
        self.name = name
        self.function = function
        self.functions: dict[GlobalVar, Function] = {}
        self.fields: dict[tuple[_Region, Expr], Expr] = {}
        self.regions = self._found_regions()

    # Regions.

    def _found_regions(self) -> dict[Expr, _Region]:
        """Return the region of each node that is inside of one, or annotates it."""
        from networkx.utils import UnionFind

        order = list(nodes(self.function))
        joined: UnionFind[Expr] = UnionFind()
        inside: set[Expr] = set()
        ends: list[Expr] = []
        for node in reversed(order):  # users come before their operands
            name = annotation(node)
            if name and compiler(node) == OWN_COMPILER:
                continue
            if name == END:
                ends.append(node)
                below: Sequence[Expr] = children(node)
            elif node in inside and name != BEGIN:
                below = children(node)
            else:
                continue
            for child in below:
                if not isinstance(child, _SHARED) and not self._is_own_parameter(child):
                    inside.add(child)
                    joined.union(node, child)
        return self._numbered(order, ends, inside, joined)

    def _is_own_parameter(self, node: Expr) -> bool:
        return isinstance(node, Var) and node in self.function.params

    def _numbered(
        self, order: Sequence[Expr], ends: Sequence[Expr], inside: set[Expr], joined: UnionFind[Expr]
    ) -> dict[Expr, _Region]:
        found: dict[object, _Region] = {}
        for end in ends:
            region = found.setdefault(joined[end], _Region(compiler(end)))
            if region.compiler != compiler(end):
                raise self._refusal(end, f"a region for {region.compiler} gives a value to {compiler(end)}")
        annotations = AnnotatedRegionSet(self.function, Op(BEGIN), Op(END), ignored=OWN_COMPILER)
        for end in ends:
            known = annotations.get_region(end)
            assert known is not None
            found[joined[end]].number = known.id
        regions: dict[Expr, _Region] = {}
        for node in order:
            name = annotation(node)
            if node not in inside and node not in ends:
                continue
            region = regions[node] = found[joined[node]]
            if name == BEGIN:
                region.inputs.append(node)
            elif name == END and node not in inside:
                region.outputs.append(node)
        return regions

    def _circle(self, region: _Region, node: Expr) -> UnsupportedError:
        return self._refusal(node, f"a region for {region.compiler} needs a value that is made of its own")

    def _refusal(self, node: Expr, title: str) -> UnsupportedError:
        where = self.mod.locations.get(node)
        return UnsupportedError([Diagnostic(f"@{self.name}: {title}", where)], self.mod.source)

    # What they become.

    def rewritten(self) -> Function:
        """Return the function with calls in the place of its regions."""
        outputs = {end: region for region in set(self.regions.values()) for end in region.outputs}
        calls: dict[_Region, Expr] = {}
        done: dict[Expr, Expr] = {}

        def below(node: Expr | _Region) -> Iterator[Expr | _Region]:
            if isinstance(node, _Region):
                yield from (operand(begin) for begin in self._arguments(node))
            elif node in outputs:
                yield outputs[node]
            else:
                yield from children(node)

        start: tuple[Expr | _Region, ...] = (self.function,)
        for node in post_order(start, below):
            if isinstance(node, _Region):
                calls[node] = self._call(node, done)
            elif node in outputs:
                done[node] = self._result(outputs[node], node, calls)
            elif annotation(node):
                done[node] = done[operand(node)]
            else:
                done[node] = with_children(node, [done[child] for child in children(node)])
        note_rewritten(done)
        result = done[self.function]
        assert isinstance(result, Function)
        return result

    def _arguments(self, region: _Region) -> list[Expr]:
        """Return the annotated inputs of a region, one for each value that goes in."""
        kept = {_source(begin): begin for begin in reversed(region.inputs)}
        return [begin for begin in region.inputs if kept[_source(begin)] is begin]

    def _call(self, region: _Region, done: dict[Expr, Expr]) -> Expr:
        """Add the function of a region; return its call."""
        params: dict[Expr, Var] = {}
        values: dict[Expr, Expr] = {}
        for place, begin in enumerate(self._arguments(region)):
            given, made = _source(begin), done.get(operand(begin))
            if made is not None and self.options.bind_constants and _is_constant(made):
                values[given] = made
                continue
            name = f"{region.compiler}_{region.number}_i{place}"
            values[given] = params[operand(begin)] = Var(name, self.mod.types.get(begin))
        missing = [one for one in params if one not in done]
        if missing:
            raise self._refusal(
                region.inputs[0], f"a region for {region.compiler} needs a value that is made of its own"
            )
        results = _inside(region.results, values)
        body = results[0] if len(results) == 1 else Tuple(tuple(results))
        outer = free_vars(Function(tuple(params.values()), body))
        var = GlobalVar(self._symbol(region))
        attrs = {"global_symbol": var.name, "Primitive": 1, "Compiler": region.compiler, "Inline": 1}
        types = [self.mod.types[one] for one in region.results]
        ret = types[0] if len(types) == 1 else TupleType(tuple(types))
        self.functions[var] = Function((*params.values(), *outer), body, ret, attrs=attrs)
        return Call(var, (*(done[one] for one in params), *outer))

    def _result(self, region: _Region, end: Expr, calls: dict[_Region, Expr]) -> Expr:
        if region not in calls:
            raise self._circle(region, end)
        results, value = region.results, operand(end)
        if len(results) == 1:
            return calls[region]
        # Whoever asks for a result shares it.
        return self.fields.setdefault((region, value), TupleGetItem(calls[region], results.index(value)))

    def _symbol(self, region: _Region) -> str:
        """Return a free name for the function of a region."""
        taken = {var.name for var in (*self.mod.functions, *self.mod.opaque_functions)}
        given = f"tvmgen_{self.options.mod_name}_{region.compiler}_{self.name}_{region.number}"
        name = wanted = re.sub("[^0-9A-Za-z]", "_", given)
        number = 0
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        return name


def _with_flat_results(function: Function) -> Function:
    """Return ``function`` with what ends a region and is a tuple as a tuple of such ends."""

    def flat(node: Expr) -> Expr:
        if annotation(node) != END:
            return node
        value = operand(node)
        if not isinstance(value, Tuple):
            return node
        return replace(value, fields=tuple(annotated(END, one, compiler(node)) for one in value.fields))

    made = rewrite(function, flat)
    assert isinstance(made, Function)
    return made


def _is_constant(expr: Expr) -> bool:
    fields = expr.fields if isinstance(expr, Tuple) else (expr,)
    return all(isinstance(one, Constant) for one in fields)


def _source(node: Expr) -> Expr:
    """Return what annotations are put around."""
    while annotation(node):
        node = operand(node)
    return node


def _inside(roots: Sequence[Expr], values: Mapping[Expr, Expr]) -> list[Expr]:
    """Return ``roots`` with ``values`` in the place of a region's inputs."""
    done: dict[Expr, Expr] = {}

    def goes_in(node: Expr) -> bool:
        return annotation(node) == BEGIN and _source(node) in values

    for node in post_order(roots, lambda one: () if goes_in(one) else children(one)):
        if goes_in(node):
            done[node] = values[_source(node)]
        elif annotation(node):
            done[node] = done[operand(node)]
        else:
            done[node] = with_children(node, [done[child] for child in children(node)])
    note_rewritten(done)
    return [done[root] for root in roots]
