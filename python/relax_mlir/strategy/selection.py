"""Select the implementation of an op for a call, with the reasons."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from relax_mlir.error import UnsupportedError
from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy, SpecializedCondition


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
