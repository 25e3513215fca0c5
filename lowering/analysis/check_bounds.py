"""Bounds of accesses in prim funcs: requirements, proofs, and `check-bounds`, which checks the rest (level T)."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.diagnostics import where
from relax_mlir.dialects.attributes import CHECK, EXPOSED_SUFFIX, INDICES_PROVED, PRIM_FUNC, UNCHECKED
from relax_mlir.dialects.prim_funcs import prim_params
from relax_mlir.error import ArgumentError
from relax_mlir.ir_queries import defining_op, entry_block, ops_of
from relax_mlir.lowering.analysis.index_ranges import Ranges, Slices, is_small
from relax_mlir.lowering.base.errors import verbatim
from relax_mlir.lowering.base.runtime_declarations import RuntimeDeclarations
from relax_mlir.mlir import arith, func, ir, linalg, math, memref, tensor
from relax_mlir.symbolic import Dim, prove_equal, prove_less_equal
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.context import BOUNDS_CHECK

# Bounds requirements of the ops in a prim func: relations between sizes and indices that keep accesses in bounds.


MAX_BYTES = 1 << 47
"""Upper bound on the size of a buffer: addresses have 47 bits."""
Value: TypeAlias = ir.Value
BOUNDS_ERROR, SHAPE_ERROR = "BoundsError", "ShapeError"


@dataclass(frozen=True)
class SizeOf:
    """A dimension of a buffer or tensor."""

    buffer: ir.Value
    axis: int

    def emit(self) -> Value:
        axis = arith.constant(ir.IndexType.get(), self.axis)
        kind = memref if isinstance(self.buffer.type, ir.MemRefType) else tensor
        size: Value = kind.dim(self.buffer, axis)
        return size


Term: TypeAlias = "int | ir.Value | SizeOf"


def emit(term: Term) -> Value:
    """Emit a term at the insertion point; integers of other types become ``index``."""
    if isinstance(term, int):
        return arith.constant(ir.IndexType.get(), term)
    if isinstance(term, SizeOf):
        return term.emit()
    return term if isinstance(term.type, ir.IndexType) else arith.index_cast(ir.IndexType.get(), term)


def known(ranges: Ranges, term: Term) -> Dim | None:
    """A term as an expression of the symbols."""
    if isinstance(term, int):
        return term
    if isinstance(term, SizeOf):
        return ranges.size(term.buffer, term.axis)
    return ranges.exact(term)


@dataclass(frozen=True)
class Requirement:
    """A condition that must hold when `op` executes: `proved` decides it statically, `emit` returns an i1.

    `message` shows the integers of `values` as ``{0}``, ``{1}``.
    """

    op: ir.Operation
    kind: str
    message: str
    values: Sequence[Term]
    proved: Callable[[Ranges], bool]
    emit: Callable[[Sequence[Value]], Value]
    buffer: ir.Value | None = None
    """The buffer that the message names, if any."""


def _cmp(predicate: str) -> Callable[[Sequence[Value]], Value]:
    return lambda values: arith.cmpi(getattr(arith.CmpIPredicate, predicate), *values)


def _inside(op: ir.Operation, index: ir.Value, buffer: ir.Value, axis: int) -> Requirement:
    """0 <= index < size of the dimension."""

    def proved(ranges: Ranges) -> bool:
        return ranges.within(index, buffer, axis, op)

    message = f"index {{0}} is out of range for dimension {axis} of size {{1}}"
    return Requirement(op, BOUNDS_ERROR, message, [index, SizeOf(buffer, axis)], proved, _cmp("ult"), buffer)


def _at_least(op: ir.Operation, value: int | ir.Value, least: int, what: str) -> Requirement:
    def proved(ranges: Ranges) -> bool:
        return value >= least if isinstance(value, int) else ranges.at_least(value, least)

    message = f"{what} is {{0}}, expected {least} or more"
    return Requirement(op, SHAPE_ERROR, message, [value, least], proved, _cmp("sge"))


def _equal(op: ir.Operation, left: Term, right: Term, message: str) -> Requirement:
    def proved(ranges: Ranges) -> bool:
        a, b = known(ranges, left), known(ranges, right)
        return a is not None and b is not None and prove_equal(a, b)

    return Requirement(op, SHAPE_ERROR, message, [left, right], proved, _cmp("eq"))


def requirements(op: ir.Operation) -> Iterator[Requirement]:
    """Yield the requirements of `op`."""
    rule = RULES.get(op.name)
    if rule is not None:
        yield from rule(op)
    elif op.name.startswith("linalg."):
        yield from _loops(op)


def _access(buffer: int) -> Callable[[ir.Operation], Iterator[Requirement]]:
    """The rule for an op that accesses operand `buffer` at the indices that follow it."""

    def rule(op: ir.Operation) -> Iterator[Requirement]:
        for axis, index in enumerate(list(op.operands)[buffer + 1 :]):
            yield _inside(op, index, op.operands[buffer], axis)

    return rule


def _dim(op: ir.Operation) -> Iterator[Requirement]:
    rank = ir.ShapedType(op.operands[0].type).rank
    index = op.operands[1]

    def proved(ranges: Ranges) -> bool:
        return ranges.between(index, 0, rank - 1)

    message = f"{op.name} asks for dimension {{0}} of {{1}}"
    yield Requirement(op, BOUNDS_ERROR, message, [index, rank], proved, _cmp("ult"), op.operands[0])


def _loop(op: ir.Operation) -> Iterator[Requirement]:
    yield _at_least(op, op.operands[2], 1, "the step of the loop")


def _allocation(op: ir.Operation) -> Iterator[Requirement]:
    """Sizes are non-negative, and their product is at most that of the largest possible buffer."""
    type_ = ir.ShapedType(op.results[0].type)
    sizes = list(op.operands)
    static = type_.element_type
    bytes_ = max(static.width // 8, 1) if isinstance(static, ir.IntegerType | ir.FloatType) else 8
    for axis in range(type_.rank):
        if not type_.is_dynamic_dim(axis):
            bytes_ *= int(type_.get_dim_size(axis))

    def proved(ranges: Ranges) -> bool:
        exact = [ranges.exact(size) for size in sizes]
        small = [dim for dim in exact if dim is not None and is_small(dim) and prove_less_equal(0, dim)]
        if len(small) < len(sizes):
            return False
        return (len(small) == 1 and bytes_ <= MAX_BYTES >> 20) or _is_shape(ranges, small, bytes_)

    def emit_test(values: Sequence[Value]) -> Value:
        double = ir.F64Type.get()
        total = arith.constant(double, float(bytes_))
        tests = []
        for value in values:
            exact = _exact(value)
            tests.append(arith.cmpf(arith.CmpFPredicate.OGE, exact, arith.constant(double, 0.0)))
            total = arith.mulf(total, exact)
        tests.append(arith.cmpf(arith.CmpFPredicate.OLE, total, arith.constant(double, float(MAX_BYTES))))
        return functools.reduce(arith.andi, tests)

    if sizes:
        shape = _shape_text(type_)
        message = f"no buffer can have the shape ({shape}): its sizes are negative, or too large"
        yield Requirement(op, SHAPE_ERROR, message, sizes, proved, emit_test)


def _is_shape(ranges: Ranges, dims: Sequence[Dim], bytes_: int) -> bool:
    """True if these sizes are among those of an argument, so that a buffer of them cannot be too large."""
    wanted = Counter(map(str, dims))
    return bytes_ <= 1 << 16 and any(wanted <= Counter(map(str, shape)) for shape in ranges.shapes.values())


def _shape_text(type_: ir.ShapedType) -> str:
    numbers = iter(range(type_.rank))
    return ", ".join(
        f"{{{next(numbers)}}}" if type_.is_dynamic_dim(axis) else str(type_.get_dim_size(axis))
        for axis in range(type_.rank)
    )


def _exact(value: ir.Value) -> Value:
    """An index as f64, in which sums and products do not wrap around."""
    double, op = ir.F64Type.get(), defining_op(value)
    emitters = {"arith.addi": arith.addf, "arith.subi": arith.subf, "arith.muli": arith.mulf}
    if op is not None and op.name in emitters:
        return emitters[op.name](*map(_exact, op.operands))
    if op is not None and op.name == "arith.maxsi":
        return arith.maximumf(*map(_exact, op.operands))
    i64 = ir.IntegerType.get_signless(64)
    return arith.sitofp(double, arith.index_cast(i64, value))


def _cast(op: ir.Operation) -> Iterator[Requirement]:
    source, target = op.operands[0], ir.ShapedType(op.results[0].type)
    for axis in range(target.rank):
        if not target.is_dynamic_dim(axis) and ir.ShapedType(source.type).is_dynamic_dim(axis):
            size = int(target.get_dim_size(axis))
            message = f"dimension {axis} is {{0}}, but {op.name} says {{1}}"
            yield _equal(op, SizeOf(source, axis), size, message)


def _same_shape(op: ir.Operation) -> Iterator[Requirement]:
    source, target = op.operands[0], op.operands[1]
    for axis in range(ir.ShapedType(source.type).rank):
        message = f"dimension {axis} of the source is {{0}}, of the target {{1}}"
        yield _equal(op, SizeOf(source, axis), SizeOf(target, axis), message)


def _slice(op: ir.Operation) -> Iterator[Requirement]:
    """The slice is within the buffer; an inserted tensor has the sizes of the slice."""
    slices = Slices.of(op)
    whole = op.operands[1] if op.name == "tensor.insert_slice" else op.operands[0]
    for axis, (offset, size, stride) in enumerate(zip(slices.offsets, slices.sizes, slices.strides, strict=True)):
        yield _at_least(op, stride, 1, f"the stride of dimension {axis}")
        yield _slice_inside(op, whole, axis, offset, size, stride)
    if op.name == "tensor.insert_slice":
        part = ir.ShapedType(op.operands[0].type)
        axes = slices.kept_axes(part.rank) or []
        for axis, of in enumerate(axes):
            message = f"dimension {axis} of what is inserted is {{0}}, but the slice has {{1}}"
            yield _equal(op, SizeOf(op.operands[0], axis), slices.sizes[of], message)


def _slice_inside(
    op: ir.Operation,
    whole: ir.Value,
    axis: int,
    offset: int | ir.Value,
    size: int | ir.Value,
    stride: int | ir.Value,
) -> Requirement:
    """``0 <= offset <= dim``, ``0 <= size <= ceil((dim - offset) / stride)``, which cannot overflow.

    An empty slice may begin after the last element, because it reads nothing.
    """

    def proved(ranges: Ranges) -> bool:
        dim, width, step = ranges.size(whole, axis), known(ranges, size), known(ranges, stride)
        if dim is None or width is None or not isinstance(step, int) or not is_small(width):
            return False
        if not prove_less_equal(0, width):
            return False
        past = (width - 1) * step + 1
        if isinstance(offset, int):  # the verifier refuses a negative one
            return prove_less_equal(offset + past, dim) and (step == 1 or prove_less_equal(1, width))
        return ranges.between(offset, 0, dim - past)

    def test(values: Sequence[Value]) -> Value:
        begin, count, dim, step = values
        rest = arith.subi(dim, begin)
        one = arith.constant(ir.IndexType.get(), 1)
        safe = arith.maxsi(step, one)
        most = arith.ceildivsi(rest, safe)
        inside = arith.cmpi(arith.CmpIPredicate.ule, begin, dim)
        fits = arith.andi(inside, arith.cmpi(arith.CmpIPredicate.ule, count, most))
        zero = arith.constant(ir.IndexType.get(), 0)
        from_zero = arith.cmpi(arith.CmpIPredicate.sge, begin, zero)
        return arith.ori(fits, arith.andi(from_zero, arith.cmpi(arith.CmpIPredicate.eq, count, zero)))

    message = (
        f"the slice of dimension {axis} begins at {{0}} and has {{1}} elements with stride {{3}}, "
        "but the dimension has {2}"
    )
    return Requirement(op, BOUNDS_ERROR, message, [offset, size, SizeOf(whole, axis), stride], proved, test, whole)


def _expand(op: ir.Operation) -> Iterator[Requirement]:
    """Each dimension is the product of the dimensions that it expands to."""
    dynamic = int(ir.ShapedType.get_dynamic_size())
    sizes = list(op.operands)[1:]
    shape: list[Term] = []
    for number in ir.DenseI64ArrayAttr(op.attributes["static_output_shape"]):
        shape.append(sizes.pop(0) if number == dynamic else int(number))
    for axis, group in enumerate(op.attributes["reassociation"]):
        parts = [shape[int(ir.IntegerAttr(item).value)] for item in group]
        yield _product(op, axis, parts)


def _product(op: ir.Operation, axis: int, parts: Sequence[Term]) -> Requirement:
    def proved(ranges: Ranges) -> bool:
        total: Dim = 1
        for part in parts:
            dim = known(ranges, part)
            if dim is None or not prove_less_equal(0, dim):
                return False
            total = total * dim
        size = ranges.size(op.operands[0], axis)
        return size is not None and prove_equal(size, total)

    def test(values: Sequence[Value]) -> Value:
        double, i64 = ir.F64Type.get(), ir.IntegerType.get_signless(64)
        size, *factors = (arith.sitofp(double, arith.index_cast(i64, value)) for value in values)
        zero, total, positive = arith.constant(double, 0.0), arith.constant(double, 1.0), None
        for factor in factors:
            here = arith.cmpf(arith.CmpFPredicate.OGE, factor, zero)
            positive = here if positive is None else arith.andi(positive, here)
            total = arith.mulf(total, factor)
        equal = arith.cmpf(arith.CmpFPredicate.OEQ, size, total)
        return equal if positive is None else arith.andi(positive, equal)

    shown = ", ".join(f"{{{number + 1}}}" for number in range(len(parts)))
    message = f"dimension {axis} is {{0}}, which {op.name} cannot see as ({shown})"
    return Requirement(op, SHAPE_ERROR, message, [SizeOf(op.operands[0], axis), *parts], proved, test)


# -- linalg


def _loops(op: ir.Operation) -> Iterator[Requirement]:
    """All operands of a ``linalg`` op have the same length for each loop."""
    maps = linalg.get_indexing_maps(op)
    if maps is None:
        return
    first: dict[int, SizeOf] = {}
    places: list[tuple[ir.Value, int, ir.AffineExpr]] = []
    for operand, map_ in zip(op.operands, maps, strict=True):
        for axis, expr in enumerate(map_.value.results):
            places.append((operand, axis, expr))
            if isinstance(expr, ir.AffineDimExpr):
                first.setdefault(ir.AffineDimExpr(expr).position, SizeOf(operand, axis))
    for operand, axis, expr in places:
        here = SizeOf(operand, axis)
        if not isinstance(expr, ir.AffineDimExpr):
            yield _last_access(op, here, expr, first)
            continue
        other = first[ir.AffineDimExpr(expr).position]
        if other != here:
            message = f"{op.name}: sizes {{0}} and {{1}} of operands along one loop differ"
            yield _equal(op, other, here, message)


def is_rising_access(expr: ir.AffineExpr) -> bool:
    """True if an index is non-negative and monotonic in all loop variables: ``i + k``, ``i floordiv 4``."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(ir.AffineConstantExpr(expr).value) >= 0
    if isinstance(expr, ir.AffineDimExpr):
        return True
    if isinstance(expr, ir.AffineFloorDivExpr):
        divisor = expr.rhs
        constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 0
        return constant and is_rising_access(expr.lhs)
    if isinstance(expr, ir.AffineMulExpr) and not any(
        isinstance(factor, ir.AffineConstantExpr) for factor in (expr.lhs, expr.rhs)
    ):
        return False
    if isinstance(expr, ir.AffineAddExpr | ir.AffineMulExpr):
        return is_rising_access(expr.lhs) and is_rising_access(expr.rhs)
    return False


