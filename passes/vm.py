"""Lowering to the virtual machine: `vm-memory-lower` and `vm-shape-lower`."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, MutableSet, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar

from relax_mlir import symbolic
from relax_mlir.analysis.type_inference import infer_call
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.diagnostics import where
from relax_mlir.dialects import structure
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import RelaxOp, as_sequence, dim_attributes, dims_in, implies, op_class
from relax_mlir.dialects.dialect import ShapeValueType
from relax_mlir.dialects.memory import call_prim
from relax_mlir.dialects.structure import TUPLE, make_tuple, match_shape, tuple_get_item
from relax_mlir.dialects.traits import CallsPacked, IsView, has_trait, ops_with
from relax_mlir.dialects.types import Prim, Shape, StructInfo, Tensor, Tuple, dims_from_attr, struct_info
from relax_mlir.dialects.value import Value
from relax_mlir.dialects.vm import MakeCode, MatchCode, VmReshapeOp
from relax_mlir.error import RelaxError, ShapeError, UnsupportedError
from relax_mlir.ir_queries import callee_of, defining_op, entry_block, fresh_name, symbol_names
from relax_mlir.mlir import arith, cf, func, ir, memref, tensor
from relax_mlir.op import tensor_to_shape, vm
from relax_mlir.passes.memory import SYMBOL_BOUNDS, shape_value, symbol_bounds
from relax_mlir.symbolic import Bounds, Definition, Dim, Expr
from relax_mlir.transform import FunctionPass, ModulePass, PassContext, relax_functions

# Pass `vm-memory-lower`: lower explicit memory to builtins of the virtual machine.


RENAMED = {
    "relax.memory_alloc_storage": "relax.vm_alloc_storage",
    "relax.memory_alloc_tensor": "relax.vm_alloc_tensor",
    "relax.memory_copy": "relax.vm_copy",
    "relax.memory_kill_tensor": "relax.vm_kill_object",
    "relax.memory_kill_storage": "relax.vm_kill_object",
}
"""Builtin with the same operands and attributes, by op of explicit memory."""
EARLIER = {
    "relax.dataflow": "to-non-dataflow",
    "relax.call_tir": "call-tir-rewrite",
    "relax.call_tir_inplace": "call-tir-rewrite",
    "relax.call_dps_packed": "call-tir-rewrite",
}
"""Pass that removes an op, by the name of the op."""


class VMMemoryLower(FunctionPass):
    """Lower `memory.*` ops to `vm.*`, and views to `vm.reshape`.

    Requires explicit memory (``call-tir-rewrite``).
    """

    name: ClassVar[str] = "vm-memory-lower"
    lowers: ClassVar[bool] = True

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a function without explicit memory, and for views of unknown shape."""
        refuse(function, EARLIER, self.name)
        for op in list(walk(entry_block(function))):
            with op.location:
                if op.name in RENAMED:
                    _rename(op, RENAMED[op.name])
                elif has_trait(op, IsView):
                    _reshape(op)


def refuse(function: func.FuncOp, earlier: dict[str, str], name: str) -> None:
    """Raise `UnsupportedError` for an op that an earlier pass should have removed."""
    for op in walk(entry_block(function)):
        if op.name in earlier:
            raise UnsupportedError(
                f"{where(op)}: {function.name.value}: {op.name} is left; run {earlier[op.name]} before {name}"
            )


def walk(block: ir.Block) -> Iterator[ir.Operation]:
    """All ops in `block`, each before the ops nested in it."""
    for view in list(block.operations):
        yield view.operation
        for region in view.operation.regions:
            for inner in region.blocks:
                yield from walk(inner)


def _rename(op: ir.Operation, name: str) -> None:
    attributes = {a.name: a.attr for a in (op.attributes[i] for i in range(len(op.attributes)))}
    with ir.InsertionPoint(op):
        new = ir.Operation.create(
            name, results=[r.type for r in op.results], operands=list(op.operands), attributes=attributes
        )
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()


