"""Selection of sweep cases: all of them if RELAX_MLIR_SWEEP is ``all`` (`make soak`), else a part with every kind.

A sweep tests one property on many cases, most of which are similar: all reductions on all element types, all options
with all layouts. The part is the same in each run, and has each value of each axis once or more.
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
"""True if sweeps run in full."""

ELEMENT_KINDS = {"float16": "short float", "bfloat16": "short float", "bool": "bool"}
"""Kinds of element types whose names do not begin with them; short floats are computed as float32."""


def element_kind(dtype: str) -> str:
    """The kind of an element type: its computation, except for the width."""
    return ELEMENT_KINDS.get(dtype, dtype.rstrip("0123456789"))


def alike(dtype: str, dtypes: Sequence[str]) -> list[str]:
    """The element types among these that are of the same kind; the type itself if it is not among them."""
    return [each for each in dtypes if element_kind(each) == element_kind(dtype)] if dtype in dtypes else [dtype]


def partners(dtype: str, dtypes: Sequence[str]) -> list[str]:
    """The element types among these that share the cases of a partial sweep with one; itself if not among them.

    float32 has all cases, float64 every second one, and all others share them: so a case runs on the usual floats, and
    on a narrower, integer, unsigned or boolean type.
    """
    if dtype not in dtypes or dtype == "float32":
        return [dtype]
    is_float = element_kind(dtype) == "float"
    return [each for each in dtypes if (element_kind(each) == "float") == is_float]


def turn(value: Value, values: Sequence[Value], cases: Sequence[Case]) -> list[Case]:
    """The cases of a partial sweep that run for one of several values of a kind.

    The values alternate: each case runs for one of them, and each of them has a case. The first one changes from round
    to round, so that no value gets only every second case.
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
    """The product of axes, in a partial sweep: the number of cases is that of the longest axis."""
    if ALL:
        return list(itertools.product(*axes))
    length = max(map(len, axes))
    return [tuple(axis[number % len(axis)] for axis in axes) for number in range(length)]


def part(cases: Sequence[Case], *kinds: Callable[[Case], Hashable]) -> list[Case]:
    """The cases, in a partial sweep: those that are the first of their kind in some respect."""
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
    """Arguments of `parametrize`, or tuples of several (`unpack`); the tests of all but some are marked slow."""
    values = list(values)
    missing = [str(value) for value in which if value not in values]
    assert not missing, f"{', '.join(missing)} is not among the values"
    rows = [value if unpack and isinstance(value, tuple) else (value,) for value in values]
    marks = [() if value in which else (pytest.mark.slow,) for value in values]
    return [pytest.param(*row, marks=each) for row, each in zip(rows, marks, strict=True)]


def slow(values: Iterable[Value], *which: Value) -> list[Any]:
    """As `quick`, with the names of those whose tests are marked slow."""
    values = list(values)
    return quick(values, *(value for value in values if value not in which))
