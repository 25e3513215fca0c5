"""Runs the explicit-memory and shape-heap forms on NumPy arrays, and checks their use of memory."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import relax_mlir as rx
import tvm_ffi
from relax_mlir import symbolic
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import dims_in
from relax_mlir.dialects.structure import TUPLE, integer_of
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.vm import MakeCode, MatchCode
from relax_mlir.error import ShapeError
from relax_mlir.ffi import to_ffi
from relax_mlir.lowering.legality import CheckLegality
from relax_mlir.lowering.pipeline import memory_phases, phases
from relax_mlir.mlir import func, ir
from relax_mlir.runtime import to_numpy
from relax_mlir.runtime.build import build_legalized
from relax_mlir.target import Target
from relax_mlir.transform import PassContext, create_pass, relax_functions

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
        if storage.dead or not any(a <= start and start + value.nbytes <= b for a, b in storage.live.values()):
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
        found = _Frame(self.owner, self.name, dict(self.values), dict(self.symbols)).run(block[0]) if len(block) else []
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


Array = np.ndarray[Any, Any]
Kernel = Callable[[Sequence[Array], Sequence[Array], Sequence[int]], None]
"""``kernel(inputs, outputs, integers)`` writes the outputs."""


@dataclass(frozen=True)
class Use:
    """A call of a prim func in the module: the number of new results, and results in these arguments (-1: new)."""

    name: str
    outputs: int
    inplace: tuple[int, ...] = ()


def compile_prims(mod: rx.IRModule) -> dict[str, Kernel]:
    """The prim funcs that `mod`, at level R1, calls, each with a public wrapper function."""
    work = mod.clone()
    uses: dict[str, Use] = {}

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name in ("relax.call_tir", "relax.call_tir_inplace"):
            use = _use(op)
            uses[use.name] = use
        return ir.WalkResult.ADVANCE

    work.mlir.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    with work.context, ir.Location.unknown():
        prims = {op.name.value: op for op in work.mlir.body.operations if PRIM_FUNC in op.attributes}
        for op in list(work.mlir.body.operations):
            if PRIM_FUNC not in op.attributes:
                op.operation.erase()
        dynamic = {}
        for number, use in enumerate(uses.values()):
            outs, text = _wrapper(f"wrapper{number}", prims[use.name], use)
            dynamic[use.name] = [_dynamic_axes(info) for info in outs]
            work.mlir.body.append(ir.Operation.parse(text))
    # The wrappers do not relate the sizes of results to those of arguments, as the module does.
    with PassContext(config={"tir.bounds_check": "none"}):
        executable = build_legalized(work, Target.parse("cpu").runnable_here(), cache=False)
    return {
        use.name: _kernel(executable[f"wrapper{number}"], use, dynamic[use.name])
        for number, use in enumerate(uses.values())
    }


def _use(op: ir.Operation) -> Use:
    name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
    results = op.results[0].type
    count = results.num_types if isinstance(results, ir.TupleType) else 1
    if op.name == "relax.call_tir":
        return Use(name, count)
    indices = tuple(ir.IntegerAttr(i).value for i in ir.ArrayAttr(op.attributes["inplace_indices"]))
    return Use(name, indices.count(-1), indices)


def _info(type_: ir.Type, prefix: str) -> Tensor:
    dims = [f"{prefix}{i}" if type_.is_dynamic_dim(i) else type_.get_dim_size(i) for i in range(type_.rank)]
    return Tensor(dims, dtypes.from_element_type(type_.element_type))


def _wrapper(name: str, prim: func.FuncOp, use: Use) -> tuple[list[Tensor], str]:
    """The results that the wrapper allocates, and its text."""
    inputs = list(prim.type.inputs)
    tensors = [t for t in inputs if isinstance(t, ir.ShapedType)]
    integers = inputs[len(tensors) :]
    assert all(isinstance(t, ir.IndexType) for t in integers), "integers stand behind the tensors"
    count = len(tensors) - use.outputs
    ins = [_info(t, f"a{i}_") for i, t in enumerate(tensors[:count])]
    outs = [_info(t, f"b{i}_") for i, t in enumerate(tensors[count:])]
    new = iter(outs)
    results = [ins[i] if i >= 0 else next(new) for i in use.inplace] if use.inplace else outs
    extra = [f"v{i}" for i in range(len(integers))]
    sizes = Shape([d for out in outs for d in out.shape if not isinstance(d, int)] + extra)
    types = [str(info.to_type()) for info in ins]
    names = [f"%a{i}" for i in range(len(ins))]
    parameters = ", ".join([*map("{}: {}".format, names, types), f"%sizes: {sizes.to_type()}"])
    result = Tuple(results).to_type() if len(results) > 1 else results[0].to_type()
    given = f"tuple<{', '.join(types)}>"
    pack = f"builtin.unrealized_conversion_cast {', '.join(names)} : {', '.join(types)} to {given}"
    if not ins:
        pack = "builtin.unrealized_conversion_cast to tuple<>"
    tir_vars = "[" + ", ".join(f'"{v}"' for v in extra) + "]"
    callee = ir.FlatSymbolRefAttr.get(prim.name.value)
    op = "call_tir_inplace" if use.inplace else "call_tir"
    indices = f", inplace_indices = [{', '.join(map(str, use.inplace))}]" if use.inplace else ""
    return (
        outs,
        f"""func.func @{name}({parameters}) -> {result} {{
      %args = {pack}
      %r = "relax.{op}"(%args) {{callee = {callee}, tir_vars = {tir_vars}{indices}}} : ({given}) -> {result}
      return %r : {result}
    }}""",
    )


def _dynamic_axes(info: Tensor) -> list[int]:
    return [axis for axis, dim in enumerate(info.shape) if not isinstance(dim, int)]


def _kernel(compiled: Any, use: Use, dynamic: Sequence[Sequence[int]]) -> Kernel:
    def kernel(inputs: Sequence[Array], outputs: Sequence[Array], integers: Sequence[int]) -> None:
        sizes = [out.shape[axis] for out, axes in zip(outputs, dynamic, strict=True) for axis in axes]
        found = compiled(*map(_signless, inputs), tvm_ffi.Shape([*sizes, *integers]))
        new = iter(outputs)
        places = [inputs[i] if i >= 0 else next(new) for i in use.inplace] if use.inplace else outputs
        for out, array in zip(places, found if len(places) > 1 else [found], strict=True):
            _signless(out)[...] = to_numpy(array)

    return kernel


def _signless(array: Array) -> Array:
    """Unsigned integers in the form that prim funcs use."""
    return array.view(f"i{array.itemsize}") if array.dtype.kind == "u" else array


def shape_function(prim: func.FuncOp, heap: Array) -> None:
    """Evaluate a prim func that reads and writes a shape heap."""
    values: dict[ir.Value, int] = {}
    for view in prim.regions[0].blocks[0].operations:
        op = view.operation
        operands = [values.get(v, 0) for v in op.operands]
        if op.name == "arith.constant":
            values[op.results[0]] = int(ir.IntegerAttr(op.attributes["value"]).value)
        elif op.name == "memref.load":
            values[op.results[0]] = int(heap[operands[1]])
        elif op.name == "memref.store":
            heap[operands[2]] = operands[0]
        elif op.name == "cf.assert":
            if not operands[0]:
                raise ShapeError(ir.StringAttr(op.attributes["msg"]).value)
        elif op.name == "arith.cmpi":
            predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
            compare = {0: int.__eq__, 1: int.__ne__, 3: int.__le__, 5: int.__ge__}[predicate]
            values[op.results[0]] = int(compare(*operands))
        elif op.name == "arith.select":
            values[op.results[0]] = operands[1] if operands[0] else operands[2]
        elif op.name != "func.return":
            values[op.results[0]] = ARITHMETIC[op.name](*operands)


ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.andi": lambda a, b: a & b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.muli": lambda a, b: a * b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.minsi": min,
    "arith.maxsi": max,
}


STEPS = (
    "to-non-dataflow",
    "call-tir-rewrite",
    "static-plan-block-memory",
    "vm-memory-lower",
    "vm-shape-lower",
)
RUNNABLE = STEPS[1:]


def legalized(mod: rx.IRModule) -> rx.IRModule:
    """A copy at level R1."""
    work = mod.clone()
    for phase in phases()[:2]:
        work.apply_(phase.as_pass())
    return work


def forms(mod: rx.IRModule) -> Iterator[tuple[str, Interpreter]]:
    """The module after each pass from ``call-tir-rewrite`` on."""
    work = legalized(mod)
    kernels = compile_prims(work)
    for step in STEPS:
        work.apply_(create_pass(step))
        work.verify()
        if step in RUNNABLE:
            yield step, Interpreter(work.clone(), kernels)
    memory, machine = memory_phases()
    assert (memory.name, machine.name) == ("explicit-memory", "vm")
    work.apply_(CheckLegality("vm"))


def arrays(result: Any) -> list[Array]:
    """The arrays in a result, in order."""
    if isinstance(result, tvm_ffi.Shape | int):
        return [np.array(result)]
    if isinstance(result, tvm_ffi.Array | tuple | list):
        if result and all(isinstance(item, int) for item in result):
            return [np.array(result)]  # a shape
        return [array for item in result for array in arrays(item)]
    return [np.array(result if isinstance(result, np.ndarray) else to_numpy(result))]


def assert_same(name: str, found: Any, expected: Any) -> None:
    """The same arrays, bit by bit."""
    have, want = arrays(found), arrays(expected)
    assert len(have) == len(want), name
    for index, (a, b) in enumerate(zip(have, want, strict=True)):
        assert a.dtype == b.dtype and a.shape == b.shape, (
            f"{name}: result {index}: {a.dtype}{a.shape}, not {b.dtype}{b.shape}"
        )
        if a.dtype == ml_dtypes.bfloat16:  # NumPy does not recognise its NaN
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_array_equal(a, b, err_msg=f"{name}: result {index}")
