"""Pass ``convert-layout``: change the layouts of convolutions, and move and cancel transpositions."""

from __future__ import annotations

import functools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import ClassVar

from relax_mlir.dialects.base import RelaxOp, op_class, op_classes
from relax_mlir.dialects.convolution import ConvolutionOp, TransposedConvolutionOp
from relax_mlir.dialects.manipulate import permutation
from relax_mlir.dialects.recurrent import rearranged
from relax_mlir.dialects.structure import TUPLE, ConstantOp, make_tuple
from relax_mlir.dialects.traits import Order, Reordered, composed, inverse, is_identity
from relax_mlir.dialects.types import Tensor, Tuple
from relax_mlir.dialects.value import Value, create_one
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import func, ir
from relax_mlir.op import permute_dims, reshape
from relax_mlir.rewrite import Binding, ExprMutator
from relax_mlir.symbolic import Dim
from relax_mlir.transform import FunctionPass, PassContext

Layouts = tuple[str, str]
"""The layout of data and result, and the layout of the kernel."""


@dataclass(frozen=True)
class ConvertLayout(FunctionPass):
    """Change the layouts of convolutions, and move the transpositions around them until they cancel.

    By default, convolutions get the layouts that are lowered without copies: ``NCHW`` and ``OIHW``, and their 1-d and
    3-d forms; kernels of transposed convolutions get ``IOHW``. `layouts` overrides this: an op, the layout of data and
    result, and optionally the layout of the kernel, as in ``nn_conv2d:NHWC:OHWI``. Convolutions that it does not name
    are unchanged.

    A transposition of a convolution's result moves after ops that support any order of dimensions: elementwise and
    broadcasting ops, pooling, resizing, channel norms, reductions, softmax, padding, concatenation, slices and splits.
    Two adjacent transpositions become one, or cancel. Other operands of such an op are transposed if they are constants
    (free at run time), have at most one dimension other than 1, or are transposed already.

    Follows TVM's ConvertLayout.
    """

    name: ClassVar[str] = "convert-layout"
    opt_level: ClassVar[int] = 2
    layouts: tuple[str, ...] = ()

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        wanted = dict(map(_parsed, self.layouts)) if self.layouts else _plain()
        if _has_any(function, wanted):
            _Convert(wanted).visit(function)


@functools.cache
def _plain() -> dict[str, Layouts]:
    """The layouts that are lowered without copies, by op."""
    return {
        name.removeprefix("relax."): cls.plain_layouts()
        for name, cls in op_classes().items()
        if issubclass(cls, ConvolutionOp | TransposedConvolutionOp)
    }


def _parsed(text: str) -> tuple[str, Layouts]:
    """Parse ``nn_conv2d:NHWC:OHWI`` into the op and its layouts; "" for a layout that is absent."""
    name, *layouts = text.split(":")
    op = name.removeprefix("relax.").replace(".", "_")
    if op not in _plain():
        raise UnknownNameError("convolution that convert-layout can change", name, _plain())
    if len(layouts) not in (1, 2):
        raise ArgumentError(
            f"convert-layout: {text!r}: expected the op and one or two layouts, as in 'nn_conv2d:NHWC:OHWI'"
        )
    for layout, letters in zip(layouts, _plain()[op], strict=False):
        if sorted(layout) != sorted(letters):
            raise ArgumentError(f"convert-layout: {text!r}: expected an order of the letters {letters}, got {layout!r}")
    return op, (layouts[0], layouts[1] if len(layouts) == 2 else "")


