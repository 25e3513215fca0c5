"""The metadata of a library, as JSON in a separate section that is not loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import tvm_ffi

from relax_mlir._version import version
from relax_mlir.export.compiled_code import CompiledCode
from relax_mlir.export.weights import WeightsLayout
from relax_mlir.runtime.memory_plan import MemoryPlan

SECTION = ".mlir_relax"
FORMAT = 1


def metadata(
    levels: Sequence[CompiledCode], weights: WeightsLayout, file: str | None, bytecode: str | None
) -> dict[str, Any]:
    """The metadata of code, for one target or several, and of its constants.

    `file`: the name of the file of constants, if there is one; `bytecode`: the location of the bytecode
    that calls the functions.

    Keys: ``format``, ``relax_mlir`` and ``tvm_ffi`` (versions), ``targets``, ``source`` (the SHA-256 of the module),
    ``weights`` (``bytes``, ``sha256``, and ``file``, which may be null), ``packed`` (functions that must be registered,
    each with the location of a call) and ``functions``: parameters and results, each with ``name``, ``kind`` and
    ``type``, the indices of the parameters that are ``written`` (by a prim func, or for results in their memory), the
    ``bounds`` of symbols (lowest and highest value, which may be null), and the ``workspace`` of a call in bytes: for
    each target, a formula of the symbols.
    """
    interface = levels[0].interface
    functions = {name: function_facts(levels, name) for name in interface.functions}
    return {
        "format": FORMAT,
        "relax_mlir": version(),
        "tvm_ffi": tvm_ffi.__version__,
        "targets": [level.interface.target for level in levels],
        "source": interface.source,
        "weights": {"bytes": weights.size, "sha256": weights.digest, "file": file},
        "bytecode": bytecode,
        "packed": dict(interface.packed),
        "functions": functions,
        "profile": [asdict(site) for site in levels[0].sites],
    }


def to_bytes(facts: dict[str, Any]) -> bytes:
    """The contents of the section."""
    return json.dumps(facts, indent=1, sort_keys=True).encode()


def function_facts(levels: Sequence[CompiledCode], name: str) -> dict[str, Any]:
    """The metadata of one function; see `metadata`."""
    interface = levels[0].interface
    facts = interface.signatures.get(name, {})
    return {
        "params": [_value(value) for value in facts.get("params", ())],
        "results": [_value(value) for value in facts.get("results", ())],
        "written": sorted({place.path[0] for place in interface.written_by(name)}),
        "bounds": {symbol: list(pair) for symbol, pair in interface.bounds.get(name, {}).items()},
        "workspace": [_workspace(level, name) for level in levels],
    }


def _workspace(level: CompiledCode, name: str) -> str:
    plan = level.memory_plans.get(name)
    return "0" if plan is None else str(MemoryPlan.from_json(plan).formula)


def _value(facts: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: facts[key] for key in ("name", "type") if key in facts}
    kept["kind"] = facts.get("kind", "tensor")
    if "fields" in facts:
        kept["fields"] = [_value(field) for field in facts["fields"]]
    return kept
