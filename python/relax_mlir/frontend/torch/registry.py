"""The table of import rules by PyTorch op."""

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
"""The modules of `relax_mlir.frontend.torch.rules`."""

RuleFunction = Callable[..., Argument]
F = TypeVar("F", bound=RuleFunction)


@dataclass(frozen=True)
class Rule:
    """The import rule of one op.

    `function` takes the `OpCall` and the op's arguments in schema order, defaults included. Keyword-only arguments are
    passed only if it has a parameter of that name.
    """

    function: RuleFunction
    keywords: frozenset[str]


_RULES: dict[str, Rule] = {}
_loaded: list[str] = []


def rule(*names: str) -> Callable[[F], F]:
    """Register a function for ops of the namespace ``aten``: ``"add.Tensor"`` for an overload, ``"add"`` for all.

    Ops of other namespaces are prefixed: ``"prims::abs.default"``, ``"higher_order::cond"``. Ops of libraries are not
    looked up, since these may be loaded later.
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
    """Yield the full names (``aten.add.Tensor``) of the overloads of `name` in this version of torch."""
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
    """Return all rules, by names such as ``aten.add.Tensor``."""
    if not _loaded:
        for family in FAMILIES:
            importlib.import_module(f"relax_mlir.frontend.torch.rules.{family}")
        _loaded.append("all")
    return _RULES