def _reshape(op: ir.Operation) -> None:
    info = struct_info(op.results[0].type)
    assert isinstance(info, Tensor)
    with ir.InsertionPoint(op):
        if info.known_shape is not None:
            shape = shape_value(info.known_shape)
        elif len(op.operands) == 2:
            shape = op.operands[1]
        else:
            raise UnsupportedError(
                f"{where(op)}: {op.name} gives {info}; its shape must be known: match_shape its operand first"
            )
        new = ir.Operation.create(
            VmReshapeOp.OPERATION_NAME, results=[op.results[0].type], operands=[op.operands[0], shape]
        )
    op.results[0].replace_all_uses_with(new.results[0])
    op.erase()


# Pass `vm-shape-lower`: store symbols and symbolic expressions in a shape heap.
#
# Shape functions are prim funcs that evaluate symbolic expressions over the slots of a shape heap.


STORES = 64
"""Maximum number of expressions of a shape function: bufferisation analyses a chain of stores in cubic time."""


@dataclass(frozen=True)
class ShapeFunctions:
    """Creates the shape functions of the Relax function `function`; `slots` maps expressions, as text, to its slots."""

    module: ir.Module
    function: str
    slots: Mapping[str, int]
    taken: MutableSet[str]
    """The symbol names of the module, to which those of new functions are added."""

    def make(self, expressions: Sequence[Dim], bounds: Bounds) -> str:
        """Create a function that checks `bounds` and computes `expressions` into their slots; returns its name."""
        with self._function() as (name, body):
            for symbol, (low, high) in bounds.items():
                body.check(symbol, low, high)
            for expression in expressions:
                body.store(expression)
        return name

    def solve(self, definitions: Sequence[Definition], origins: Mapping[str, str]) -> str:
        """Create a function that solves stored dimensions for symbols, such as ``4*n`` for n; returns its name.

        `origins`: the parameter of each dimension, by symbol, for messages.
        """
        with self._function() as (name, body):
            for definition in definitions:
                body.solve(definition, origins[definition.symbol])
        return name

    @contextmanager
    def _function(self) -> Iterator[tuple[str, _Body]]:
        """Create a function; its body is written inside the context."""
        heap_type = ir.MemRefType.get([len(self.slots)], ir.IntegerType.get_signless(64))
        name = fresh_name(f"{self.function}_shape_func", self.taken)
        self.taken.add(name)
        with ir.InsertionPoint(self.module.body):
            made = func.FuncOp(name, ir.FunctionType.get([heap_type], []), visibility="private")
        made.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        block = made.add_entry_block()
        with ir.InsertionPoint(block):
            yield name, _Body(self, block.arguments[0])
            func.ReturnOp([])