def _has_any(function: func.FuncOp, ops: Collection[str]) -> bool:
    names, found = {f"relax.{op}" for op in ops}, False

    def look(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = op.name in names
        return ir.WalkResult.INTERRUPT if found else ir.WalkResult.ADVANCE

    function.operation.walk(look)
    return found


class _Convert(ExprMutator):
    def __init__(self, wanted: dict[str, Layouts]) -> None:
        self._wanted = wanted
        self._spatial: set[ir.Value] = set()
        """Results of convolutions, and of order-independent ops on them; transpositions of these values move."""
        self._transposed: dict[tuple[ir.Value, Order, ir.Block], Value] = {}
        """Transposed values by original value, order, and the block of the transposition."""

    def visit_default(self, binding: Binding) -> Value | None:
        cls = op_class(binding.operation)
        if cls is None:
            return None
        if binding.op in self._wanted:
            return self._convolution(binding, cls)
        return self._moved(binding, cls)

    # -- convolutions ------------------------------------------------------------------------------------------

    def _convolution(self, binding: Binding, cls: type[RelaxOp]) -> Value | None:
        args = cls.args_of(binding.operation)
        data, kernel, out = (args.str_attr(f"{name}_layout") for name in ("data", "kernel", "out"))
        new_data, new_kernel = self._wanted[binding.op]
        new_kernel = new_kernel or kernel
        if (data, kernel, out) == (new_data, new_kernel, new_data) or not _have_ranks(binding):
            self._spatial.add(binding.result.ssa)
            return None
        images, kernels = binding.operands
        operands = [
            self._in_order(binding, images, _order(data, new_data)),
            self._in_order(binding, kernels, _order(kernel, new_kernel)),
        ]
        layouts = {"data_layout": new_data, "kernel_layout": new_kernel, "out_layout": new_data}
        attributes = {**args.attrs, **{name: ir.StringAttr.get(text) for name, text in layouts.items()}}
        result = create_one(cls, operands, attributes)
        self._spatial.add(result.ssa)
        return _back(result, _order(out, new_data))

    # -- ops after them ----------------------------------------------------------------------------------------

    def visit_permute_dims(self, binding: Binding) -> Value | None:
        """Merge two transpositions into one, or cancel them."""
        (value,) = binding.operands
        order = _order_of(binding.operation)
        source, before = self._source(value)
        if order is None or before is None or source.ssa not in self._spatial:
            return None
        return _transposed(source, composed(before, order))

    def visit_tuple_get_item(self, binding: Binding) -> Value | None:
        """Forward a field of a tuple that `_moved` created."""
        made = self.definition(binding.operands[0])
        if made is None or made.op != "tuple":
            return None
        field = made.operands[binding.attrs["index"]]
        return field if self._source(field)[0].ssa in self._spatial else None

    def _moved(self, binding: Binding, cls: type[RelaxOp]) -> Value | None:
        """Apply the op to the untransposed data, and transpose its result."""
        values = [field for operand in binding.operands for field in _fields(operand)]
        sources = [self._source(value) for value in values]
        if not any(source.ssa in self._spatial for source, _ in sources):
            return None
        orders = [axes for source, axes in sources if axes is not None and source.ssa in self._spatial]
        args = cls.args_of(binding.operation)
        if not orders:
            rank = values[0].tensor_info.ndim if isinstance(values[0].struct_info, Tensor) else None
            if rank is not None and cls.reordered(args, tuple(range(rank))) is not None:
                self._spatial.add(binding.result.ssa)
            return None
        order = inverse(orders[0])
        found = cls.reordered(args, order)
        if found is None or not self._is_free(binding, order, found):
            return None
        return self._reordered(binding, cls, order, found)

    def _is_free(self, binding: Binding, order: Order, found: Reordered) -> bool:
        """True if the operands can be reordered without another copy."""
        values = [field for number in found.operands for field in _fields(binding.operands[number])]
        shapes = [value.tensor_info.known_shape for value in values]
        if any(shape is None or len(shape) > len(order) for shape in shapes):
            return False
        return any(self._is_undone(value, order) for value in values) and all(
            _is_constant(value)
            or _long_axes(value) <= 1
            or self._is_undone(value, order)
            or (value.ssa, order, binding.operation.block) in self._transposed
            for value in values
        )

    def _is_undone(self, value: Value, order: Order) -> bool:
        """True if `value` is a transposition that reordering by `order` cancels."""
        _, axes = self._source(value)
        return axes is not None and len(axes) == len(order) and is_identity(composed(axes, order))

    def _reordered(self, binding: Binding, cls: type[RelaxOp], order: Order, found: Reordered) -> Value:
        operands = []
        for number, operand in enumerate(binding.operands):
            if number not in found.operands:
                operands.append(operand)
            elif isinstance(operand.struct_info, Tuple):
                fields = [self._in_order(binding, field, order) for field in _fields(operand)]
                operands.append(make_tuple(*fields))
            else:
                operands.append(self._in_order(binding, operand, order))
        attributes = {**cls.args_of(binding.operation).attrs, **found.attributes}
        result = create_one(cls, operands, attributes)
        if not isinstance(result.struct_info, Tuple):
            self._spatial.add(result.ssa)
            (order_of_result,) = found.results
            assert order_of_result is not None
            return _back(result, order_of_result)
        fields = []
        for number, order_of_field in enumerate(found.results):
            field = result[number]
            if order_of_field is not None:
                self._spatial.add(field.ssa)
                field = _back(field, order_of_field)
            fields.append(field)
        return make_tuple(*fields)

    # -- transpositions ----------------------------------------------------------------------------------------

    def _source(self, value: Value) -> tuple[Value, Order | None]:
        """The source and axes if `value` is a transposition; otherwise `value` and None."""
        made = defining_op(value.ssa)
        axes = None if made is None or made.name != "relax.permute_dims" else _order_of(made)
        if made is None or axes is None:
            return value, None
        return Value(made.operands[0]), axes

    def _in_order(self, binding: Binding, value: Value, order: Order) -> Value:
        """`value` with dimension ``order[i]`` as dimension i; a value of lower rank broadcasts as before."""
        shape = value.tensor_info.known_shape
        if shape is not None and len(shape) < len(order):
            shape = (*[1] * (len(order) - len(shape)), *shape)
        source, axes = self._source(value)
        if is_identity(order):
            return value
        if axes is not None and len(axes) == len(order):
            return _transposed(source, composed(axes, order))
        key = value.ssa, order, binding.operation.block
        if key not in self._transposed:
            self._transposed[key] = rearranged(
                value,
                lambda x: x.reshape(*[1] * (len(order) - x.ndim), *x.shape).transpose(order),
                lambda x: _by_ops(x, shape, order),
            )
        return self._transposed[key]


def _fields(value: Value) -> Sequence[Value]:
    """The fields of a value built by a `tuple` op, or the value itself."""
    made = defining_op(value.ssa)
    return list(map(Value, made.operands)) if made is not None and made.name == TUPLE else [value]


def _is_constant(value: Value) -> bool:
    made = defining_op(value.ssa)
    return made is not None and made.name == ConstantOp.OPERATION_NAME


def _have_ranks(binding: Binding) -> bool:
    return all(operand.tensor_info.ndim is not None for operand in binding.operands)


def _order(letters: str, wanted: str) -> Order:
    """The axis order that permutes the layout `letters` into `wanted`."""
    return tuple(letters.index(letter) for letter in wanted)


def _order_of(op: ir.Operation) -> Order | None:
    """The axes of a `permute_dims`; None if the rank is unknown."""
    cls = op_class(op)
    assert cls is not None
    args = cls.args_of(op)
    rank = args.tensor(0).ndim
    return None if rank is None else tuple(permutation(args, rank))


def _transposed(value: Value, order: Order) -> Value:
    return value if is_identity(order) else permute_dims(value, list(order))


def _by_ops(value: Value, shape: Sequence[Dim] | None, order: Order) -> Value:
    """`value`, viewed as `shape`, with permuted axes; a reshape if no element moves."""
    if shape is not None and _long_axes(value) <= 1:
        return reshape(value, [shape[axis] for axis in order])
    return permute_dims(value, list(order))


def _back(value: Value, order: Order) -> Value:
    """Undo the reordering of `value` by `order`."""
    return _transposed(value, inverse(order))


def _long_axes(value: Value) -> int:
    """The number of dimensions that are not 1."""
    return sum(dim != 1 for dim in value.tensor_info.known_shape or ())
