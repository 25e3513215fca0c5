"""Code generation: lower Relax functions with a shape heap to bytecode.

The input is the output of ``vm-shape-lower``, at level "vm" (docs/explicit-memory.md). Each value has a register,
except tuples that are used only field by field. Control flow becomes `If` and `Goto`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tvm_ffi

from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.bytecode.instructions import Arg, ArgKind
from relax_mlir.diagnostics import where
from relax_mlir.dialects import constants, dtypes
from relax_mlir.dialects.control import counts_upwards, surely_ends
from relax_mlir.dialects.effects import RELATIONS
from relax_mlir.dialects.structure import TUPLE
from relax_mlir.dialects.types import Callable as FunctionInfo
from relax_mlir.dialects.types import (
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    dims_from_attr,
    struct_info,
)
from relax_mlir.dialects.vm import MatchCode
from relax_mlir.error import UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block
from relax_mlir.lowering.shapes.body import place
from relax_mlir.lowering.shapes.structure import INT64_MAX
from relax_mlir.mlir import func, ir
from relax_mlir.transform import relax_functions
from relax_mlir.vm.builtins import FAIL, FAIL_DIVISION, FAIL_LOOP

# Code of one function: registers of values, blocks of ops, results, checks.


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
            self.check(self.arg(argument), info, f"{self.name}: parameter '{name}'", not _is_matched(argument))
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
                if not isinstance(item, Object):
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
        pairs = [(MatchCode.ASSERT_IMMEDIATE, dim) if isinstance(dim, int) else (MatchCode.IGNORE, 0) for dim in dims]
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


# Code of each op.


# Constants, integers and tuples: values that need no instruction, or are used only field by field.


_SAME = ("relax.updated", "arith.index_cast", "arith.extui", "arith.index_castui")
"""Ops whose result is their operand."""


@handles("relax.constant")
def constant(code: FunctionCode, op: ir.Operation) -> None:
    array = constants.to_numpy(op.attributes["value"])
    view = array.view()
    view.flags.writeable = False
    code.values[op.results[0]] = code.b.c(view)


@handles("relax.shape_expr")
def shape_expr(code: FunctionCode, op: ir.Operation) -> None:
    dims = dims_from_attr(op.attributes["values"])
    code.values[op.results[0]] = code.b.c(tuple(dim for dim in dims if isinstance(dim, int)))


@handles("relax.prim_value")
def prim_value(code: FunctionCode, op: ir.Operation) -> None:
    number = ir.IntegerAttr(op.attributes["value"]).value  # symbols are in the heap by now
    code.values[op.results[0]] = code.b.convert_constant(number)


@handles(TUPLE)
def make_tuple(code: FunctionCode, op: ir.Operation) -> None:
    """Emit nothing; a tuple is built where it is used as a whole."""


@handles("relax.tuple_get_item")
def tuple_get_item(code: FunctionCode, op: ir.Operation) -> None:
    index = ir.IntegerAttr(op.attributes["index"]).value
    made = defining_op(op.operands[0])
    if made is not None and made.name == TUPLE:
        code.values[op.results[0]] = code.arg(made.operands[index])
        return
    code.call("tuple_getitem", code.arg(op.operands[0]), code.b.imm(index), dst=code.define(op.results[0]))


@handles(*_SAME)
def same(code: FunctionCode, op: ir.Operation) -> None:
    """Alias the result of an op to its operand. Raises `UnsupportedError` for casts that change an integer's width."""
    given, made = op.operands[0].type, op.results[0].type
    kept = (64,) if op.name == "arith.index_cast" else (1, 64)
    if (isinstance(given, ir.IntegerType) and given.width not in kept) or (
        isinstance(made, ir.IntegerType) and made.width != 64 and op.name.startswith("arith.")
    ):
        raise UnsupportedError(
            f"{where(op)}: {op.name} from {given} to {made} has no bytecode, as integers of Relax have 64 bits"
        )
    code.values[op.results[0]] = code.arg(op.operands[0])


