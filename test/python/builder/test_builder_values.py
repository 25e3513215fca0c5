"""Operators, indices and protocols of values: each makes an op, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir import op as R
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, RelaxError

Use = Callable[[Any], Any]
ARRAY = np.asarray([[1, 2, np.nan, 4], [0, -1, 2, 3]], "float32")
W = np.arange(16, dtype="float32").reshape(4, 4)

GOOD: dict[str, Use] = {
    "x == x": lambda x: x == x,
    "x != x": lambda x: x != x,
    "x == 2": lambda x: x == 2.0,
    "2 != x": lambda x: 2.0 != x,  # noqa: SIM300 - tested here
    "array == x": lambda x: W[0] == x,
    "x @ w": lambda x: x @ W,
    "w + x": lambda x: W[0] + x,
    "w - x": lambda x: W[1] - x,
    "w ** x": lambda x: W[1] % x,
    "scalar": lambda x: np.float32(2) * x,
    "column": lambda x: x[:, 0],
    "row": lambda x: x[1],
    "slices": lambda x: x[-1:, ::2],
    "new axis": lambda x: x[..., None],
    "x == None": lambda x: x * 1.0 if (x == None) is False else x,  # noqa: E711 - tested here
}
TORCH: dict[str, Use] = {
    "x @ torch": lambda x: x @ torch.from_numpy(W),
    "torch + x": lambda x: torch.from_numpy(W[0]) + x,
    "torch / x": lambda x: torch.from_numpy(W[1]) / x,
    "torch == x": lambda x: torch.from_numpy(ARRAY[1]) == x,
    "torch conj view": lambda x: x + torch.from_numpy(W[0].astype("c8")).conj().imag,
}


def test_operators_and_indices_compute_what_numpy_does() -> None:
    uses = {**GOOD, **TORCH}
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output([use(x) for use in uses.values()])
    found = rx.build(bb.get())["main"](ARRAY)
    with np.errstate(all="ignore"):
        wanted = [np.asarray(use(ARRAY)) for use in GOOD.values()]
        wanted += [np.asarray(use(torch.from_numpy(ARRAY))) for use in TORCH.values()]
    for name, one, other in zip(uses, found, wanted, strict=True):
        np.testing.assert_allclose(np.from_dlpack(one), other, rtol=1e-6, err_msg=name)


BAD: dict[str, tuple[Use, str]] = {
    "bool": (
        lambda x: x * True,
        "the bool True beside a tensor of dtype float32: write a number, or op.const",
    ),
    "identity": (lambda x: x * (x == None), "the bool False beside"),  # noqa: E711 - tested here
    "truth": (lambda x: 1 if x else 2, "op.if_then_else"),
    "and": (lambda x: x and x, "op.if_then_else"),
    "list": (lambda x: x * [1.0, 2.0], r"op.const\(numpy.array"),
    "list equal": (lambda x: x == [1.0, 2.0], r"op.const\(numpy.array"),
    "text": (lambda x: x < "a", "cannot make a Relax value of 'a'"),
    "numpy function": (np.exp, "numpy.exp computes now"),
    "numpy array": (np.asarray, "has no elements before it is run"),
    "torch function": (torch.exp, "torch.exp computes now"),
    "float": (float, "it is no Python number"),
    "int": (int, "it is no Python number"),
    "length": (len, "see its `shape`"),
    "set": (lambda x: x.__setitem__(0, 1), "op.where and op.concat make new ones"),
    "attribute": (lambda x: x.sum(), r"the ops are functions: op.sum\(x, …\)"),
    "unknown attribute": (lambda x: x.dtipe, "did you mean 'dtype'"),
    "iteration": (lambda x: [*x], "only tuples can be unpacked"),
    "tensor index": (lambda x: x[x], "op.take takes the elements"),
    "float index": (lambda x: x[1.5], "an index is 1.5, expected an int"),
    "range": (lambda x: x[:, 4], "index 4 is out of range for dimension 1"),
    "step": (lambda x: x[::0], "an int other than 0"),
    "axis": (lambda x: R.nn.softmax(x, axis=x), "softmax: 'axis' is Tensor"),
    "long axis": (lambda x: R.nn.softmax(x, axis=2**64), "which does not fit 64 bits"),
    "epsilon": (lambda x: R.nn.layer_norm(x, x, x, epsilon="1"), "expected a float"),
}


def test_what_values_are_not() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        for use, message in BAD.values():
            with pytest.raises(RelaxError, match=message):
                use(x)
        bb.emit_func_output(x)


def test_values_in_dictionaries_and_outside_of_functions() -> None:
    x, y = (rx.Var("x", rx.Tensor(("n",), "float32")) for _ in range(2))
    assert {x: 1}[x] == 1
    assert (x == y) is False
    assert [x, y].index(y) == 1
    bb = rx.BlockBuilder()
    with bb.function("main", [x]):
        assert {x: 1}[x] == 1
        assert isinstance(x == x, Value)
        assert not hasattr(x, "_missing")
        assert not hasattr(x, "missing")
        bb.emit_func_output(x)


def test_a_prim_value_where_an_int_is_meant() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.sum(x, axis=[R.prim_value(0)]))
    assert np.from_dlpack(rx.build(bb.get())["main"](ARRAY[1:])).tolist() == ARRAY[1].tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: rx.Tensor((2**63,), "float32"),
        lambda: rx.Tensor("n"),
        lambda: rx.Shape("nm"),
        lambda: rx.Tuple([1]),
        lambda: rx.Tuple("ab"),
        lambda: rx.Callable([1], rx.Object()),
    ],
)
def test_struct_infos_of_something_else(make: Callable[[], object]) -> None:
    with pytest.raises(RelaxError):
        make()


def test_advice_for_an_index_that_run_time_knows() -> None:
    bb = rx.BlockBuilder()
    x, i = rx.Var("x", rx.Tensor(("n", 4), "float32")), rx.Var("i", rx.Prim())
    with bb.function("main", [x, i]):
        with pytest.raises(
            ArgumentError,
            match=r'after match_shape\(i, \("k",\)\) the symbol k stands for it, as in x\["k"\]',
        ):
            x[i]
        bb.match_shape(i, ("k",))
        bb.emit_func_output(x["k"])
    assert np.from_dlpack(rx.build(bb.get())["main"](W, 2)).tolist() == W[2].tolist()


def test_outputs_of_dataflow_blocks_stay_valid() -> None:
    """The value that `emit_output` takes is the output afterwards, as is the one that it returns."""
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y, z = bb.emit(R.exp(x)), bb.emit(R.negative(x))
            again = bb.emit_output(y)
            bb.emit_output(z)
            bb.emit_output(x)
        bb.emit_func_output([y, z, again, x])
    values = rx.build(bb.get())["main"](np.zeros(2, "float32"))
    np.testing.assert_array_equal([*values], [[1, 1], [0, 0], [1, 1], [0, 0]])
