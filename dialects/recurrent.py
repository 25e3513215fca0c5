"""Recurrent layers: the steps of an LSTM, a GRU and an RNN, given the products of the inputs."""

from collections.abc import Sequence
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects.base import Inferred, OpArgs, RelaxOp
from relax_mlir.dialects.dtypes import promote
from relax_mlir.dialects.image import floats_of
from relax_mlir.dialects.nn import float_tensor
from relax_mlir.dialects.number_attributes import bool_attr, double_attr, text_attr
from relax_mlir.dialects.types import Tensor, Tuple, dim_text
from relax_mlir.dialects.value import Value, ValueLike, as_value, create_one, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect
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
                raise ArgumentError(
                    f"{args.op}: {name} has not {cls.function_count} numbers, one for each activation"
                )
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
    return create_one(
        GruStepsOp, [as_value(v) for v in (gates, recurrent, bias, hidden, lengths)], attributes
    )


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
