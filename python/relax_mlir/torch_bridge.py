"""The TVM FFI without torch, until the process itself imports torch.

`tvm_ffi` imports torch when it is imported, to set up the exchange of tensors, which takes seconds. `install` puts a
finder in front of `sys.meta_path` that reports torch as absent to the thread that imports `tvm_ffi`, and only to that
thread. The set-up follows when torch has been imported. A process that has imported either before is not affected.
"""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from relax_mlir.fork_safety import RenewedLock

FFI, TORCH = "tvm_ffi", "torch"


class _Importing(threading.local):
    """`depth`: the number of imports of `tvm_ffi` that the thread is in."""

    depth = 0


class _Finder(MetaPathFinder):
    """Finds `tvm_ffi` and torch as the other finders do, and observes their imports."""

    def __init__(self) -> None:
        self._importing = _Importing()
        self._lock = RenewedLock()
        self._hidden = False
        """True if torch has been reported as absent, and the set-up has not been done."""
        self._complete: dict[str, ModuleType] = {}
        """The two modules, once they are completely imported."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in (FFI, TORCH):
            return None
        if name == TORCH and self._importing.depth:
            self._hidden = True
            raise ModuleNotFoundError("tvm_ffi is imported without torch (see relax_mlir.torch_bridge)", name=TORCH)
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self.import_ffi if name == FFI else self.import_torch)
                return spec
        return None

    def import_ffi(self, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        """Execute `tvm_ffi`, without torch unless the process has it."""
        self._importing.depth += 1
        try:
            run(module)
        finally:
            self._importing.depth -= 1
        self._connect(FFI, module)

    def import_torch(self, run: Callable[[ModuleType], None], module: ModuleType) -> None:
        """Execute torch, and connect it; nothing happens if its import fails."""
        run(module)
        self._connect(TORCH, module)

    def _connect(self, name: str, module: ModuleType) -> None:
        """Note that a module is complete; do the set-up if both are, and `tvm_ffi` lacks torch."""
        with self._lock.held():
            self._complete[name] = module
            is_due = self._hidden and len(self._complete) == 2
            self._hidden = self._hidden and not is_due
        if is_due:
            try:
                _set_up(self._complete[FFI], self._complete[TORCH])
            except Exception as error:  # whatever an incomplete or foreign torch raises: its import has succeeded
                warnings.warn(
                    f"tvm_ffi could not be connected to torch ({type(error).__name__}: {error}); import torch before "
                    "relax_mlir to see where",
                    stacklevel=2,
                )


class _Loader(Loader):
    """A loader that executes its module by a function, and leaves the original loader in its place."""

    def __init__(self, loader: Loader, execute: Callable[[Callable[[ModuleType], None], ModuleType], None]) -> None:
        self._loader, self._execute = loader, execute

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._execute(self._loader.exec_module, module)

    def __getattr__(self, name: str) -> object:  # for those who look at the loader of a module without importing it
        return getattr(self._loader, name)


def _set_up(ffi: Any, torch: ModuleType) -> None:  # noqa: ANN401 - a module whose attributes change
    """Do what `tvm_ffi` does with torch when it is imported after torch."""
    ffi.core.torch = ffi._convert.torch = torch
    ffi.core._convert_torch_dtype_to_ffi_dtype = lambda dtype: ffi.dtype(str(dtype).removeprefix("torch."))
    importlib.reload(ffi._optional_torch_c_dlpack)
    importlib.reload(ffi.stream)
    ffi.use_torch_stream = ffi.stream.use_torch_stream


def install() -> None:
    """Put the finder in front of `sys.meta_path`, unless the process has imported `tvm_ffi`; idempotent."""
    if FFI not in sys.modules and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
