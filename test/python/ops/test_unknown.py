"""Every op on operands of unknown rank and dtype: results as for known ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
import tvm_ffi
from every_op import SCALAR, THOROUGH, Array, specs
from reference_values import plain
from relax_mlir import op as R
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.base import op_classes
from relax_mlir.dialects.dialect import Relax
from relax_mlir.dialects.types import Tensor
from relax_mlir.lowering.legalize import rules
from relax_mlir.lowering.legalize.runtime_calls import GENERAL_STRUCTURE
from relax_mlir.runtime import run_op, to_numpy
from relax_mlir.transform import PassContext

SPECS = specs()
GROUPS = [sorted(SPECS)[start::6] for start in range(6)]
IN_FULL = {*sweep.every(list(SPECS), 8), *THOROUGH}
"""Uses that run on all inputs, and with a result whose rank is known early; the others run on their first inputs."""
ALIKE = [name for name in SPECS if name in SCALAR or ":" in name]
"""Ops whose rules differ only in the scalar function, and other uses of ops."""
TRIED = {*SPECS} - {*ALIKE} | {*sweep.every(ALIKE, 3), *THOROUGH}
"""Uses that run: every third of those in `ALIKE`, and all others. `make soak` runs every use in both ways."""
BY_RANK = {*sweep.every(sorted(TRIED), 2), *THOROUGH}
"""Those with operands of unknown rank."""
BY_DIMENSIONS = TRIED if sweep.ALL else TRIED - BY_RANK | THOROUGH
"""Those with operands of known rank and unknown dimensions."""


def test_every_op_is_here() -> None:
    general = {*GENERAL_STRUCTURE, *(op for op, cls in op_classes().items() if rules.is_lowered(cls))}
    with_operands = {c.OPERATION_NAME for c in Relax.operations if c.operand_names()}
    tried = {"relax." + name.partition(":")[0].replace(".", "_") for name in SPECS}
    assert (general & with_operands) - tried == set()


def unknown_module(names: Sequence[str]) -> rx.IRModule:
    """A function per spec on operands of unknown type, and one that knows the result's rank early."""
    bb = rx.BlockBuilder()
    for name in names:
        build, _, inputs = SPECS[name]
        for kind in ("unknown", "matched")[: 1 + (name in IN_FULL)]:
            params = [rx.Var(f"x{i}", Tensor(None, None)) for i in range(len(inputs[0]))]
            with bb.function(f"{name} {kind}", params):
                with bb.dataflow():
                    result = build(*params)
                    if kind == "matched":
                        result = matched(result, expected(name, inputs[0]))
                    result = bb.emit_output(result)
                bb.emit_func_output(result)
    return bb.get()


def matched(result: rx.Value, like: Sequence[Array]) -> list[rx.Value]:
    """The result, or its fields, with the rank and dtype of what the reference gives."""
    fields = list(result) if isinstance(result.struct_info, rx.Tuple) else [result]
    found = []
    for number, (field, array) in enumerate(zip(fields, like, strict=True)):
        dims = [f"s{number}_{i}" for i in range(array.ndim)]
        found.append(R.match_shape(field, dims, dtypes.dtype(array.dtype).name))
    return found


def expected(name: str, arrays: Sequence[Array]) -> list[Array]:
    """The result of the reference; floats are computed in float64, and rounded to the dtype of the first ones."""
    given = next((a.dtype for a in arrays if dtypes.dtype(a.dtype).is_float), None)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = SPECS[name][1](*(a.astype(np.float64) if dtypes.dtype(a.dtype).is_float else a for a in arrays))
    keeps = given is None or name == "astype"
    return [r if keeps or r.dtype != np.float64 else r.astype(given) for r in plain(result)]


@pytest.fixture
def unoptimised(monkeypatch: pytest.MonkeyPatch, group: int) -> Iterator[None]:
    """Native code of all groups except one is compiled without optimisation; `make soak` compiles all as users do."""
    if group == 0 or sweep.ALL:
        yield
        return
    monkeypatch.setattr(run_op, "PassContext", partial(PassContext, opt_level=0))
    with PassContext(opt_level=0):
        yield


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("group", sweep.quick(range(len(GROUPS)), 0))
def test_results(group: int) -> None:
    names = [name for name in GROUPS[group] if name in BY_RANK]
    executable = rx.build(unknown_module(names))
    for name in names:
        inputs = SPECS[name][2]
        for arrays in inputs if name in IN_FULL else inputs[:1]:
            check(name, arrays, executable[f"{name} unknown"](*arrays))
        if name in IN_FULL:
            check(name, inputs[0], executable[f"{name} matched"](*inputs[0]))


@pytest.mark.usefixtures("unoptimised")
@pytest.mark.parametrize("group", sweep.quick(range(len(GROUPS)), 1))
def test_unknown_dimensions(group: int) -> None:
    """Ranks and dtypes known, no dimension: most ops are native, the others ask the runtime."""
    bb = rx.BlockBuilder()
    for name in GROUPS[group]:
        if name not in BY_DIMENSIONS:
            continue
        build, _, inputs = SPECS[name]
        params = [rx.Var(f"x{i}", Tensor(ndim=a.ndim, dtype=a.dtype)) for i, a in enumerate(inputs[0])]
        with bb.function(name, params):
            bb.emit_func_output(build(*params))
    executable = rx.build(bb.get())
    for name in executable:
        for arrays in SPECS[name][2]:
            same = zip(arrays, SPECS[name][2][0], strict=True)
            if all((a.ndim, a.dtype) == (b.ndim, b.dtype) for a, b in same):
                check(name, arrays, executable[name](*arrays))


def test_some_operands_known() -> None:
    """Transposed convolutions of unknown dimensions by known filters; slopes of known type for unknown ones."""
    ones = np.ones((1, 3, 3, 3), "float32")
    executables = []
    for op, info, slope in [
        (R.nn.conv2d_transpose, Tensor(ndim=4, dtype="float32"), ones),
        (R.nn.prelu, Tensor((2, 3), None), ones[0, 0, 0]),
    ]:
        bb = rx.BlockBuilder()
        x, y = rx.Var("x", info), rx.Var("y", Tensor(slope.shape, "float32"))
        with bb.function("main", [x, y]):
            bb.emit_func_output(op(x, y))
        executables.append(rx.build(bb.get()))
        assert "main" in executables[-1]
        assert "other" not in executables[-1]
    convolve, activate = (executable["main"] for executable in executables)
    np.testing.assert_array_equal(to_numpy(convolve(ones[:, :1, :1, :1], ones)), ones)
    np.testing.assert_array_equal(
        to_numpy(activate(-ones[0, 0, :2] * 2, ones[0, 0, 0] / 4)), np.full((2, 3), -0.5, "f4")
    )


def check(name: str, arrays: Sequence[Array], result: Any) -> None:
    found, want = (
        list(result) if isinstance(result, tuple | tvm_ffi.Array) else [result],
        expected(name, arrays),
    )
    context = f"{name} on {', '.join(f'{a.dtype}{a.shape}' for a in arrays)}"
    assert len(found) == len(want), context
    for have, wanted in zip(map(to_numpy, found), want, strict=True):
        assert (have.dtype, have.shape) == (wanted.dtype, wanted.shape), context
        tolerance = 1e-2 if have.dtype.itemsize == 2 else 2e-5
        np.testing.assert_allclose(
            have.astype(np.float64),
            wanted.astype(np.float64),
            rtol=tolerance,
            atol=tolerance,
            err_msg=context,
        )
