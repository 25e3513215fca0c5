"""Code generators by name, for the pass ``run-codegen``, which lowers calls of a library with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, Union

from relax_mlir.error import ArgumentError, UnknownNameError, expect
from relax_mlir.lazy import LIBRARIES, load_library

if TYPE_CHECKING:
    from relax_mlir.dialects.closures import ExternFunc
    from relax_mlir.dialects.value import Value
    from relax_mlir.transform.codegen_region import CodegenRegion

Codegen = Callable[["CodegenRegion"], Union["Value", "ExternFunc", str]]
"""A code generator: a function of a region of calls of composite functions.

It emits the replacement of the region with builders, or returns the name of a packed function that is called with the
parameters of the region, followed by the results to fill."""

CodegenT = TypeVar("CodegenT", bound=Codegen)

_codegens: dict[str, Codegen] = {}


def register_codegen(
    name: str, codegen: Codegen | None = None, *, override: bool = False
) -> Callable[[CodegenT], CodegenT]:
    """Register a code generator by name; also a decorator.

    Args:
        name: the part before the dot in the names of its patterns.
        codegen: a function of one `CodegenRegion`; None: the decorated one.
        override: replace a registered code generator.

    Raises:
        ArgumentError: the name is taken or invalid.
    """
    expect("register_codegen: 'name'", name, str, "a name")
    if not name or "." in name:
        raise ArgumentError(f"register_codegen: {name!r} is no name of a library: it is empty or has a dot")

    def register(given: CodegenT) -> CodegenT:
        if not callable(given):
            raise ArgumentError(f"register_codegen: '{name}' is {given!r}, expected a function of a CodegenRegion")
        if name in _codegens and not override:
            raise ArgumentError(f"register_codegen: '{name}' is registered already; override=True replaces it")
        _codegens[name] = given
        return given

    if codegen is not None:
        register(codegen)
    return register


def unregister_codegen(name: str) -> None:
    """Remove a code generator from the registry."""
    expect("unregister_codegen: 'name'", name, str, "a name")
    _codegens.pop(name, None)


def codegen_names() -> list[str]:
    """All names: those registered, and those of libraries that register their code generator on first use."""
    return sorted({*_codegens, *LIBRARIES})


def codegen_called(name: str) -> Codegen:
    """The code generator called `name`.

    Raises:
        UnknownNameError: no code generator has this name.
    """
    load_library(name)
    if name not in _codegens:
        raise UnknownNameError("code generator", name, codegen_names(), "register_codegen makes one known")
    return _codegens[name]
