"""`BlockBuilder.emit_te`: call the prim func of tensor expressions over Relax values."""

from __future__ import annotations

import keyword
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import calls, types
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.structure import constant
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Condition
from relax_mlir.te.extern import with_externs
from relax_mlir.te.prim_func import TEFunction, build
from relax_mlir.te.schedule.lower import build_by_size
from relax_mlir.te.schedule.schedule import Schedule
from relax_mlir.te.tensors import PlaceholderOp, Tensor, placeholder, read_by

DEFAULT_NAME = "te_func"
"""The name of a prim func without another name."""


def emit(
    builder: BlockBuilder,
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    hint: str | None,
) -> Any:  # noqa: ANN401 - a value, or a tuple of values
    """See `BlockBuilder.emit_te`."""
    if not callable(function):
        raise ArgumentError(f"emit_te: 'function' is {function!r}, expected a function of te.Tensors")
    name = hint or re.sub(r"\W", "_", getattr(function, "__name__", "")).strip("_") or DEFAULT_NAME
    if keyword.iskeyword(name):  # a lambda has no other name
        name = DEFAULT_NAME
    inputs = _Inputs(name)
    given = [inputs.convert(value, f"argument {number}") for number, value in enumerate(args)]
    named = {key: inputs.convert(value, f"argument '{key}'") for key, value in kwargs.items()}
    result = function(*given, **named)
    if isinstance(result, Schedule):
        return emit_scheduled(builder, inputs.tensors, result, name)
    for output in result if isinstance(result, list | tuple) else [result]:
        if not isinstance(output, Tensor) or isinstance(output.op, PlaceholderOp):
            raise ArgumentError(
                f"emit_te: '{name}' returns {output!r}, expected a computed te.Tensor, or a list of them"
            )
    return emit_tensors(builder, inputs.tensors, result, name)


_values: weakref.WeakKeyDictionary[Tensor, Value] = weakref.WeakKeyDictionary()
"""The values of placeholders created by `te_tensor`."""


def te_tensor(value: Value) -> Tensor:
    """A placeholder for a Relax value, for `te.compute`.

    `BlockBuilder.emit` of a tensor computed from it calls the prim func.

    Raises:
        ArgumentError: `value` is not a tensor.
        ShapeError, DTypeError: its shape or dtype is not known.
    """
    if not isinstance(value, Value) or not isinstance(value.struct_info, types.Tensor):
        raise ArgumentError(f"te_tensor: 'value' is {value!r}, expected a Relax tensor")
    placeholder = _Inputs("te_tensor").placeholder(value, "its argument")
    _values[placeholder] = value
    return placeholder


def emit_computed(builder: BlockBuilder, computed: Any, name: str | None) -> Any:  # noqa: ANN401 - one or several
    """Call the prim func of tensors computed from placeholders of `te_tensor`; see `BlockBuilder.emit`."""
    outputs = list(computed) if isinstance(computed, list | tuple) else [computed]
    for output in outputs:
        if isinstance(output.op, PlaceholderOp):
            raise ArgumentError(f"emit: the tensor {output.name} is a placeholder: compute something of it")
    inputs = []
    for tensor in read_by(outputs):
        if isinstance(tensor.op, PlaceholderOp):
            if tensor not in _values:
                raise ArgumentError(
                    f"emit: the tensor {outputs[0].name} reads the placeholder {tensor}, which stands for no value; "
                    "make it with te_tensor(value)"
                )
            inputs.append((tensor, _values[tensor]))
    return emit_tensors(builder, inputs, computed, name or outputs[0].op.name)


def emit_tensors(
    builder: BlockBuilder,
    inputs: Sequence[tuple[Tensor, Value]],
    result: Any,  # noqa: ANN401 - see below
    name: str,
    finish: Callable[[func.FuncOp], None] = lambda _: None,
) -> Any:  # noqa: ANN401 - a value, or a tuple of values
    """Call the prim func that computes `result`, one or more tensors, from the inputs that it reads.

    `finish` receives the prim func, to add attributes.
    """
    several = isinstance(result, list | tuple)
    outputs = list(result) if several else [result]

    def compute(known: Sequence[tuple[Tensor, Value]], wanted: Sequence[Tensor]) -> list[Value]:
        return _computed(builder, known, wanted, name, finish)

    known = with_externs(builder, inputs, outputs, compute)
    there = {id(tensor): value for tensor, value in known}
    missing = [tensor for tensor in outputs if id(tensor) not in there]
    if missing:
        found = _computed(builder, known, missing, name, finish)
        there.update({id(tensor): value for tensor, value in zip(missing, found, strict=True)})
    values = [there[id(tensor)] for tensor in outputs]
    return tuple(values) if several else values[0]