def _loops_of(expr: ir.AffineExpr) -> list[int]:
    """The loops whose variables an access reads."""
    if isinstance(expr, ir.AffineDimExpr):
        return [ir.AffineDimExpr(expr).position]
    if isinstance(expr, ir.AffineBinaryExpr):
        left = _loops_of(expr.lhs)
        return left + [dim for dim in _loops_of(expr.rhs) if dim not in left]
    return []


def _last_index(expr: ir.AffineExpr, sizes: dict[int, Dim]) -> Dim:
    """The maximum index of a monotonic access in loops of these sizes."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(ir.AffineConstantExpr(expr).value)
    if isinstance(expr, ir.AffineDimExpr):
        return sizes[ir.AffineDimExpr(expr).position] - 1
    assert isinstance(expr, ir.AffineBinaryExpr)
    left, right = _last_index(expr.lhs, sizes), _last_index(expr.rhs, sizes)
    if isinstance(expr, ir.AffineAddExpr):
        return left + right
    return left * right if isinstance(expr, ir.AffineMulExpr) else left // right


def _emit_last_index(expr: ir.AffineExpr, sizes: dict[int, Value]) -> Value:
    """`_last_index` as f64, in which sums and products do not wrap around."""
    double = ir.F64Type.get()
    if isinstance(expr, ir.AffineConstantExpr):
        return arith.constant(double, float(ir.AffineConstantExpr(expr).value))
    if isinstance(expr, ir.AffineDimExpr):
        return arith.subf(sizes[ir.AffineDimExpr(expr).position], arith.constant(double, 1.0))
    assert isinstance(expr, ir.AffineBinaryExpr)
    left, right = _emit_last_index(expr.lhs, sizes), _emit_last_index(expr.rhs, sizes)
    if isinstance(expr, ir.AffineAddExpr):
        return arith.addf(left, right)
    return arith.mulf(left, right) if isinstance(expr, ir.AffineMulExpr) else math.floor(arith.divf(left, right))


def _last_access(op: ir.Operation, place: SizeOf, expr: ir.AffineExpr, first: dict[int, SizeOf]) -> Requirement:
    """The maximum index of an access such as ``i + k`` is in range, unless a loop of the op is empty."""
    assert is_rising_access(expr), "check-prim-funcs refuses other accesses"
    loops = _loops_of(expr)

    def proved(ranges: Ranges) -> bool:
        sizes: dict[int, Dim] = {}
        for loop in loops:
            size = ranges.size(first[loop].buffer, first[loop].axis)
            if size is None:
                return False
            sizes[loop] = size
        dim = ranges.size(place.buffer, place.axis)
        return dim is not None and prove_less_equal(_last_index(expr, sizes), dim - 1)

    def test(values: Sequence[Value]) -> Value:
        dim, *sizes = map(_exact, values)
        last = _emit_last_index(expr, dict(zip(loops, sizes, strict=False)))
        inside = arith.cmpf(arith.CmpFPredicate.OLT, last, dim)
        for size in sizes:
            zero = arith.constant(ir.F64Type.get(), 0.0)
            inside = arith.ori(inside, arith.cmpf(arith.CmpFPredicate.OEQ, size, zero))
        return inside

    shown = ", ".join(f"{{{number + 1}}}" for number in range(len(loops)))
    message = f"{op.name}: dimension {place.axis} is {{0}}, which its loops of length {shown} leave"
    others = [loop for loop in first if loop not in loops]
    values = [place, *(first[loop] for loop in (*loops, *others))]
    return Requirement(op, SHAPE_ERROR, message, values, proved, test, place.buffer)


def _results(op: ir.Operation) -> Iterator[Requirement]:
    """Tensors that a prim func returns have the sizes of their destinations (see `UNCHECKED`)."""
    function = op.parent.operation
    if UNCHECKED not in function.attributes:
        return
    numbers = list(ir.DenseI64ArrayAttr(function.attributes[UNCHECKED]))
    arguments = list(entry_block(function).arguments)
    for result, number in enumerate(numbers):
        value, destination = op.operands[result], arguments[number]
        for axis in range(ir.ShapedType(value.type).rank):
            message = f"result {result} has {{0}} along dimension {axis}, but its destination {{1}}"
            yield _equal(op, SizeOf(value, axis), SizeOf(destination, axis), message)


RULES: dict[str, Callable[[ir.Operation], Iterator[Requirement]]] = {
    "memref.load": _access(0),
    "memref.store": _access(1),
    "tensor.extract": _access(0),
    "tensor.insert": _access(1),
    "memref.dim": _dim,
    "tensor.dim": _dim,
    "memref.alloc": _allocation,
    "tensor.empty": _allocation,
    "memref.cast": _cast,
    "tensor.cast": _cast,
    "memref.copy": _same_shape,
    "memref.subview": _slice,
    "tensor.extract_slice": _slice,
    "tensor.insert_slice": _slice,
    "tensor.expand_shape": _expand,
    "scf.for": _loop,
    "func.return": _results,
}
"""The rules of ops with requirements, except ``linalg`` ops."""


# Pass ``check-bounds``: prim funcs raise an error instead of accessing memory out of bounds (level T).


MODES = ("auto", "all", "none")


def unproved(function: func.FuncOp, ranges: Ranges) -> Iterator[Requirement]:
    """Yield the requirements of the ops of a prim func that are not proved, in program order."""
    for op in ops_of(function.operation):
        yield from (requirement for requirement in requirements(op) if not requirement.proved(ranges))


@dataclass(frozen=True)
class CheckBounds(ModulePass):
    """Insert run-time checks for the unproved bounds of prim funcs: indices, sizes, steps.

    `mode`: ``auto`` checks the prim funcs that `check-prim-funcs` has marked, ``all`` checks all of them, ``none``
    checks nothing. Empty: the context's option ``tir.bounds_check``, which is ``auto`` by default.
    """

    name: ClassVar[str] = "check-bounds"
    mode: str = ""

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Raise `ArgumentError` for an unknown mode."""
        mode = self.mode or bounds_mode(ctx)
        if mode not in MODES:
            raise ArgumentError(f"{BOUNDS_CHECK} is one of {', '.join(MODES)}, not '{mode}'")
        tops = list(module.body.operations)
        declarations = RuntimeDeclarations(module, _checks=sum(CHECK in op.attributes for op in tops))
        for op in tops:
            if not isinstance(op, func.FuncOp) or PRIM_FUNC not in op.attributes or op.is_external:
                continue
            marked = UNCHECKED in op.attributes
            if mode == "all" or (mode == "auto" and marked):
                _check_function(op, declarations, sizes_only=mode == "auto" and INDICES_PROVED in op.attributes)
            for mark in (UNCHECKED, INDICES_PROVED):
                if mark in op.attributes:
                    del op.attributes[mark]


