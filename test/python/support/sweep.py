"""Which part of a sweep runs: all of it where RELAX_MLIR_SWEEP is ``all`` (`make soak`), else a part with every kind.

A sweep tries one thing on many cases, most of which add no kind: all reductions on all element types, all options with
all layouts. The part is the same in each run, and has each value of each axis at least once.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")
Value = TypeVar("Value")

ALL = os.environ.get("RELAX_MLIR_SWEEP") == "all"
"""Whether sweeps run in full."""

ELEMENT_KINDS = {"float16": "short float", "bfloat16": "short float", "bool": "bool"}
"""Kinds of element types whose names do not begin with them; short floats are computed as float32."""


def element_kind(dtype: str) -> str:
    """What an element type has in common with others: how it is computed, but for its width."""
    return ELEMENT_KINDS.get(dtype, dtype.rstrip("0123456789"))


def alike(dtype: str, dtypes: Sequence[str]) -> list[str]:
    """The element types among these that are of a kind with one; itself where it is not among them."""
    return (
        [each for each in dtypes if element_kind(each) == element_kind(dtype)] if dtype in dtypes else [dtype]
    )


def partners(dtype: str, dtypes: Sequence[str]) -> list[str]:
    """The element types among these that share the cases of a sweep with one, in part; itself if it is not among them.

    float32 has all cases, float64 every second one, and all others share them: so a case runs on floats as users have
    them, and on something that is narrower, whole, without a sign, or a truth value.
    """
    if dtype not in dtypes or dtype == "float32":
        return [dtype]
    is_float = element_kind(dtype) == "float"
    return [each for each in dtypes if (element_kind(each) == "float") == is_float]


def turn(value: Value, values: Sequence[Value], cases: Sequence[Case]) -> list[Case]:
    """The cases of a sweep over values of a kind that run for one of these, in part.

    The values take turns: each case runs for one of them, and each of them has at least one case. Who is first changes
    from round to round, so that no value meets every second case only.
    """
    if ALL:
        return list(cases)
    place, count = values.index(value), len(values)
    return [
        case
        for number, case in enumerate(cases)
        if (number + number // count) % count == place or number == place % len(cases)
    ]


def product(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The product of axes, in part: as many cases as the longest axis has values."""
    if ALL:
        return list(itertools.product(*axes))
    length = max(map(len, axes))
    return [tuple(axis[number % len(axis)] for axis in axes) for number in range(length)]


def part(cases: Sequence[Case], *kinds: Callable[[Case], Hashable]) -> list[Case]:
    """The cases, in part: those which are, in some respect, the first of their kind."""
    if ALL:
        return list(cases)
    seen: set[Hashable] = set()
    found = []
    for case in cases:
        new = {(number, kind(case)) for number, kind in enumerate(kinds)} - seen
        if new:
            seen |= new
            found.append(case)
    return found


def every(cases: Sequence[Case], step: int) -> Sequence[Case]:
    """Each `step`-th case, where neighbours are alike."""
    return cases if ALL else cases[::step]


def quick(values: Iterable[Value], *which: Value, unpack: bool = False) -> list[Any]:
    """Arguments of `parametrize`, or tuples of several (`unpack`); tests of all but some are slow."""
    values = list(values)
    missing = [str(value) for value in which if value not in values]
    assert not missing, f"{', '.join(missing)} is not among the values"
    rows = [value if unpack and isinstance(value, tuple) else (value,) for value in values]
    marks = [() if value in which else (pytest.mark.slow,) for value in values]
    return [pytest.param(*row, marks=each) for row, each in zip(rows, marks, strict=True)]


def slow(values: Iterable[Value], *which: Value) -> list[Any]:
    """As `quick`, with the names of those whose tests are slow."""
    values = list(values)
    return quick(values, *(value for value in values if value not in which))
