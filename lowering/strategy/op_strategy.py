"""Strategies of ops: implementations, their conditions, registration, selection, and the report of it."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from relax_mlir import terminal
from relax_mlir.dialects.base import op_classes
from relax_mlir.error import ArgumentError, UnknownNameError, UnsupportedError, expect
from relax_mlir.symbolic import Condition
from relax_mlir.target import Target

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.target import Target
    from relax_mlir.te import Tensor


# One implementation of an op: a tensor expression with a schedule, or a rule of the lowering.

Compute: TypeAlias = "Callable[[Attrs, Sequence[Tensor], StructInfo], Sequence[Tensor] | Tensor]"
"""Takes the attributes of an op, placeholders for its operands and its result's struct info; returns the tensors."""
Schedule: TypeAlias = "Callable[[Attrs, Sequence[Tensor], Target], Any]"
"""Takes the attributes of an op, its computed tensors and a target; returns a schedule of the tensors."""
Rule: TypeAlias = Callable[..., Any]
"""A legalisation rule of `relax_mlir.lowering.legalize`."""

PLAIN = "topi"
"""The name of an op's only implementation; its prim funcs are then named after the op."""

DEFAULT_PLEVEL = 10
"""The default priority."""


@dataclass(frozen=True)
class KernelRequest:
    """A generated kernel equivalent to a prim func: its name (``relax.kernel``) and its attributes."""

    name: str
    attributes: Mapping[str, str | float]


@dataclass(frozen=True)
class OpImplementation:
    """An implementation of an op; of those whose conditions hold, the one with the highest `plevel` is selected.

    Attributes:
        name: used in reports, and in the names of prim funcs.
        compute: the tensor expression; None for a rule of the lowering.
        schedule: the schedule of the tensor expression; None: the default of the lowering.
        plevel: the priority.
        unless: why it does not support this call; empty if it does.
        rule: a rule of the lowering, instead of `compute`.
        takes_kernel: true if the rule may request a generated kernel.
        kernel: a generated kernel that may replace the tensor expression.
    """

    name: str
    compute: Compute | None = None
    schedule: Schedule | None = None
    plevel: int = DEFAULT_PLEVEL
    unless: str = ""
    rule: Rule | None = field(default=None, repr=False)
    takes_kernel: bool = field(default=True, repr=False)
    kernel: KernelRequest | None = field(default=None, repr=False)

    @property
    def is_expression(self) -> bool:
        """True if the implementation is a tensor expression."""
        return self.compute is not None


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
            raise ArgumentError(f"add_implementation '{name}': '{what[0]}' is {what[1]!r}, expected a function")
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


# Select the implementation of an op for a call, with the reasons.


@dataclass(frozen=True)
class Candidate:
    """An implementation, and the verdict on its condition.

    `verdict`: true if it holds for the call; None if that depends on `condition` at run time. `reason` explains it.
    """

    implementation: OpImplementation
    condition: SpecializedCondition
    verdict: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Selection:
    """All candidates for a call, the best first, and the selected ones.

    `taken` has one entry, or several that are tried in order at run time; the last one always holds.
    """

    candidates: tuple[Candidate, ...]
    taken: tuple[Candidate, ...]


def select(what: str, strategies: Iterable[OpStrategy]) -> Selection:
    """Select the implementations with the highest priority that hold for a call of the op `what`.

    Ties are resolved by order. The bounds of symbols are those of the enclosing `assuming`.

    Raises:
        UnsupportedError: for some sizes no implementation holds.
    """
    found = [
        _judged(implementation, condition)
        for strategy in strategies
        for implementation, condition in strategy.candidates()
    ]
    candidates = sorted(found, key=lambda candidate: -candidate.implementation.plevel)
    taken: list[Candidate] = []
    for candidate in candidates:
        if candidate.verdict is not False:
            taken.append(candidate)
        if candidate.verdict:
            return Selection(tuple(candidates), tuple(taken))
    reasons = "; ".join(f"{c.implementation.name}: {c.reason or c.condition}" for c in candidates)
    raise UnsupportedError(
        f"{what}: no implementation holds for all sizes: {reasons or 'there is none'}. Add one without a condition"
    )