def _computed(
    builder: BlockBuilder,
    known: Sequence[tuple[Tensor, Value]],
    outputs: Sequence[Tensor],
    name: str,
    finish: Callable[[func.FuncOp], None],
) -> list[Value]:
    """Call the prim func that computes `outputs` from the known tensors that it reads."""
    tensors = [tensor for tensor, _ in known]
    read = read_by(outputs, tensors)
    used = [(tensor, value) for tensor, value in known if tensor in read]
    made = build([tensor for tensor, _ in used], outputs, name, builder.mod.context)
    with builder.mod.context:
        finish(made.module[made.name])
    return _call_made(builder, made, used, outputs)


def emit_scheduled(builder: BlockBuilder, inputs: Sequence[tuple[Tensor, Value]], schedule: Schedule, name: str) -> Any:  # noqa: ANN401 - a value, or a tuple of values
    """Call the prim func of a schedule."""
    return emit_by_size(builder, inputs, [(None, schedule)], name)


def emit_by_size(
    builder: BlockBuilder,
    inputs: Sequence[tuple[Tensor, Value]],
    ways: Sequence[tuple[Condition | None, Schedule]],
    name: str,
) -> Any:  # noqa: ANN401 - a value, or a tuple of values
    """Call the prim func that selects among schedules of the same outputs (see `build_by_size`)."""
    outputs = [tensor for op in ways[-1][1].outputs for tensor in op.outputs]
    read = read_by(outputs)
    used = [(tensor, value) for tensor, value in inputs if tensor in read]
    made = build_by_size(ways, [*(tensor for tensor, _ in used), *outputs], name, builder.mod.context)
    values = _call_made(builder, made, used, outputs)
    return tuple(values) if len(values) > 1 else values[0]


def _call_made(
    builder: BlockBuilder,
    made: TEFunction,
    used: Sequence[tuple[Tensor, Value]],
    outputs: Sequence[Tensor],
) -> list[Value]:
    """Call a prim func with the given values for its tensors."""
    callee = _add(builder, made)
    infos = [types.Tensor(output.shape, output.dtype) for output in outputs]
    called = calls.call_tir(callee, [value for _, value in used], infos if len(infos) > 1 else infos[0], made.integers)
    return list(called) if len(infos) > 1 else [called]


@dataclass
class _Inputs:
    """Creates placeholders for values; a repeated value is one input."""

    function: str
    tensors: list[tuple[Tensor, Value]] = field(default_factory=list)

    def convert(self, value: Any, what: str) -> Any:  # noqa: ANN401 - what the function takes
        if isinstance(value, list | tuple):
            return type(value)([self.convert(item, f"{what}[{number}]") for number, item in enumerate(value)])
        if isinstance(value, np.ndarray):
            return self.placeholder(constant(value), what)
        if not isinstance(value, Value):
            return value
        info = value.struct_info
        if isinstance(info, types.Tuple):
            return tuple(self.convert(value[i], f"{what}[{i}]") for i in range(len(info.fields)))
        if isinstance(info, types.Shape):
            return self.dims(info.values, what, str(info))
        if isinstance(info, types.Tensor):
            return self.placeholder(value, what)
        raise ArgumentError(
            f"emit_te: '{self.function}': {what} is {info}; tensor expressions take tensors and shapes "
            "(R.match_shape gives an integer a symbol)"
        )

    def placeholder(self, value: Value, what: str) -> Tensor:
        for made, known in self.tensors:
            if known.ssa == value.ssa:
                return made
        info = value.tensor_info
        if info.dtype is None:
            raise DTypeError(
                f"emit_te: '{self.function}': {what} is {info}, of unknown dtype; match_shape it with a dtype"
            )
        name = value.name if isinstance(value, Var) else f"x{len(self.tensors)}"
        dims = self.dims(info.shape, what, str(info))
        made = placeholder(dims, info.dtype.name, name)
        self.tensors.append((made, value))
        return made

    def dims(self, dims: Sequence[Any] | None, what: str, shown: str) -> tuple[Any, ...]:
        if dims is None or None in dims:
            raise ShapeError(
                f"emit_te: '{self.function}': {what} is {shown}; tensor expressions need every dimension: "
                "match_shape it"
            )
        return tuple(dims)


def _add(builder: BlockBuilder, made: TEFunction) -> str:
    """The prim func's name in the module; an equal function that already exists is reused."""
    fresh = made.module[made.name]
    with builder.mod.context:
        wanted = _text(fresh)
        for op in builder.mod.mlir.body.operations:
            if not isinstance(op, func.FuncOp) or PRIM_FUNC not in op.attributes or op.type != fresh.type:
                continue
            if _text(op) == wanted:
                return str(op.name.value)
    return builder.add_func(made.module, made.name)


def _text(function: func.FuncOp) -> str:
    """The function's text without its name."""
    name = ir.StringAttr(function.attributes["sym_name"]).value
    return str(function.operation.get_asm(print_generic_op_form=True, use_local_scope=True)).replace(
        f'sym_name = "{name}"', 'sym_name = ""'
    )
