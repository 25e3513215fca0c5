"""What a library says of itself, as JSON in a section of its own that is not loaded."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import tvm_ffi

from relax_mlir._version import version
from relax_mlir.runtime.engine import Engine
from relax_mlir.runtime.memory_plan import MemoryPlan

SECTION = ".relax_mlir"
FORMAT = 1


def metadata(engine: Engine, weights: int) -> dict[str, Any]:
    """Of code and constants; `weights` is their size in bytes.

    Keys: ``format``, ``relax_mlir`` and ``tvm_ffi`` (versions), ``target``, ``source`` (the SHA-256 of the module),
    ``weights`` (``bytes``, ``sha256``), ``packed`` (functions that must be registered, each with the place of a call)
    and ``functions``: parameters and results, each with ``name``, ``kind`` and ``type``, the ``bounds`` of symbols
    (lowest and highest value, which may be null), and the ``workspace`` of a call in bytes, a formula of the symbols.
    """
    interface = engine.interface
    digest = hashlib.sha256()
    for array in engine.constants:
        digest.update(array.reshape(-1).view("u1").data if array.size else b"")
    functions = {name: function_facts(engine, name) for name in interface.functions}
    return {
        "format": FORMAT,
        "relax_mlir": version(),
        "tvm_ffi": tvm_ffi.__version__,
        "target": interface.target,
        "source": interface.source,
        "weights": {"bytes": weights, "sha256": digest.hexdigest()},
        "packed": dict(interface.packed),
        "functions": functions,
    }


def to_bytes(facts: dict[str, Any]) -> bytes:
    """The contents of the section."""
    return json.dumps(facts, indent=1, sort_keys=True).encode()


def function_facts(engine: Engine, name: str) -> dict[str, Any]:
    """What the metadata says of one function; see `metadata`."""
    facts = engine.interface.signatures.get(name, {})
    plan = engine.memory_plans.get(name)
    workspace = "0" if plan is None else str(MemoryPlan.from_json(plan).formula)
    return {
        "params": [_value(value) for value in facts.get("params", ())],
        "results": [_value(value) for value in facts.get("results", ())],
        "bounds": {symbol: list(pair) for symbol, pair in engine.interface.bounds.get(name, {}).items()},
        "workspace": workspace,
    }


def _value(facts: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {key: facts[key] for key in ("name", "type") if key in facts}
    kept["kind"] = facts.get("kind", "tensor")
    if "fields" in facts:
        kept["fields"] = [_value(field) for field in facts["fields"]]
    return kept