class _Body:
    """The body of one shape function; each slot is loaded once."""

    def __init__(self, functions: ShapeFunctions, heap: ir.Value) -> None:
        self._functions, self._heap = functions, heap
        self._symbols: dict[str, ir.Value] = {}

    def check(self, symbol: str, low: int, high: int | None) -> None:
        """Assert that `symbol` is within its bounds."""
        limits = f"at least {low}" if high is None else f"between {low} and {high}"
        message = f"{self._functions.function}: symbol '{symbol}' must be {limits}"
        value = self._symbol(symbol)
        self._require(arith.CmpIPredicate.sge, value, _constant(low), message)
        if high is not None:
            self._require(arith.CmpIPredicate.sle, value, _constant(high), message)

    def store(self, expression: Dim) -> None:
        """Compute `expression` and store it in its slot."""
        for divisor in symbolic.divisors(expression):
            if isinstance(divisor, Expr):
                message = f"{self._functions.function}: '{expression}' divides by {divisor}, which is 0"
                self._require(arith.CmpIPredicate.ne, self._value(divisor), _constant(0), message)
        value = self._value(expression)
        memref.store(value, self._heap, [self._slot(str(expression))])

    def solve(self, definition: Definition, origin: str) -> None:
        """Solve a stored dimension for its symbol, and store the symbol in its slot."""
        dim, symbol = definition.dim, definition.symbol
        what = f"{self._functions.function}: {origin}"
        rest = arith.subi(memref.load(self._heap, [self._slot(str(dim))]), self._value(definition.offset))
        scale = self._value(definition.scale)
        if isinstance(definition.scale, Expr):
            message = f"{what}: {dim} tells nothing of symbol '{symbol}' where {definition.scale} is 0"
            self._require(arith.CmpIPredicate.ne, scale, _constant(0), message)
        value = arith.floordivsi(rest, scale)
        message = f"{what}: the dimension is {dim} for no {symbol} = 0, 1, 2, …"
        self._require(arith.CmpIPredicate.eq, arith.muli(value, scale), rest, message)
        self._require(arith.CmpIPredicate.sge, value, _constant(0), message)
        memref.store(value, self._heap, [self._slot(symbol)])
        self._symbols[symbol] = value

    @staticmethod
    def _require(predicate: arith.CmpIPredicate, a: ir.Value, b: ir.Value, message: str) -> None:
        cf.AssertOp(arith.cmpi(predicate, a, b), message)

    def _value(self, expression: Dim) -> ir.Value:
        return symbolic.lower(
            expression,
            symbol=self._symbol,
            const=_constant,
            add=lambda a, b: self._sum(a, b, expression),
            mul=lambda a, b: self._product(a, b, expression),
            floordiv=arith.floordivsi,
            mod=lambda a, b: arith.subi(a, arith.muli(arith.floordivsi(a, b), b)),
            min=arith.minsi,
            max=arith.maxsi,
        )

    def _sum(self, a: ir.Value, b: ir.Value, whole: Dim) -> ir.Value:
        """Checked 64-bit ``a + b``: on overflow, the sign of the sum differs from the signs of both operands."""
        result = arith.addi(a, b)
        signs = arith.andi(arith.xori(result, a), arith.xori(result, b))
        self._require(arith.CmpIPredicate.sge, signs, _constant(0), self._too_large(whole))
        return result

    def _product(self, a: ir.Value, b: ir.Value, whole: Dim) -> ir.Value:
        """Checked 64-bit ``a * b``: the limit follows from a constant factor, or the product is divided by a factor."""
        for factor, other in ((_number(a), b), (_number(b), a)):
            if factor:
                limit = (2**63 - 1) // abs(factor)
                self._require(arith.CmpIPredicate.sle, other, _constant(limit), self._too_large(whole))
                self._require(arith.CmpIPredicate.sge, other, _constant(-limit), self._too_large(whole))
                return arith.muli(a, b)
        result = arith.muli(a, b)
        is_zero = arith.cmpi(arith.CmpIPredicate.eq, a, _constant(0))
        divided = arith.floordivsi(result, arith.select(is_zero, _constant(1), a))
        wanted = arith.select(is_zero, divided, b)
        self._require(arith.CmpIPredicate.eq, divided, wanted, self._too_large(whole))
        return result

    def _too_large(self, whole: Dim) -> str:
        return f"{self._functions.function}: '{whole}' has more than 64 bits"

    def _symbol(self, name: str) -> ir.Value:
        if name not in self._symbols:
            self._symbols[name] = memref.load(self._heap, [self._slot(name)])
        return self._symbols[name]

    def _slot(self, text: str) -> ir.Value:
        return arith.constant(ir.IndexType.get(), self._functions.slots[text])


def _number(value: ir.Value) -> int:
    """The value of a constant; 0 for other values."""
    op = defining_op(value)
    return int(ir.IntegerAttr(op.attributes["value"]).value) if op is not None and op.name == "arith.constant" else 0


def _constant(value: int) -> ir.Value:
    return arith.constant(ir.IntegerType.get_signless(64), value)


