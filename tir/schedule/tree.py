"""Finding loops and blocks in a PrimFunc, and putting something else in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, Limit, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, For, If, LoopKind, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import (
    expressions,
    loads,
    map_parts,
    shape_variables,
    statements,
    sub_statements,
    substitute_stmt,
)

# From the root of a body down to a statement.
Path = tuple[Stmt, ...]


def find(func: PrimFunc, wanted: Callable[[Stmt], bool]) -> list[Path]:
    """Return the paths to the statements that ``wanted`` picks, in program order."""
    found: list[Path] = []
    stack: list[Path] = [(func.body,)]
    while stack:
        path = stack.pop()
        if wanted(path[-1]):
            found.append(path)
        stack.extend((*path, part) for part in reversed(sub_statements(path[-1])))
    return found


def path_to_block(func: PrimFunc, name: str) -> Path:
    """Return the path to the block ``name``; raises TIRError unless there is exactly one."""
    found = find(func, lambda stmt: isinstance(stmt, BlockRealize) and stmt.block.name == name)
    if len(found) != 1:
        raise TIRError(
            f"{func.name} has {len(found) or 'no'} blocks called {name!r}, expected one", kind=tensor_programs.SCHEDULE
        )
    return found[0]


def path_to_loop(func: PrimFunc, var: Var) -> Path:
    """Return the path to the loop over ``var``; raises TIRError unless there is exactly one."""
    found = find(func, lambda stmt: isinstance(stmt, For) and stmt.var is var)
    if len(found) != 1:
        raise TIRError(
            f"{func.name} has {len(found) or 'no'} loops over {var.name!r}, expected one", kind=tensor_programs.SCHEDULE
        )
    return found[0]


def loop_at(path: Path) -> For:
    """Return the loop that ``path`` leads to."""
    loop = path[-1]
    assert isinstance(loop, For)
    return loop


def realize_at(path: Path) -> BlockRealize:
    """Return the block that ``path`` leads to."""
    realize = path[-1]
    assert isinstance(realize, BlockRealize)
    return realize


def loops_of(path: Path) -> list[For]:
    """Return the loops on ``path``, outermost first, inside of the innermost block around its
    end.
    """
    found: list[For] = []
    for stmt in path[:-1]:
        if isinstance(stmt, BlockRealize):
            found = []
        elif isinstance(stmt, For):
            found.append(stmt)
    return found


def replaced_at(func: PrimFunc, path: Path, new: Stmt) -> PrimFunc:
    """Return ``func`` with ``new`` at the end of ``path``; where the function came from is no
    longer said.
    """
    for parent, child in zip(reversed(path[:-1]), reversed(path), strict=False):
        new = map_parts(parent, _swap(child, new), lambda expr: expr)
        if isinstance(new, Seq):
            # One sequence within another would hide what runs between two of its statements.
            new = sequence(new.stmts)
    return func.with_body(new)


def _swap(old: Stmt, new: Stmt) -> Callable[[Stmt], Stmt]:
    return lambda stmt: new if stmt is old else stmt


def without(func: PrimFunc, path: Path) -> PrimFunc:
    """Return ``func`` without the statement at the end of ``path``, and without loops that then
    hold nothing.
    """
    for length in range(len(path) - 1, 0, -1):
        parent, child = path[length - 1], path[length]
        if isinstance(parent, Seq) and len(parent.stmts) > 1:
            return replaced_at(func, path[:length], sequence(one for one in parent.stmts if one is not child))
        if not isinstance(parent, (Seq, For)):
            break
    raise TIRError(f"nothing would be left of {func.name}", kind=tensor_programs.SCHEDULE)


def sequence(stmts: Iterable[Stmt]) -> Stmt:
    """Return the statements one after the other, without needless nesting."""
    flat: list[Stmt] = []
    for stmt in stmts:
        flat += stmt.stmts if isinstance(stmt, Seq) else (stmt,)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def limit(extent: PrimExpr) -> tuple[Limit, Limit]:
    """Return the bounds of a variable that runs over ``[0, extent)``."""
    last = simplify(binary("-", extent, 1))
    return (0, last.value if isinstance(last, IntImm) else last)


def bounds_of(func: PrimFunc, loops: Iterable[For] = ()) -> dict[Var, tuple[Limit, Limit]]:
    """Return what is known of the extents in ``func`` and of the variables of ``loops``."""
    variables = shape_variables((*func.buffers, *func.root_buffers))
    known: dict[Var, tuple[Limit, Limit]] = dict.fromkeys(variables, (0, None))
    known.update((loop.var, limit(loop.extent)) for loop in loops)
    return known


def blocks_in(stmt: Stmt) -> list[BlockRealize]:
    """Return the outermost blocks in ``stmt``."""
    found: list[BlockRealize] = []
    stack = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, BlockRealize):
            found.append(node)
        else:
            stack.extend(reversed(sub_statements(node)))
    return found


def loops_in(stmt: Stmt) -> list[For]:
    """Return the loops in ``stmt`` that lie outside of blocks."""
    found: list[For] = []
    stack = [stmt]
    while stack:
        node = stack.pop()
        if isinstance(node, For):
            found.append(node)
        if not isinstance(node, BlockRealize):
            stack.extend(reversed(sub_statements(node)))
    return found


def require_serial(loop: For, what: str) -> None:
    """Raise TIRError unless ``loop`` is a plain serial one."""
    if loop.kind is not LoopKind.SERIAL or loop.annotations:
        raise TIRError(
            mistake(
                tensor_programs.SCHEDULE,
                step=what,
                loop=loop.var.name,
                reason=f"it is {loop.kind.value}, not a plain serial loop",
            )
        )


def rebind(stmt: Stmt, values: Mapping[Var, PrimExpr], bounds: Bounds) -> Stmt:
    """Return ``stmt`` with loop variables replaced, and the values of the outermost blocks' axes
    simplified.
    """
    known = dict(bounds)

    def tidy(node: Stmt) -> Stmt:
        if isinstance(node, BlockRealize):
            return replace(node, values=tuple(simplify(value, known) for value in node.values))
        if isinstance(node, For):
            known[node.var] = limit(node.extent)
        return map_parts(node, tidy, lambda expr: expr)

    return tidy(substitute_stmt(stmt, values))


def guard(stmt: Stmt, condition: PrimExpr) -> Stmt:
    """Return ``stmt`` so that blocks, and statements outside of blocks, run under ``condition``
    only.
    """
    match stmt:
        case BlockRealize(predicate=predicate):
            both = condition if predicate is None else binary("and", predicate, condition)
            return replace(stmt, predicate=both)
        case Seq() | For():
            return map_parts(stmt, lambda part: guard(part, condition), lambda expr: expr)
    return If(condition, stmt)


def touched(stmts: Iterable[Stmt]) -> tuple[set[Buffer], set[Buffer]]:
    """Return the buffers that the statements read, and those that they write."""
    read: set[Buffer] = set()
    written: set[Buffer] = set()
    for stmt in stmts:
        for node in statements(stmt):
            if isinstance(node, BufferStore):
                written.add(node.buffer)
            for expr in expressions(node):
                read.update(load.buffer for load in loads(expr))
    return read, written


def without_part(stmt: Stmt, part: Stmt) -> Stmt:
    """Return ``stmt`` with nothing in the place of ``part``."""
    return Seq(()) if stmt is part else map_parts(stmt, lambda inner: without_part(inner, part), lambda expr: expr)


def stages(func: PrimFunc) -> Sequence[Stmt]:
    """Return the statements that ``func`` runs one after the other."""
    return func.body.stmts if isinstance(func.body, Seq) else (func.body,)


def stage_of(path: Path) -> Stmt:
    """Return the statement of the function's sequence that ``path`` goes through."""
    return path[1] if isinstance(path[0], Seq) else path[0]


def shared_length(first: Path, second: Path) -> int:
    """Return how many statements the two paths, which lead to different places, have in common."""
    common = 0
    while first[common] is second[common]:
        common += 1
        if common in (len(first), len(second)):
            break
    return common


def require_outermost(path: Path, what: str) -> None:
    """Raise TIRError where ``path`` leads through a block: what that says of buffers would no
    longer be true.
    """
    around = next((stmt.block.name for stmt in path[:-1] if isinstance(stmt, BlockRealize)), None)
    if around is not None:
        raise TIRError(f"{what} lies in the block {around}", kind=tensor_programs.SCHEDULE)


def nest_of(path: Path) -> Path:
    """Return the part of ``path`` down to the outermost loop from which nothing but loops leads to
    its end.
    """
    length = len(path)
    while length > 1 and isinstance(path[length - 2], For):
        length -= 1
    return path[:length]
