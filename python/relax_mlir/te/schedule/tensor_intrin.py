"""Intrinsics that replace loops: a tensor expression that specifies them, and prim funcs that implement it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir import symbolic
from relax_mlir.dialects.location import name_of, renamed
from relax_mlir.dialects.prim_funcs import prim_params
from relax_mlir.dialects.types import DimLike
from relax_mlir.error import (
    ArgumentError,
    DTypeError,
    RelaxError,
    ShapeError,
    UnknownNameError,
    UnsupportedError,
    expect,
)
from relax_mlir.ir_module import IRModule, functions_of
from relax_mlir.ir_queries import defining_op, entry_block, has_one_use, is_used, ops_of
from relax_mlir.loops.builder import LoopBuilder
from relax_mlir.loops.nests import move, on_buffers
from relax_mlir.loops.values import INDEX, Buffer, Scalar
from relax_mlir.mlir import func, ir, memref
from relax_mlir.script.printer import print_prim
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import REDUCTION, IfThenElse, Logical, loads_of, names_used, post_order
from relax_mlir.te.extern import ExternCall
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import Facts, Span, read_region
from relax_mlir.te.tensors import ComputeOp, Tensor, shape_of


@dataclass(frozen=True)
class Place:
    """The location of a parameter: in `buffer`, from the element at `origin`, along its `axes`."""

    buffer: Buffer
    origin: tuple[Dim, ...]
    axes: tuple[int, ...]

    def positions(self, builder: LoopBuilder, indices: Sequence[ir.Value]) -> list[ir.Value]:
        """The indices in the buffer of an element of the parameter."""
        inner = dict(zip(self.axes, indices, strict=True))
        found = []
        for axis, first in enumerate(self.origin):
            if axis in inner and first == 0:
                found.append(inner[axis])
            elif axis in inner:
                found.append((Scalar(inner[axis], INDEX) + builder.size(first)).ssa)
            else:
                found.append(builder.index(first))
        return found


@dataclass(frozen=True, eq=False)
class Implementation:
    """A prim func of `tensors`: the sizes of the intrinsic that its symbols are, and its loops.

    `source` is a module of the function on buffers as bytecode, since the modules that it is copied to have other
    contexts. `depth` is the number of nested loops and conditions in it.
    """

    tensors: tuple[Tensor, ...]
    symbols: Mapping[str, Dim]
    source: bytes
    depth: int

    @classmethod
    def of(cls, what: str, given: IRModule | func.FuncOp, tensors: Sequence[Tensor]) -> Implementation:
        """Read a prim func whose parameters are these tensors.

        Raises:
            ArgumentError, DTypeError, ShapeError: other parameters.
            UnsupportedError: a prim func without a script form.
        """
        expect(what, given, IRModule | func.FuncOp, 'a prim func: a module of one, or mod["f"]')
        function = only_function(what, given) if isinstance(given, IRModule) else given
        with function.context:
            params = prim_params(function)
            if params is None or print_prim(function) is None:
                raise UnsupportedError(f"{what}: '{function.name.value}' has no script form")
        if len(params) != len(tensors) or any(param.shape is None for param in params):
            names = ", ".join(tensor.name for tensor in tensors)
            raise ArgumentError(
                f"{what}: its parameters are {', '.join(param.name for param in params) or 'none'}; expected a buffer "
                f"for each of {names}"
            )
        known: dict[str, Dim] = {}
        for param, tensor in zip(params, tensors, strict=True):
            if str(param.dtype) != tensor.dtype:
                raise DTypeError(f"{what}: '{param.name}' has dtype {param.dtype}, and {tensor.name} {tensor.dtype}")
            for own, size in zip(param.shape or (), tensor.shape, strict=False):
                if (name := symbolic.linear_definition(own)) is not None and own == symbolic.symbol(name):
                    known.setdefault(name, size)
        for param, tensor in zip(params, tensors, strict=True):
            if not _has_shape(param.shape or (), tensor.shape, known):
                raise ShapeError(
                    f"{what}: '{param.name}' has shape {_text(param.shape or ())}, and {tensor.name} "
                    f"{_text(tensor.shape)}"
                )
        with function.context, ir.Location.unknown():
            module = ir.Module.create()
            with ir.InsertionPoint(module.body):
                copy = function.operation.clone()
                if len(function.type.results):
                    on_buffers(copy)
            source = io.BytesIO()
            module.operation.write_bytecode(source)
            depth = max(map(_depth, ops_of(module.operation)))
        return cls(tuple(tensors), known, source.getvalue(), depth)

    def emit(self, builder: LoopBuilder, places: Mapping[Tensor, Place], sizes: Mapping[str, Dim]) -> None:
        """Emit its loops on parts of buffers; `sizes` are the values of the intrinsic's symbols."""
        module = ir.Module.parse(self.source)
        (function,) = functions_of(module)
        known = {name: symbolic.substitute(dim, sizes) for name, dim in self.symbols.items()}
        location = ir.Location.current
        for op in ops_of(function.operation):
            op.location = renamed(name_of(op.location), location)
        move([view.operation for view in entry_block(function).operations][:-1])
        parameters = zip(function.arguments, self.tensors, prim_params(function) or (), strict=True)
        for argument, tensor, parameter in parameters:
            shape = [symbolic.substitute(dim, known) for dim in parameter.shape or ()]
            for use in list(argument.uses):
                with ir.InsertionPoint(use.owner):
                    _replace(use.owner.operation, builder, places[tensor], shape)