def erased(info: StructInfo) -> StructInfo:
    """`info` with unknown dimensions in place of symbolic ones."""
    if isinstance(info, Tensor):
        return Tensor(_erased_dims(info.shape), info.dtype)
    if isinstance(info, Shape):
        return Shape(_erased_dims(info.values))
    if isinstance(info, Tuple):
        return Tuple([erased(item) for item in info.fields])
    return info


def _erased_dims(dims: tuple[Dim | None, ...] | None) -> list[int | None] | None:
    return None if dims is None else [dim if isinstance(dim, int) else None for dim in dims]


def _erased_type(type_: ir.Type) -> ir.Type:
    try:
        return type_ if isinstance(type_, ir.IndexType) else erased(struct_info(type_)).to_type()
    except RelaxError:
        return type_  # a type of an upstream op, without shapes


def erase_signature(function: func.FuncOp) -> None:
    """Erase the shapes in the types of a function's parameters and results."""
    inputs = [_erased_type(t) for t in function.type.inputs]
    results = [_erased_type(t) for t in function.type.results]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))


def erase_types(function: func.FuncOp, functions: Mapping[str, func.FuncOp]) -> None:
    """Erase the shapes in the types of all values of a function; requires that the signatures of callees are erased.

    If the erased operands of an op no longer determine a static dimension of its result, a `match_shape` states it.
    """
    _erase_block(entry_block(function), functions)


def _erase_block(block: ir.Block, functions: Mapping[str, func.FuncOp]) -> None:
    for argument in block.arguments:
        argument.set_type(_erased_type(argument.type))
    for view in list(block.operations):
        op = view.operation
        with op.location:
            _erase_op(op, functions)
        for region in op.regions:
            for inner in region.blocks:
                _erase_block(inner, functions)


def _erase_op(op: ir.Operation, functions: Mapping[str, func.FuncOp]) -> None:
    if op.name == TUPLE:
        op.results[0].set_type(ir.TupleType.get_tuple([v.type for v in op.operands]))
        return
    claims = [_erased_type(result.type) for result in op.results]
    for result, claim, given in zip(op.results, claims, _given(op, claims, functions), strict=True):
        if given == claim:
            result.set_type(claim)
            continue
        users = list(result.uses)
        result.set_type(given)
        with ir.InsertionPoint.after(op):
            known = _stated(Value(result), struct_info(claim))
        for use in users:
            use.owner.operation.operands[use.operand_number] = known.ssa


def _stated(value: Value, claim: StructInfo) -> Value:
    """`value` with the struct info `claim`, by a `match_shape` if necessary."""
    if value.struct_info == claim:
        return value
    if isinstance(claim, Tuple):
        return make_tuple(*(_stated(tuple_get_item(value, i), item) for i, item in enumerate(claim.fields)))
    assert isinstance(claim, Tensor | Shape)
    dims = claim.shape if isinstance(claim, Tensor) else claim.values
    assert dims is not None
    return match_shape(value, dims, new_dtype(value, claim))


def new_dtype(value: Value, claim: StructInfo) -> str | None:
    """The dtype of `claim`, if `value` is a tensor of unknown dtype; else None."""
    info = value.struct_info
    known = isinstance(info, Tensor) and info.dtype is not None
    return None if known or not isinstance(claim, Tensor) or claim.dtype is None else claim.dtype.name


def _given(op: ir.Operation, claims: list[ir.Type], functions: Mapping[str, func.FuncOp]) -> list[ir.Type]:
    """The types deduced from the op's operands where they are less precise than `claims`; else the claims."""
    cls = op_class(op)
    if cls is None or not claims:
        return claims
    if op.name == "relax.call":
        name = callee_of(op)
        arguments = struct_info(op.operands[0].type)
        assert isinstance(arguments, Tuple)
        inferred: list[StructInfo] = [infer_call(name, functions[name], arguments.fields)]
    elif cls.infer.__func__ is not RelaxOp.infer.__func__:  # type: ignore[attr-defined]  # class methods
        inferred = list(as_sequence(cls.infer(cls.args_of(op))))
    else:
        return claims
    return [
        claim if implies(info, struct_info(claim)) else info.to_type()
        for claim, info in zip(claims, inferred, strict=True)
    ]


