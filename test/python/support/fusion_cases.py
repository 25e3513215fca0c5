"""Fusion cases: one function per case in one module, and the number of calls that `fuse-ops` leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
from interpreted import interpreted
from relax_mlir.dialects.types import Tensor
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fusion.fuse_ops import FuseOps

Case = tuple[Callable[..., Any], Sequence[Tensor], int]
"""The builder, the parameters, and the number of remaining calls of prim funcs."""

SIZES = [
    (1, 1, 1, 1),
    (2, 0, 3, 5),
    (0, 2, 1, 4),
    (2, 3, 2, 0),
    (2, 1, 3, 8),
    (3, 2, 2, 9),
    (2, 3, 5, 67),
    (40, 2, 33, 130),
]
"""Values of n, h, m and k."""


def f32(*shape: int | str) -> Tensor:
    return Tensor(shape, "float32")


def f16(*shape: int | str) -> Tensor:
    return Tensor(shape, "float16")


def module_of(cases: Mapping[str, Case]) -> rx.IRModule:
    """The functions ``case0``, ``case1`` and so on."""
    bb = rx.BlockBuilder()
    for number, (build, params, _) in enumerate(cases.values()):
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(f"case{number}", variables):
            bb.emit_func_output(build(*variables))
    return bb.get()


def check_calls(cases: Mapping[str, Case]) -> None:
    """Every case has its expected number of calls."""
    mod = module_of(cases)
    mod.apply_(LegalizeOps())
    mod.apply_(FuseOps())
    mod.verify()
    functions = {op.attributes["sym_name"].value: op for op in mod.mlir.body.operations}
    for number, (name, (_, _, expected)) in enumerate(cases.items()):
        calls = [callee_of(op) for op in ops_of(functions[f"case{number}"].operation, "relax.call_tir")]
        assert len(calls) == expected, (name, calls)


def check_values(
    cases: Mapping[str, Case], name: str, executable: Any, values: Sequence[tuple[int, ...]] = SIZES
) -> None:
    """The results of a case for all of these sizes, on random numbers, are those of the interpreter in f64."""
    params = cases[name][1]
    module = module_of({name: cases[name]})
    main = executable[f"case{[*cases].index(name)}"]
    rng = np.random.default_rng(0)
    for numbers in values:
        sizes = dict(zip("nhmk", numbers, strict=True))
        inputs = []
        for info in params:
            shape = [dim if isinstance(dim, int) else eval(str(dim), {}, sizes) for dim in info.known_shape or ()]
            whole = str(info.dtype) == "int32"
            array = rng.integers(-9, 9, shape) if whole else rng.uniform(-2, 2, shape)
            inputs.append(array.astype(str(info.dtype)))
        result = np.from_dlpack(main(*inputs))
        (expected,) = interpreted(module, "case0", inputs)
        tolerance = 4e-3 if result.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(result.astype("f8"), expected.astype("f8"), rtol=tolerance, atol=tolerance)
