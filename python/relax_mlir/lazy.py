"""Names of packages, functions of higher packages, and third-party libraries, imported when they are first used."""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from relax_mlir.error import RelaxError

P = ParamSpec("P")
R = TypeVar("R")


def modules_of(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The module of each name, from the names of each module."""
    return {name: module for module, of_module in names.items() for name in of_module}


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector while modules are imported: almost all of their objects stay.

    It would traverse them again and again, which takes a tenth of the time of starting a process. Afterwards they are
    in the oldest generation.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # else a user has frozen objects, which must stay frozen
                gc.freeze()
                gc.unfreeze()  # moves them to the oldest generation
            gc.enable()


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are imported from the modules in `homes`.

    No name may be that of a module of the package: importing the module would replace it.
    """

    def attribute(name: str) -> Any:  # noqa: ANN401 - any name of the package
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(homes[name]), name)

    return attribute


HOOKS: dict[str, str] = {
    "BlockBuilder.emit": "relax_mlir.te.emit_te:emit_computed",
    "BlockBuilder.emit_te": "relax_mlir.te.emit_te:emit",
    "Executable.export_library": "relax_mlir.export.export_library:export_library",
    "bytecode.Executable.export_library": "relax_mlir.vm.kernel_library:export",
    "bytecode.Executable.load_library": "relax_mlir.vm.kernel_library:load",
    "bytecode.Executable.machine": "relax_mlir.vm.machine:VirtualMachine",
    "IRModule.apply_": "relax_mlir.transform.pipeline:apply_in_place",
    "IRModule.function": "relax_mlir.expr.compound:function_view",
    "IRModule.script": "relax_mlir.script.printer:script",
    "Op.register_strategy": "relax_mlir.strategy.compile_engine:give",
    "Op.strategy": "relax_mlir.strategy.compile_engine:attribute_of",
    "Tuple.of_values": "relax_mlir.dialects.nodes:Tuple",
    "Value.binary": "relax_mlir.dialects.structure:binary",
    "Value.constant": "relax_mlir.dialects.structure:constant",
    "Value.elements": "relax_mlir.dialects.indexing:elements",
    "Value.op": "relax_mlir.op.op_registry:function_named",
    "Value.shape_": "relax_mlir.dialects.nodes:shape_field",
    "analysis.summarize": "relax_mlir.passes.estimate_memory:summarize",
    "analysis.estimate_memory": "relax_mlir.passes.estimate_memory:estimate_memory",
    "build.bytecode": "relax_mlir.vm.build:build_bytecode",
    "script.parse_prim": "relax_mlir.tir.parser:parse_prim",
    "script.print_prim": "relax_mlir.tir.printer:print_prim",
    "te.prove": "relax_mlir.lowering.legalize.check_prim_funcs:prove",
}
"""Functions of higher packages that lower ones call: the name of the hook → ``module:function``."""


class Hook(Generic[P, R]):
    """A function of a higher package that a lower one calls; its module is imported at the first call.

    Packages import only packages below them. Where a method of a class needs one above, `HOOKS` names the function:

    >>> _export: Hook[[Executable, Path], Path] = Hook("Executable.export_library")
    """

    __slots__ = ("_function", "name")

    def __init__(self, name: str) -> None:
        if name not in HOOKS:
            raise RelaxError(f"relax_mlir.lazy.HOOKS has no hook '{name}'")
        self.name = name
        self._function: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self._function is None:
            self._function = self._load()
        return self._function(*args, **kwargs)

    def _load(self) -> Callable[P, R]:
        module, _, function = HOOKS[self.name].partition(":")
        try:
            found: Callable[P, R] = getattr(importlib.import_module(module), function)
        except (ImportError, AttributeError) as error:
            raise RelaxError(f"hook '{self.name}' cannot be loaded from {HOOKS[self.name]}: {error}") from error
        return found


LIBRARIES: dict[str, str] = {"openblas": "relax_mlir.contrib.openblas"}
"""Third-party libraries → the modules that register their patterns and code generators."""

FUNCTIONS_PREFIX = "relax_mlir."
"""Prefix of the names of packed functions of libraries, followed by the library's name and a dot."""


def load_library(name: str) -> ModuleType | None:
    """The module that registers the patterns and the code generator of a library; None if this project has none.

    The library itself is loaded by the module's ``load()``.
    """
    return importlib.import_module(LIBRARIES[name]) if name in LIBRARIES else None


def library_of(function: str) -> str | None:
    """The library whose packed function is called `function`; None for any other."""
    library = function.removeprefix(FUNCTIONS_PREFIX).partition(".")[0]
    return library if function.startswith(FUNCTIONS_PREFIX) and library in LIBRARIES else None


def how_to_register(function: str) -> str:
    """Advice for a packed function that is not registered."""
    library = library_of(function)
    if library is None:
        return "tvm_ffi.register_global_func registers it"
    return f"{LIBRARIES[library]}.load() registers it (pip install relax-mlir[{library}])"
