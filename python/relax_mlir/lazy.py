"""Names of packages, and functions of higher packages, that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

from relax_mlir.error import RelaxError

P = ParamSpec("P")
R = TypeVar("R")


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are imported from the modules in `homes`.

    Modules of other packages begin with ``relax_mlir.``. No name may be that of a module of the package: importing the
    module would replace it.
    """

    def attribute(name: str) -> Any:  # noqa: ANN401 - any name of the package
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        home = homes[name] if homes[name].startswith("relax_mlir.") else f"{package}.{homes[name]}"
        return getattr(importlib.import_module(home), name)

    return attribute


HOOKS: dict[str, str] = {
    "Executable.export_library": "relax_mlir.export.export_library:export_library",
    "bytecode.Executable.export_library": "relax_mlir.vm.kernel_library:export",
    "bytecode.Executable.load_library": "relax_mlir.vm.kernel_library:load",
    "bytecode.Executable.machine": "relax_mlir.vm.machine:VirtualMachine",
    "Tuple.of_values": "relax_mlir.dialects.nodes:Tuple",
    "Value.binary": "relax_mlir.dialects.structure:binary",
    "Value.constant": "relax_mlir.dialects.structure:constant",
    "Value.elements": "relax_mlir.dialects.indexing:elements",
    "Value.op": "relax_mlir.op.op_registry:function_named",
    "Value.shape_": "relax_mlir.dialects.nodes:shape_field",
    "build.bytecode": "relax_mlir.vm.build:build_bytecode",
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
            raise RelaxError(f"no hook is called '{name}': add it to relax_mlir.lazy.HOOKS")
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
            raise RelaxError(
                f"hook '{self.name}' cannot be loaded from {HOOKS[self.name]}: {error}"
            ) from error
        return found