REFUSED = {**EARLIER, **dict.fromkeys([*RENAMED, *ops_with(IsView)], "vm-memory-lower")}
CHECKED = ops_with(CallsPacked)
"""Calls whose results are checked against their declared shapes."""


class VMShapeLower(ModulePass):
    """Store symbolic shapes in a heap, an int64 tensor with a slot for each symbol and expression of the function.

    Parameters and `match_shape` store the symbols that they define and check the others. Generated prim funcs, the
    shape functions, compute the expressions and check bounds of symbols; `load_shape` and `make_shape` read them. No
    symbol remains in a type: a dimension is static or unknown.

    Requires the form that ``vm-memory-lower`` produces.
    """

    name: ClassVar[str] = "vm-shape-lower"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raises `UnsupportedError` for a module in another form, `ShapeError` for a symbol that is not defined."""
        functions = relax_functions(module)
        for function in functions:
            refuse(function, REFUSED, self.name)
        taken = symbol_names(module.body)
        for function in functions:
            with function.location:
                _FunctionLowering(module, function, taken).run()
        for function in functions:
            erase_signature(function)
        table = {function.name.value: function for function in functions}
        for function in functions:
            erase_types(function, table)


@dataclass(frozen=True)
class _Scope:
    """State at a program point: expressions (as text) whose slots hold values, and symbols with checked bounds."""

    ready: set[str] = field(default_factory=set)
    bounded: set[str] = field(default_factory=set)

    def nested(self) -> _Scope:
        return _Scope(set(self.ready), set(self.bounded))

    def has(self, dim: Dim) -> bool:
        return all(symbol in self.ready for symbol in symbolic.symbols(dim))


class _FunctionLowering:
    def __init__(self, module: ir.Module, function: func.FuncOp, taken: set[str]) -> None:
        self.function, self.name = function, str(function.name.value)
        self.block = entry_block(function)
        self.bounds: Bounds = symbol_bounds(function)
        self.wanted: dict[str, Dim] = {}
        """Symbolic expressions that the function uses, by text."""
        self.slots: dict[str, int] = {}
        self._collect()
        self.functions = ShapeFunctions(module, self.name, self.slots, taken)

    # -- slots

    def _collect(self) -> None:
        infos: list[StructInfo] = [struct_info(a.type) for a in self.block.arguments if _is_relax(a.type)]
        dims = [dim for info in infos for dim in _dims(info)]
        for op in walk(self.block):
            dims += _dims_used(op)
        for dim in dims:
            for name in symbolic.symbols(dim):
                self.slots.setdefault(name, len(self.slots))
        for dim in dims:
            if isinstance(dim, Expr) and symbolic.linear_definition(dim) is None:
                self.wanted.setdefault(str(dim), dim)
                self.slots.setdefault(str(dim), len(self.slots))

    def slot(self, dim: Dim) -> int:
        return self.slots[str(dim)]

    # -- the function

    def run(self) -> None:
        if not self.slots:
            return
        scope, body = _Scope(), _ops(self.block)
        with ir.InsertionPoint.at_block_begin(self.block):
            self.heap = _named(vm.alloc_shape_heap(len(self.slots)), "shape_heap")
            self._parameters(scope)
        self._lower_ops(body, scope)
        if SYMBOL_BOUNDS in self.function.attributes:
            del self.function.attributes[SYMBOL_BOUNDS]

    def _parameters(self, scope: _Scope) -> None:
        leaves = []
        names = parameter_names(self.function)
        for name, argument in zip(names, self.block.arguments, strict=True):
            if _is_relax(argument.type):
                leaves += list(_leaves(f"parameter '{name}'", Value(argument), argument.type))
        places = [
            (number, axis, dim)
            for number, (_, _, info) in enumerate(leaves)
            for axis, dim in enumerate(_leaf_dims(info) or ())
        ]
        solved = [d for d in symbolic.definitions([dim for _, _, dim in places]) if not d.is_bare]
        later = []
        for number, (what, value, info) in enumerate(leaves):
            dims = _leaf_dims(info)
            if dims is None or not any(isinstance(dim, Expr) for dim in dims):
                continue
            shape = _shape(value, info)
            context = f"{self.name}: {what}"
            axes = {places[d.index][1] for d in solved if places[d.index][0] == number}
            late = self._define(shape, dims, scope, context, solved=axes)
            later.append((shape, late, context))
        if solved:
            origins = {d.symbol: leaves[places[d.index][0]][0] for d in solved}
            call_prim(self.functions.solve(solved, origins), [self.heap])
            scope.ready.update(d.symbol for d in solved)
        self._compute(scope)
        for shape, late, context in later:
            self._check(shape, late, scope, context)

    def _lower_ops(self, ops: Sequence[ir.Operation], scope: _Scope) -> None:
        for op in ops:
            for region in op.regions:
                for block in region.blocks:
                    self._lower_ops(_ops(block), scope.nested())
            with op.location:
                self._lower_op(op, scope)

    def _lower_op(self, op: ir.Operation, scope: _Scope) -> None:
        if op.name == "relax.shape_expr":
            self._shape_expr(op, scope)
        elif op.name == "relax.prim_value":
            self._prim_value(op, scope)
        elif op.name == "relax.match_shape":
            self._match_shape(op, scope)
        elif op.name == "relax.assert_op":
            self._assert(op, scope)
        elif op.name in CHECKED:
            self._check_result(op, scope)

    # -- ops

    def _shape_expr(self, op: ir.Operation, scope: _Scope) -> None:
        dims = [d for d in dims_from_attr(op.attributes["values"]) if d is not None]
        if not any(isinstance(dim, Expr) for dim in dims):
            return
        with ir.InsertionPoint(op):
            self._ensure(dims, scope, op)
            if all(isinstance(dim, Expr) for dim in dims):
                shape = vm.load_shape(self.heap, [self.slot(dim) for dim in dims])
            else:
                shape = vm.make_shape(self.heap, *self._sources(dims))
        op.results[0].replace_all_uses_with(shape.ssa)
        op.erase()

    def _sources(self, dims: Sequence[Dim]) -> tuple[list[int], list[int]]:
        """The sources of dimensions: codes of `MakeCode`, and the immediate values or slots."""
        codes = [int(MakeCode.SLOT if isinstance(dim, Expr) else MakeCode.IMMEDIATE) for dim in dims]
        return codes, [dim if isinstance(dim, int) else self.slot(dim) for dim in dims]

    def _assert(self, op: ir.Operation, scope: _Scope) -> None:
        dims = [dim for dim in dims_in(op.attributes["values"]) if dim is not None]
        if not any(isinstance(dim, Expr) for dim in dims):
            return
        relation, message = (ir.StringAttr(op.attributes[name]).value for name in ("relation", "message"))
        with ir.InsertionPoint(op):
            self._ensure(dims, scope, op)
            vm.assert_relation(self.heap, Value(op.operands[0]), relation, *self._sources(dims), message)
        op.erase()

    def _prim_value(self, op: ir.Operation, scope: _Scope) -> None:
        dim = structure.integer_of(op.attributes["value"])
        if not isinstance(dim, Expr):
            return
        with ir.InsertionPoint(op):
            self._ensure([dim], scope, op)
            value = vm.load_prim(self.heap, self.slot(dim))
        op.results[0].replace_all_uses_with(value.ssa)
        op.erase()

    def _match_shape(self, op: ir.Operation, scope: _Scope) -> None:
        pattern = dims_from_attr(op.attributes["pattern"])
        if not any(isinstance(dim, Expr) for dim in pattern):
            return
        value = Value(op.operands[0])
        info = value.struct_info
        known = _leaf_dims(info) or (None,) * len(pattern)
        context = f"{self.name}: match_shape at {where(op)}"
        with ir.InsertionPoint(op):
            static = [dim if isinstance(dim, int) else None for dim in pattern]
            claimed = struct_info(op.results[0].type)
            if erased(info) != erased(claimed):
                value = structure.match_shape(value, static, new_dtype(value, claimed))
            shape = _shape(value, claimed)
            late = self._define(shape, pattern, scope, context, known)
            self._compute(scope)
            self._check(shape, late, scope, context)
        op.results[0].replace_all_uses_with(value.ssa)
        op.erase()

    def _check_result(self, op: ir.Operation, scope: _Scope) -> None:
        result = op.results[0]
        name = ir.StringAttr(op.attributes["func"]).value
        with ir.InsertionPoint.after(op):
            for what, value, info in _leaves(f"result of '{name}' at {where(op)}", Value(result), result.type):
                dims = _leaf_dims(info)
                if dims is not None and any(isinstance(dim, Expr) for dim in dims):
                    self._ensure([d for d in dims if d is not None], scope, op)
                    self._check(_shape(value, info), dims, scope, f"{self.name}: {what}")

    # -- the heap

    def _define(
        self,
        shape: Value,
        dims: Sequence[Dim | None],
        scope: _Scope,
        context: str,
        known: Sequence[Dim | None] | None = None,
        solved: Container[int] = (),
    ) -> list[Dim | None]:
        """Store the symbols that `dims` define, and check those dimensions that are ready; returns the remaining ones.

        Dimensions on the axes `solved`, from which symbols are solved later, are stored unchanged.
        """
        codes, values = [], []
        late: list[Dim | None] = [None] * len(dims)
        for axis, dim in enumerate(dims):
            have = None if known is None else known[axis]
            code, value = MatchCode.IGNORE, 0
            name = None if dim is None else symbolic.linear_definition(dim)
            if dim is not None and axis in solved:
                scope.ready.add(str(dim))
                code, value = MatchCode.STORE, self.slot(dim)
            elif dim is None or ((name is None or name in scope.ready) and _same(dim, have)):
                pass
            elif isinstance(dim, int):
                code, value = MatchCode.ASSERT_IMMEDIATE, dim
            elif name is not None and name not in scope.ready:
                scope.ready.add(name)
                code, value = MatchCode.STORE, self.slot(dim)
            elif name is not None:
                code, value = MatchCode.ASSERT_SLOT, self.slot(dim)
            else:
                late[axis] = dim
            codes.append(code)
            values.append(value)
        if codes and all(code == MatchCode.STORE for code in codes):
            vm.store_shape(shape, self.heap, values)
        elif any(code != MatchCode.IGNORE for code in codes):
            vm.match_shape(shape, self.heap, codes, values, context)
        return late

    def _check(self, shape: Value, dims: Sequence[Dim | None], scope: _Scope, context: str) -> None:
        """Check `dims`, whose symbols are all ready."""
        if all(dim is None for dim in dims):
            return
        self._ensure([dim for dim in dims if dim is not None], scope, None)
        codes, values = [], []
        for dim in dims:
            if isinstance(dim, Expr):
                codes.append(MatchCode.ASSERT_SLOT)
                values.append(self.slot(dim))
            else:
                codes.append(MatchCode.IGNORE if dim is None else MatchCode.ASSERT_IMMEDIATE)
                values.append(dim or 0)
        vm.match_shape(shape, self.heap, codes, values, context)

    def _compute(self, scope: _Scope) -> None:
        """Compute every expression over the symbols that are ready, unless it divides by a symbol.

        A division may be undefined where it is unused, so it is computed at its use.
        """
        self._call_shape_function(
            [
                dim
                for text, dim in self.wanted.items()
                if text not in scope.ready and scope.has(dim) and not _divides_by_symbols(dim)
            ],
            scope,
        )

    def _ensure(self, dims: Sequence[Dim], scope: _Scope, op: ir.Operation | None) -> None:
        """Compute those of `dims` that have no value yet."""
        for dim in dims:
            missing = [symbol for symbol in symbolic.symbols(dim) if symbol not in scope.ready]
            if missing:
                place = "" if op is None else f"{where(op)}: "
                raise ShapeError(
                    f"{place}{self.name}: symbol '{missing[0]}' in '{dim}' is not defined; a symbol is defined by a "
                    "dimension of a parameter or of a match_shape that is the symbol alone"
                )
        self._call_shape_function([dim for dim in dims if isinstance(dim, Expr) and str(dim) not in scope.ready], scope)

    def _call_shape_function(self, dims: Sequence[Dim], scope: _Scope) -> None:
        new = scope.ready - scope.bounded
        due = {name: limits for name, limits in self.bounds.items() if name in new}
        if not dims and not due:
            return
        scope.bounded.update(due)
        unique = list({str(dim): dim for dim in dims}.values())
        for first in range(0, max(len(unique), 1), STORES):
            call_prim(self.functions.make(unique[first : first + STORES], due), [self.heap])
            due = {}
        scope.ready.update(map(str, unique))


def _ops(block: ir.Block) -> list[ir.Operation]:
    return [view.operation for view in block.operations]


def _same(dim: Dim, have: Dim | None) -> bool:
    return have is not None and symbolic.prove_equal(dim, have)


def _divides_by_symbols(dim: Dim) -> bool:
    return any(isinstance(divisor, Expr) for divisor in symbolic.divisors(dim))


def _is_relax(type_: ir.Type) -> bool:
    return isinstance(type_, ir.RankedTensorType | ir.TupleType | ShapeValueType)


def _leaf_dims(info: StructInfo) -> tuple[Dim | None, ...] | None:
    if isinstance(info, Tensor):
        return info.shape
    return info.values if isinstance(info, Shape) else None


def _dims(info: StructInfo) -> Iterator[Dim]:
    if isinstance(info, Tuple):
        for item in info.fields:
            yield from _dims(item)
    yield from (dim for dim in _leaf_dims(info) or () if dim is not None)


def _dims_used(op: ir.Operation) -> Iterator[Dim]:
    """Dimensions that the lowering of `op` needs in slots."""
    for _, dims in dim_attributes(op):
        yield from (dim for dim in dims if dim is not None)
    if op.name in CHECKED:
        yield from _dims(struct_info(op.results[0].type))


def _leaves(what: str, value: Value, type_: ir.Type) -> Iterator[tuple[str, Value, StructInfo]]:
    """The value, or the nested tuple fields, that have shapes, with descriptions and types."""
    info = struct_info(type_)
    if not isinstance(info, Tuple):
        yield what, value, info
        return
    for index, item in enumerate(info.fields):
        if any(isinstance(dim, Expr) for dim in _dims(item)):
            yield from _leaves(f"{what}[{index}]", tuple_get_item(value, index), item.to_type())


def _shape(value: Value, info: StructInfo) -> Value:
    """The shape of a tensor, a shape value itself, or an integer as a shape of one dimension."""
    if isinstance(info, Prim):
        type_ = ir.RankedTensorType.get([1], ir.IntegerType.get_signless(64))
        return tensor_to_shape(Value(tensor.from_elements(type_, [value.ssa])))
    return structure.shape_of(value) if isinstance(info, Tensor) else value


def _named(value: Value, name: str) -> Value:
    owner = defining_op(value.ssa)
    assert owner is not None
    owner.location = ir.Location.name(name, owner.location)
    return value
