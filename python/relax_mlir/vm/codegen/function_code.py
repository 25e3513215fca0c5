"""Code of one function: registers of values, blocks of ops, results, checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.bytecode.instructions import Arg, ArgKind
from relax_mlir.diagnostics import where
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Callable as FunctionInfo
from relax_mlir.dialects.types import Object, Prim, Shape, StructInfo, Tensor, Tuple, struct_info
from relax_mlir.dialects.vm import MatchCode
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import defining_op, entry_block
from relax_mlir.mlir import func, ir

# Determine which values are tensors in memory that nothing else in the program references.


_MADE = frozenset(
    {
        "relax.vm_alloc_tensor",
        "relax.call",
        "relax.call_packed",
        "relax.call_pure_packed",
        "relax.shape_to_tensor",
        "relax.shape_equal",
        "tensor.from_elements",
    }
)
"""Ops whose results are freshly allocated or returned by a packed function."""
_SAME = ("relax.updated", "relax.vm_reshape", "relax.match_shape", "relax.tuple_get_item")


def is_fresh(value: ir.Value) -> bool:
    """True if the tensors of a value belong to this call alone: neither to its caller nor to a constant.

    Results of an `scf.if` are fresh only if each branch yields a fresh value, and yields it once; results of loops are
    not.
    """
    op = defining_op(value)
    if op is None:
        return False
    if op.name in _MADE:
        return True
    if op.name in _SAME:
        return is_fresh(op.operands[0])
    if op.name == TUPLE:
        return all(map(is_fresh, op.operands))
    if op.name == "scf.if":
        index = next(number for number, result in enumerate(op.results) if result == value)
        return all(_gives_fresh(region.blocks[0], index) for region in op.regions)
    return False


def _gives_fresh(branch: ir.Block, index: int) -> bool:
    """True if a branch creates everything it yields as result `index`, and yields no part of it twice."""
    given = list(branch.operations[-1].operation.operands)
    parts = [part for item in given for part in _parts(item)]
    return _made_in(given[index], branch) and all(parts.count(part) == 1 for part in _parts(given[index]))


def _parts(value: ir.Value) -> list[ir.Value]:
    """Return the origins of a value: one per field for a tuple."""
    made = defining_op(value)
    if made is not None and made.name == TUPLE:
        return [part for item in made.operands for part in _parts(item)]
    return [origin(value)]


def origin(value: ir.Value) -> ir.Value:
    """Return the value whose memory `value` aliases, as a view, an update or a field of it."""
    op = defining_op(value)
    if op is None or op.name not in _SAME:
        return value
    made = defining_op(op.operands[0])
    if op.name == "relax.tuple_get_item" and made is not None and made.name == TUPLE:
        return origin(made.operands[ir.IntegerAttr(op.attributes["index"]).value])
    return origin(op.operands[0])


def _made_in(value: ir.Value, block: ir.Block) -> bool:
    """True if a value is fresh and created entirely in a block, so that nothing outside references it."""
    op = defining_op(value)
    if op is None:
        return False
    if op.name == TUPLE:
        return all(_made_in(item, block) for item in op.operands)
    if op.name in _SAME:
        return _made_in(op.operands[0], block)
    return op.block == block and is_fresh(value)


BUILTIN = "vm.builtin."

HANDLERS: dict[str, Callable[[FunctionCode, ir.Operation], None]] = {}
"""Op name → the function that emits its instructions."""

HandlerT = Callable[["FunctionCode", ir.Operation], None]


def handles(*names: str) -> Callable[[HandlerT], HandlerT]:
    """Register a function as the emitter of these ops."""

    def register(handler: HandlerT) -> HandlerT:
        HANDLERS.update(dict.fromkeys(names, handler))
        return handler

    return register


class FunctionCode:
    """The code of one function."""

    def __init__(self, function: func.FuncOp, builder: ExecBuilder) -> None:
        self.function, self.b = function, builder
        self.name = str(function.name.value)
        self.registers: dict[ir.Value, Arg] = {}
        self.count = 0
        self.values: dict[ir.Value, Arg] = {}
        """Values without a register: constants and integers."""
        self.shapes: dict[tuple[str, tuple[int, ...]], Arg] = {}
        """Shapes read from the heap already: (builtin, arguments) → register."""

    def new(self) -> Arg:
        """Return an unused register."""
        self.count += 1
        return self.b.r(self.count - 1)

    def define(self, value: ir.Value) -> Arg:
        """Return the register of a value that is being defined."""
        register = self.registers.get(value)
        if register is None:
            register = self.registers[value] = self.new()
        return register

    def arg(self, value: ir.Value) -> Arg:
        """Return a value as an argument; a tuple without a register is built first."""
        if value in self.values:
            return self.values[value]
        if value in self.registers:
            return self.registers[value]
        op = defining_op(value)
        assert op is not None and op.name == TUPLE, f"{self.name}: a value has no register: {value}"
        fields = [self.arg(item) for item in op.operands]
        return self.call_into(self.new(), "make_tuple", *fields)

    def register(self, value: ir.Value) -> Arg:
        """Return a value in a register, for instructions that accept nothing else."""
        found = self.arg(value)
        return found if found.kind is ArgKind.REGISTER else self.move(found, self.new())

    def fields(self, value: ir.Value) -> list[Arg]:
        """Return the fields of a tuple as arguments."""
        op = defining_op(value)
        if op is not None and op.name == TUPLE:
            return [self.arg(item) for item in op.operands]
        whole = self.arg(value)
        return [
            self.call_into(self.new(), "tuple_getitem", whole, self.b.imm(index))
            for index in range(ir.TupleType(value.type).num_types)
        ]

    def call(self, builtin: str, *args: Arg, dst: Arg | None = None) -> None:
        self.b.emit_call(BUILTIN + builtin, args=list(args), dst=dst)

    def call_into(self, dst: Arg, builtin: str, *args: Arg) -> Arg:
        self.call(builtin, *args, dst=dst)
        return dst

    def move(self, source: Arg, target: Arg) -> Arg:
        if source != target:
            self.call("copy", source, dst=target)
        return target

    def dtype(self, attribute: ir.Attribute) -> Arg:
        """Return the dtype of a type attribute."""
        element = ir.TypeAttr(attribute).value
        return self.b.c(tvm_ffi.dtype(dtypes.from_element_type(element).name))

    def write(self) -> None:
        block = entry_block(self.function)
        for argument in block.arguments:
            self.define(argument)
        for name, argument in zip(parameter_names(self.function), block.arguments, strict=True):
            info = struct_info(argument.type)
            self.check(
                self.arg(argument), info, f"{self.name}: parameter '{name}'", not _is_matched(argument)
            )
        self.block(block)
        (result,) = block.operations[-1].operation.operands
        self.b.emit_ret(self.result(result, set()))

    def result(self, value: ir.Value, given: set[ir.Value]) -> Arg:
        """Return a value as a result of the function; tensors that the caller or a constant owns are copied.

        `given`: the origins of tensors that are results already.
        """
        info = struct_info(value.type)
        if isinstance(info, Tuple):
            op = defining_op(value)
            if op is not None and op.name == TUPLE:
                fields = [self.result(item, given) for item in op.operands]
            elif not any(isinstance(item, Tensor | Tuple) for item in info.fields) or (
                is_fresh(value) and origin(value) not in given
            ):
                given.add(origin(value))
                return self.register(value)
            else:
                whole = self.arg(value)
                fields = [
                    self.owned(self.call_into(self.new(), "tuple_getitem", whole, self.b.imm(index)), item)
                    for index, item in enumerate(info.fields)
                ]
            return self.call_into(self.new(), "make_tuple", *fields)
        if isinstance(info, Tensor) and (origin(value) in given or not is_fresh(value)):
            return self.owned(self.arg(value), info)
        given.add(origin(value))
        return self.register(value)

    def owned(self, value: Arg, info: StructInfo) -> Arg:
        """Return a copy of the tensors in a value, whose memory may belong to others."""
        if isinstance(info, Tensor) and info.dtype is not None and info.shape is not None:
            return self.call_into(self.new(), "copy_tensor", value)
        if isinstance(info, Tuple):
            fields = [
                self.owned(self.call_into(self.new(), "tuple_getitem", value, self.b.imm(index)), item)
                for index, item in enumerate(info.fields)
            ]
            return self.call_into(self.new(), "make_tuple", *fields)
        return value

    def check(self, value: Arg, info: StructInfo, what: str, with_dims: bool = True) -> None:
        """Emit checks of a value against a type without symbols; a tensor's dimensions are checked only `with_dims`."""
        b, context = self.b, self.b.c(what)
        if isinstance(info, Tensor):
            ndim = b.imm(-1 if info.ndim is None else info.ndim)
            dtype = b.c(None if info.dtype is None else tvm_ffi.dtype(info.dtype.name))
            self.call("check_tensor_info", value, ndim, dtype, context)
            if with_dims:
                self.check_dims(value, info.shape, context)
        elif isinstance(info, Shape):
            self.call("check_shape_info", value, b.imm(-1 if info.ndim is None else info.ndim), context)
            self.check_dims(value, info.values, context)
        elif isinstance(info, Prim):
            self.call("check_prim_value_info", value, b.c(tvm_ffi.dtype(str(info.dtype))), context)
        elif isinstance(info, Tuple):
            self.call("check_tuple_info", value, b.imm(len(info.fields)), context)
            for index, item in enumerate(info.fields):
                if _says_anything(item):
                    part = self.call_into(self.new(), "tuple_getitem", value, b.imm(index))
                    self.check(part, item, f"{what}[{index}]")
        elif isinstance(info, FunctionInfo):
            self.call("check_func_info", value, context)
        else:
            assert isinstance(info, Object)

    def check_dims(self, value: Arg, dims: Sequence[Any] | None, context: Arg) -> None:
        """Emit checks of the constant dimensions."""
        if dims is None or not any(isinstance(dim, int) for dim in dims):
            return
        pairs = [
            (MatchCode.ASSERT_IMMEDIATE, dim) if isinstance(dim, int) else (MatchCode.IGNORE, 0)
            for dim in dims
        ]
        self.match(value, self.b.c(None), pairs, context)

    def match(self, value: Arg, heap: Arg, pairs: Sequence[tuple[int, int]], context: Arg) -> None:
        b = self.b
        codes = [b.convert_constant(int(number)) for pair in pairs for number in pair]
        self.call("match_shape", value, heap, b.imm(len(pairs)), *codes, context)

    def block(self, block: ir.Block) -> None:
        """Emit all ops of a block but the last."""
        outside = dict(self.shapes)
        self.ops(block)
        self.shapes = outside

    def ops(self, block: ir.Block) -> None:
        for view in list(block.operations)[:-1]:
            op = view.operation
            handler = HANDLERS.get(op.name)
            if handler is None:
                raise UnsupportedError(
                    f"{where(op)}: {self.name}: the virtual machine cannot run {op.name}; compute it in a prim func, "
                    'or build with exec_mode="native"'
                )
            with op.location:
                handler(self, op)

    def shape(self, op: ir.Operation, builtin: str, numbers: Sequence[int]) -> None:
        """Read a shape from the heap once; a slot is written before all reads and keeps its value."""
        key = builtin, tuple(numbers)
        if key not in self.shapes:
            args = [self.arg(op.operands[0]), *map(self.b.convert_constant, numbers)]
            self.shapes[key] = self.call_into(self.define(op.results[0]), builtin, *args)
        self.values[op.results[0]] = self.shapes[key]

    def assign(self, values: Sequence[ir.Value], targets: Sequence[Arg]) -> None:
        """Emit a parallel move of values to registers."""
        sources = [self.arg(value) for value in values]
        waiting = set(targets)
        if len(sources) > 1:
            sources = [
                self.move(source, self.new()) if source in waiting and source != target else source
                for source, target in zip(sources, targets, strict=True)
            ]
        for source, target in zip(sources, targets, strict=True):
            self.move(source, target)


def _is_matched(argument: ir.Value) -> bool:
    """True if the function checks a parameter's constant dimensions itself, when it matches its shape."""
    for use in argument.uses:
        shape = use.owner.operation
        if shape.name == "relax.shape_of" and shape.block == argument.owner:
            users = [user.owner.operation for user in shape.results[0].uses]
            if any(op.name == "relax.vm_match_shape" and op.block == shape.block for op in users):
                return True
    return False


def integers(op: ir.Operation, name: str) -> list[int]:
    """Return the integers of an array attribute."""
    return [int(ir.IntegerAttr(item).value) for item in ir.ArrayAttr(op.attributes[name])]


def _says_anything(info: StructInfo) -> bool:
    return not isinstance(info, Object)
