"""Loop nests on tensors as ``linalg`` ops, which can fuse and use kernels.

A nest is in block form if it stores one element, whose indices are all axes that do not reduce. Indices are single
axes, and the extent of an axis is the size of each dimension that it indexes. Reads may have the index 0 in dimensions
of 1. Reductions have an initial value and combine the element with a value by ``+``, ``*``, min or max.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from relax_mlir.dialects.attributes import DTYPE, PARAMS, PRIM_FUNC
from relax_mlir.dialects.dtypes import DType
from relax_mlir.ir_queries import entry_block, is_used
from relax_mlir.loops.builder import LoopBuilder, keep_sign
from relax_mlir.loops.values import INDEX, Buffer, Scalar, as_scalar
from relax_mlir.mlir import arith, func, ir, linalg, memref, tensor
from relax_mlir.scalars.linalg_builders import generic, projection
from relax_mlir.symbolic import Dim

COMBINERS = ("add", "multiply", "max", "min")
"""The functions that combine the elements of a reduction."""


class NotBlocks(Exception):
    """The loops are not in block form."""


@dataclass(frozen=True)
class Axis:
    """An axis of a nest: its extent, and whether it is a reduction axis."""

    name: str
    extent: Dim
    reduces: bool


@dataclass(frozen=True)
class Access:
    """An access to a buffer: the number of the axis per dimension; None: the index 0 in a dimension of 1."""

    buffer: str
    axes: tuple[int | None, ...]

    @property
    def moved(self) -> list[int]:
        """The axes that the access uses, in order."""
        return [axis for axis in self.axes if axis is not None]


@dataclass
class Nest:
    """A loop nest that stores `value` in `target`."""

    axes: Sequence[Axis]
    target: Access
    loads: Sequence[Access]
    """The accesses that the value reads, each once."""
    value: Callable[[Mapping[Access, Scalar]], ir.Value]
    """Emits the value from the elements of the loads and of the target."""
    updates: bool = False
    """True if the value combines the target's element, which is none of `loads`, with others."""
    initial: Callable[[], ir.Value] | None = None
    """Emits the initial value of a reduction."""
    title: str | None = None

    @property
    def combines(self) -> bool:
        """True if the value reads the target."""
        return self.updates or self.target in self.loads


@dataclass
class Nests:
    """Emits nests of one function, whose `parameters` are tensors by name."""

    parameters: Mapping[str, Buffer]
    buffers: dict[str, Buffer] = field(default_factory=dict)
    """The parameters and the allocated buffers."""
    tensors: dict[str, ir.Value] = field(default_factory=dict)
    """The current value of each buffer."""
    written: dict[str, None] = field(default_factory=dict)
    patterns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buffers.update(self.parameters)
        self.tensors.update({name: buffer.ssa for name, buffer in self.parameters.items()})

    def allocate(self, name: str, shape: tuple[Dim, ...], size: Callable[[Dim], ir.Value], element: DType) -> Buffer:
        """Emit an empty tensor; `size` gives the value of a dimension that is not an integer."""
        sizes = [dim if isinstance(dim, int) else size(dim) for dim in shape]
        memory = tensor.empty(sizes, element.storage_type())
        keep_sign(memory, element)
        self.tensors[name] = memory
        self.buffers[name] = Buffer(name, memory, shape, element, len(shape))
        return self.buffers[name]

    def emit(self, nest: Nest) -> None:
        """Emit one nest as a ``linalg.generic``."""
        name = nest.target.buffer
        indexing = {number for access in (nest.target, *nest.loads) for number in access.moved}
        if len(indexing) != len(nest.axes):
            raise NotBlocks
        if nest.initial is not None:
            self.tensors[name] = linalg.fill(nest.initial(), outs=[self.tensors[name]])
            self.written[name] = None
        elif nest.combines and name not in self.written:
            raise NotBlocks
        local = set(self.buffers) - set(self.parameters)
        if any(access.buffer in local and access.buffer not in self.written for access in nest.loads):
            raise NotBlocks
        inputs = [access for access in nest.loads if access != nest.target]

        def body(*arguments: ir.Value) -> ir.Value:
            return nest.value(
                {
                    access: Scalar(argument, self.buffers[access.buffer].dtype)
                    for access, argument in zip([*inputs, nest.target], arguments, strict=True)
                }
            )

        rank = len(nest.axes)
        kinds = ["reduction" if axis.reduces else "parallel" for axis in nest.axes]
        maps = [projection(rank, access.axes) for access in inputs]
        ins = [self.tensors[access.buffer] for access in inputs]
        out_map = projection(rank, nest.target.axes)
        (result,) = generic(ins, maps, [self.tensors[name]], [out_map], kinds, body)
        if nest.title is not None:
            result.owner.location = ir.Location.name(nest.title, result.owner.location)
        if name not in local and any(access.buffer in local for access in _copied(result, inputs, nest)):
            raise NotBlocks  # it would fold to a local tensor, but the result must be the caller's
        self.tensors[name] = result
        self.written[name] = None
        self.patterns.append(_pattern(nest, inputs))

    def results(self) -> list[ir.Value]:
        """The results of the function: its last parameters, which the nests have written."""
        names = list(self.parameters)
        results = names[len(names) - sum(name in self.parameters for name in self.written) :]
        if not self.patterns or any(name not in self.written for name in results):
            raise NotBlocks
        return [self.tensors[name] for name in results]

    @property
    def pattern(self) -> str:
        """The fusion pattern of the whole function."""
        return self.patterns[0] if len(self.patterns) == 1 else "opaque"


