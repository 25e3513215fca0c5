"""Knob values that come with the package: the best measured ones on some classes of CPUs.

They only apply to built-in schedules. A class of CPUs is defined by architecture, vector width, features, and
approximate cache sizes. A database of the user has precedence.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from relax_mlir.error import ArgumentError, ParseError
from relax_mlir.strategy.knobs import Values
from relax_mlir.strategy.size_table import values_text
from relax_mlir.target import Target
from relax_mlir.transform.config import SHIPPED_VALUES
from relax_mlir.transform.context import PassContext

FILE = Path(__file__).with_name("shipped.json")
VERSION = 1
SWITCH = "RELAX_MLIR_TUNED"
"""The environment variable that disables the values if it is 0."""

NEAR = 2
"""Cache sizes within a class differ from those of the measured CPU by at most this factor."""

Facts = Mapping[str, tuple[int, ...]]
"""The constant parameters of a call: ``{"window": (3, 3), "strides": (1, 1)}``."""


@dataclass(frozen=True)
class Template:
    """The lookup key of a built-in schedule: the implementation, the dtype, and the constant parameters."""

    name: str
    dtype: str
    facts: Facts


@dataclass(frozen=True)
class CpuClass:
    """A class of CPUs, represented by a measured one.

    Attributes:
        name: for reports.
        architecture, vector_bytes, l1_bytes, l2_bytes: as in a `Target`.
        needs, lacks: features that all of them have, and that none of them has.
        measured: which CPU was measured, when, and by which command.
    """

    name: str
    architecture: str
    vector_bytes: int
    l1_bytes: int
    l2_bytes: int
    needs: tuple[str, ...]
    lacks: tuple[str, ...]
    measured: Mapping[str, str]

    def has(self, target: Target) -> bool:
        """True if the target is in the class."""
        return (
            target.architecture == self.architecture
            and target.vector_bytes == self.vector_bytes
            and target.features.issuperset(self.needs)
            and target.features.isdisjoint(self.lacks)
            and _near(target.l1_bytes, self.l1_bytes)
            and _near(target.l2_bytes, self.l2_bytes)
        )


@dataclass(frozen=True)
class Shipped:
    """Knob values for a template on a class of CPUs.

    Attributes:
        cpu: the class.
        template: the name of the implementation.
        dtype: of its results.
        facts: constant parameters that must be equal in a call; empty: any call.
        values: the knobs that differ from their first values.
        score: the speedup, as the geometric mean over `cases` that were not used to choose the values.
    """

    cpu: CpuClass
    template: str
    dtype: str
    facts: Facts
    values: Values
    score: float
    cases: int

    def is_for(self, template: Template) -> bool:
        """True if the values apply to the template."""
        return (self.template, self.dtype) == (template.name, template.dtype) and all(
            template.facts.get(name) == value for name, value in self.facts.items()
        )

    def __str__(self) -> str:
        return f"{values_text(self.values)} ({self.cpu.name}; {self.score:.2f} times as fast in {self.cases} cases)"


def shipped(target: str | Target | None = None) -> list[Shipped]:
    """The values that come with the package; with `target`, only those for it, and none if they are disabled.

    Raises:
        ParseError: the file of the package is broken.
        ArgumentError: RELAX_MLIR_TUNED is neither 0 nor 1.
    """
    if target is None:
        return list(_read(FILE))
    parsed = Target.parse(target)
    return [item for item in _read(FILE) if item.cpu.has(parsed)] if enabled() else []


def shipped_for(template: Template, target: Target) -> Shipped | None:
    """The values for a call on a target, those with the most facts; None if there are none, or they are disabled."""
    found = [item for item in shipped(target) if item.is_for(template)]
    return max(found, key=lambda item: len(item.facts), default=None)


def enabled() -> bool:
    """True if RELAX_MLIR_TUNED and the option ``strategy.shipped_values`` of the `PassContext` allow the values."""
    text = os.environ.get(SWITCH, "1")
    if text not in ("0", "1"):
        raise ArgumentError(f"the environment variable {SWITCH} is {text!r}, expected 0 or 1")
    return text == "1" and bool(PassContext.current().config.get(SHIPPED_VALUES, True))


def shipped_state() -> str:
    """A string that changes with the values: part of the key of the compilation cache."""
    return _digest(FILE) if enabled() else "off"


def _near(given: int, measured: int) -> bool:
    return measured <= NEAR * given and given <= NEAR * measured


@cache
def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def _read(path: Path) -> Sequence[Shipped]:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        if given["version"] != VERSION:
            raise ParseError(f"{path}: version {given['version']!r}, expected {VERSION}")
        return tuple(item for each in given["classes"] for item in _of_class(each))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"there is no {error}" if isinstance(error, KeyError) else str(error)
        raise ParseError(f"{path}: no table of values that come with the package: {what}") from None


def _of_class(given: Mapping[str, Any]) -> list[Shipped]:
    cpu = CpuClass(
        str(given["name"]),
        str(given["architecture"]),
        int(given["vector_bytes"]),
        int(given["l1_bytes"]),
        int(given["l2_bytes"]),
        tuple(map(str, given["needs"])),
        tuple(map(str, given["lacks"])),
        dict(given["measured"]),
    )
    return [
        Shipped(
            cpu,
            str(item["template"]),
            str(item["dtype"]),
            {str(name): tuple(map(int, value)) for name, value in item["facts"].items()},
            dict(item["values"]),
            float(item["score"]),
            int(item["cases"]),
        )
        for item in given["entries"]
    ]
