"""Runs the explicit-memory and shape-heap forms on NumPy arrays, and checks their use of memory.

Dead memory is overwritten with ones (NaN for floats). Errors: a read of memory without a live tensor, a tensor in a
storage that is too small or overlapping a live one, a call whose output overlaps an input.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from kernels import Array, Kernel, shape_function
from relax_mlir import symbolic
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import dims_in
from relax_mlir.dialects.structure import TUPLE, integer_of
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.vm import MakeCode, MatchCode
from relax_mlir.error import ShapeError
from relax_mlir.ffi import to_ffi
from relax_mlir.mlir import func, ir
from relax_mlir.runtime import to_numpy
from relax_mlir.transform import relax_functions

POISON = 0xFF
UNWRITTEN = -(2**62)
"""The initial content of slots of the shape heap; symbolic arguments may be negative."""
RELATIONS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Symbols = dict[str, int]


class MemoryMisuseError(AssertionError):
    """A use of memory that the explicit-memory form forbids."""


@dataclass(eq=False)
class Storage:
    """A piece of memory, with its live tensors: id of the array → first and last byte."""

    memory: Array
    live: dict[int, tuple[int, int]] = field(default_factory=dict)
    dead: bool = False

    def tensor(self, offset: int, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        first, end = offset, offset + size
        if self.dead or end > self.memory.nbytes:
            state = "dead" if self.dead else "live"
            raise MemoryMisuseError(f"{size} bytes at {offset} of a {state} storage of {self.memory.nbytes}")
        if any(first < other_end and other < end for other, other_end in self.live.values()):
            raise MemoryMisuseError("a tensor is made where another lives")
        self.memory[first:end] = POISON
        array = self.memory[first:end].view(dtype).reshape(tuple(shape))
        self.live[_address(array)] = (first, end)
        return array


def _address(array: Array) -> int:
    return array.ctypes.data


@dataclass
class Interpreter:
    """The functions of a module in explicit-memory form (levels "explicit-memory" and "vm")."""

    mod: rx.IRModule
    kernels: Mapping[str, Kernel]
    allocated: int = 0
    """Bytes of all storages allocated so far."""
    peak: int = 0
    """The maximum number of bytes in use at one time."""

    def __post_init__(self) -> None:
        self.functions = {f.name.value: f for f in relax_functions(self.mod.mlir)}
        self.prims = {
            op.name.value: op
            for op in self.mod.mlir.body.operations
            if isinstance(op, func.FuncOp) and PRIM_FUNC in op.attributes
        }
        self.storages: dict[int, Storage] = {}
        self.in_use = 0

    def call(self, name: str, *args: Any) -> Any:
        with self.mod.context, ir.Location.unknown():
            return self._call(name, *args)

    def _call(self, name: str, *args: Any) -> Any:
        function = self.functions[name]
        block = function.regions[0].blocks[0]
        frame = _Frame(self, name, {}, {})
        frame.values.update(zip(block.arguments, args, strict=True))
        for argument, value in zip(block.arguments, args, strict=True):
            frame.bind(struct_info(argument.type), value)
        for argument, value in zip(block.arguments, args, strict=True):
            frame.check(struct_info(argument.type), value)
        (result,) = frame.run(block)
        return result


@dataclass
class _Frame:
    owner: Interpreter
    name: str
    values: dict[ir.Value, Any]
    symbols: Symbols

    def run(self, block: ir.Block) -> list[Any]:
        ops = [view.operation for view in block.operations]
        for op in ops[:-1]:
            handler = getattr(self, "on_" + op.name.replace(".", "_").removeprefix("relax_"))
            found = handler(op, *(self.values[v] for v in op.operands))
            if len(op.results) == 1:
                self.values[op.results[0]] = found
            else:
                self.values.update(zip(op.results, found or (), strict=True))
        return [self.values[v] for v in ops[-1].operands]

    # -- shapes

    def bind(self, info: StructInfo, value: Any) -> None:
        if isinstance(info, Tuple):
            for item, part in zip(info.fields, value, strict=True):
                self.bind(item, part)
        dims, sizes = _dims(info, value)
        for dim, size in zip(dims, sizes, strict=True):
            name = None if dim is None else symbolic.linear_definition(dim)
            if name is not None:
                self.symbols.setdefault(name, size)

    def check(self, info: StructInfo, value: Any) -> None:
        dims, sizes = _dims(info, value)
        for dim, size in zip(dims, sizes, strict=True):
            if dim is not None and self.dim(dim) != size:
                raise ShapeError(f"{self.name}: {dim} is {self.dim(dim)}, not {size}")

    def dim(self, dim: Any) -> int:
        return dim if isinstance(dim, int) else symbolic.evaluate(dim, self.symbols)

    # -- memory

    def read(self, value: Any) -> None:
        """Check that the memory of an array is live."""
        if isinstance(value, tuple):
            for item in value:
                self.read(item)
        storage = self.storage_of(value)
        if storage is None or value.nbytes == 0:
            return
        start = _address(value) - storage.memory.ctypes.data
        if storage.dead or not any(
            a <= start and start + value.nbytes <= b for a, b in storage.live.values()
        ):
            raise MemoryMisuseError(f"{self.name}: a dead tensor is used")

    def storage_of(self, value: Any) -> Storage | None:
        base = value
        while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
            base = base.base
        return self.owner.storages.get(id(base))

    def on_memory_alloc_storage(self, op: ir.Operation, size: tuple[int, ...]) -> Storage:
        memory = np.full(size[0], POISON, np.uint8)
        storage = Storage(memory)
        self.owner.storages[id(memory)] = storage
        self.owner.allocated += size[0]
        self.owner.in_use += size[0]
        self.owner.peak = max(self.owner.peak, self.owner.in_use)
        return storage

    def on_memory_alloc_tensor(self, op: ir.Operation, storage: Storage, shape: tuple[int, ...]) -> Array:
        info = struct_info(op.results[0].type)
        return storage.tensor(_int(op, "offset"), shape, info.dtype.numpy)

    def on_memory_kill_tensor(self, op: ir.Operation, array: Array) -> None:
        storage = self.storage_of(array)
        if storage is None or _address(array) not in storage.live:
            raise MemoryMisuseError(f"{self.name}: a tensor ends twice, or is none of ours")
        first, end = storage.live.pop(_address(array))
        storage.memory[first:end] = POISON

    def on_memory_kill_storage(self, op: ir.Operation, storage: Storage) -> None:
        if storage.dead or storage.live:
            raise MemoryMisuseError(f"{self.name}: a storage ends twice, or before its tensors")
        storage.dead = True
        storage.memory[...] = POISON
        self.owner.in_use -= storage.memory.nbytes

    def on_memory_copy(self, op: ir.Operation, source: Array, destination: Array) -> None:
        self.read((source, destination))
        destination[...] = source

    on_vm_alloc_storage = on_memory_alloc_storage
    on_vm_alloc_tensor = on_memory_alloc_tensor
    on_vm_copy = on_memory_copy

    def on_vm_kill_object(self, op: ir.Operation, value: Any) -> None:
        kill = self.on_memory_kill_storage if isinstance(value, Storage) else self.on_memory_kill_tensor
        kill(op, value)

    # -- calls

    def on_call_prim(self, op: ir.Operation, args: tuple[Any, ...], integers: Sequence[int] = ()) -> None:
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        self.read(args)
        if name not in self.owner.kernels:
            shape_function(self.owner.prims[name], args[0])
            return
        outputs = _int(op, "outputs")
        given = list(_flat(args))
        ins, outs = given[: len(given) - outputs], given[len(given) - outputs :]
        for out in outs:
            if any(np.may_share_memory(out, other) for other in ins):
                raise MemoryMisuseError(f"{self.name}: {name} reads the memory that it writes")
        self.owner.kernels[name](ins, outs, integers)

    on_vm_call_tir_dyn = on_call_prim

    def on_call_packed(self, op: ir.Operation, args: tuple[Any, ...]) -> Any:
        self.read(args)
        operands = iter(args)
        given = []
        for item in ir.ArrayAttr(op.attributes["arg_spec"]):
            value = next(operands) if isinstance(item, ir.UnitAttr) else item.value
            given.append(_to_ffi(value))
        result = tvm_ffi.get_global_func(ir.StringAttr(op.attributes["func"]).value)(*given)
        info = struct_info(op.results[0].type)
        if info == Tuple():
            return ()
        found = _from_ffi(result)
        self.check(info, found)
        return found

    on_call_pure_packed = on_call_packed

    def on_assert_op(self, op: ir.Operation, args: tuple[Any, ...]) -> None:
        self.read(args)
        left, *right = [self.dim(d) for d in dims_in(op.attributes["values"])] or [args[0].item()]
        relation = op.attributes["relation"]
        if not (RELATIONS[relation.value](left, right[0]) if right else left):
            raise AssertionError("an assertion of the program failed")

    def on_vm_assert_relation(self, op: ir.Operation, heap: Array, args: tuple[Any, ...]) -> None:
        left, right = self.on_vm_make_shape(op, heap)
        if not RELATIONS[op.attributes["relation"].value](left, right):
            raise AssertionError("an assertion of the program failed")

    def on_shape_to_tensor(self, op: ir.Operation, shape: tuple[int, ...]) -> Array:
        return np.array(shape, np.int64)

    def on_tensor_to_shape(self, op: ir.Operation, x: Array) -> tuple[int, ...]:
        self.read(x)
        return tuple(map(int, x))

    def on_call(self, op: ir.Operation, args: tuple[Any, ...]) -> Any:
        self.read(args)
        return self.owner.call(ir.FlatSymbolRefAttr(op.attributes["callee"]).value, *args)

    def on_updated(self, op: ir.Operation, value: Array) -> Array:
        return value

    # -- structure

    def on_constant(self, op: ir.Operation) -> Array:
        return constants.to_numpy(op.attributes["value"])

    def on_shape_expr(self, op: ir.Operation) -> tuple[int, ...]:
        return tuple(map(self.dim, dims_from_attr(op.attributes["values"])))

    def on_prim_value(self, op: ir.Operation) -> int:
        return self.dim(integer_of(op.attributes["value"]))

    def on_shape_of(self, op: ir.Operation, x: Array) -> tuple[int, ...]:
        self.read(x)
        return x.shape

    def on_match_shape(self, op: ir.Operation, value: Any) -> Any:
        info = struct_info(op.results[0].type)
        if isinstance(info, Tensor) and info.dtype is not None and value.dtype != info.dtype.numpy:
            raise ShapeError(f"{self.name}: dtype {value.dtype}")
        given = (value,) if isinstance(value, int) else value
        sizes = given.shape if isinstance(given, np.ndarray) else given
        pattern = dims_from_attr(op.attributes["pattern"])
        if len(sizes) != len(pattern):
            raise ShapeError(f"{self.name}: rank {len(sizes)}")
        if isinstance(value, int):  # its type has no symbols
            info = Shape(pattern)
        self.bind(info, given)
        self.check(info, given)
        return value

    def on_builtin_unrealized_conversion_cast(self, op: ir.Operation, *fields: Any) -> tuple[Any, ...]:
        assert op.name == TUPLE
        return fields

    def on_tuple_get_item(self, op: ir.Operation, value: tuple[Any, ...]) -> Any:
        return value[_int(op, "index")]

    def _view(self, op: ir.Operation, x: Array, *_: Any) -> Array:
        self.read(x)
        return self._reshaped(x, [self.dim(d) for d in struct_info(op.results[0].type).shape])

    on_reshape = on_flatten = on_expand_dims = on_squeeze = _view

    def on_vm_reshape(self, op: ir.Operation, x: Array, shape: tuple[int, ...]) -> Array:
        self.read(x)
        return self._reshaped(x, shape)

    def _reshaped(self, x: Array, shape: Sequence[int]) -> Array:
        if x.size != int(np.prod(shape, dtype=np.int64)):
            raise ShapeError(f"{self.name}: {x.shape} as {tuple(shape)}")
        return x.reshape(tuple(shape))

    # -- upstream ops

    def on_tensor_extract(self, op: ir.Operation, x: Array, *index: int) -> Any:
        self.read(x)
        return x[tuple(index)].item()

    def on_arith_constant(self, op: ir.Operation) -> Any:
        value = op.attributes["value"]
        return constants.to_numpy(value) if isinstance(value, ir.DenseElementsAttr) else value.value

    def on_tensor_from_elements(self, op: ir.Operation, *elements: Any) -> Array:
        dtype = dtypes.from_element_type(ir.RankedTensorType(op.results[0].type).element_type)
        return np.array(elements, dtype.numpy).reshape(ir.RankedTensorType(op.results[0].type).shape)

    def on_arith_select(self, op: ir.Operation, condition: Any, a: Any, b: Any) -> Any:
        return a if condition else b

    def on_scf_if(self, op: ir.Operation, condition: Any) -> Any:
        block = op.regions[0 if condition else 1].blocks
        found = (
            _Frame(self.owner, self.name, dict(self.values), dict(self.symbols)).run(block[0])
            if len(block)
            else []
        )
        return found[0] if len(op.results) == 1 else found

    def on_scf_for(self, op: ir.Operation, low: int, high: int, step: int, *carried: Any) -> Any:
        for i in range(low, high, step):
            carried = tuple(self._round(op.regions[0].blocks[0], i, *carried))
        return carried[0] if len(carried) == 1 else carried

    def on_scf_while(self, op: ir.Operation, *carried: Any) -> Any:
        before, after = (region.blocks[0] for region in op.regions)
        while True:
            goes_on, *values = self._round(before, *carried)
            if not goes_on:
                return values[0] if len(values) == 1 else values
            carried = tuple(self._round(after, *values))

    def _round(self, block: ir.Block, *given: Any) -> list[Any]:
        """The values that the block of a loop yields for these arguments."""
        frame = _Frame(self.owner, self.name, dict(self.values), dict(self.symbols))
        frame.values.update(zip(block.arguments, given, strict=True))
        return frame.run(block)

    # -- the shape heap

    def on_vm_alloc_shape_heap(self, op: ir.Operation) -> Array:
        return np.full(_int(op, "size"), UNWRITTEN, np.int64)

    def on_vm_store_shape(self, op: ir.Operation, shape: tuple[int, ...], heap: Array) -> None:
        indices = _ints(op, "indices")
        if len(indices) != len(shape):
            raise ShapeError(f"{self.name}: rank {len(shape)}")
        heap[indices] = shape

    def on_vm_load_shape(self, op: ir.Operation, heap: Array) -> tuple[int, ...]:
        return tuple(self._slot(heap, i) for i in _ints(op, "indices"))

    def on_vm_make_shape(self, op: ir.Operation, heap: Array) -> tuple[int, ...]:
        pairs = zip(_ints(op, "codes"), _ints(op, "values"), strict=True)
        return tuple(self._slot(heap, v) if code == MakeCode.SLOT else v for code, v in pairs)

    def on_vm_match_shape(self, op: ir.Operation, shape: tuple[int, ...], heap: Array) -> None:
        context = ir.StringAttr(op.attributes["where"]).value
        codes, values = _ints(op, "codes"), _ints(op, "values")
        if len(codes) != len(shape):
            raise ShapeError(f"{context}: rank {len(shape)}")
        for size, code, value in zip(shape, codes, values, strict=True):
            if code == MatchCode.STORE:
                heap[value] = size
            elif code == MatchCode.ASSERT_IMMEDIATE and size != value:
                raise ShapeError(f"{context}: {size} is not {value}")
            elif code == MatchCode.ASSERT_SLOT and size != self._slot(heap, value):
                raise ShapeError(f"{context}: {size} is not {heap[value]}")

    def on_vm_load_prim(self, op: ir.Operation, heap: Array) -> int:
        return self._slot(heap, _int(op, "index"))

    @staticmethod
    def _slot(heap: Array, index: int) -> int:
        if heap[index] == UNWRITTEN:
            raise MemoryMisuseError(f"slot {index} of the shape heap is read before it is written")
        return int(heap[index])


def _dims(info: StructInfo, value: Any) -> tuple[Sequence[Any], Sequence[int]]:
    if isinstance(info, Tensor) and info.shape is not None:
        return info.shape, value.shape
    if isinstance(info, Shape) and info.values is not None:
        return info.values, value
    assert not isinstance(info, Prim) or isinstance(value, int)
    return (), ()


def _flat(value: Any) -> list[Any]:
    return [leaf for item in value for leaf in _flat(item)] if isinstance(value, tuple) else [value]


def _int(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)


def _ints(op: ir.Operation, name: str) -> list[int]:
    return [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(op.attributes[name])]


def _to_ffi(value: Any) -> Any:
    if isinstance(value, tuple):
        return tvm_ffi.Shape(value)
    return to_ffi(value) if isinstance(value, np.ndarray) else value


def _from_ffi(value: Any) -> Any:
    if isinstance(value, tvm_ffi.Tensor):
        return to_numpy(value)
    return tuple(value) if isinstance(value, tvm_ffi.Shape) else value