def _replace(op: ir.Operation, builder: LoopBuilder, place: Place, shape: Sequence[Dim]) -> None:
    """Replace an op on a parameter of the given shape by one on the buffer that it is a part of."""
    memory, operands = place.buffer.ssa, list(op.operands)
    if op.name == "memref.load":
        op.results[0].replace_all_uses_with(memref.load(memory, place.positions(builder, operands[1:])))
    elif op.name == "memref.store":
        positions, value = place.positions(builder, operands[2:]), defining_op(operands[0])
        if value is not None and value.name == "arith.constant" and has_one_use(operands[0]):
            value.move_before(op)  # as a script writes it, which shows its dtype by where it is stored
        memref.store(operands[0], memory, positions)
    else:
        assert op.name == "memref.dim"
        axis = defining_op(operands[1])
        assert axis is not None
        if is_used(op.results[0]):
            size = shape[ir.IntegerAttr(axis.attributes["value"]).value]
            op.results[0].replace_all_uses_with(builder.index(size))
        op.erase()
        op = axis
    if not any(map(is_used, op.results)):
        op.erase()


def _depth(op: ir.Operation) -> int:
    """The number of loops and conditions around an op, with the op."""
    around = 0 if op.parent is None else _depth(op.parent.operation)
    return around + (op.name in ("scf.for", "scf.while", "scf.if") and not op.results)


def only_function(what: str, module: IRModule) -> func.FuncOp:
    """The only prim func of a module."""
    found = [op for op in module.mlir.body.operations if isinstance(op, func.FuncOp)]
    if len(found) != 1:
        raise ArgumentError(f'{what}: the module has {len(found)} functions: give one of them, mod["f"]')
    return found[0]


def _has_shape(own: Sequence[Dim], wanted: Sequence[Dim], known: Mapping[str, Dim]) -> bool:
    if len(own) != len(wanted):
        return False
    try:
        return all(symbolic.prove_equal(symbolic.substitute(a, known), b) for a, b in zip(own, wanted, strict=True))
    except RelaxError:
        return False


def _text(shape: Sequence[Dim]) -> str:
    return f"({', '.join(map(str, shape))})"


PrimFunc: TypeAlias = IRModule | func.FuncOp
"""A prim func: a module with only it, or ``mod["f"]``."""
MAX_NODES = 150
"""Maximum number of nodes in the expressions of an intrinsic."""


@dataclass(frozen=True)
class BufferPattern:
    """The memory layout that an intrinsic requires of a tensor; built by `decl_buffer`.

    `strides`: the distance of consecutive elements along each dimension: an integer, or None for any.
    """

    shape: tuple[Dim, ...]
    dtype: str
    name: str
    strides: tuple[int | None, ...]


def decl_buffer(
    shape: Sequence[DimLike],
    dtype: str = "float32",
    name: str = "buffer",
    *,
    strides: Sequence[DimLike] | None = None,
    offset_factor: int = 1,
    scope: str = "",
) -> BufferPattern:
    """Declare the memory layout of an intrinsic's tensor, for `decl_tensor_intrin(binds=…)`.

    Args:
        shape, dtype: those of the tensor.
        name: its name in messages.
        strides: the distance of consecutive elements along each dimension: an integer is required exactly, a symbol or
            None matches anything. By default, the last dimension is contiguous, and other strides are arbitrary.
        offset_factor: 1: parts of tensors begin anywhere.
        scope: accepted in TVM's syntax.

    Raises:
        ArgumentError: another number of strides than dimensions, or an `offset_factor`.
    """
    dims = shape_of(f"decl_buffer '{name}'", shape)
    if offset_factor not in (0, 1):
        raise ArgumentError(
            f"decl_buffer '{name}': offset_factor is {offset_factor!r}, but parts of tensors begin anywhere: leave "
            "it out"
        )
    if strides is None:
        return BufferPattern(dims, dtype, name, default_strides(len(dims)))
    expect(f"decl_buffer '{name}': 'strides'", strides, list | tuple, "a list of integers")
    if len(strides) != len(dims):
        raise ArgumentError(f"decl_buffer '{name}': {len(strides)} strides for {len(dims)} dimensions")
    known = tuple(stride if isinstance(stride, int) else None for stride in strides)
    return BufferPattern(dims, dtype, name, known)


