"""The classes of all registered passes by name: ``relax_mlir.transform.FuseOps()``.

`constructors.pyi` declares them for type checkers; ``python -m relax_mlir.transform.generate_constructors`` writes it.
"""

from __future__ import annotations

from relax_mlir.transform import registry


def class_names() -> dict[str, str]:
    """The names of pass classes, mapped to the names of the passes."""
    return {registry.class_name(name): name for name in registry.names()}


def constructor(name: str) -> type:
    """The class of a pass; raises AttributeError, like a module without that attribute."""
    names = class_names()
    if name not in names:
        raise AttributeError(f"module 'relax_mlir.transform' has no attribute '{name}'")
    return registry.pass_class(names[name])
