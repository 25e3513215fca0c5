"""Native code in this process, with its constants and what its calls have cached."""

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
from relax_mlir.lowering.abi.emit_ffi_wrappers import INPUTS
from relax_mlir.lowering.abi.emit_lifecycle import CONSTANTS_ADDRESS, MEMORY_ADDRESS, RELEASE, THREADS_ADDRESS
from relax_mlir.lowering.abi.signature import ENTRY_PREFIX, Place, plain, signature_from
from relax_mlir.lowering.memory.report import MEMORY_PLAN
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.machine_code import MachineCode
from relax_mlir.symbolic import Bounds

_Getter = ctypes.CFUNCTYPE(ctypes.c_void_p)
_Procedure = ctypes.CFUNCTYPE(None)


def entry_points(module: ir.Module) -> Iterator[tuple[str, int]]:
    """Names of the functions that have an FFI entry point, here or in a part, each with its number of parameters."""
    for op in module.body.operations:
        name = symbol_name(op)
        if name.startswith(ENTRY_PREFIX) and INPUTS in op.attributes:
            yield name[len(ENTRY_PREFIX) :], ir.IntegerAttr(op.attributes[INPUTS]).value


def memory_plans(module: ir.Module) -> Iterator[tuple[str, str]]:
    """Names of the functions that have a memory plan, each with the plan's text."""
    for op in module.body.operations:
        if MEMORY_PLAN in op.attributes:
            text = ir.StringAttr(op.attributes[MEMORY_PLAN]).value
            yield json.loads(text)["function"], text


def entry_points_with(attribute: str, module: ir.Module) -> Iterator[str]:
    """Names of the functions whose entry point has a mark."""
    for op in module.body.operations:
        name = symbol_name(op)
        if name.startswith(ENTRY_PREFIX) and attribute in op.attributes:
            yield name[len(ENTRY_PREFIX) :]


@dataclass(frozen=True)
class Interface:
    """What the code of a module offers: entry points, each with its number of parameters, texts of memory plans, and
    which entry points have the marks `LATENCY_CRITICAL` and `TAKES_HANDLES`.

    Of code that `build` has made, also: `signatures`: of each entry point, the contents of `relax.signature`;
    `packed`: the functions of the FFI that the code calls by name, each with the place of a call; `bounds`: those of
    the symbols of functions that have some; `target`: for which machine it is; `source`: the hash of the module.
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
        """The parameters that a function writes, as far as signatures are known."""
        facts = self.signatures.get(function, {})
        return signature_from(facts).written_places if "written" in facts else ()

    @staticmethod
    def of(module: ir.Module) -> Interface:
        """The interface of a module of level F or L."""
        return Interface({}, {}).with_entries_of(module)

    @staticmethod
    def of_source(module: ir.Module, target: str, source: str) -> Interface:
        """What is known before a module is lowered: the bounds of its symbols, the target, and its own hash."""
        every = {
            op.name.value: read_bounds(op) for op in module.body.operations if isinstance(op, func.FuncOp)
        }
        return Interface({}, {}, bounds=_as_lists(every), target=target, source=source)

    def as_json(self) -> dict[str, Any]:
        """The same as values of JSON, which `from_json` reads."""
        return {
            each.name: sorted(value) if isinstance(value := getattr(self, each.name), frozenset) else value
            for each in fields(self)
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Interface:
        """The inverse of `as_json`; raises TypeError or KeyError on anything else."""
        marks = {name: frozenset(found[name]) for name in ("latency_critical", "takes_handles")}
        return Interface(**{**found, **marks})

    def with_facts_of(self, module: ir.Module) -> Interface:
        """The same with what a module of level V says of signatures and of functions that it calls by name."""
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
        """The same with the entry points of a module of level F or L, and their marks."""
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
    """Compiled code, its constants, and what its calls have cached; all freed with the last user of it."""

    def __init__(
        self,
        code: MachineCode,
        interface: Interface,
        constants: Sequence[np.ndarray[Any, Any]],
        objects: Sequence[bytes] = (),
    ) -> None:
        """Take `code` into use. `interface`: what it offers; `constants`: the arrays behind `@relax.constant.K`, in
        order; `objects`: the object files of the code, if there are any.
        """
        self._kept: deque[np.ndarray[Any, Any]] = deque(maxlen=4)
        # Native code reads row-major memory; NumPy keeps what is so already.
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
        """Let memory that native code writes to live on for a while after the last use that is known of."""
        self._kept.append(memory)

    def pointer(self, name: str) -> int | None:
        """What a function without parameters gives that returns a pointer."""
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
        """The FFI function `name`, which keeps this engine alive."""
        return tvm_ffi.Function.__from_extern_c__(self.entry(name), keep_alive_object=self)

    def entry(self, name: str) -> int:
        """The address of the FFI entry point of a function."""
        return self.code.address(ENTRY_PREFIX + name)


def _release(code: MachineCode, release: Any) -> None:  # noqa: ANN401 - a ctypes function
    release()
