"""Conversion rules of ONNX ops, by domain, name and opset."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from relax_mlir.frontend.onnx.node import Node

Rule = Callable[["Node"], Any]
"""Emits the ops of a node and returns its outputs: values, items or arrays of known elements, one or a list."""

FAMILIES = (
    "activations",
    "control",
    "convolution",
    "create",
    "determinant",
    "elementwise",
    "features",
    "gather",
    "loops",
    "matrix",
    "movement",
    "normalization",
    "padding",
    "pooling",
    "quantization",
    "random",
    "recurrent",
    "reduction",
    "resize",
    "sequence",
    "shape",
    "signal",
    "slicing",
    "sorting",
    "vision",
)


@dataclass(frozen=True)
class _Entry:
    since: int
    until: int
    rule: Rule


_rules: dict[tuple[str, str], list[_Entry]] = {}


def rule(*names: str, since: int = 1, until: int = 10**6, domain: str = "") -> Callable[[Rule], Rule]:
    """Register the rule of ops for the opsets from `since` to `until`, inclusive."""

    def register(function: Rule) -> Rule:
        for name in names:
            _rules.setdefault((domain, name), []).append(_Entry(since, until, function))
        return function

    return register


@cache
def load_rules() -> None:
    """Import the rule modules, which register their rules."""
    for family in FAMILIES:
        importlib.import_module(f"relax_mlir.frontend.onnx.rules.{family}")


def find_rule(domain: str, name: str, opset: int) -> Rule | None:
    """Return the rule of an op in an opset; None if there is none."""
    load_rules()
    for entry in _rules.get((normal_domain(domain), name), ()):
        if entry.since <= opset <= entry.until:
            return entry.rule
    return None


def rule_names() -> list[tuple[str, str]]:
    """Return domain and name of each op that has a rule, sorted."""
    load_rules()
    return sorted(_rules)


def normal_domain(domain: str) -> str:
    """Normalise the domain: ONNX's own domain has two names."""
    return "" if domain == "ai.onnx" else domain