def default_strides(rank: int) -> tuple[int | None, ...]:
    """The default strides: the last dimension is contiguous, others are arbitrary."""
    return (*[None] * (rank - 1), 1) if rank else ()


@dataclass(frozen=True, eq=False)
class TensorIntrin:
    """An intrinsic, which can replace loops that compute the same as `op`.

    `body` computes it. `update` combines it with the current elements, and `reset` initialises them for the first
    update. If `op` is not a reduction, there is only a body.
    """

    name: str
    op: ComputeOp
    body: Implementation | None
    reset: Implementation | None = None
    update: Implementation | None = None
    strides: Mapping[Tensor, tuple[int | None, ...]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return repr(self.name) if _known.get(self.name) is self else self.name

    @property
    def implementations(self) -> list[Implementation]:
        """The implementations that it has."""
        return [item for item in (self.body, self.reset, self.update) if item is not None]

    @property
    def covers(self) -> bool:
        """True if `op` reads and writes every element of its tensors, so that an implementation may do so."""
        if any(isinstance(item, IfThenElse | Logical) for item in post_order(*self.op.body)):
            return False  # not all accesses in it are executed
        facts = Facts()
        domain = {axis: Span(0, axis.dom.extent, None) for axis in (*self.op.axis, *self.op.reduce_axis)}
        whole: set[Tensor] = set()
        for load in loads_of(*self.op.body):
            region = read_region(facts, load, domain)
            ends = zip(region, load.tensor.shape, strict=True)
            if all(span is not None and span.low == 0 and symbolic.prove_equal(span.stop, size) for span, size in ends):
                whole.add(load.tensor)
        return all(tensor in whole for tensor in self.op.input_tensors)

    @staticmethod
    def register(name: str, intrin: TensorIntrin, override: bool = False) -> TensorIntrin:
        """Register an intrinsic under a name.

        Raises:
            ArgumentError: the name is taken, and `override` is False.
        """
        expect("TensorIntrin.register: 'name'", name, str, "a name")
        expect("TensorIntrin.register: 'intrin'", intrin, TensorIntrin, "what decl_tensor_intrin gives")
        if name in _known and not override:
            raise ArgumentError(f"TensorIntrin.register: there is an intrinsic '{name}' already: give override=True")
        made = TensorIntrin(name, intrin.op, intrin.body, intrin.reset, intrin.update, intrin.strides)
        _known[name] = made
        return made

    @staticmethod
    def get(name: str) -> TensorIntrin:
        """The intrinsic of a name: a registered one, or one of the project's own.

        Raises:
            UnknownNameError: there is none.
        """
        from relax_mlir.te.intrin import built_in, built_in_names

        found = _known.get(name) or built_in(name)
        if found is None:
            raise UnknownNameError("tensor intrinsic", name, [*_known, *built_in_names()])
        return _known.setdefault(name, found)


_known: dict[str, TensorIntrin] = {}


def decl_tensor_intrin(
    op: Any,  # noqa: ANN401 - an op, or its tensor
    fcompute: PrimFunc | Callable[[list[BufferPattern], list[BufferPattern]], Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, BufferPattern] | None = None,
) -> TensorIntrin:
    """Declare an intrinsic, for `Stage.tensorize`.

    Args:
        op: specifies the computation: the op (or the tensor) of a `compute` of placeholders. Symbolic sizes match any
            size; others must match exactly, and smaller tiles run in loops.
        fcompute: the implementation: a prim func of the inputs, in the order in which `op` reads them, and the outputs.
            For a reduction also ``(body, reset, update)``, each a prim func or None: `body` computes all, `update`
            combines with the current outputs, `reset` takes only the outputs and stores the initial values (None: loops
            do so). Or a function that maps the buffers of the inputs and outputs to these.
        name: its name in messages and traces.
        binds: the memory layouts of tensors, by `decl_buffer`, if they are not `default_strides`.

    The prim func receives the parts of the tensors that the loops access; its statements replace the loops. Its
    equivalence to `op` is not checked. If its accesses are proved to be in bounds, and `op` reads all elements, nothing
    is checked at run time; otherwise its indices are.

    Raises:
        ArgumentError, DTypeError, ShapeError: an op that is not such a compute, or prim funcs of other parameters.
    """
    what = f"decl_tensor_intrin '{name}'"
    found = op.op if isinstance(op, Tensor) else op
    if not isinstance(found, ComputeOp):
        raise ArgumentError(f"{what}: 'op' is {op!r} ({type(op).__name__}), expected the op of a te.compute")
    expect(f"{what}: 'name'", name, str, "a name")
    return declare(what, name, found, found.input_tensors, fcompute, binds or {})


def declare(
    what: str,
    name: str,
    op: ComputeOp,
    inputs: Sequence[Tensor],
    fcompute: Any,  # noqa: ANN401 - see `decl_tensor_intrin`
    binds: Mapping[Tensor, BufferPattern],
) -> TensorIntrin:
    """See `decl_tensor_intrin`; `inputs` are the first parameters of the prim funcs."""
    unread = [tensor.name for tensor in inputs if tensor not in op.input_tensors]
    if unread:
        raise ArgumentError(f"{what}: {op.name} does not read {', '.join(unread)}")
    _check_op(what, op)
    strides = {tensor: default_strides(tensor.ndim) for tensor in (*inputs, *op.outputs)}
    patterns = {t: BufferPattern(t.shape, t.dtype, t.name, strides[t]) for t in strides}
    for tensor, pattern in binds.items():
        if tensor not in patterns:
            raise ArgumentError(f"{what}: 'binds' has {tensor}, which the op neither reads nor makes")
        expect(f"{what}: a value of 'binds'", pattern, BufferPattern, "what decl_buffer gives")
        if pattern.dtype != tensor.dtype:
            raise DTypeError(f"{what}: the buffer of {tensor.name} has dtype {pattern.dtype}, not {tensor.dtype}")
        if len(pattern.shape) != tensor.ndim or any(
            not symbolic.prove_equal(a, b) for a, b in zip(pattern.shape, tensor.shape, strict=True)
        ):
            raise ShapeError(f"{what}: the buffer of {tensor} has shape {pattern.shape}")
        strides[tensor], patterns[tensor] = pattern.strides, pattern
    ins = [patterns[tensor] for tensor in inputs]
    outs = [patterns[tensor] for tensor in op.outputs]
    given = fcompute if isinstance(fcompute, PrimFunc) or not callable(fcompute) else fcompute(ins, outs)
    parts = list(given) if isinstance(given, tuple | list) else [given]
    if len(parts) not in (1, 3) or all(part is None for part in parts):
        raise ArgumentError(f"{what}: expected one prim func, or three: (body, reset, update)")
    if any(isinstance(part, ExternCall) for part in parts):
        raise ArgumentError(
            f"{what}: a prim func, which schedules become, cannot call packed functions: write the implementation as a "
            "prim func, or let te.extern fill a whole tensor"
        )
    is_reduction = any(isinstance(value, Reduction) for value in op.body)
    if len(parts) == 3 and not is_reduction:
        raise ArgumentError(f"{what}: {op.name} is no reduction, which has a body alone: give one prim func")
    every, written = [*inputs, *op.outputs], list(op.outputs)
    made: list[Implementation | None] = [None, None, None]
    for number, (part, tensors) in enumerate(zip(parts, (every, written, every), strict=False)):
        if part is not None:
            role = ("body", "reset", "update")[number]
            made[number] = Implementation.of(f"{what}: its {role}", part, tensors)
    if made[1] is not None and made[2] is None:
        raise ArgumentError(f"{what}: a reset is for updates, of which none is given")
    return TensorIntrin(name, op, made[0], made[1], made[2], strides)


def _check_op(what: str, op: ComputeOp) -> None:
    """Raise unless an op can specify an intrinsic."""
    if len(post_order(*op.body)) > MAX_NODES:
        raise ArgumentError(f"{what}: {op.name} has more than {MAX_NODES} parts, which is no small computation")
    for axis in op.reduce_axis:
        if axis.dom.begin != 0:
            raise ArgumentError(f"{what}: the axis {axis.name} begins at {axis.dom.begin}, expected 0")
    told = {
        name
        for axis in (*op.axis, *op.reduce_axis)
        if (name := symbolic.linear_definition(axis.dom.extent)) is not None
    }
    dims = [dim for tensor in (*op.input_tensors, *op.outputs) for dim in tensor.shape]
    dims += [axis.dom.extent for axis in op.reduce_axis]
    used = [*(name for dim in dims for name in symbolic.symbols(dim)), *names_used(op.body)]
    for name in used:
        if name not in told:
            raise ShapeError(f"{what}: no axis has the length '{name}', so that loops do not tell it")
    starts = [item for value in op.body if isinstance(value, Reduction) for item in value.init]
    if starts:
        raise ArgumentError(f"{what}: its reduction has an 'init': the loops have theirs; leave it out")
    mixed = [isinstance(value, Reduction) for value in op.body]
    if any(mixed) and not all(mixed):
        raise ArgumentError(f"{what}: some outputs of {op.name} are reductions, and some are not")
    for axis in op.axis:
        if axis.iter_type == REDUCTION:
            raise ArgumentError(f"{what}: the axis {axis.name} of an output is one of a reduction")
