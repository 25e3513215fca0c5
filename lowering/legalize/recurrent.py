"""Lowering of recurrent layers by topi; 16-bit floats are computed in float32."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.recurrent import GruStepsOp, LstmStepsOp, RnnStepsOp
from relax_mlir.dialects.types import StructInfo
from relax_mlir.expr import Attrs
from relax_mlir.lowering.legalize.rules import expression, narrowed, widened
from relax_mlir.te import Tensor
from relax_mlir.topi.nn import recurrent
from relax_mlir.topi.nn.recurrent import Activation, Recurrence, function_of, known_rows


def _layer(attrs: Attrs, gates: Tensor, weights: Tensor, lengths: Tensor) -> Recurrence:
    return Recurrence(widened(gates), widened(weights), known_rows(lengths), attrs.reverse, attrs.clip)


def _functions(attrs: Attrs) -> list[Activation]:
    return [function_of(*item) for item in zip(attrs.activations, attrs.alphas, attrs.betas, strict=True)]


def _results(found: Sequence[Tensor], dtype: str) -> list[Tensor]:
    return [narrowed(tensor, dtype) for tensor in found]


@expression(RnnStepsOp)
def rnn_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """An RNN layer: one activation of the sum."""
    gates, weights, hidden, lengths = inputs
    layer = _layer(attrs, gates, weights, lengths)
    return _results(recurrent.rnn_steps(layer, widened(hidden), *_functions(attrs)), gates.dtype)


@expression(GruStepsOp)
def gru_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """A GRU layer with reset, update and new gates."""
    gates, weights, bias, hidden, lengths = inputs
    layer = _layer(attrs, gates, weights, lengths)
    f, g = _functions(attrs)
    found = recurrent.gru_steps(layer, widened(bias), widened(hidden), f, g, attrs.reset_after)
    return _results(found, gates.dtype)


@expression(LstmStepsOp)
def lstm_steps(attrs: Attrs, inputs: Sequence[Tensor], out_type: StructInfo) -> Sequence[Tensor]:
    """An LSTM layer with input, forget, cell and output gates."""
    gates, weights, hidden, cell, lengths, peepholes = inputs
    layer = _layer(attrs, gates, weights, lengths)
    peeped = known_rows(peepholes)
    found = recurrent.lstm_steps(
        layer,
        widened(hidden),
        widened(cell),
        None if peeped is None else widened(peeped),
        _functions(attrs),
        attrs.input_forget,
    )
    return _results(found, gates.dtype)
