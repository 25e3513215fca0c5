"""Names of packages that are imported when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are imported from the modules in `homes`.

    No name may be that of a module of the package: importing the module would replace it.
    """

    def attribute(name: str) -> Any:  # noqa: ANN401 - any name of the package
        if name not in homes:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        return getattr(importlib.import_module(f"{package}.{homes[name]}"), name)

    return attribute
