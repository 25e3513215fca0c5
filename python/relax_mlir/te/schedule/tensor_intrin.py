"""Intrinsics that replace loops: a tensor expression that specifies them, and prim funcs that implement it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from relax_mlir import symbolic
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
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func
from relax_mlir.script.printer import print_prim
from relax_mlir.symbolic import Dim
from relax_mlir.te.expressions import REDUCTION, IfThenElse, Logical, loads_of, names_used, post_order
from relax_mlir.te.extern import ExternCall
from relax_mlir.te.reductions import Reduction
from relax_mlir.te.schedule.axes import Facts, Span, dim_text, read_region
from relax_mlir.te.tensors import ComputeOp, Tensor, shape_of

KEPT = frozenset({"T", "range", "float", "min", "max", "True", "False"})
"""Names of the language."""


@dataclass(frozen=True)
class Place:
    """The location of a parameter's buffer: in `buffer`, from the element at `origin`, along its `axes`."""

    buffer: str
    origin: tuple[Dim, ...]
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Implementation:
    """A prim func: its `parameters`, the sizes bound to its symbols in the intrinsic, its statements.

    `text` is the function as IR, for proofs about its accesses.
    """

    parameters: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    symbols: Mapping[str, Dim]
    body: tuple[ast.stmt, ...]
    text: str

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
            lines, params = print_prim(function), prim_params(function)
            if lines is None or params is None:
                raise UnsupportedError(f"{what}: '{function.name.value}' has no script form")
            text = str(function.operation.get_asm(print_generic_op_form=True, use_local_scope=True))
        if len(params) != len(tensors) or any(param.shape is None for param in params):
            names = ", ".join(tensor.name for tensor in tensors)
            raise ArgumentError(
                f"{what}: its parameters are {', '.join(param.name for param in params) or 'none'}; expected a buffer "
                f"for each of {names}"
            )
        known: dict[str, Dim] = {}
        for param, tensor in zip(params, tensors, strict=True):
            if str(param.dtype) != tensor.dtype:
                raise DTypeError(
                    f"{what}: '{param.name}' has dtype {param.dtype}, and {tensor.name} {tensor.dtype}"
                )
            for own, size in zip(param.shape or (), tensor.shape, strict=False):
                if (name := symbolic.linear_definition(own)) is not None and own == symbolic.symbol(name):
                    known.setdefault(name, size)
        for param, tensor in zip(params, tensors, strict=True):
            if not _has_shape(param.shape or (), tensor.shape, known):
                raise ShapeError(
                    f"{what}: '{param.name}' has shape {_text(param.shape or ())}, and {tensor.name} "
                    f"{_text(tensor.shape)}"
                )
        (parsed,) = ast.parse("\n".join(lines)).body
        assert isinstance(parsed, ast.FunctionDef)
        body = [item for item in parsed.body if not _is_attribute(item)]
        return cls(tuple(p.name for p in params), tuple(tensors), known, tuple(body), text)

    def lines(
        self, places: Mapping[Tensor, Place], sizes: Mapping[str, Dim], fresh: Callable[[str], str]
    ) -> list[str]:
        """Its statements on parts of buffers; `sizes` are the values of the intrinsic's symbols."""
        found = {name: symbolic.substitute(dim, sizes) for name, dim in self.symbols.items()}
        by_name = {name: places[tensor] for name, tensor in zip(self.parameters, self.tensors, strict=True)}
        own = _Renamed(by_name, found, fresh)
        statements = [own.visit(copy.deepcopy(item)) for item in self.body]
        return ast.unparse(ast.fix_missing_locations(ast.Module(statements, []))).splitlines()


class _Renamed(ast.NodeTransformer):
    """Replaces parameters by parts of buffers, symbols by sizes, and local names by new ones."""

    def __init__(
        self, places: Mapping[str, Place], sizes: Mapping[str, Dim], fresh: Callable[[str], str]
    ) -> None:
        self.places, self.fresh = places, fresh
        self.sizes = {name: _expression(dim) for name, dim in sizes.items()}
        self.names: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in KEPT:
            return node
        if node.id in self.sizes and isinstance(node.ctx, ast.Load):
            return self.sizes[node.id]
        if node.id not in self.names:
            self.names[node.id] = self.fresh(node.id)
        return ast.Name(self.names[node.id], node.ctx)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        if name not in self.places:
            self.generic_visit(node)
            return node
        place = self.places[name]
        given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        indices = [_expression(dim) for dim in place.origin]
        for axis, item in zip(place.axes, given, strict=False):
            index = self.visit(item)
            is_first = place.origin[axis] == 0
            indices[axis] = index if is_first else ast.BinOp(index, ast.Add(), indices[axis])
        new = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
        return ast.Subscript(ast.Name(place.buffer, ast.Load()), new, node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "alloc_buffer":
            shape = node.args[0]
            assert isinstance(shape, ast.Tuple)
            sizes = [_size(item) for item in shape.elts]
            node.args[0] = ast.Tuple(sizes, ast.Load())
        self.generic_visit(node)
        return node


def _size(node: ast.expr) -> ast.expr:
    """The size of a buffer, which may be a string."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return ast.parse(node.value, mode="eval").body
    return node


def _expression(dim: Dim) -> ast.expr:
    return ast.parse(dim_text(dim), mode="eval").body


def _is_attribute(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and "func_attr" in ast.unparse(node.value.func)
    )


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
        return all(
            symbolic.prove_equal(symbolic.substitute(a, known), b) for a, b in zip(own, wanted, strict=True)
        )
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
            if all(
                span is not None and span.low == 0 and symbolic.prove_equal(span.stop, size)
                for span, size in ends
            ):
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
            raise ArgumentError(
                f"TensorIntrin.register: there is an intrinsic '{name}' already: give override=True"
            )
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
            raise DTypeError(
                f"{what}: the buffer of {tensor.name} has dtype {pattern.dtype}, not {tensor.dtype}"
            )
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
        raise ArgumentError(
            f"{what}: {op.name} has more than {MAX_NODES} parts, which is no small computation"
        )
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