def _judged(implementation: OpImplementation, condition: SpecializedCondition) -> Candidate:
    if implementation.unless:
        return Candidate(implementation, condition, False, implementation.unless)
    verdict = condition.decide()
    if verdict is False:
        return Candidate(implementation, condition, False, f"needs {condition}")
    if verdict is None:
        return Candidate(implementation, condition, None, f"where {clauses_text(condition)}")
    return Candidate(implementation, condition, True, f"{condition} holds" if condition.clauses else "")


def clauses_text(condition: SpecializedCondition) -> str:
    """The clauses that depend on values at run time."""
    return " and ".join(map(str, condition.open_clauses()))


def holding(strategies: Sequence[OpStrategy]) -> list[OpImplementation]:
    """The implementations whose conditions hold for all sizes, the best first."""
    found = [_judged(i, condition) for strategy in strategies for i, condition in strategy.candidates()]
    found = [candidate for candidate in found if candidate.verdict]
    return [c.implementation for c in sorted(found, key=lambda candidate: -candidate.implementation.plevel)]


# The strategies that users register.

Strategy: TypeAlias = "Callable[[Attrs, Sequence[Tensor], StructInfo, Target], OpStrategy]"
"""Takes the attributes of a call, placeholders for its operands, the struct info of its result and the target;
returns the implementations for the call.
"""


@dataclass(frozen=True)
class Registered:
    """A strategy, and the target for which it was registered."""

    strategy: Strategy
    target: str

    def is_for(self, target: Target) -> bool:
        """True if `target` has the features for which the strategy was registered."""
        return _features(self.target) <= target.features


_registered: dict[str, list[Registered]] = {}


def register_strategy(op: str, target: str = "cpu") -> Callable[[Strategy], Strategy]:
    """Register a strategy for an op, in addition to those that the op already has.

    Args:
        op: the op's name (``"relax.matmul"``, ``"matmul"``, ``"relax.nn.softmax"``).
        target: ``"cpu"``, or with the features that its implementations need: ``"cpu -mattr=+avx512f"``.

    The decorated function gets the attributes of a call, placeholders for its tensors, the struct info of its result
    and the target, and returns an `OpStrategy`. Undo with `unregister_strategy`.

    Raises:
        UnknownNameError: there is no such op.
        ArgumentError: no such target.
    """
    name = _ir_name(op)
    _features(target)

    def register(strategy: Strategy) -> Strategy:
        if not callable(strategy):
            raise ArgumentError(f"register_strategy '{op}': {strategy!r} is no function")
        _registered.setdefault(name, []).append(Registered(strategy, target))
        return strategy

    return register


def unregister_strategy(op: str, strategy: Strategy) -> None:
    """Remove a strategy that `register_strategy` added; raises `ArgumentError` if it is not registered."""
    name = _ir_name(op)
    left = [item for item in _registered.get(name, []) if item.strategy is not strategy]
    if len(left) == len(_registered.get(name, [])):
        raise ArgumentError(f"unregister_strategy '{op}': {strategy!r} is not registered")
    if left:
        _registered[name] = left
    else:
        del _registered[name]


@contextmanager
def temporary_strategy(op: str, strategy: Strategy, target: str = "cpu") -> Iterator[None]:
    """Register a strategy for the duration of the ``with`` block."""
    register_strategy(op, target)(strategy)
    try:
        yield
    finally:
        unregister_strategy(op, strategy)


def registered_for(op_name: str, target: Target) -> list[Strategy]:
    """The strategies that users have registered for an op (by its name in the IR), the latest first."""
    return [item.strategy for item in reversed(_registered.get(op_name, [])) if item.is_for(target)]


def registrations() -> tuple[tuple[str, int], ...]:
    """A key of the registered strategies, equal as long as these do not change."""
    return tuple((name, id(item.strategy)) for name, items in _registered.items() for item in items)


def any_registered() -> bool:
    """True if users have registered strategies, so that a compilation depends on more than the module's text."""
    return bool(_registered)


