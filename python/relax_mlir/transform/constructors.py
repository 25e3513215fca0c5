"""The classes of all registered passes by their own names: ``relax_mlir.transform.FuseOps()``.

`constructors.pyi` has them for type checkers; ``python -m relax_mlir.transform.generate_constructors`` writes it.
"""

from __future__ import annotations

from relax_mlir.transform import registry


def class_names() -> dict[str, str]:
    """Names of classes, each with the name of its pass."""
    return {registry.class_name(name): name for name in registry.names()}


def constructor(name: str) -> type:
    """The class of a pass; raises AttributeError, as for a module without it."""
    names = class_names()
    if name not in names:
        raise AttributeError(f"module 'relax_mlir.transform' has no attribute '{name}'")
    return registry.pass_class(names[name])
