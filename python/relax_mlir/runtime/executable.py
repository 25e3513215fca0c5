"""Executables: compiled modules whose functions take and return arrays."""

from __future__ import annotations

import ctypes
import json
import weakref
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.diagnostics import location_text
from relax_mlir.dialects.attributes import LATENCY_CRITICAL, PACKED, SIGNATURE, TAKES_HANDLES
from relax_mlir.dialects.symbols import read_bounds
from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.lazy import Hook
from relax_mlir.lowering.base.signature import (
    CONSTANTS_ADDRESS,
    ENTRY_PREFIX,
    INPUTS,
    MEMORY_ADDRESS,
    MEMORY_PLAN,
    PROFILE_ADDRESS,
    RELEASE,
    THREADS_ADDRESS,
    Place,
    plain,
    signature_from,
)
from relax_mlir.lowering.runtime_lib.fast_call_state import HANDLE_BIT, SHORT_BIT
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import symbol_name
from relax_mlir.runtime import memory, threads
from relax_mlir.runtime.machine_code import MachineCode
from relax_mlir.runtime.memory import MemoryPlan
from relax_mlir.runtime.native_function import NativeFunction
from relax_mlir.symbolic import Bounds
from relax_mlir.transform.registry import level

if TYPE_CHECKING:
    from relax_mlir.lowering.entry.instrument_calls import Site
    from relax_mlir.runtime.build_setup import CompileReport
    from relax_mlir.runtime.profile import Profile


# Native code in this process, with its constants and the memory that calls cache.


_export_library: Hook[..., Path] = Hook("Executable.export_library")

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
        every = {op.name.value: read_bounds(op) for op in module.body.operations if isinstance(op, func.FuncOp)}
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
    return {name: {symbol: list(pair) for symbol, pair in each.items()} for name, each in bounds.items() if each}


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


DEFAULT_OPT_LEVEL = 2
"""The default of LLVM's optimisation level."""


class CompiledFunction(NativeFunction):
    """A function of an executable.

    Arguments are NumPy arrays, FFI tensors, torch tensors or other DLPack tensors. Results are torch tensors if an
    argument was one, else NumPy arrays if an argument was one (a tuple for several results), else FFI tensors, which
    `np.from_dlpack` and `torch.from_dlpack` share without a copy. Torch tensors that require a gradient are rejected
    while torch records gradients, since none flows through a call.

    With as many additional arrays as the function has results, it writes its results into these and returns None. They
    must be contiguous and must not overlap each other. This is supported if all results are tensors whose sizes are
    symbolic expressions of the arguments' sizes. Parameters of type `Object` take any FFI value. Inputs that are
    strided, misaligned or overlapped by a result are copied for the call.

    `ffi` is the bare `tvm_ffi.Function`. It differs in two ways: it rejects what the FFI cannot convert (read-only and
    bfloat16 NumPy arrays, also inside tuples), and it trusts torch tensors, ignoring their negative bit and resized
    storage. It is slower: calls with only plain NumPy arrays, FFI tensors, torch tensors, numbers and FFI shapes go
    directly to the native code.
    """

    __slots__ = ()

    def call_into(self, out: object, *args: object) -> None:
        """Call with `args` and write the result into `out`, or several results into a tuple or list of arrays.

        Raises ArgumentError: the number of arguments or of arrays is wrong, the function returns results itself, or
        arrays overlap each other; ShapeError, DTypeError: an array does not fit.
        """
        if len(args) != self.inputs:
            raise ArgumentError(f"{self.name}: call_into takes out and {self.inputs} arguments; got {len(args)}")
        outs = out if isinstance(out, tuple | list) else (out,)
        if not outs:
            raise ArgumentError(f"{self.name}: call_into takes an array per result; got none")
        self(*args, *outs)

    def __repr__(self) -> str:
        return f"<compiled function {self.name}>"


