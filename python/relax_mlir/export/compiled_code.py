"""Compiled code with its constants, possibly for another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from relax_mlir.export.weights import Array
from relax_mlir.runtime.engine import Interface
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.profile_sites import Site


@dataclass(frozen=True)
class CompiledCode:
    """The contents of a library: object files, the arrays that they read, and the functions that they define.

    `sites`: the recorded call sites, if it is profiled.
    """

    interface: Interface
    constants: Sequence[Array]
    objects: Sequence[bytes]
    sites: tuple[Site, ...] = ()

    @staticmethod
    def of(executable: Executable) -> CompiledCode:
        """The code of an executable of this process."""
        engine = executable.engine
        return CompiledCode(engine.interface, engine.constants, engine.objects, executable.profile_sites)

    @property
    def functions(self) -> Mapping[str, int]:
        """Names of the entry points, each with its number of parameters."""
        return self.interface.functions

    @property
    def memory_plans(self) -> Mapping[str, str]:
        """The memory plans of functions, as text."""
        return self.interface.memory_plans

    def export_library(self, path: str | Path, *, weights: str = "embed") -> Path:
        """Write the functions to a file for the target; see `relax_mlir.export.export_library`."""
        from relax_mlir.export.export_library import export_library  # which imports this module

        return export_library(self, path, weights=weights)
