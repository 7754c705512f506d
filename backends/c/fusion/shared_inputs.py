"""Products that share an input become one product: their constant matrices side by side.

Queries, keys and values of attention, the gates of a cell, several heads of a network: a tensor
times one matrix each. The joined matrix is made ahead; its product is one parallel loop whose tiles
no narrow matrix leaves empty. The parts are parts of one tensor from then on, and whoever read one
of them reads it there.

Where all parts are finished alike (a bias each, one activation), the joined product finishes them.
Where they are not, the sums are joined if they are few, and each part is finished by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from relay2relax.backends.c.fusion.placement import Place, pieces_of, relocated, side_by_side
from relay2relax.backends.c.stages import AnyStage, Axis, Stage, points, renamed, tidy
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import map_expr, substitute, variables

# Products of so many rows and columns leave most of a tile empty, and a pass over their sums costs
# little.
_FEW_ROWS, _FEW_COLUMNS = 16, 16


@dataclass(frozen=True, slots=True)
class _Product:
    """A stage that multiplies rows with a constant matrix.

    ``columns`` is the axis that only the matrix has.
    """

    number: int
    stage: Stage
    data: BufferLoad
    weight: BufferLoad
    columns: Axis
    run: Axis
    rows: tuple[Axis, ...]

    @property
    def width(self) -> int:
        """The number of columns."""
        return static(self.columns.extent) or 0

    def named(self, names: _Names) -> dict[Var, PrimExpr]:
        """Return the names that the variables of such a product have in all of them."""
        assert self.stage.reduction is not None
        found: dict[Var, PrimExpr] = {axis.var: names.row(place) for place, axis in enumerate(self.rows)}
        return found | {self.columns.var: names.column, self.run.var: names.run, self.stage.reduction.result: names.sum}


class _Names:
    """Variables and constants by which products are compared, whatever their own are called."""

    def __init__(self) -> None:
        self.column, self.run, self.sum = Var("column"), Var("k"), Var("result", "float32")
        self._rows: list[Var] = []
        self._slots: dict[tuple[int, str], Buffer] = {}

    def row(self, place: int) -> Var:
        while len(self._rows) <= place:
            self._rows.append(Var(f"row{len(self._rows)}"))
        return self._rows[place]

    def slot(self, place: int, dtype: str) -> Buffer:
        """Return a buffer that stands for the constants that are read at this place."""
        return self._slots.setdefault((place, dtype), Buffer("constants", (IntImm(1),), dtype))


def share_inputs(stages: Sequence[AnyStage], known: frozenset[Buffer], fixed: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program with products of one input by several of the matrices ``known`` as one.

    Tensors in ``fixed`` keep their memory.
    """
    names = _Names()
    makers: dict[Buffer, list[int]] = {}
    groups: dict[object, list[_Product]] = {}
    for number, stage in enumerate(stages):
        for buffer in stage.writes():
            makers.setdefault(buffer, []).append(number)
        found = _product(number, stage, known) if isinstance(stage, Stage) else None
        if found is not None:
            values = found.named(names)
            extents = tuple(axis.extent for axis in (*found.rows, found.run))
            groups.setdefault((substitute(found.data, values), extents), []).append(found)
    # A statement of another kind names its operands in many ways: they stay.
    still = fixed.union(b for stage in stages if not isinstance(stage, Stage) for b in stage.reads() | stage.writes())
    joiner = _Joiner(stages, known, still, makers, names)
    for group in groups.values():
        joiner.join(group)
    return joiner.program()


def _product(number: int, stage: Stage, known: frozenset[Buffer]) -> _Product | None:
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or len(reduction.axes) != 1 or stage.target in known:
        return None
    if reduction.identity != FloatImm(0.0, "float32"):
        return None
    match reduction.source:
        case Binary("*", BufferLoad() as a, BufferLoad() as b) if (a.buffer in known) != (b.buffer in known):
            data, weight = (a, b) if b.buffer in known else (b, a)
        case _:
            return None
    (run,) = reduction.axes
    columns = [axis for axis in stage.axes if axis.var in weight.indices]
    if len(columns) != 1 or not static(columns[0].extent) or any(columns[0].var in variables(i) for i in data.indices):
        return None
    # The matrix has columns and what is summed over, each once, and nothing else.
    wanted = [index for index in weight.indices if index != IntImm(0)]
    if len(wanted) != 2 or set(wanted) != {columns[0].var, run.var}:
        return None
    ones: dict[Var, PrimExpr] = {a.var: IntImm(0) for a in stage.axes if a.extent == IntImm(1) and a is not columns[0]}
    stage = renamed(stage, [axis for axis in stage.axes if axis.var not in ones], ones)
    rows = tuple(axis for axis in stage.axes if axis is not columns[0])
    moved = BufferLoad(data.buffer, tuple(substitute(index, ones) for index in data.indices))
    return _Product(number, stage, moved, weight, columns[0], run, rows)