class Executable(Mapping[str, CompiledFunction]):
    """A compiled module: a mapping from the names of its public functions to these functions.

    Functions and results stay valid without the executable. `compile_report` has the time of each compilation phase, if
    `build` compiled the module.
    """

    compile_report: CompileReport | None = None
    profile_sites: tuple[Site, ...] = ()

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._functions: dict[str, CompiledFunction] = {}

    @classmethod
    def from_llvm_module(
        cls,
        module: ir.Module,
        constants: Sequence[np.ndarray[Any, Any]] = (),
        opt_level: int = DEFAULT_OPT_LEVEL,
    ) -> Executable:
        """Compile a module of level L for this machine; `constants[K]` is the array of `@relax.constant.K`."""
        expect("from_llvm_module: 'module'", module, ir.Module, "a module of level L")
        # Executables from the cache do without the lowering.
        from relax_mlir.runtime.compile_units import compile_module

        code, objects = compile_module(module, level("from_llvm_module: 'opt_level'", opt_level))
        return cls(Engine(code, Interface.of(module), constants, objects))

    @property
    def functions(self) -> Mapping[str, int]:
        """The names of the public functions, each with its number of parameters."""
        return self._engine.functions

    def __call__(self, *args: Any) -> Any:  # noqa: ANN401 - as its function
        """Call the only function.

        Raises:
            ArgumentError: there are several functions; choose one by its name.
        """
        names = list(self)
        if len(names) != 1:
            listed = ", ".join(names) or "none"
            raise ArgumentError(f"the executable has the functions {listed}: call one by its name, as in ex['main'](…)")
        return self[names[0]](*args)

    def profile(self, capacity: int = 1 << 20) -> AbstractContextManager[Profile]:
        """Record calls of all threads while the context is entered: ``with ex.profile() as p: main(x)``.

        Args:
            capacity: the number of 64-bit words for records; calls beyond it are counted as dropped.

        Raises:
            ArgumentError: the executable was built without ``profile=True``, is being profiled already, or
                `capacity` is not positive.
        """
        from relax_mlir.runtime.profile import recording

        engine = self._engine
        address = engine.pointer(PROFILE_ADDRESS) if self.profile_sites else None
        return recording(address, self.profile_sites, capacity, engine.keep)

    def export_library(self, path: str | Path, *, weights: str = "embed") -> Path:
        """Write the functions to a file that runs without this project; see `relax_mlir.export.export_library`."""
        return _export_library(self, path, weights=weights)

    @property
    def engine(self) -> Engine:
        """The native code, with its constants."""
        return self._engine

    def memory_plan(self, name: str) -> MemoryPlan:
        """Return the temporaries of a function and their offsets in its workspace, as expressions of its symbols.

        Private Relax functions have plans, too. Allocations of prim funcs and kernels are not included. Raises
        UnknownNameError: no such function.
        """
        expect("memory_plan: 'name'", name, str, "the name of a function")
        plans = self._engine.memory_plans
        if name in plans:
            return MemoryPlan.from_json(plans[name])
        if name not in self.functions:
            raise UnknownNameError("function", name, {*self.functions, *plans})
        return MemoryPlan(name, 0, (), ())

    def __getitem__(self, name: str) -> CompiledFunction:
        expect("Executable: 'name'", name, str, "the name of a function")
        if name not in self._functions:
            if name not in self.functions:
                raise UnknownNameError("function", name, self.functions)
            ffi, entry = self._engine.function(name), self._engine.entry(name)
            entry |= SHORT_BIT if name in self._engine.latency_critical else 0
            entry |= HANDLE_BIT if name in self._engine.takes_handles else 0
            written = self._engine.interface.written_by(name)
            self._functions[name] = CompiledFunction(name, ffi, self.functions[name], entry, written)
        return self._functions[name]

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __len__(self) -> int:
        return len(self.functions)

    def __repr__(self) -> str:
        return f"<executable with {', '.join(self.functions)}>"