def bounds_mode(ctx: PassContext) -> str:
    """The mode set in the context; raise `ArgumentError` for an unknown one."""
    mode = str(ctx.option(BOUNDS_CHECK))
    if mode not in MODES:
        raise ArgumentError(f"{BOUNDS_CHECK} is one of {', '.join(MODES)}, not '{mode}'")
    return mode


def _check_function(function: func.FuncOp, declarations: RuntimeDeclarations, sizes_only: bool) -> None:
    names = _names(function)
    for requirement in list(unproved(function, Ranges(function))):
        if sizes_only and requirement.kind == BOUNDS_ERROR:
            continue
        op, buffer = requirement.op, requirement.buffer
        what = function.name.value.removesuffix(EXPOSED_SUFFIX)
        if buffer is not None:
            what += f": {names.get(buffer, 'a local buffer')}"
        with ir.InsertionPoint(op), op.location:
            values = [emit(value) for value in requirement.values]
            holds = requirement.emit(values)
            declarations.check(
                holds,
                requirement.kind,
                f"{verbatim(what)}: {requirement.message}, at {verbatim(where(op))}",
                values,
            )


def _names(function: func.FuncOp) -> dict[ir.Value, str]:
    """The names of buffers in messages."""
    declared = prim_params(function)
    return {
        argument: f"'{declared[number].name}'" if declared is not None else f"argument {number}"
        for number, argument in enumerate(function.arguments)
    }