def _ir_name(op: str) -> str:
    """The name of an op in the IR: ``relax.nn_softmax``."""
    from relax_mlir.op.op_registry import op_class_of  # imported only when a strategy is registered

    expect("register_strategy: 'op'", op, str, "the name of an op")
    found = op_class_of(op)
    if found is None:
        raise UnknownNameError("op of Relax", op, sorted(op_classes()))
    return found.OPERATION_NAME


def _features(target: str) -> frozenset[str]:
    """The CPU features that a target string requires."""
    expect("register_strategy: 'target'", target, str, "the text of a target")
    Target(target)
    words = [word.removeprefix("-mattr=") for word in target.split() if word.startswith("-mattr=")]
    return frozenset(f[1:] for word in words for f in word.split(",") if f.startswith("+"))


# The considered and the selected implementations of each call: the text of ``--explain-strategy``.


@dataclass(frozen=True)
class StrategyDecision:
    """The choice for one call: `op` in `function`, called on `operands`, at source location `place`.

    `notes` list the values of the knobs of its schedules, and their origin.
    """

    function: str
    op: str
    operands: str
    place: str
    selection: Selection
    notes: list[str] = field(default_factory=list)


@dataclass
class StrategyReport:
    """The choices of `legalize-ops`, in order."""

    decisions: list[StrategyDecision] = field(default_factory=list)

    def render(self, width: int | None = None) -> str:
        """A table per call, wrapped to `width` columns (by default the terminal's); equal calls are merged."""
        columns = width or terminal.width()
        groups: dict[tuple[str, ...], list[StrategyDecision]] = {}
        for decision in self.decisions:
            rows = [_row(c, decision.selection) for c in decision.selection.candidates]
            texts = [" ".join(row) for row in rows]
            key = (decision.function, decision.op, decision.operands, *texts, *decision.notes)
            groups.setdefault(key, []).append(decision)
        lines = [line for group in groups.values() for line in _table(group[0], len(group), columns)]
        return "\n".join([*lines, f"{len(self.decisions)} calls"])


INDENT = 10
"""Indentation of continuation lines."""


def _table(decision: StrategyDecision, times: int, width: int) -> Iterator[str]:
    count = f" ({times} times)" if times > 1 else ""
    call = f"{decision.function}: {decision.op}({decision.operands}){count}"
    yield from terminal.wrapped("", call, width, INDENT)
    yield from terminal.wrapped("  ", f"at {decision.place}", width, INDENT)
    rows = [_row(c, decision.selection) for c in decision.selection.candidates]
    name_width = max(len(row[1]) for row in rows)
    for mark, name, plevel, reason in rows:
        row = f"{mark:8}{name:{name_width}}  {plevel:>3}  {reason}".rstrip()
        yield from terminal.wrapped("  ", row, width, INDENT)
    for note in decision.notes:
        yield from terminal.wrapped("          ", note, width, INDENT)


def _row(candidate: Candidate, selection: Selection) -> tuple[str, str, str, str]:
    """The mark, the name, the priority and the reason."""
    implementation, reason = candidate.implementation, candidate.reason
    if candidate in selection.taken:
        mark = "taken"
        if len(selection.taken) > 1 and candidate is selection.taken[-1]:
            reason = "otherwise"
    elif candidate.verdict is False:
        mark = "no"
    else:
        mark, reason = "lower", reason or "holds, at a lower priority"
    return mark, implementation.name, str(implementation.plevel), reason


_report: ContextVar[StrategyReport | None] = ContextVar("strategy_report", default=None)


@contextmanager
def explain_strategy() -> Iterator[StrategyReport]:
    """Record the choices of every `legalize-ops` in the block, `build` included.

    Example: ``with explain_strategy() as report: rx.build(module, cache=False)``, then ``print(report.render())``.
    """
    report = StrategyReport()
    token = _report.set(report)
    try:
        yield report
    finally:
        _report.reset(token)


def current_report() -> StrategyReport | None:
    """The active report; None if there is none."""
    return _report.get()