def _copied(result: ir.Value, inputs: Sequence[Access], nest: Nest) -> list[Access]:
    """The input of a nest that is a plain copy; else empty."""
    body = entry_block(result.owner)
    yielded = body.operations[len(body.operations) - 1].operation.operands[0]
    if not isinstance(yielded, ir.BlockArgument) or yielded.arg_number >= len(inputs):
        return []
    access = inputs[yielded.arg_number]
    return [access] if access.axes == nest.target.axes else []


def _pattern(nest: Nest, inputs: Sequence[Access]) -> str:
    """The fusion pattern of the nest (see `relax_mlir.dialects.attributes.Pattern`)."""
    if nest.initial is not None:
        return "reduction"
    if nest.combines:
        return "opaque"
    if all(access.axes == nest.target.axes for access in inputs):
        return "elementwise"
    places = [[nest.target.axes.index(n) for n in access.moved] for access in inputs]
    ordered = all(place == sorted(place) for place in places)
    return "broadcast" if ordered else "injective"


# The inverse: loops for the ops of a function on tensors.


@dataclass(frozen=True)
class _Memory:
    """The buffer of a tensor; `sizes` are those of its dimensions, as integers or ``index`` values."""

    ssa: ir.Value
    sizes: tuple[int | Scalar, ...]

    @classmethod
    def of_parameter(cls, ssa: ir.Value) -> _Memory:
        type_ = ir.MemRefType(ssa.type)
        sizes = [
            Scalar(memref.dim(ssa, as_scalar(axis, INDEX).ssa), INDEX) if type_.is_dynamic_dim(axis) else size
            for axis, size in enumerate(type_.shape)
        ]
        return cls(ssa, tuple(sizes))

    @classmethod
    def allocated(cls, empty: ir.Operation) -> _Memory:
        """A buffer for a ``tensor.empty``."""
        type_, dynamic = _buffer_type(empty.results[0].type), iter(empty.operands)
        sizes = [
            Scalar(next(dynamic), INDEX) if type_.is_dynamic_dim(axis) else size
            for axis, size in enumerate(type_.shape)
        ]
        ssa = memref.alloc(type_, [arith.maxsi(size, as_scalar(0, INDEX).ssa) for size in empty.operands], [])
        if DTYPE in empty.attributes:
            ssa.owner.attributes[DTYPE] = empty.attributes[DTYPE]
        return cls(ssa, tuple(sizes))


def on_buffers(function: ir.Operation) -> None:
    """Replace a prim func on tensors, in block form, by one with loops on buffers, the parameters that it fills."""
    block = entry_block(function)
    inputs = [_buffer_type(argument.type) for argument in block.arguments]
    made = func.FuncOp(ir.StringAttr(function.attributes["sym_name"]).value, ir.FunctionType.get(inputs, []))
    for name in ("sym_visibility", PRIM_FUNC, PARAMS):
        made.attributes[name] = function.attributes[name]
    with ir.InsertionPoint(made.add_entry_block()):
        memories: dict[ir.Value, _Memory] = {}
        for argument, parameter in zip(block.arguments, made.arguments, strict=True):
            memories[argument] = _Memory.of_parameter(parameter)
        for op in [view.operation for view in block.operations]:
            _emit_op(op, memories)
    function.erase()


def _buffer_type(type_: ir.Type) -> ir.MemRefType:
    tensor_type = ir.RankedTensorType(type_)
    return ir.MemRefType.get(tensor_type.shape, tensor_type.element_type)


def _emit_op(op: ir.Operation, memories: dict[ir.Value, _Memory]) -> None:
    """Emit an op of a function on tensors; `memories` are the buffers of all tensors."""
    if op.name == "func.return":
        func.ReturnOp([])
    elif op.name == "tensor.dim":
        op.results[0].replace_all_uses_with(memref.dim(memories[op.operands[0]].ssa, op.operands[1]))
    elif op.name == "tensor.empty":
        memories[op.results[0]] = _Memory.allocated(op)
    elif op.name == "linalg.fill":
        value, target = op.operands
        memories[op.results[0]] = memory = memories[target]
        with LoopBuilder({}).grid(memory.sizes) as at:
            memref.store(value, memory.ssa, [axis.ssa for axis in at])
    elif op.name == "linalg.generic":
        _emit_generic(op, memories)
    else:
        move([op])


def _emit_generic(op: ir.Operation, memories: dict[ir.Value, _Memory]) -> None:
    """Emit the loops of a ``linalg.generic`` whose indices are its axes, or 0."""
    maps = [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])]
    operands = [memories[value] for value in op.operands]
    sizes: dict[int, int | Scalar] = {}
    for memory, indices in zip(operands, maps, strict=True):
        for size, index in zip(memory.sizes, indices.results, strict=True):
            if isinstance(index, ir.AffineDimExpr):
                sizes.setdefault(index.position, size)
    with LoopBuilder({}).grid([sizes[number] for number in range(maps[0].n_dims)]) as axes:
        places = [
            [axes[i.position].ssa if isinstance(i, ir.AffineDimExpr) else as_scalar(0, INDEX).ssa for i in m.results]
            for m in maps
        ]
        block = entry_block(op)
        for argument, memory, at in zip(block.arguments, operands, places, strict=True):
            if is_used(argument):
                argument.replace_all_uses_with(memref.load(memory.ssa, at))
        *inner, last = [view.operation for view in block.operations]
        for each in inner:
            if each.name == "linalg.index":
                each.results[0].replace_all_uses_with(axes[ir.IntegerAttr(each.attributes["dim"]).value].ssa)
            else:
                move([each])
        memref.store(last.operands[0], operands[-1].ssa, places[-1])
    memories[op.results[0]] = operands[-1]


def move(ops: Sequence[ir.Operation]) -> None:
    """Move ops to the insertion point."""
    end = as_scalar(0, INDEX).ssa.owner
    for op in ops:
        op.move_before(end)
    end.erase()
