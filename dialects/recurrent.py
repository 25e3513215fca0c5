"""Recurrent layers: LSTM, GRU and RNN; one matrix product for all steps, then the steps.

Constant weights are reordered at compile time.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from relax_mlir import symbolic
from relax_mlir.dialects import constants
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp, floats_of
from relax_mlir.dialects.builders import build, exported
from relax_mlir.dialects.create import ZerosOp
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.elementwise import AddOp
from relax_mlir.dialects.linear_algebra import MatmulOp
from relax_mlir.dialects.manipulate import PermuteDimsOp, concat, split
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, text_attr
from relax_mlir.dialects.structure import ConstantOp
from relax_mlir.dialects.types import Tensor, Tuple, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import ext, ir
from relax_mlir.symbolic import Dim

ACTIVATIONS = (
    *("sigmoid", "tanh", "relu", "affine", "elu", "hardsigmoid", "leakyrelu", "scaledtanh", "softplus"),
    *("softsign", "thresholdedrelu"),
)
"""The activation functions of gates; `alpha` and `beta` are those of ONNX."""
DEFAULTS = {
    "affine": (1.0, 0.0),
    "elu": (1.0, 0.0),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, 0.0),
    "scaledtanh": (1.0, 1.0),
    "thresholdedrelu": (1.0, 0.0),
}
"""The default parameters of functions that have any."""

Activation = str | tuple[str, float] | tuple[str, float, float]
"""A function name, or a name with the parameters alpha and beta."""


class RecurrentOp(RelaxOp):
    """Base of the recurrent layers: the number of `gates` and of functions; `has_cell` if there is a cell state."""

    gate_count = 1
    function_count = 1
    has_cell = False

    @classmethod
    def infer(cls, args: OpArgs) -> Inferred:
        args.bool_attr("reverse")
        names = [str(ir.StringAttr(item).value) for item in ir.ArrayAttr(args.attrs["activations"])]
        unknown = [name for name in names if name not in ACTIVATIONS]
        if unknown or len(names) != cls.function_count:
            raise ArgumentError(
                f"{args.op}: activations is {names}, expected {cls.function_count} of {', '.join(ACTIVATIONS)}"
            )
        for name in ("alphas", "betas"):
            if len(floats_of(args, name) or ()) != cls.function_count:
                raise ArgumentError(f"{args.op}: {name} has not {cls.function_count} numbers, one for each activation")
        if not args.is_unit("clip") and not args.float_attr("clip") > 0:
            raise ArgumentError(f"{args.op}: clip is {args.float_attr('clip')}, expected a number above 0")
        dtype = None
        for index, name in enumerate(args.operand_names):
            if name == "lengths":
                args.require_dtype(index, lambda d: d.is_integer, "integers")
                continue
            found = float_tensor(args, index).dtype
            if dtype is not None and found is not None:
                promote(dtype, found, f"{args.op}: 'gates' and '{name}'")
            dtype = dtype or found
        steps, batch, hidden = cls._sizes(args)
        state = Tensor((batch, hidden), dtype)
        return Tuple([Tensor((steps, batch, hidden), dtype), *(state for _ in cls.states())])

    @classmethod
    def states(cls) -> list[str]:
        """The operands that hold initial states."""
        return ["hidden", "cell"] if cls.has_cell else ["hidden"]

    @classmethod
    def _sizes(cls, args: OpArgs) -> tuple[Dim | None, Dim | None, Dim | None]:
        """Steps, batch size and hidden size."""
        gates, recurrent = _dims(args, "gates", 3), _dims(args, "recurrent", 2)
        hidden, batch = recurrent[0], gates[1]
        wide = None if hidden is None else hidden * cls.gate_count
        _require(args, "recurrent", recurrent, (hidden, wide))
        _require(args, "gates", gates, (gates[0], batch, wide))
        for name in cls.states():
            _require(args, name, _dims(args, name, 2), (batch, hidden))
        lengths = _dims(args, "lengths", 1)
        if lengths[0] != 0:
            _require(args, "lengths", lengths, (batch,))
        cls.check_more(args, hidden)
        return gates[0], batch, hidden

    @classmethod
    def check_more(cls, args: OpArgs, hidden: Dim | None) -> None:
        """Raise an error unless the operands and attributes specific to this layer are valid."""


def _dims(args: OpArgs, name: str, rank: int) -> tuple[Dim | None, ...]:
    given = args.tensor(list(args.operand_names).index(name))
    if given.ndim is not None and given.ndim != rank:
        raise ShapeError(f"{args.op}: operand '{name}' is {given}, expected {rank} dimensions")
    return given.shape or (None,) * rank


def _require(args: OpArgs, name: str, given: Sequence[Dim | None], wanted: Sequence[Dim | None]) -> None:
    for axis, (a, b) in enumerate(zip(given, wanted, strict=True)):
        if a is not None and b is not None and not symbolic.prove_equal(a, b):
            raise ShapeError(
                f"{args.op}: dimension {axis} of operand '{name}' is {dim_text(a)}, expected {dim_text(b)}"
            )


class RnnStepsOp(RecurrentOp, name="nn_rnn_steps", traits=[ext.Pure]):
    """The hidden states of a recurrent layer: ``h = f(gates[t] + h @ recurrent)``.

    `gates` is ``(steps, batch, hidden)``: products of the inputs with their weights, plus biases. `recurrent` is
    ``(hidden, hidden)``, and `hidden`, the initial state, ``(batch, hidden)``. `lengths`, ``(batch,)``, is the number
    of steps per batch entry; later states are 0. An empty `lengths` means all steps. With `reverse`, each entry starts
    at its last step, and states are stored at their own step. `activations` are functions by name, with one entry each
    of `alphas` and `betas`; `clip` clamps their arguments to ``-clip..clip``. The result is a tuple: the states,
    ``(steps, batch, hidden)``, and the final state. 16-bit floats are computed in float32.

    Example: shapes ``(t, b, 8)``, ``(8, 8)``, ``(b, 8)``, ``(0,)`` give ``(t, b, 8)`` and ``(b, 8)``.
    """

    gates: ext.Operand[Any]
    recurrent: ext.Operand[Any]
    hidden: ext.Operand[Any]
    lengths: ext.Operand[Any]
    activations: ir.ArrayAttr
    alphas: ir.ArrayAttr
    betas: ir.ArrayAttr
    clip: ir.FloatAttr | ir.UnitAttr
    reverse: ir.IntegerAttr
    result: ext.Result[Any]


class GruStepsOp(RecurrentOp, name="nn_gru_steps", traits=[ext.Pure]):
    """The hidden states of a gated recurrent unit; the operands are as in `RnnStepsOp`.

    `gates` is ``(steps, batch, 3 * hidden)``, `recurrent` ``(hidden, 3 * hidden)``, and `bias`, which is added to its
    products, ``(3 * hidden,)``, in the order reset, update, new. ``h = (1 - z) * n + z * h`` with
    ``r, z = f(gates + h @ recurrent + bias)`` and ``n = g(gates + r * (h @ recurrent + bias))``; without `reset_after`
    ``n = g(gates + (r * h) @ recurrent + bias)``. The activations are f and g.

    Example: shapes ``(t, b, 24)``, ``(8, 24)``, ``(24,)``, ``(b, 8)``, ``(0,)`` give ``(t, b, 8)`` and ``(b, 8)``.
    """

    gates: ext.Operand[Any]
    recurrent: ext.Operand[Any]
    bias: ext.Operand[Any]
    hidden: ext.Operand[Any]
    lengths: ext.Operand[Any]
    activations: ir.ArrayAttr
    alphas: ir.ArrayAttr
    betas: ir.ArrayAttr
    clip: ir.FloatAttr | ir.UnitAttr
    reverse: ir.IntegerAttr
    reset_after: ir.IntegerAttr
    result: ext.Result[Any]
    gate_count = 3
    function_count = 2

    @classmethod
    def check_more(cls, args: OpArgs, hidden: Dim | None) -> None:
        args.bool_attr("reset_after")
        _require(args, "bias", _dims(args, "bias", 1), (None if hidden is None else hidden * 3,))


class LstmStepsOp(RecurrentOp, name="nn_lstm_steps", traits=[ext.Pure]):
    """The hidden states of a long short-term memory; the operands are as in `RnnStepsOp`.

    `gates` is ``(steps, batch, 4 * hidden)`` and `recurrent` ``(hidden, 4 * hidden)``, in the order input, forget,
    cell, output. `cell`, the initial cell state, is ``(batch, hidden)``. `peepholes`, ``(3, hidden)``, multiplied by
    the cell state, is added to the input, forget and output gates; without rows there are no peepholes. With
    ``i, f, g, o`` being ``gates + h @ recurrent``: ``c = F(f) * c + F(i) * G(g)`` and ``h = F(o) * H(c)``; with
    `input_forget`, ``1 - F(i)`` replaces ``F(f)``. The activations are F, G and H. The third field of the result is the
    final cell state.

    Example: shapes ``(t, b, 32)``, ``(8, 32)``, twice ``(b, 8)``, ``(0,)`` and ``(0, 8)`` give ``(t, b, 8)``, and twice
    ``(b, 8)``.
    """

    gates: ext.Operand[Any]
    recurrent: ext.Operand[Any]
    hidden: ext.Operand[Any]
    cell: ext.Operand[Any]
    lengths: ext.Operand[Any]
    peepholes: ext.Operand[Any]
    activations: ir.ArrayAttr
    alphas: ir.ArrayAttr
    betas: ir.ArrayAttr
    clip: ir.FloatAttr | ir.UnitAttr
    reverse: ir.IntegerAttr
    input_forget: ir.IntegerAttr
    result: ext.Result[Any]
    gate_count = 4
    function_count = 3
    has_cell = True

    @classmethod
    def check_more(cls, args: OpArgs, hidden: Dim | None) -> None:
        args.bool_attr("input_forget")
        rows, width = _dims(args, "peepholes", 2)
        if rows not in (None, 0, 3):
            raise ShapeError(f"{args.op}: operand 'peepholes' has {dim_text(rows)} rows, expected 3, or none")
        _require(args, "peepholes", (width,), (hidden,))


# -- builders --------------------------------------------------------------------------------------------------


def steps_attributes(
    what: str, activations: Sequence[Activation], clip: float | None, reverse: bool
) -> dict[str, ir.Attribute]:
    """The attributes common to all layers."""
    expect(f"{what}: 'activations'", activations, list | tuple, "names of functions")
    names: list[ir.Attribute] = []
    alphas: list[ir.Attribute] = []
    betas: list[ir.Attribute] = []
    for item in activations:
        expect(f"{what}: 'activations'", item, str | list | tuple, "a name, or a name with its numbers")
        name, *numbers = (item,) if isinstance(item, str) else item or ("",)
        names.append(text_attr(name, f"{what}: 'activations'"))
        alpha, beta = [*numbers, *DEFAULTS.get(str(name), (0.0, 0.0))[len(numbers) :]]
        alphas.append(double_attr(alpha, f"{what}: alpha of '{name}'"))
        betas.append(double_attr(beta, f"{what}: beta of '{name}'"))
    return {
        "activations": ir.ArrayAttr.get(names),
        "alphas": ir.ArrayAttr.get(alphas),
        "betas": ir.ArrayAttr.get(betas),
        "clip": ir.UnitAttr.get() if clip is None else double_attr(clip, f"{what}: 'clip'"),
        "reverse": bool_attr(reverse, f"{what}: 'reverse'"),
    }


@exported("nn")
def rnn_steps(
    gates: ValueLike,
    recurrent: ValueLike,
    hidden: ValueLike,
    lengths: ValueLike,
    activations: Sequence[Activation] = ("tanh",),
    clip: float | None = None,
    reverse: bool = False,
) -> Value:
    """The states of a recurrent layer (see `RnnStepsOp`); `nn.rnn` computes the gates."""
    require_insertion_point("nn.rnn_steps")
    operands = [as_value(v) for v in (gates, recurrent, hidden, lengths)]
    return create_one(RnnStepsOp, operands, steps_attributes("rnn_steps", activations, clip, reverse))


@exported("nn")
def gru_steps(
    gates: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike,
    hidden: ValueLike,
    lengths: ValueLike,
    activations: Sequence[Activation] = ("sigmoid", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    reset_after: bool = True,
) -> Value:
    """The states of a gated recurrent unit (see `GruStepsOp`); `nn.gru` computes the gates."""
    require_insertion_point("nn.gru_steps")
    attributes = steps_attributes("gru_steps", activations, clip, reverse)
    attributes["reset_after"] = bool_attr(reset_after, "gru_steps: 'reset_after'")
    return create_one(GruStepsOp, [as_value(v) for v in (gates, recurrent, bias, hidden, lengths)], attributes)


@exported("nn")
def lstm_steps(
    gates: ValueLike,
    recurrent: ValueLike,
    hidden: ValueLike,
    cell: ValueLike,
    lengths: ValueLike,
    peepholes: ValueLike,
    activations: Sequence[Activation] = ("sigmoid", "tanh", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    input_forget: bool = False,
) -> Value:
    """The states of a long short-term memory (see `LstmStepsOp`); `nn.lstm` computes the gates."""
    require_insertion_point("nn.lstm_steps")
    attributes = steps_attributes("lstm_steps", activations, clip, reverse)
    attributes["input_forget"] = bool_attr(input_forget, "lstm_steps: 'input_forget'")
    operands = [as_value(v) for v in (gates, recurrent, hidden, cell, lengths, peepholes)]
    return create_one(LstmStepsOp, operands, attributes)


Array = np.ndarray[Any, Any]


def rearranged(value: Value, of_elements: Callable[[Array], Array], by_ops: Callable[[Value], Value]) -> Value:
    """Apply `by_ops` to `value`, or `of_elements` to the array of a constant, which may return a view of it."""
    made = defining_op(value.ssa)
    if made is None or made.name != ConstantOp.OPERATION_NAME:
        return by_ops(value)
    return as_value(np.ascontiguousarray(of_elements(constants.to_numpy(made.attributes["value"]))))


@exported("nn")
def lstm(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    cell: ValueLike | None = None,
    lengths: ValueLike | None = None,
    peepholes: ValueLike | None = None,
    activations: Sequence[Activation] = ("sigmoid", "tanh", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    input_forget: bool = False,
    gate_order: str = "ifgo",
) -> Value:
    """A long short-term memory of `data`, ``(steps, batch, inputs)``: a tuple of three, see `LstmStepsOp`.

    `weight` is ``(4 * hidden, inputs)``, `recurrent` ``(4 * hidden, hidden)``, and the biases ``(4 * hidden,)``, with
    the gates in the order `gate_order` (the default is torch's; ONNX's is ``iofg``). `hidden` and `cell` default to 0.
    """
    require_insertion_point("nn.lstm")
    layer = _Layer("lstm", as_value(data), as_value(weight), as_value(recurrent), "ifgo", gate_order)
    gates = layer.gates([bias, recurrent_bias])
    none = build(ZerosOp, [0, layer.hidden], layer.dtype)
    return lstm_steps(
        gates,
        layer.steps,
        layer.state(hidden),
        layer.state(cell),
        layer.lengths(lengths),
        none if peepholes is None else peepholes,
        activations,
        clip,
        reverse,
        input_forget,
    )


@exported("nn")
def gru(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    lengths: ValueLike | None = None,
    activations: Sequence[Activation] = ("sigmoid", "tanh"),
    clip: float | None = None,
    reverse: bool = False,
    reset_after: bool = True,
    gate_order: str = "rzn",
) -> Value:
    """A gated recurrent unit of `data`, ``(steps, batch, inputs)``: a tuple of two, see `GruStepsOp`.

    Weights and biases are as in `lstm`, for three gates in the order `gate_order` (the default is torch's; ONNX's is
    ``zrn``). torch always has `reset_after`; ONNX calls it ``linear_before_reset``.
    """
    require_insertion_point("nn.gru")
    layer = _Layer("gru", as_value(data), as_value(weight), as_value(recurrent), "rzn", gate_order)
    own = build(ZerosOp, [layer.hidden * 3], layer.dtype) if recurrent_bias is None else as_value(recurrent_bias)
    return gru_steps(
        layer.gates([bias]),
        layer.steps,
        layer.in_order(own),
        layer.state(hidden),
        layer.lengths(lengths),
        activations,
        clip,
        reverse,
        reset_after,
    )


@exported("nn")
def rnn(
    data: ValueLike,
    weight: ValueLike,
    recurrent: ValueLike,
    bias: ValueLike | None = None,
    recurrent_bias: ValueLike | None = None,
    hidden: ValueLike | None = None,
    lengths: ValueLike | None = None,
    activations: Sequence[Activation] = ("tanh",),
    clip: float | None = None,
    reverse: bool = False,
) -> Value:
    """A recurrent layer of `data`, ``(steps, batch, inputs)``: a tuple of two, see `RnnStepsOp`.

    `weight` is ``(hidden, inputs)``, `recurrent` ``(hidden, hidden)``, the biases ``(hidden,)``.
    """
    require_insertion_point("nn.rnn")
    layer = _Layer("rnn", as_value(data), as_value(weight), as_value(recurrent), "h", "h")
    gates = layer.gates([bias, recurrent_bias])
    return rnn_steps(gates, layer.steps, layer.state(hidden), layer.lengths(lengths), activations, clip, reverse)


class _Layer:
    """The operands of a layer, and the operands of its steps."""

    def __init__(self, what: str, data: Value, weight: Value, recurrent: Value, wanted: str, given: str) -> None:
        if not isinstance(given, str) or sorted(given) != sorted(wanted):
            raise ArgumentError(f"{what}: 'gate_order' is {given!r}, expected an order of the letters {wanted}")
        self.what, self.data, self.weight, self.recurrent = what, data, weight, recurrent
        self._order = [given.index(letter) for letter in wanted]
        self.hidden = self._known("recurrent", recurrent, 2, 1)
        self.batch = self._known("data", data, 3, 1)
        info: Tensor = data.tensor_info
        if info.dtype is None:
            raise ShapeError(f"{what}: the dtype of 'data', {info}, is not known; match_shape it first")
        self.dtype = info.dtype

    def _known(self, name: str, value: Value, rank: int, axis: int) -> Dim:
        shape = value.tensor_info.shape
        dim = shape[axis] if shape is not None and len(shape) == rank else None
        if dim is None:
            raise ShapeError(
                f"{self.what}: '{name}' is {value.tensor_info}, expected {rank} dimensions of which {axis} is known; "
                "match_shape it first"
            )
        return dim

    def in_order(self, value: Value) -> Value:
        """Weights or biases with the gates in the order of the steps op."""
        if self._order == sorted(self._order):
            return value
        shape = value.tensor_info.shape
        size = None if not shape else shape[0]
        if size is None or not symbolic.prove_equal(size, self.hidden * len(self._order)):
            raise ShapeError(
                f"{self.what}: {value.tensor_info} has not {len(self._order)} gates of {self.hidden} in its first "
                "dimension"
            )

        def of_elements(array: Array) -> Array:
            parts = np.split(array, len(self._order))
            return np.concatenate([parts[number] for number in self._order])

        def by_ops(value: Value) -> Value:
            parts = split(value, len(self._order), 0)
            return concat([parts[number] for number in self._order], 0)

        return rearranged(value, of_elements, by_ops)

    @property
    def steps(self) -> Value:
        """The recurrent weights in the form of the steps op."""
        shape, wanted = self.recurrent.tensor_info.shape, self.hidden * len(self._order)
        rows = None if shape is None else shape[0]
        if rows is not None and not symbolic.prove_equal(rows, wanted):
            raise ShapeError(
                f"{self.what}: dimension 0 of operand 'recurrent' is {dim_text(rows)}, expected {dim_text(wanted)}"
            )
        return rearranged(self.in_order(self.recurrent), np.transpose, lambda x: build(PermuteDimsOp, x, [1, 0]))

    def gates(self, biases: Sequence[ValueLike | None]) -> Value:
        """The products of inputs and weights for all steps, plus biases."""
        found = build(MatmulOp, self.data, build(PermuteDimsOp, self.in_order(self.weight), [1, 0]))
        given = [self.in_order(as_value(bias)) for bias in biases if bias is not None]
        for bias in given[1:]:
            given = [build(AddOp, given[0], bias)]
        return build(AddOp, found, given[0]) if given else found

    def state(self, given: ValueLike | None) -> Value:
        """An initial state, 0 by default."""
        return build(ZerosOp, [self.batch, self.hidden], self.dtype) if given is None else as_value(given)

    def lengths(self, given: ValueLike | None) -> Value:
        """The number of steps of each batch entry, all by default."""
        return build(ZerosOp, [0], "int32") if given is None else as_value(given)