class _Joiner:
    """Collects what becomes of the stages."""

    def __init__(
        self,
        stages: Sequence[AnyStage],
        known: frozenset[Buffer],
        fixed: frozenset[Buffer],
        makers: Mapping[Buffer, Sequence[int]],
        names: _Names,
    ) -> None:
        self.stages = stages
        self.known = known
        self.fixed = fixed
        self.makers = makers
        self.readers: dict[Buffer, list[AnyStage]] = {}
        for stage in stages:
            for buffer in stage.reads():
                self.readers.setdefault(buffer, []).append(stage)
        self.names = names
        self.constants: list[AnyStage] = []
        self.made: dict[object, Buffer] = {}
        self.before: dict[int, list[AnyStage]] = {}
        self.changed: dict[int, AnyStage | None] = {}
        self.moved: dict[Buffer, tuple[Buffer, Place]] = {}

    def program(self) -> list[AnyStage]:
        """Return the stages in order.

        What a joined matrix is made of comes before it, and no earlier.
        """
        if not self.changed:
            return list(self.stages)
        known = self.known.union(self.made.values())
        ahead = [stage for stage in (*self.stages, *self.constants) if stage.writes() <= known]
        makers = {buffer: number for number, stage in enumerate(ahead) for buffer in stage.writes()}
        found: dict[AnyStage, None] = {}
        for number, stage in enumerate(self.stages):
            kept = self.changed.get(number, stage)
            for wanted in (*self.before.get(number, ()), *(() if kept is None else (kept,))):
                stack = [wanted]
                while stack:
                    missing = {makers[b] for b in stack[-1].reads() - stack[-1].writes() if b in makers}
                    first = next((ahead[one] for one in sorted(missing) if ahead[one] not in found), None)
                    if first is not None:
                        stack.append(first)
                    else:
                        found.setdefault(stack.pop())
        return [self.relocated(stage) for stage in found]

    def relocated(self, stage: AnyStage) -> AnyStage:
        """Return ``stage`` with loads from parts as loads from what they are parts of."""
        found: dict[Buffer, dict[Buffer, Place]] = {}
        for buffer in stage.reads() & self.moved.keys():
            target, place = self.moved[buffer]
            found.setdefault(target, {})[buffer] = place
        for target, places in found.items():
            stage = relocated(stage, places, target)
        return stage

    def join(self, group: Sequence[_Product]) -> None:
        """Join those of a group that can be."""
        group = [one for one in group if self.is_there(one.data.buffer, group[0].number)]
        forms: dict[object, list[_Product]] = {}
        for one in group:
            forms.setdefault(self.form(one), []).append(one)
        rest: list[_Product] = []
        for key, alike in forms.items():
            if key is None or len(alike) == 1 or not self.join_alike(alike):
                rest += alike
        rest = [one for one in rest if one.width <= _FEW_COLUMNS]
        rows = static(points(group[0].rows)) if group else None
        if len(rest) > 1 and rows is not None and rows <= _FEW_ROWS:
            self.join_sums(sorted(rest, key=lambda one: one.number))

    def is_there(self, buffer: Buffer, number: int) -> bool:
        """Whether a buffer holds what it will hold when stage ``number`` begins."""
        return buffer in self.known or all(maker < number for maker in self.makers.get(buffer, ()))

    def form(self, one: _Product) -> object:
        """Return what products that can be finished together have in common.

        None where nobody can join this one.
        """
        target = one.stage.target
        if target in self.fixed or self.makers[target] != [one.number] or _dimensions(one) is None:
            return None
        # What is only copied into a larger tensor is made there (placement.py).
        if any(isinstance(stage, Stage) and len(pieces_of(stage) or ()) > 1 for stage in self.readers.get(target, ())):
            return None
        values = one.named(self.names)
        value = self.with_constants(one, lambda place, load: BufferLoad(self.names.slot(place, load.dtype), ()))
        # Of other tensors, each part would read columns of its own.
        if one.columns.var in variables(value):
            return None
        return (
            tuple(substitute(one.stage.indices[d], values) for d in _dimensions(one) or ()),
            substitute(value, values),
            target.dtype,
        )

    def with_constants(self, one: _Product, change: Callable[[int, BufferLoad], PrimExpr]) -> PrimExpr:
        """Return the value of a product with constants that depend on the column alone changed, one
        after the other.
        """
        column = one.columns.var
        count = 0

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            nonlocal count
            if not isinstance(node, BufferLoad) or node.buffer not in self.known:
                return None
            if {var for index in node.indices for var in variables(index)} != {column}:
                return None
            count += 1
            return change(count - 1, node)

        return map_expr(one.stage.value, rewrite)

    # Joining

    def join_sums(self, group: Sequence[_Product]) -> None:
        """Make the sums of all as one tensor, of which each then finishes its part."""
        first, begins, whole = self.prepared(group)
        shape = (*(axis.extent for axis in first.rows), whole.extent)
        sums = Buffer("sums", shape, "float32")
        rows = tuple(axis.var for axis in first.rows)
        reduction = first.stage.reduction
        assert reduction is not None
        self.add(group, self.product(group, whole, begins, sums, (*rows, whole.var), reduction.result))
        for one, begin in zip(group, begins, strict=True):
            own = one.stage.reduction
            assert own is not None
            place = simplify(binary("+", one.columns.var, IntImm(begin)))
            part = BufferLoad(sums, (*(axis.var for axis in one.rows), place))
            value = substitute(one.stage.value, {own.result: part})
            self.changed[one.number] = Stage(one.stage.axes, one.stage.target, one.stage.indices, value)

    def join_alike(self, group: Sequence[_Product]) -> bool:
        """Make all as one tensor, finished, and say whether that was possible."""
        begin = group[0].number
        if not all(self.is_there(buffer, begin) for one in group for buffer in one.stage.reads()):
            return False
        found = _side_by_side(group)
        if found is None:
            return False
        longer, places = found
        first, begins, whole = self.prepared(group)
        # The dimensions are those of the first, one of them longer.
        dimensions = _dimensions(first) or ()
        shape = [first.stage.target.shape[d] for d in dimensions]
        parts = [one.stage.target.shape[place[longer][0] or 0] for one, place in zip(group, places, strict=True)]
        shape[longer] = IntImm(sum(static(extent) or 0 for extent in parts))
        target = Buffer(first.stage.target.name, tuple(shape), first.stage.target.dtype)
        loads_of = [self.constants_of(one) for one in group]

        def joined(place: int, load: BufferLoad) -> PrimExpr:
            constant = self.joined_constant(group, begins, [constants[place] for constants in loads_of])
            return BufferLoad(constant, (whole.var,))

        at: dict[Var, PrimExpr] = {first.columns.var: whole.var}
        value = substitute(self.with_constants(first, joined), at)
        indices = tuple(substitute(first.stage.indices[d], at) for d in dimensions)
        self.add(group, self.product(group, whole, begins, target, indices, value))
        for one, place in zip(group, places, strict=True):
            self.changed[one.number] = None
            self.moved[one.stage.target] = target, place
        return True

    def prepared(self, group: Sequence[_Product]) -> tuple[_Product, list[int], Axis]:
        """Return the first of a group, where each begins, and the axis of all columns."""
        ends = list(accumulate(one.width for one in group))
        return group[0], [0, *ends[:-1]], Axis(Var(group[0].columns.var.name), IntImm(ends[-1]))

    def add(self, group: Sequence[_Product], stage: Stage) -> None:
        self.before.setdefault(group[0].number, []).append(stage)

    def product(
        self,
        group: Sequence[_Product],
        whole: Axis,
        begins: Sequence[int],
        target: Buffer,
        indices: tuple[PrimExpr, ...],
        value: PrimExpr,
    ) -> Stage:
        """Return the product of the first one's rows and the matrices of all, side by side."""
        first = group[0]
        reduction = first.stage.reduction
        assert reduction is not None
        source = binary("*", first.data, BufferLoad(self.matrix(group, begins, whole), (first.run.var, whole.var)))
        return Stage((*first.rows, whole), target, indices, value, replace(reduction, source=source))

    def matrix(self, group: Sequence[_Product], begins: Sequence[int], whole: Axis) -> Buffer:
        """Return the matrices of a group side by side, made ahead, once for all groups that want
        the same.
        """
        run = Axis(Var("k"), group[0].run.extent)

        def part(number: int) -> PrimExpr:
            one = group[number]
            return substitute(one.weight, {one.run.var: run.var, one.columns.var: _behind(column, begins[number])})

        column = Var("column")
        loads_of = [substitute(one.weight, one.named(self.names)) for one in group]
        return self.constant(tuple(loads_of), (run, Axis(column, whole.extent)), begins, part)

    def joined_constant(self, group: Sequence[_Product], begins: Sequence[int], found: Sequence[BufferLoad]) -> Buffer:
        """Return constants that belong to columns, side by side."""
        column = Var("column")

        def part(number: int) -> PrimExpr:
            return substitute(found[number], {group[number].columns.var: _behind(column, begins[number])})

        key = tuple(substitute(load, one.named(self.names)) for load, one in zip(found, group, strict=True))
        whole = IntImm(begins[-1] + group[-1].width)
        return self.constant(key, (Axis(column, whole),), begins, part)

    def constant(
        self, key: tuple[PrimExpr, ...], axes: tuple[Axis, ...], begins: Sequence[int], part: Callable[[int], PrimExpr]
    ) -> Buffer:
        if key not in self.made:
            found = Buffer("joined", tuple(axis.extent for axis in axes), key[0].dtype)
            value = side_by_side(axes[-1].var, begins, part)
            stage = Stage(axes, found, tuple(axis.var for axis in axes), value)
            self.constants.append(replace(stage, value=tidy(value, stage.bounds)))
            self.made[key] = found
        return self.made[key]

    def constants_of(self, one: _Product) -> list[BufferLoad]:
        found: list[BufferLoad] = []

        def note(place: int, load: BufferLoad) -> PrimExpr:
            found.append(load)
            return load

        self.with_constants(one, note)
        return found


