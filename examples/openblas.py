"""A model whose matrix products are computed by a third-party library; the rest of the program is compiled as usual.

The model is a perceptron on batches of any size: three linear layers, GELU between them, softmax at the end. OpenBLAS
comes from the package index (``pip install relax-mlir[openblas]``). `use_openblas` replaces the products by calls of
the library; biases, GELU and softmax become loops and kernels, as in any program. The example checks the results
against NumPy, and times the model with the built-in kernels, with the library for all products, and with the library
for products that a function selects.

Run it with ``python examples/openblas.py``.
"""

from __future__ import annotations

import functools
import itertools
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import tvm_ffi
from numpy.typing import NDArray
from relax_mlir import op as R
from relax_mlir.contrib import openblas
from rich.console import Console
from rich.table import Table

Array = NDArray[np.float32]
SIZES = (256, 1024, 1024, 64)
BATCHES = (1, 16, 257)
ROUNDS = 15


def weights(seed: int = 0) -> list[tuple[Array, Array]]:
    """A matrix [out, in] and a bias [out] for each layer."""
    rng = np.random.default_rng(seed)
    layers = []
    for before, after in itertools.pairwise(SIZES):
        matrix = rng.standard_normal((after, before), dtype="f4") / np.float32(before**0.5)
        layers.append((matrix, rng.standard_normal(after, dtype="f4")))
    return layers


def model(layers: Sequence[tuple[Array, Array]]) -> rx.IRModule:
    """``main(x: [n, 256]) -> [n, 64]``."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", SIZES[0]), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            value: Any = x
            for index, (matrix, bias) in enumerate(layers):
                value = bb.emit(R.add(R.matmul(value, R.permute_dims(R.const(matrix))), R.const(bias)), f"layer{index}")
                if index + 1 < len(layers):
                    value = bb.emit(R.nn.gelu(value))
            value = bb.emit_output(R.nn.softmax(value), "probabilities")
        bb.emit_func_output(value)
    return bb.get()


def reference(x: Array, layers: Sequence[tuple[Array, Array]]) -> Any:  # noqa: ANN401 - an array
    """The same by NumPy, in float64."""
    erf = np.vectorize(math.erf, otypes="d")
    value = x.astype("f8")
    for index, (matrix, bias) in enumerate(layers):
        value = value @ matrix.T.astype("f8") + bias
        if index + 1 < len(layers):
            value = value * (1 + erf(value / 2**0.5)) / 2
    value = np.exp(value - value.max(axis=-1, keepdims=True, initial=-np.inf))
    return value / value.sum(axis=-1, keepdims=True)


def is_wide(product: openblas.Product) -> bool:
    """True for products with 1,024 columns or more: the choice may use static sizes."""
    return isinstance(product.n, int) and product.n >= 1024


def variants(layers: Sequence[tuple[Array, Array]]) -> dict[str, rx.IRModule]:
    """The three variants of the model."""
    return {
        "our kernels": model(layers),
        "OpenBLAS": openblas.use_openblas(model(layers)),
        "OpenBLAS where wide": openblas.use_openblas(model(layers), choose=is_wide),
    }


def in_turns(calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each call: the median of rounds that measure them alternately."""
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            samples[name].append(time.perf_counter() - start)
    return {name: statistics.median(each) for name, each in samples.items()}


def main() -> None:
    layers = weights()
    functions = {name: rx.build(module)["main"] for name, module in variants(layers).items()}
    table = Table("batch", *(f"{name}, ms" for name in functions), title="a perceptron of 3 layers")
    for batch in BATCHES:
        x = np.random.default_rng(batch).standard_normal((batch, SIZES[0]), dtype="f4")
        expected = reference(x, layers)
        for name, function in functions.items():
            np.testing.assert_allclose(np.from_dlpack(function(x)), expected, rtol=1e-4, atol=1e-6, err_msg=name)
        given = tvm_ffi.from_dlpack(x)
        seconds = in_turns({name: functools.partial(function, given) for name, function in functions.items()})
        table.add_row(str(batch), *(f"{1e3 * seconds[name]:.3f}" for name in functions))
    Console().print(table)


if __name__ == "__main__":
    main()
