"""Names and meanings of an exported program's symbols: from users' `Dim`s, and from equalities in guards."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.error import RelaxError
from relax_mlir.frontend.torch.guards import Guard
from relax_mlir.frontend.torch.program_signature import ProgramSignature
from relax_mlir.frontend.torch.sizes import NoDimension, Sizes
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram, FakeTensor
from relax_mlir.symbolic import Dim

TRACED = 2
"""Torch traces with sizes of two or more, regardless of the bounds of a `Dim`."""
_UNNAMED = re.compile(r"s\d+")
"""Torch's names of sizes."""
_ARGUMENT = re.compile(r"L\['(?P<name>\w+)'\]")
"""Torch's name of a whole argument."""
_WORD = re.compile(r"[A-Za-z_]\w*")


def named_sizes(
    program: ExportedProgram,
    signature: ProgramSignature,
    names: Mapping[str, str],
) -> Sizes:
    """Return sizes whose symbols are named after `Dim`s. `names` overrides the names of torch's symbols."""
    chosen: dict[str, str] = {}
    for text, expression in _debug_names(program, signature):
        symbols = sorted(map(str, expression.free_symbols))
        words = list(dict.fromkeys(_WORD.findall(text)))
        if len(symbols) == len(words) == 1 and symbols[0] not in chosen and words[0] not in chosen.values():
            chosen[symbols[0]] = words[0]
    chosen.update(names)
    usable = {symbol: name for symbol, name in chosen.items() if symbolic.is_identifier(name)}
    return Sizes({symbol: symbolic.symbol(name) for symbol, name in usable.items()})


def _debug_names(program: ExportedProgram, signature: ProgramSignature) -> Iterator[tuple[str, Any]]:
    """Yield users' names of argument sizes (``batch``, ``4*height``), with torch's expressions of them."""
    for leaf in signature.leaves:
        value: FakeTensor = leaf.node.meta.get("val") if leaf.node is not None else None
        whole = _ARGUMENT.fullmatch(leaf.paths[0])
        if whole and type(value).__name__ == "SymInt":
            yield whole["name"], value.node.expr
        if not hasattr(value, "shape") or not hasattr(value, "fake_mode"):
            continue
        environment = value.fake_mode.shape_env
        known = getattr(environment, "source_name_to_debug_name", {}) if environment is not None else {}
        for axis, size in enumerate(value.shape):
            for path in leaf.paths:
                text = known.get(f"{path}.size()[{axis}]")
                if text is not None and not isinstance(size, int):
                    yield text, size.node.expr


def exact_symbols(signature: ProgramSignature, sizes: Sizes) -> set[str]:
    """Return the symbols of sizes for which torch did not assume two or more, so that its guards on them count."""
    found: set[str] = set()
    for leaf in signature.leaves:
        value: FakeTensor = leaf.node.meta.get("val") if leaf.node is not None else None
        environment = value.fake_mode.shape_env if hasattr(value, "fake_mode") else None
        for symbol in getattr(environment, "size_like", ()):
            found |= set(symbolic.symbols(sizes.expression(symbol)))
    return found


def eliminate(sizes: Sizes, guards: list[Guard], defined: set[str]) -> list[Guard]:
    """Eliminate symbols that an equality defines: replace ``total`` by ``past + length`` if both are equal.

    `defined` are the symbols that are a dimension of an argument. Return the remaining guards.
    """
    left: list[Guard] = []
    for guard in with_equalities(guards):
        guard = guard.substituted(sizes)
        found = _definition(guard, defined)
        if found is None:
            left.append(guard)
            continue
        name, meaning = found
        replacement = {name: meaning}
        defined.discard(name)
        for symbol, old in list(sizes.meanings.items()):
            sizes.meanings[symbol] = symbolic.substitute(old, replacement)
        sizes.meanings.setdefault(name, meaning)
    return [guard for guard in (item.substituted(sizes) for item in left) if not guard.holds]


def with_equalities(guards: Sequence[Guard]) -> list[Guard]:
    """Return `guards` with pairs ``a <= b`` and ``b <= a`` replaced by an equality."""
    differences = {guard.difference for guard in guards if guard.relation in ("<=", ">=")}
    found: list[Guard] = []
    for guard in guards:
        both = guard.relation in ("<=", ">=") and -guard.difference in differences
        found.append(Guard(guard.left, "==", guard.right) if both else guard)
    return found


def _definition(guard: Guard, defined: set[str]) -> tuple[str, Dim] | None:
    """Return the symbol that an equality defines, and its meaning in terms of symbols that arguments define."""
    if guard.relation != "==":
        return None
    difference = guard.left - guard.right
    if isinstance(difference, int):
        return None
    names = sorted(set(symbolic.symbols(difference)), key=lambda name: (not _UNNAMED.fullmatch(name), name))
    if not set(names) <= defined:
        return None
    for name in names:
        symbol = symbolic.symbol(name)
        for meaning in (symbol - difference, symbol + difference):
            if isinstance(meaning, int) or name not in symbolic.symbols(meaning):
                return name, meaning
    return None


def bounds_of(
    program: ExportedProgram, sizes: Sizes, defined: set[str]
) -> tuple[dict[str, tuple[int, int | None]], list[Guard]]:
    """Return bounds of the arguments' symbols, and guards for ranges of expressions.

    A size without a `Dim` may be 0 and 1: the lower bound `TRACED` that torch reports comes from its tracing.
    """
    unnamed = {name for name, meaning in sizes.meanings.items() if str(meaning) == name}
    unnamed |= {str(key) for key in program.range_constraints if str(key) not in sizes.meanings}
    bounds: dict[str, tuple[int, int | None]] = {}
    guards: list[Guard] = []
    for key, values in program.range_constraints.items():
        try:
            dim = sizes.expression(key)
        except (NoDimension, RelaxError):
            continue
        low = _number(values.lower)
        high = _number(values.upper)
        if low is None or low < 0 or (low <= TRACED and str(dim) in unnamed):
            low = 0
        if isinstance(dim, int):
            continue
        if str(dim) in defined:
            bounds[str(dim)] = (low, high)
        elif set(symbolic.symbols(dim)) <= defined:
            if low > 0:
                guards.append(Guard(dim, ">=", low))
            if high is not None:
                guards.append(Guard(dim, "<=", high))
    return bounds, guards


def _number(bound: Argument) -> int | None:
    text = str(bound)
    return None if "oo" in text else int(bound)
