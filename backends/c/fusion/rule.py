"""A fusion rule: one step that makes the stages of a program fewer or better."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.stage_printer import program_text
from relay2relax.backends.c.stages import AnyStage, Opaque, Program, Stage
from relay2relax.backends.c.step import Step
from relay2relax.tir.ir.expr import Buffer, PrimExpr


@dataclass(frozen=True, slots=True, eq=False)
class Fusion:
    """A tensor program between two rules, and what the rules have to respect.

    ``results``, ``params`` and ``constants`` keep their memory; what depends on constants alone
    stays apart, for it is computed once, ahead. ``fixed`` are all buffers that no rule may
    dissolve, ``apart`` those that are made of constants alone (both are known from
    ``c.ChooseMemory`` on). ``relations`` are conditions over extents that every call satisfies.
    ``owners`` are the names of the functions that wrote buffers before their calls were merged,
    ``settled`` the buffers of those whose accesses are proved. ``spans`` says between which
    integers constants lie.
    """

    program: Program
    machine: Machine
    results: frozenset[Buffer] = frozenset()
    params: frozenset[Buffer] = frozenset()
    constants: frozenset[Buffer] = frozenset()
    fixed: frozenset[Buffer] = frozenset()
    apart: frozenset[Buffer] = frozenset()
    relations: tuple[PrimExpr, ...] = ()
    owners: Mapping[Buffer, str] = field(default_factory=dict)
    settled: frozenset[Buffer] = frozenset()
    spans: Mapping[Buffer, tuple[int, int]] = field(default_factory=dict)

    @property
    def given(self) -> frozenset[Buffer]:
        """The buffers that the program does not make for itself alone."""
        return self.params | self.constants

    @property
    def stages(self) -> list[AnyStage]:
        """The stages, as long as none of them are put together as rows or blocks.

        Raises TypeError where some are.
        """
        found: list[AnyStage] = []
        for part in self.program.stages:
            if not isinstance(part, (Stage, Opaque)):
                raise TypeError("a rule for single stages stands behind those that make rows of them")
            found.append(part)
        return found

    def of(self, stages: Sequence[AnyStage]) -> Fusion:
        """Return the same with other stages."""
        return replace(self, program=replace(self.program, stages=tuple(stages)))

    def __str__(self) -> str:
        return program_text(self.program)


@dataclass(frozen=True, slots=True)
class Rule(Step[Fusion]):
    """A step between two forms of a program."""