# Explicit memory: storages, tensors in them, copies and views.


@handles("relax.vm_alloc_storage")
def alloc_storage(code: FunctionCode, op: ir.Operation) -> None:
    b = code.b
    device = b.imm(ir.IntegerAttr(op.attributes["device"]).value)
    scope = b.c(ir.StringAttr(op.attributes["storage_scope"]).value)
    size = code.arg(op.operands[0])
    args = [b.vm_state(), size, device, code.dtype(op.attributes["dtype"]), scope]
    code.call("alloc_storage", *args, dst=code.define(op.results[0]))


@handles("relax.vm_alloc_tensor")
def alloc_tensor(code: FunctionCode, op: ir.Operation) -> None:
    offset = code.b.convert_constant(ir.IntegerAttr(op.attributes["offset"]).value)
    storage, shape = code.arg(op.operands[0]), code.arg(op.operands[1])
    args = [storage, offset, shape, code.dtype(op.attributes["dtype"])]
    code.call("alloc_tensor", *args, dst=code.define(op.results[0]))


@handles("relax.vm_kill_object")
def kill(code: FunctionCode, op: ir.Operation) -> None:
    killed = code.arg(op.operands[0])
    if killed.kind == 0:
        code.call("null_value", dst=killed)


@handles("relax.vm_copy")
def copy(code: FunctionCode, op: ir.Operation) -> None:
    code.call("copy_into", *map(code.arg, op.operands))


@handles("relax.vm_reshape")
def reshape(code: FunctionCode, op: ir.Operation) -> None:
    code.call("reshape", *map(code.arg, op.operands), dst=code.define(op.results[0]))


# Shapes and the shape heap.


