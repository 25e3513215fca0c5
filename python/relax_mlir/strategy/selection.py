"""Which implementation of an op is taken for a call, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.error import UnsupportedError
from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy, SpecializedCondition


@dataclass(frozen=True)
class Candidate:
    """An implementation, and what is known of its condition.

    `verdict`: whether it holds for the call; None: that depends on `condition` at run time. `reason` says why not.
    """

    implementation: OpImplementation
    condition: SpecializedCondition
    verdict: bool | None
    reason: str = ""


@dataclass(frozen=True)
class Selection:
    """All candidates for a call, the best first, and those that are taken.

    `taken` has one entry, or several that are tried in order when the program runs; the last one always holds.
    """

    candidates: tuple[Candidate, ...]
    taken: tuple[Candidate, ...]


def select(what: str, strategies: Iterable[OpStrategy]) -> Selection:
    """The implementations of the highest priority that hold for a call of the op `what`.

    Of equal priorities, the one that comes first is taken. The bounds of symbols are those of the `assuming` around.

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
    """The clauses that are open."""
    return " and ".join(map(str, condition.open_clauses()))


def holding(strategies: Sequence[OpStrategy]) -> list[OpImplementation]:
    """The implementations whose conditions hold for all sizes, the best first."""
    found = [_judged(i, condition) for strategy in strategies for i, condition in strategy.candidates()]
    found = [candidate for candidate in found if candidate.verdict]
    return [c.implementation for c in sorted(found, key=lambda candidate: -candidate.implementation.plevel)]
