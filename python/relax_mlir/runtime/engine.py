"""Native code in this process, with its constants and the memory that calls cache."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import LATENCY_CRITICAL, PACKED, SIGNATURE, TAKES_HANDLES
from relax_mlir.dialects.bounds import read_bounds
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    INPUTS,
    MEMORY_ADDRESS,
    MEMORY_PLAN,
    RELEASE,
    THREADS_ADDRESS,
    Place,
    plain,
    signature_from,
)
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.machine_code import MachineCode
from relax_mlir.symbolic import Bounds

_Getter = ctypes.CFUNCTYPE(ctypes.c_void_p)
_Procedure = ctypes.CFUNCTYPE(None)


def entry_points(module: ir.Module) -> Iterator[tuple[str, int]]:
    """Yield the functions that have an FFI entry point, here or in a compilation unit, with their parameter counts."""
    for op in module.body.operations:
        name = symbol_name(op)
        if name.startswith(ENTRY_PREFIX) and INPUTS in op.attributes:
            yield name[len(ENTRY_PREFIX) :], ir.IntegerAttr(op.attributes[INPUTS]).value


def memory_plans(module: ir.Module) -> Iterator[tuple[str, str]]:
    """Yield the functions that have a memory plan, with the plan as text."""
    for op in module.body.operations:
        if MEMORY_PLAN in op.attributes:
            text = ir.StringAttr(op.attributes[MEMORY_PLAN]).value
            yield json.loads(text)["function"], text


def entry_points_with(attribute: str, module: ir.Module) -> Iterator[str]:
    """Yield the functions whose entry point has an attribute."""
    for op in module.body.operations:
        name = symbol_name(op)
        if name.startswith(ENTRY_PREFIX) and attribute in op.attributes:
            yield name[len(ENTRY_PREFIX) :]


@dataclass(frozen=True)
class Interface:
    """The interface of a module's code.

    It has the parameter count of each entry point, the texts of memory plans, and the entry points that are marked
    `LATENCY_CRITICAL` and `TAKES_HANDLES`.

    For code compiled by `build` it also has `signatures`: the `relax.signature` of each entry point; `packed`: the FFI
    functions that the code calls by name, each with the location of a call; `bounds`: the bounds of the functions'
    symbols; `target`: the target machine; `source`: the hash of the module.
    """

    functions: Mapping[str, int]
    memory_plans: Mapping[str, str]
    latency_critical: frozenset[str] = frozenset()
    takes_handles: frozenset[str] = frozenset()
    signatures: Mapping[str, Any] = field(default_factory=dict)
    packed: Mapping[str, str] = field(default_factory=dict)
    bounds: Mapping[str, Mapping[str, Sequence[int | None]]] = field(default_factory=dict)
    target: str = ""
    source: str = ""

    def written_by(self, function: str) -> tuple[Place, ...]:
        """Return the parameters that a function writes, if its signature is known."""
        facts = self.signatures.get(function, {})
        return signature_from(facts).written_places if "written" in facts else ()

    @staticmethod
    def of(module: ir.Module) -> Interface:
        """The interface of a module of level F or L."""
        return Interface({}, {}).with_entries_of(module)

    @staticmethod
    def of_source(module: ir.Module, target: str, source: str) -> Interface:
        """The facts known before lowering: symbol bounds, the target, and the module's hash."""
        every = {
            op.name.value: read_bounds(op) for op in module.body.operations if isinstance(op, func.FuncOp)
        }
        return Interface({}, {}, bounds=_as_lists(every), target=target, source=source)

    def as_json(self) -> dict[str, Any]:
        """Return the interface as JSON values for `from_json`."""
        return {
            each.name: sorted(value) if isinstance(value := getattr(self, each.name), frozenset) else value
            for each in fields(self)
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Interface:
        """Convert the output of `as_json`. Raises TypeError or KeyError for other data."""
        marks = {name: frozenset(found[name]) for name in ("latency_critical", "takes_handles")}
        return Interface(**{**found, **marks})

    def with_facts_of(self, module: ir.Module) -> Interface:
        """Return a copy with the signatures and packed function names of a module of level V."""
        signatures: dict[str, Any] = {}
        packed: dict[str, str] = {}
        for op in module.body.operations:
            if SIGNATURE in op.attributes:
                facts = plain(op.attributes[SIGNATURE])
                signatures[facts["name"]] = facts
            if PACKED in op.attributes:
                packed.setdefault(plain(op.attributes[PACKED])["name"], location_text(op.location))
        return replace(self, signatures=signatures, packed=packed)

    def with_entries_of(self, module: ir.Module) -> Interface:
        """Return a copy with the entry points of a module of level F or L, and their marks."""
        return replace(
            self,
            functions=dict(entry_points(module)),
            memory_plans=dict(memory_plans(module)),
            latency_critical=frozenset(entry_points_with(LATENCY_CRITICAL, module)),
            takes_handles=frozenset(entry_points_with(TAKES_HANDLES, module)),
        )


def _as_lists(bounds: Mapping[str, Bounds]) -> dict[str, dict[str, list[int | None]]]:
    return {
        name: {symbol: list(pair) for symbol, pair in each.items()} for name, each in bounds.items() if each
    }


class Engine:
    """Compiled code, its constants and the memory that its calls cache; freed with the last reference."""

    def __init__(
        self,
        code: MachineCode,
        interface: Interface,
        constants: Sequence[np.ndarray[Any, Any]],
        objects: Sequence[bytes] = (),
    ) -> None:
        """Load `code` with its `interface` and constants.

        `constants`: the arrays of `@relax.constant.K`, in order; `objects`: the object files of the code, if any.
        """
        self._kept: deque[np.ndarray[Any, Any]] = deque(maxlen=4)
        # Native code reads row-major memory; NumPy does not copy contiguous arrays.
        self.constants = [np.ascontiguousarray(array) for array in constants]
        self.interface, self.objects = interface, tuple(objects)
        self.functions, self.memory_plans = interface.functions, interface.memory_plans
        self.latency_critical, self.takes_handles = interface.latency_critical, interface.takes_handles
        self.code = code
        self._bind_constants()
        if table := self.pointer(MEMORY_ADDRESS):
            memory.bind(table)
        if table := self.pointer(THREADS_ADDRESS):
            threads.bind(table)
        release = _Procedure(self.code.address(RELEASE))
        weakref.finalize(self, _release, code, release).atexit = False

    def keep(self, memory: np.ndarray[Any, Any]) -> None:
        """Keep memory that native code writes alive for a while after its last known use."""
        self._kept.append(memory)

    def pointer(self, name: str) -> int | None:
        """Call a function without parameters that returns a pointer; return the pointer."""
        found: int | None = _Getter(self.code.address(name))()
        return found

    def _bind_constants(self) -> None:
        address = self.pointer(CONSTANTS_ADDRESS)
        if address is None:
            return
        table = (ctypes.c_void_p * len(self.constants)).from_address(address)
        for i, array in enumerate(self.constants):
            table[i] = array.ctypes.data

    def function(self, name: str) -> tvm_ffi.Function:
        """Return the FFI function `name`, which keeps this engine alive."""
        return tvm_ffi.Function.__from_extern_c__(self.entry(name), keep_alive_object=self)

    def entry(self, name: str) -> int:
        """Return the address of a function's FFI entry point."""
        return self.code.address(ENTRY_PREFIX + name)


def _release(code: MachineCode, release: Any) -> None:  # noqa: ANN401 - a ctypes function
    release()
