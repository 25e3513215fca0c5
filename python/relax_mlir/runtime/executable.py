"""Executables: compiled modules whose functions take and return arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.error import (
    ArgumentError,
    UnknownNameError,
    expect,
)
from relax_mlir.lowering.base.signature import PROFILE_ADDRESS
from relax_mlir.lowering.runtime_lib.fast_call_state import HANDLE_BIT, SHORT_BIT
from relax_mlir.mlir import ir
from relax_mlir.runtime.engine import Engine, Interface
from relax_mlir.runtime.memory_plan import MemoryPlan
from relax_mlir.runtime.native_function import NativeFunction
from relax_mlir.transform.info import level

if TYPE_CHECKING:
    from relax_mlir.profiler import Profile
    from relax_mlir.runtime.build_options import CompileReport
    from relax_mlir.runtime.profile_sites import Site

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
            raise ArgumentError(
                f"{self.name}: call_into takes out and {self.inputs} arguments; got {len(args)}"
            )
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
        from relax_mlir.runtime.compile_module import compile_module

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
            raise ArgumentError(
                f"the executable has the functions {listed}: call one by its name, as in ex['main'](…)"
            )
        return self[names[0]](*args)

    def profile(self, capacity: int = 1 << 20) -> AbstractContextManager[Profile]:
        """Record calls of all threads while the context is entered: ``with ex.profile() as p: main(x)``.

        Args:
            capacity: the number of 64-bit words for records; calls beyond it are counted as dropped.

        Raises:
            ArgumentError: the executable was built without ``profile=True``, is being profiled already, or
                `capacity` is not positive.
        """
        from relax_mlir.profiler import recording

        engine = self._engine
        address = engine.pointer(PROFILE_ADDRESS) if self.profile_sites else None
        return recording(address, self.profile_sites, capacity, engine.keep)

    def export_library(self, path: str | Path, *, weights: str = "embed") -> Path:
        """Write the functions to a file that runs without this project; see `relax_mlir.export.export_library`."""
        from relax_mlir.export.export_library import export_library

        return export_library(self, path, weights=weights)

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
