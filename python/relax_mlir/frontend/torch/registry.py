"""The table of rules: which op of PyTorch is imported by which function."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from relax_mlir.frontend.torch.requirement import require_torch
from relax_mlir.frontend.torch.torch_types import Argument

FAMILIES = (
    "activation",
    "attention",
    "binary",
    "cast",
    "comparison",
    "control",
    "convolution",
    "create",
    "distance",
    "grouped",
    "indexing",
    "linear",
    "manipulate",
    "normalization",
    "pooling",
    "random",
    "reduce",
    "resize",
    "scan",
    "sort",
    "unary",
)
"""The files of `relax_mlir.frontend.torch.rules`."""

RuleFunction = Callable[..., Argument]
F = TypeVar("F", bound=RuleFunction)


@dataclass(frozen=True)
class Rule:
    """How one op is imported.

    `function` gets the `OpCall` and the op's arguments in the order of its schema, defaults included; those that are
    given by keyword only it gets if it has a parameter of that name.
    """

    function: RuleFunction
    keywords: frozenset[str]


_RULES: dict[str, Rule] = {}
_loaded: list[str] = []


def rule(*names: str) -> Callable[[F], F]:
    """Register a function for ops of the namespace ``aten``: ``"add.Tensor"`` for an overload, ``"add"`` for all.

    Ops of other namespaces have it in front: ``"prims::abs.default"``, ``"higher_order::cond"``. Those of libraries,
    which may be loaded later, are not looked for.
    """

    def register(function: F) -> F:
        parameters = inspect.signature(function).parameters.values()
        keywords = frozenset(p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY)
        for name in names:
            for full in _overloads(name):
                if full in _RULES:
                    raise AssertionError(f"two rules for {full}")
                _RULES[full] = Rule(function, keywords)
        return function

    return register


def _overloads(name: str) -> Iterator[str]:
    """Full names (``aten.add.Tensor``) of the overloads that `name` stands for and that this version of torch has."""
    ops = require_torch().ops
    space, dot, rest = name.partition("::")
    if space == "higher_order":
        yield rest
        return
    if not dot:
        space, rest = "aten", name
    if space not in ("aten", "prims", "prim"):
        yield f"{space}.{rest}"
        return
    packet_name, _, overload = rest.partition(".")
    packet = getattr(getattr(ops, space), packet_name, None)
    if packet is None:
        return
    for found in packet.overloads():
        if overload in ("", found) and found != "out" and not found.endswith("_out"):
            yield f"{space}.{packet_name}.{found}"


def rules() -> dict[str, Rule]:
    """All rules, by names such as ``aten.add.Tensor``."""
    if not _loaded:
        for family in FAMILIES:
            importlib.import_module(f"relax_mlir.frontend.torch.rules.{family}")
        _loaded.append("all")
    return _RULES
