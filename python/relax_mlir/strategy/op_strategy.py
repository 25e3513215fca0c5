"""Strategies: the implementations of an op for one call, and the conditions under which they hold."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from relax_mlir.error import ArgumentError, expect
from relax_mlir.strategy.implementation import DEFAULT_PLEVEL, Compute, OpImplementation, Schedule
from relax_mlir.symbolic import Condition

_current: contextvars.ContextVar[tuple[SpecializedCondition, ...]] = contextvars.ContextVar(
    "specialized_conditions", default=()
)


class SpecializedCondition:
    """A conjunction of clauses; as a context, the condition of the implementations that are added in it.

    >>> from relax_mlir.symbolic import symbol
    >>> n, strategy = symbol("n"), OpStrategy()
    >>> with SpecializedCondition(n <= 16):
    ...     strategy.add_implementation(lambda attrs, inputs, out_type: inputs[0], name="small", plevel=15)
    >>> [str(s) for s in strategy.specializations]
    ['n <= 16: small (15)']
    """

    def __init__(self, *clauses: Condition | bool | Sequence[Condition | bool]) -> None:
        """Clauses are comparisons of dimensions; if the dimensions are integers, they are bools.

        Raises:
            ArgumentError: a clause of another type.
        """
        flat: list[Condition | bool] = []
        for given in clauses:
            flat += [given] if isinstance(given, Condition | bool) else given
        for clause in flat:
            expect("SpecializedCondition: a clause", clause, Condition | bool, "a comparison such as n <= 16")
        self.clauses: tuple[Condition | bool, ...] = tuple(flat)

    def decide(self) -> bool | None:
        """True if all clauses hold, False if one never does; None if that depends on values at run time."""
        found = [c if isinstance(c, bool) else c.decide() for c in self.clauses]
        return False if False in found else None if None in found else True

    def open_clauses(self) -> tuple[Condition, ...]:
        """The clauses that depend on values at run time."""
        return tuple(c for c in self.clauses if isinstance(c, Condition) and c.decide() is None)

    def __enter__(self) -> SpecializedCondition:
        _current.set((*_current.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _current.set(_current.get()[:-1])

    @staticmethod
    def current() -> SpecializedCondition:
        """All clauses of the enclosing `with` blocks; none outside of them."""
        return SpecializedCondition([c for condition in _current.get() for c in condition.clauses])

    def __str__(self) -> str:
        return " and ".join(map(str, self.clauses))


@dataclass
class OpSpecialization:
    """Implementations under one condition."""

    condition: SpecializedCondition
    implementations: list[OpImplementation] = field(default_factory=list)

    def __str__(self) -> str:
        names = ", ".join(f"{i.name} ({i.plevel})" for i in self.implementations)
        return f"{self.condition}: {names}" if self.condition.clauses else names


@dataclass
class OpStrategy:
    """The result of a strategy for one call of an op: the implementations to select from."""

    specializations: list[OpSpecialization] = field(default_factory=list)

    def add_implementation(
        self,
        compute: Compute,
        schedule: Schedule | None = None,
        name: str = "default",
        plevel: int = DEFAULT_PLEVEL,
        unless: str = "",
    ) -> None:
        """Add a tensor expression, under the enclosing `SpecializedCondition`.

        Args:
            compute: called with the attributes of the op, placeholders for its operands, and the struct info of the
                result; returns the computed tensors, or the only one.
            schedule: called with the attributes, the computed tensors and the target; returns their schedule.
            name: the name in reports and in the IR.
            plevel: the priority: of the implementations that hold, the highest is selected. 10 is the priority of the
                built-in ones, 15 that of built-in kernels.
            unless: why this call is not supported, for reports (``"needs float32, got int8"``).

        Raises:
            ArgumentError: an argument has the wrong type.
        """
        expect("add_implementation: 'name'", name, str, "a string")
        expect("add_implementation: 'plevel'", plevel, int, "an integer")
        expect("add_implementation: 'unless'", unless, str, "a string")
        if not callable(compute) or not (schedule is None or callable(schedule)):
            what = ("compute", compute) if not callable(compute) else ("schedule", schedule)
            raise ArgumentError(
                f"add_implementation '{name}': '{what[0]}' is {what[1]!r}, expected a function"
            )
        self.add(OpImplementation(name, compute, schedule, plevel, unless))

    def add(self, implementation: OpImplementation) -> None:
        """Add an implementation, under the enclosing `SpecializedCondition`."""
        condition = SpecializedCondition.current()
        for known in self.specializations:
            if list(map(str, known.condition.clauses)) == list(map(str, condition.clauses)):
                known.implementations.append(implementation)
                return
        self.specializations.append(OpSpecialization(condition, [implementation]))

    def candidates(self) -> Iterator[tuple[OpImplementation, SpecializedCondition]]:
        """All implementations with their conditions, in the order in which they were added."""
        for specialization in self.specializations:
            for implementation in specialization.implementations:
                yield implementation, specialization.condition
