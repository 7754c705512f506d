"""Stages that walk the same rows, run row by row: softmax and normalisations read a row from memory
once.

A reduction leaves a number for every row, and others read the row again with it. Where all of them
have the axes of the rows in common, and read of each other what belongs to their own row, they run
one after the other within a row. What only they read is as small as a row then, and stays in the
nearest cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.dtypes import HALF
from relay2relax.backends.c.stages import Axis, Part, Program, Rows, Stage, flat_index, mapped, points, renamed
from relay2relax.core.dtype import bits
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, Cast, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, variables

# Fewer rows do not keep all cores busy, unless a row is little work.
_LEAST_ROWS = 8
_LITTLE = 1 << 15
# Shorter rows are better walked stage by stage, many rows at once.
_SHORTEST = 32
# A row of a temporary that is larger stays where it was, among the rows of the others.
_LOCAL_BYTES = 1 << 15
# Stages further apart are not brought together.
_FURTHEST = 64


def fuse_rows(program: Program, given: frozenset[Buffer]) -> Program:
    """Return ``program`` with stages over the same rows as one.

    The buffers ``given`` are wanted by others, too.
    """
    still = given.union(*(set(pair) for pair in program.views.items()))
    work: list[Part] = list(program.stages)
    number = 0
    users = Users(program)
    while number < len(work):
        group = _group(number, work, users)
        if group is not None:
            order = group.order()
            assert order is not None
            before, after = order
            first, last = min(group.members), max(group.members)
            rows = group.rows_of(still, users)
            work[first : last + 1] = [*(work[n] for n in before), rows, *(work[n] for n in after)]
            users = Users(replace(program, stages=tuple(work)))
            number = first + len(before)
        number += 1
    return replace(program, stages=tuple(work))


class Users:
    """Which stages read and write each memory, and as what."""

    def __init__(self, program: Program) -> None:
        self.memory = program.memory
        self.known = program.known
        self.reads = [frozenset(map(program.memory, stage.reads())) for stage in program.stages]
        self.writes = [frozenset(map(program.memory, stage.writes())) for stage in program.stages]
        # By which names stages call each memory.
        self.seen: dict[Buffer, set[Buffer]] = {}
        for stage in program.stages:
            for buffer in stage.reads() | stage.writes():
                self.seen.setdefault(program.memory(buffer), set()).add(buffer)
        self.readers: dict[Buffer, list[int]] = {}
        self.writers: dict[Buffer, list[int]] = {}
        for number, (read, written) in enumerate(zip(self.reads, self.writes, strict=True)):
            for buffer in read:
                self.readers.setdefault(buffer, []).append(number)
            for buffer in written:
                self.writers.setdefault(buffer, []).append(number)


@dataclass(slots=True)
class _Group:
    """Stages by number, in terms of the rows' axes.

    ``places`` says for buffers that they write which dimension is indexed by each row's axis.
    """

    rows: tuple[Axis, ...]
    users: Users
    members: dict[int, Stage] = field(default_factory=dict)
    places: dict[Buffer, tuple[int, ...]] = field(default_factory=dict)

    def add(self, number: int, stage: Stage) -> None:
        """Take in a stage that has the rows' axes."""
        self.members[number] = stage
        found = [[d for d, index in enumerate(stage.indices) if index is axis.var] for axis in self.rows]
        if all(len(dimensions) == 1 for dimensions in found):
            self.places[stage.target] = tuple(dimensions[0] for dimensions in found)

    def order(self) -> tuple[list[int], list[int]] | None:
        """Return which of the stages between members run before them and which after.

        None where neither will do.
        """
        users = self.users
        before: list[int] = []
        after: list[int] = []
        read: set[Buffer] = set()
        written: set[Buffer] = set()
        late_read: set[Buffer] = set()
        late_written: set[Buffer] = set()
        for number in range(min(self.members), max(self.members) + 1):
            reads, writes = users.reads[number], users.writes[number]
            after_late = reads & late_written or writes & (late_read | late_written)
            if number in self.members:
                if after_late:
                    return None
                read |= reads
                written |= writes
            elif after_late or reads & written or writes & (read | written):
                after.append(number)
                late_read |= reads
                late_written |= writes
            else:
                before.append(number)
        return before, after

    def reading(self, number: int, stage: Stage) -> Stage | None:
        """Return a stage that reads what members wrote in terms of the rows' axes, None where it
        reads other rows.
        """
        extents = {axis.var: axis.extent for axis in stage.axes}
        found: dict[Var, tuple[Var, int]] = {}
        for load in _loads(stage):
            place = self.places.get(load.buffer)
            if place is None:
                continue
            for axis, dimension in zip(self.rows, place, strict=True):
                match load.indices[dimension]:
                    case Var() as own if own in extents:
                        one = own, 1
                    case Binary("//", Var() as own, IntImm(count)) if own in extents:
                        one = own, count
                    case _:
                        return None
                if simplify(extents[one[0]]) != simplify(binary("*", axis.extent, IntImm(one[1]))):
                    return None
                if found.setdefault(axis.var, one) != one:
                    return None
        if len(found) != len(self.rows) or len({own for own, _ in found.values()}) != len(found):
            return None
        return self._renamed(stage, found)

    def making(self, stage: Stage) -> Stage | None:
        """Return a stage whose result members read in terms of the rows' axes, None where they read
        other rows.
        """
        if stage.indices != tuple(axis.var for axis in stage.axes):
            return None
        places: set[tuple[int, ...]] = set()
        for member in self.members.values():
            for load in _loads(member):
                if load.buffer is stage.target:
                    found = [[d for d, index in enumerate(load.indices) if index is axis.var] for axis in self.rows]
                    if any(len(dimensions) != 1 for dimensions in found):
                        return None
                    places.add(tuple(dimensions[0] for dimensions in found))
        if len(places) != 1:
            return None
        axes = [stage.axes[dimension] for dimension in places.pop()]
        if any(simplify(own.extent) != simplify(axis.extent) for own, axis in zip(axes, self.rows, strict=True)):
            return None
        return self._renamed(stage, {axis.var: (own.var, 1) for own, axis in zip(axes, self.rows, strict=True)})

    def _renamed(self, stage: Stage, found: dict[Var, tuple[Var, int]]) -> Stage:
        """Return ``stage`` with its axes replaced: each row's axis is one of them, or the quotient
        of one.
        """
        values: dict[Var, PrimExpr] = {}
        within: dict[Var, Axis] = {}
        for row, (own, count) in found.items():
            values[own] = row
            if count > 1:
                within[own] = Axis(Var(own.name), IntImm(count))
                values[own] = binary("+", binary("*", row, IntImm(count)), within[own].var)
        inner = [within.get(axis.var, axis) for axis in stage.axes if axis.var not in values or axis.var in within]
        return renamed(stage, (*self.rows, *inner), values)

    def is_sound(self) -> bool:
        """Whether the members can run together, and no row of them touches what another row
        does.
        """
        users = self.users
        numbers = sorted(self.members)
        for place, earlier in enumerate(numbers):
            for later in numbers[place + 1 :]:
                if users.writes[later] & (users.reads[earlier] | users.writes[earlier]):
                    return False
        written = frozenset().union(*(users.writes[number] for number in numbers))
        for stage in self.members.values():
            for load in _loads(stage):
                if users.memory(load.buffer) in written and not self._is_own(load):
                    return False
        return self.order() is not None

    def _is_own(self, load: BufferLoad) -> bool:
        place = self.places.get(load.buffer)
        return place is not None and all(
            load.indices[dimension] is axis.var for axis, dimension in zip(self.rows, place, strict=True)
        )

    def rows_of(self, still: frozenset[Buffer], users: Users) -> Rows:
        """Return the members as one.

        What only they use, and is not in ``still``, becomes memory of a row.
        """
        numbers = sorted(self.members)
        local: dict[Buffer, Buffer] = {}
        for number in numbers:
            target = self.members[number].target
            place = self.places.get(target)
            used = {*users.readers.get(target, ()), *users.writers[users.memory(target)]}
            if target in still or place is None or not used <= self.members.keys():
                continue
            inner = [extent for dimension, extent in enumerate(target.shape) if dimension not in place]
            size = size_of(replace(target, shape=tuple(inner)))
            row = Buffer(target.name, (size,), target.dtype, "local")
            count = static(size)
            if count is not None and count * bits(target.dtype) // 8 <= _LOCAL_BYTES:
                local[target] = row
        return Rows(self.rows, tuple(self._within(self.members[number], local) for number in numbers))

    def _within(self, stage: Stage, local: dict[Buffer, Buffer]) -> Stage:
        bounds = stage.bounds

        def place(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
            inner_dimensions = [d for d in range(len(indices)) if d not in self.places[buffer]]
            inner = Buffer(buffer.name, tuple(buffer.shape[d] for d in inner_dimensions), buffer.dtype)
            return flat_index(inner, [indices[d] for d in inner_dimensions], bounds)

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in local:
                indices = [map_expr(index, rewrite) for index in node.indices]
                return BufferLoad(local[node.buffer], (place(node.buffer, indices),))
            return None

        changed = mapped(stage, rewrite)
        if stage.target not in local:
            return changed
        return replace(changed, target=local[stage.target], indices=(place(stage.target, stage.indices),))


def _group(number: int, work: Sequence[Part], users: Users) -> _Group | None:
    """Return the stages that belong to the rows of the reduction ``number``, None where there are
    none.
    """
    seed = work[number]
    if not isinstance(seed, Stage) or seed.reduction is None or not _eligible(seed, users):
        return None
    rows = _rows(seed)
    if rows is None:
        return None
    group = _Group(tuple(Axis(Var(axis.var.name), axis.extent) for axis in rows), users)
    own = {new.var: (axis.var, 1) for new, axis in zip(group.rows, rows, strict=True)}
    group.add(number, group._renamed(seed, own))
    grown = True
    while grown:
        grown = False
        for candidate in _neighbours(group, number):
            stage = work[candidate]
            if not isinstance(stage, Stage) or not _eligible(stage, users):
                continue
            reads = any(load.buffer in group.places for load in _loads(stage))
            found = group.reading(candidate, stage) if reads else group.making(stage)
            if found is None:
                continue
            group.add(candidate, found)
            if group.is_sound():
                grown = True
            else:
                del group.members[candidate]
                group.places.pop(found.target, None)
    return group if _pays(group, number) else None


def _neighbours(group: _Group, seed: int) -> list[int]:
    """Return the stages that read what members write or make what they read, and are not far
    away.
    """
    users = group.users
    found: set[int] = set()
    for number in group.members:
        for buffer in users.writes[number]:
            found.update(users.readers.get(buffer, ()))
        for buffer in users.reads[number]:
            found.update(users.writers.get(buffer, ()))
    return sorted(n for n in found - group.members.keys() if abs(n - seed) <= _FURTHEST)


def _loads(stage: Stage) -> Iterator[BufferLoad]:
    for expr in stage.expressions():
        yield from loads(expr)


def _eligible(stage: Stage, users: Users) -> bool:
    """Whether a stage can run row by row: constants are computed ahead, products of tensors have
    tiles of their own.
    """
    if users.memory(stage.target) in users.known:
        return False
    reduction = stage.reduction
    if reduction is None:
        return True
    match reduction.source:
        case Binary("*", a, b):
            first, second = _within_border(a), _within_border(b)
            if isinstance(first, BufferLoad) and isinstance(second, BufferLoad):
                return first == second and first.dtype not in HALF
    return not variables(reduction.identity)


def _within_border(value: PrimExpr) -> PrimExpr:
    """Return what is read of an image within its border, a byte as it is in memory."""
    match value:
        case Cast("int32", BufferLoad() as byte):
            return byte
        case Call("if_then_else", (_, BufferLoad() as inside, FloatImm() | IntImm())):
            return inside
    return value


def _rows(seed: Stage) -> list[Axis] | None:
    """Return the axes over whose points a reduction and its readers are repeated.

    None where that is not worth it.

    These are all its axes, or all but the one along which it reads neighbouring places.
    """
    reduction = seed.reduction
    assert reduction is not None
    stored = set(seed.indices)
    rows = [axis for axis in seed.axes if axis.extent != IntImm(1) and axis.var in stored]
    places = [flat_index(load.buffer, load.indices, seed.bounds) for load in loads(reduction.source)]
    if not any(coefficient(place, axis.var) == 1 for place in places for axis in reduction.axes):
        rows = [axis for axis in rows if not any(coefficient(place, axis.var) == 1 for place in places)]
    count = static(points(rows))
    size = static(points([*(axis for axis in seed.axes if axis not in rows), *reduction.axes]))
    if size is None or (count is not None and count >= _LEAST_ROWS):
        return rows or None
    return rows if size <= _LITTLE else None


def _pays(group: _Group, seed: int) -> bool:
    """Whether some member walks the rows that the seed reduces to less, and those are no short
    ones.
    """
    first = group.members[seed]
    longest = [
        static(points(stage.axes[len(group.rows) :]))
        for number, stage in group.members.items()
        if number != seed and simplify(points(stage.axes)) != simplify(points(first.axes))
    ]
    return any(length is None or length >= _SHORTEST for length in longest)