def _behind(column: Var, begin: int) -> PrimExpr:
    return binary("-", column, IntImm(begin)) if begin else column


def _dimensions(one: _Product) -> tuple[int, ...] | None:
    """Return the dimensions of a product's tensor that have more than one place, None where it is
    not all of it.
    """
    target = one.stage.target
    if simplify(points(one.stage.axes)) != size_of(target):
        return None
    return tuple(
        d for d, extent in enumerate(target.shape) if extent != IntImm(1) or one.stage.indices[d] is one.columns.var
    )


def _side_by_side(group: Sequence[_Product]) -> tuple[int, list[Place]] | None:
    """Return the dimension along which the tensors lie side by side in a joined one, and the place
    of each there.

    None where columns that follow each other are not places that do.
    """
    column = group[0].columns.var
    indices = [group[0].stage.indices[d] for d in _dimensions(group[0]) or ()]
    ends = [0] * len(indices)
    places: list[Place] = []
    longer: set[int] = set()
    begin = 0
    for one in group:
        bounds = {**group[0].stage.bounds, column: (0, IntImm(one.width - 1))}
        behind = {column: binary("+", column, IntImm(begin))}
        place: list[tuple[int | None, int]] = []
        for d, (dimension, index) in enumerate(zip(_dimensions(one) or (), indices, strict=True)):
            shift = simplify(binary("-", substitute(index, behind), index), bounds)
            if not isinstance(shift, IntImm) or shift.value not in (0, ends[d]):
                return None
            if shift.value:
                longer.add(d)
            place.append((dimension, shift.value))
            ends[d] += static(one.stage.target.shape[dimension]) or 0
        places.append(tuple(place))
        begin += one.width
    return (longer.pop(), places) if len(longer) == 1 else None
