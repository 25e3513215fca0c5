"""The persistent cache of `build`: previously compiled modules are loaded (see ``docs/caching.md``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import ml_dtypes
import numpy as np

from relax_mlir.dialects.constants import to_numpy
from relax_mlir.error import CompileError
from relax_mlir.lowering.base.constant_table import Layout, TableEntry, in_layout
from relax_mlir.lowering.strategy.op_strategy import any_registered
from relax_mlir.mlir import ir
from relax_mlir.runtime import cache_store
from relax_mlir.runtime.cache_key import cache_key
from relax_mlir.runtime.elf import SUPPORTED, ObjectFileError
from relax_mlir.runtime.executable import Engine, Executable, Interface
from relax_mlir.runtime.machine_code import ObjectCode
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

# A compiled module as bytes: its object files, its interface, and a recipe for its constant table.
#
# Constants of the module are not stored, only their indices. Arrays that passes have computed from them are stored.


@dataclass(frozen=True)
class CacheEntry:
    """A compiled module in the cache.

    `interface`: the entry points of the code; `table`: one record per entry of the constant table; `arrays`: the
    constants that are not in the module.
    """

    objects: Sequence[bytes]
    interface: Interface
    table: Sequence[Mapping[str, Any]]
    arrays: Sequence[np.ndarray[Any, Any]]

    @staticmethod
    def of(
        objects: Sequence[bytes],
        interface: Interface,
        table: Sequence[TableEntry],
        constants: Sequence[ir.Attribute],
    ) -> CacheEntry:
        """The entry of a module with these `constants`."""
        places = {value: place for place, value in enumerate(constants)}
        records: list[dict[str, Any]] = []
        arrays: list[np.ndarray[Any, Any]] = []
        for item in table:
            record: dict[str, Any] = {"layout": asdict(item.layout)}
            if item.value in places:
                record["constant"] = places[item.value]
            else:
                array = np.ascontiguousarray(to_numpy(item.value))
                record |= {"array": len(arrays), "dtype": array.dtype.name, "shape": list(array.shape)}
                arrays.append(array)
            records.append(record)
        return CacheEntry(objects, interface, records, arrays)

    def constant_table(self, constants: Sequence[ir.Attribute]) -> list[np.ndarray[Any, Any]]:
        """Return the arrays that the code reads, for a module with these `constants`."""
        found = []
        for record in self.table:
            base = to_numpy(constants[record["constant"]]) if "constant" in record else self.arrays[record["array"]]
            found.append((base, Layout(**record["layout"])))
        return in_layout(found)

    def to_bytes(self) -> bytes:
        head = {
            "interface": self.interface.as_json(),
            "table": [dict(record) for record in self.table],
            "objects": len(self.objects),
            "sizes": [*map(len, self.objects), *(array.nbytes for array in self.arrays)],
        }
        text = json.dumps(head).encode()
        arrays = [array.reshape(-1).view(np.uint8).tobytes() for array in self.arrays]
        return b"".join([len(text).to_bytes(8, "little"), text, *self.objects, *arrays])

    @staticmethod
    def from_bytes(data: bytes) -> CacheEntry:
        """Parse the output of `to_bytes`. Raises ValueError, KeyError, TypeError or IndexError for other data."""
        start = 8 + int.from_bytes(data[:8], "little")
        head = json.loads(data[8:start])
        blobs = []
        for size in head["sizes"]:
            if size < 0:
                raise ValueError("sizes")
            blobs.append(data[start : start + size])
            start += size
        if start != len(data):
            raise ValueError("sizes")
        stored = [record for record in head["table"] if "array" in record]
        arrays = [
            np.frombuffer(blob, _dtype(record["dtype"])).reshape(record["shape"])
            for record, blob in zip(stored, blobs[head["objects"] :], strict=True)
        ]
        interface = Interface.from_json(head["interface"])
        return CacheEntry(blobs[: head["objects"]], interface, head["table"], arrays)


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


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
        if not SUPPORTED or not cache_store.enabled() or PassContext.current().instruments or any_registered():
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
        return cache_store.store(self.key, CacheEntry.of(objects, interface, table, self.constants).to_bytes())
