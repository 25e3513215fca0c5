"""``relax-opt`` with one module replaced by a mutant, in a child of a process that has imported the compiler.

`RELAX_MLIR_MUTANT` names a JSON file with `module`, `source`, `stale` (the modules that import it, which are imported
again) and `seconds` (of CPU; a mutant may loop forever).
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import json
import os
import resource
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType

MEMORY = 6 << 30
"""Bytes of address space: a mutant may fill a list forever."""


class MutantFinder(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds one module, whose source it is given."""

    def __init__(self, module: str, source: str) -> None:
        self.module, self.source = module, source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module, if it is the one."""
        return importlib.machinery.ModuleSpec(fullname, self) if fullname == self.module else None

    def get_source(self, fullname: str) -> str:
        """The given text."""
        return self.source

    def get_code(self, fullname: str) -> CodeType:
        """The compiled text."""
        return compile(self.source, f"<mutant of {fullname}>", "exec", dont_inherit=True)


def forget(name: str) -> None:
    """Have a module imported again by the next import."""
    if sys.modules.pop(name, None) is not None:
        package, _, attribute = name.rpartition(".")
        vars(sys.modules.get(package, ModuleType(""))).pop(attribute, None)


def install(request: dict[str, object]) -> None:
    """Replace the module of `request`."""
    seconds = int(str(request["seconds"]))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    stale = request["stale"]
    assert isinstance(stale, list)
    for name in stale:
        forget(name)
    sys.meta_path.insert(0, MutantFinder(str(request["module"]), str(request["source"])))


def main() -> None:
    """Run ``relax-opt`` with the arguments of this process."""
    install(json.loads(Path(os.environ["RELAX_MLIR_MUTANT"]).read_text(encoding="utf-8")))
    sys.argv[0] = "relax-opt"
    runpy.run_module("relax_mlir.tools.opt", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