@handles("relax.shape_of")
def shape_of(code: FunctionCode, op: ir.Operation) -> None:
    """Pass the tensor itself to users that only read dimensions; otherwise call `shape_of`."""
    users = {use.owner.operation.name for use in op.results[0].uses}
    if users <= {"relax.vm_match_shape", "relax.vm_store_shape"}:
        code.values[op.results[0]] = code.arg(op.operands[0])
        return
    code.call("shape_of", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.tensor_to_shape")
def tensor_to_shape(code: FunctionCode, op: ir.Operation) -> None:
    code.call("tensor_to_shape", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.shape_to_tensor")
def shape_to_tensor(code: FunctionCode, op: ir.Operation) -> None:
    code.call("shape_to_tensor", code.arg(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.shape_equal")
def shape_equal(code: FunctionCode, op: ir.Operation) -> None:
    """Return the result of a comparison as a bool tensor of rank 0."""
    flag = code.call_into(code.new(), "shape_equal", *map(code.arg, op.operands))
    dtype, rank_0 = code.b.c(tvm_ffi.dtype("bool")), code.b.c(())
    code.call("from_elements", dtype, rank_0, flag, dst=code.define(op.results[0]))


@handles("relax.match_shape")
def match_shape(code: FunctionCode, op: ir.Operation) -> None:
    """Check dtype, rank and constant dimensions, which remain at this level; the result is the operand."""
    value = code.arg(op.operands[0])
    info = struct_info(op.results[0].type)
    context = f"{code.name}: match_shape at {where(op)}"
    if isinstance(info, Prim):
        (dim,) = dims_from_attr(op.attributes["pattern"])
        if isinstance(dim, int):
            what, number = code.b.imm(MatchCode.ASSERT_IMMEDIATE), code.b.convert_constant(dim)
            code.call("match_prim_value", value, code.b.c(None), what, number, code.b.c(context))
    else:
        code.check(value, info, context)
    code.values[op.results[0]] = value


@handles("relax.vm_alloc_shape_heap")
def alloc_shape_heap(code: FunctionCode, op: ir.Operation) -> None:
    size = code.b.imm(ir.IntegerAttr(op.attributes["size"]).value)
    code.call("alloc_shape_heap", code.b.vm_state(), size, dst=code.define(op.results[0]))


@handles("relax.vm_store_shape")
def store_shape(code: FunctionCode, op: ir.Operation) -> None:
    shape, heap = map(code.arg, op.operands)
    code.call("store_shape", shape, heap, *_numbers(code, op, "indices"))


@handles("relax.vm_load_shape")
def load_shape(code: FunctionCode, op: ir.Operation) -> None:
    code.shape(op, "load_shape", integers(op, "indices"))


def _numbers(code: FunctionCode, op: ir.Operation, name: str) -> list[Arg]:
    return [code.b.convert_constant(number) for number in integers(op, name)]


@handles("relax.vm_make_shape")
def make_shape(code: FunctionCode, op: ir.Operation) -> None:
    codes, values = integers(op, "codes"), integers(op, "values")
    code.shape(op, "make_shape", [len(codes), *(n for pair in zip(codes, values, strict=True) for n in pair)])


@handles("relax.vm_match_shape")
def vm_match_shape(code: FunctionCode, op: ir.Operation) -> None:
    shape, heap = map(code.arg, op.operands)
    pairs = list(zip(integers(op, "codes"), integers(op, "values"), strict=True))
    code.match(shape, heap, pairs, code.b.c(ir.StringAttr(op.attributes["where"]).value))


@handles("relax.vm_load_prim")
def load_prim(code: FunctionCode, op: ir.Operation) -> None:
    slot = code.b.imm(ir.IntegerAttr(op.attributes["index"]).value)
    heap = code.arg(op.operands[0])
    code.call("make_prim_value", heap, code.b.imm(1), slot, dst=code.define(op.results[0]))


# Calls of shape functions, Relax functions and packed functions.


@handles("relax.call_prim")
def call_prim(code: FunctionCode, op: ir.Operation) -> None:
    """Call a shape function, which reads and writes the heap."""
    (heap,) = code.fields(op.operands[0])
    code.b.emit_call(callee_of(op), args=[heap, heap])


@handles("relax.call")
def call(code: FunctionCode, op: ir.Operation) -> None:
    code.b.emit_call(callee_of(op), args=code.fields(op.operands[0]), dst=code.define(op.results[0]))


@handles("relax.make_closure")
def make_closure(code: FunctionCode, op: ir.Operation) -> None:
    args = [code.b.f(callee_of(op)), *code.fields(op.operands[0])]
    code.call("make_closure", *args, dst=code.define(op.results[0]))


@handles("relax.call_packed", "relax.call_pure_packed")
def call_packed(code: FunctionCode, op: ir.Operation) -> None:
    operands = iter(code.fields(op.operands[0]))
    args = [
        next(operands) if isinstance(item, ir.UnitAttr) else _literal(code, item)
        for item in ir.ArrayAttr(op.attributes["arg_spec"])
    ]
    name = ir.StringAttr(op.attributes["func"]).value
    result = op.results[0]
    if result.type == ir.TupleType.get_tuple([]):
        code.b.emit_call(name, args=args)
        return
    dst = code.define(result)
    code.b.emit_call(name, args=args, dst=dst)
    code.check(dst, struct_info(result.type), f"{code.name}: result of '{name}' at {where(op)}")


def _literal(code: FunctionCode, attribute: ir.Attribute) -> Arg:
    assert isinstance(attribute, ir.StringAttr | ir.IntegerAttr | ir.FloatAttr | ir.BoolAttr)
    return code.b.convert_constant(attribute.value)


# Assertions: a comparison, and a call that raises if it is false.


_PREDICATES = {"==": "eq", "!=": "ne", "<": "slt", "<=": "sle", ">": "sgt", ">=": "sge"}


@handles("relax.assert_op")
def assert_op(code: FunctionCode, op: ir.Operation) -> None:
    shown = code.fields(op.operands[0])
    if isinstance(op.attributes["relation"], ir.UnitAttr):
        condition = code.call_into(code.new(), "read_if_cond", shown.pop(0))
    else:
        left, right = (
            code.b.convert_constant(dim) for dim in dims_from_attr(op.attributes["values"]) if isinstance(dim, int)
        )
        condition = _compare(code, op, left, right)
    require(code, condition, FAIL, _message(op), shown)


@handles("relax.vm_assert_relation")
def assert_relation(code: FunctionCode, op: ir.Operation) -> None:
    heap = code.arg(op.operands[0])
    left, right = (
        code.call_into(code.new(), "make_prim_value", heap, code.b.imm(source), code.b.convert_constant(value))
        for source, value in zip(integers(op, "codes"), integers(op, "values"), strict=True)
    )
    require(code, _compare(code, op, left, right), FAIL, _message(op), code.fields(op.operands[1]))


def _compare(code: FunctionCode, op: ir.Operation, left: Arg, right: Arg) -> Arg:
    relation = ir.StringAttr(op.attributes["relation"]).value
    assert relation in RELATIONS
    return code.call_into(code.new(), f"arith.cmpi_{_PREDICATES[relation]}", left, right)


def _message(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["message"]).value)


def require(code: FunctionCode, condition: Arg, fail: str, text: str, shown: Sequence[Arg]) -> None:
    """Emit a call of the raising function `fail`, with a text and values, that runs unless a condition holds."""
    failed, end = code.b.label(), code.b.label()
    code.b.emit_if(condition, failed)
    code.b.emit_goto(end)
    code.b.place(failed)
    code.b.emit_call(fail, args=[code.b.c(text), *shown])
    code.b.place(end)


# Control flow: conditionals and loops become `If` and `Goto`.


@handles("scf.if")
def if_op(code: FunctionCode, op: ir.Operation) -> None:
    results = [code.define(result) for result in op.results]
    false, end = code.b.label(), code.b.label()
    code.b.emit_if(code.register(op.operands[0]), false)
    _branch(code, op.regions[0], results)
    code.b.emit_goto(end)
    code.b.place(false)
    _branch(code, op.regions[1], results)
    code.b.place(end)


def _branch(code: FunctionCode, region: ir.Region, results: Sequence[Arg]) -> None:
    if len(region.blocks):
        block = region.blocks[0]
        code.block(block)
        code.assign(block.operations[-1].operation.operands, results)


@handles("scf.for")
def for_op(code: FunctionCode, op: ir.Operation) -> None:
    low, high, step, *initial = op.operands
    _require_end(code, op)
    block = entry_block(op)
    variable, *carried = (code.define(argument) for argument in block.arguments)
    code.move(code.arg(low), variable)
    code.assign(initial, carried)
    head, end = code.b.label(), code.b.label()
    code.b.place(head)
    condition = code.call_into(code.new(), "arith.cmpi_slt", variable, code.arg(high))
    code.b.emit_if(condition, end)
    code.block(block)
    code.assign(block.operations[-1].operation.operands, carried)
    code.call("arith.addi", variable, code.arg(step), dst=variable)
    code.b.emit_goto(head)
    code.b.place(end)
    for result, register in zip(op.results, carried, strict=True):
        code.registers[result] = register


def _require_end(code: FunctionCode, op: ir.Operation) -> None:
    """Raise the same error as native code for a loop whose step is not positive or whose variable would overflow."""
    if surely_ends(op):
        return
    upper, step = (code.arg(operand) for operand in list(op.operands)[1:3])
    where, shown = f"{code.name}: {place(op)}", [step, upper]
    if not counts_upwards(op):
        positive = code.call_into(code.new(), "arith.cmpi_sgt", step, code.b.convert_constant(0))
        require(code, positive, FAIL_LOOP, where, shown)
    room = code.call_into(code.new(), "arith.subi", code.b.convert_constant(INT64_MAX), step)
    last = code.call_into(code.new(), "arith.addi", room, code.b.convert_constant(1))
    require(code, code.call_into(code.new(), "arith.cmpi_sle", upper, last), FAIL_LOOP, where, shown)


@handles("scf.while")
def while_op(code: FunctionCode, op: ir.Operation) -> None:
    before, after = (region.blocks[0] for region in op.regions)
    carried = [code.define(argument) for argument in before.arguments]
    inside = [code.define(argument) for argument in after.arguments]
    code.assign(op.operands, carried)
    head, end = code.b.label(), code.b.label()
    code.b.place(head)
    code.block(before)
    condition, *values = before.operations[-1].operation.operands
    code.assign(values, inside)
    code.b.emit_if(code.register(condition), end)
    code.block(after)
    code.assign(after.operations[-1].operation.operands, carried)
    code.b.emit_goto(head)
    code.b.place(end)
    for result, register in zip(op.results, inside, strict=True):
        code.registers[result] = register


# Ops of other dialects on scalars, between tensors and control flow.


_CMPI = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""The predicates of `arith.cmpi`, indexed by their integer value."""
_BINARY = tuple(
    f"arith.{name}"
    for name in (
        *("addi", "subi", "muli", "minsi", "maxsi", "minui", "maxui", "andi", "ori", "xori"),
        *("divsi", "floordivsi", "ceildivsi", "remsi", "shli", "shrsi", "shrui"),
    )
)


@handles("tensor.extract")
def extract(code: FunctionCode, op: ir.Operation) -> None:
    code.call("extract", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.constant")
def arith_constant(code: FunctionCode, op: ir.Operation) -> None:
    value = op.attributes["value"]
    if isinstance(value, ir.DenseElementsAttr):
        code.values[op.results[0]] = code.b.c(constants.to_numpy(value))
    else:
        number = ir.IntegerAttr(value).value
        is_bool = value.type == ir.IntegerType.get_signless(1)
        code.values[op.results[0]] = code.b.imm(int(bool(number))) if is_bool else code.b.convert_constant(number)


@handles("tensor.from_elements")
def from_elements(code: FunctionCode, op: ir.Operation) -> None:
    tensor = ir.RankedTensorType(op.results[0].type)
    dtype = code.b.c(tvm_ffi.dtype(dtypes.from_element_type(tensor.element_type).name))
    shape = code.b.c(tuple(tensor.shape))
    code.call("from_elements", dtype, shape, *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.select")
def select(code: FunctionCode, op: ir.Operation) -> None:
    code.call("arith.select", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles("arith.cmpi")
def cmpi(code: FunctionCode, op: ir.Operation) -> None:
    predicate = _CMPI[ir.IntegerAttr(op.attributes["predicate"]).value]
    code.call(f"arith.cmpi_{predicate}", *map(code.arg, op.operands), dst=code.define(op.results[0]))


@handles(*_BINARY)
def binary(code: FunctionCode, op: ir.Operation) -> None:
    if op.name == "arith.floordivsi" and not _is_positive(op.operands[1]):
        _require_divisor(code, op)
    code.call(op.name, *map(code.arg, op.operands), dst=code.define(op.results[0]))


def _is_positive(value: ir.Value) -> bool:
    """True if a value is a positive constant."""
    made = defining_op(value)
    known = made is not None and made.name in ("arith.constant", "relax.prim_value")
    number = made.attributes["value"] if known and made is not None else None
    return isinstance(number, ir.IntegerAttr) and number.value > 0


def _require_divisor(code: FunctionCode, op: ir.Operation) -> None:
    """Raise the same error as native code unless the divisor is positive."""
    divisor = code.arg(op.operands[1])
    condition = code.call_into(code.new(), "arith.cmpi_sgt", divisor, code.b.convert_constant(0))
    require(code, condition, FAIL_DIVISION, f"{code.name}: {place(op)}", [divisor])


def generate(module: ir.Module, builder: ExecBuilder) -> None:
    """Emit the Relax functions of a module into a builder.

    Raises UnsupportedError for an op that the machine cannot run; it names the op and its location.
    """
    functions = relax_functions(module)
    for function in functions:
        builder.declare_function(function.name.value, "vm")
    for function in functions:
        names = parameter_names(function)
        with builder.function(function.name.value, len(names), names, allow_unused=True):
            FunctionCode(function, builder).write()
