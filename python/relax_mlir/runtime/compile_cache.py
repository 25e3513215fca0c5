"""The persistent cache of `build`: previously compiled modules are loaded (see ``docs/caching.md``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relax_mlir.error import CompileError
from relax_mlir.lowering.base.constant_table import TableEntry
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_entry import CacheEntry
from relax_mlir.runtime.cache_key import cache_key
from relax_mlir.runtime.elf_object import SUPPORTED, ObjectFileError
from relax_mlir.runtime.engine import Engine, Interface
from relax_mlir.runtime.executable import Executable
from relax_mlir.runtime.machine_code import ObjectCode
from relax_mlir.strategy.registry import any_registered
from relax_mlir.target import Target
from relax_mlir.transform import PassContext


@dataclass(frozen=True)
class CacheSlot:
    """The cache entry of one compilation, and the constants of its module."""

    key: str
    constants: Sequence[ir.Attribute]

    @staticmethod
    def of(source: str, target: Target, constants: list[ir.Attribute], variant: str = "") -> CacheSlot | None:
        """Return the slot of a module in the current `PassContext`, given its `source_hash` and constants.

        `variant`: distinguishes different compilations of a module.

        Return None if nothing is cached: the cache is disabled, objects for this machine cannot be loaded, instruments
        are attached, or users' strategies are registered.
        """
        if (
            not SUPPORTED
            or not cache_store.enabled()
            or PassContext.current().instruments
            or any_registered()
        ):
            return None
        return CacheSlot(cache_key(source, target, variant), constants)

    def load(self) -> Executable | None:
        """Load the executable from the cache; return None if it is missing or, with a warning, unusable."""
        data = cache_store.load(self.key)
        if data is None:
            return None
        try:
            entry = CacheEntry.from_bytes(data)
            table = entry.constant_table(self.constants)
            return Executable(Engine(ObjectCode(entry.objects), entry.interface, table, entry.objects))
        except (ValueError, KeyError, TypeError, IndexError, ObjectFileError, CompileError) as error:
            cache_store.drop(self.key, f"it cannot be loaded ({error})")
            return None

    def save(self, objects: Sequence[bytes], interface: Interface, table: Sequence[TableEntry]) -> bool:
        """Store a compilation. Return False if it has no objects or cannot be stored."""
        if not objects:
            return False
        return cache_store.store(
            self.key, CacheEntry.of(objects, interface, table, self.constants).to_bytes()
        )
