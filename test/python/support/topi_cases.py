"""Operators of `topi` against NumPy: many in one prim func, over several sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import relax_mlir as rx
import sweep
from relax_mlir import symbolic, te
from relax_mlir.dialects.dtypes import dtype
from relax_mlir.te.prim_func import build

Array = Any
Cases = Mapping[str, tuple[Callable[..., Any], Callable[..., Any]]]
"""By name: an operator on tensors, and its NumPy reference."""
TOGETHER = 4
"""Cases of one prim func: LLVM takes more than twice as long for a function that is twice as long."""


def check(
    inputs: Sequence[te.Tensor],
    cases: Cases,
    arguments: Sequence[Sequence[Array]],
    *,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    turn: tuple[str, Sequence[str]] | None = None,
) -> None:
    """Build prim funcs of some cases each in one module, call them with each list of arguments, and compare.

    Where a reference raises `ValueError` (an empty reduction of NumPy), the case is left out of that call. `turn`: the
    element type, and those of the sweep, which alternate over the cases (another one has them all).
    """
    names = list(cases)
    if turn is not None and turn[0] in turn[1]:
        names = sweep.turn(*turn, names)
    groups = [
        {name: cases[name] for name in names[first : first + TOGETHER]}
        for first in range(0, len(names), TOGETHER)
    ]
    outputs = [{name: _listed(case[0](*inputs)) for name, case in group.items()} for group in groups]
    executable = rx.build(_module(inputs, outputs), opt_level=0)
    for number, (group, made) in enumerate(zip(groups, outputs, strict=True)):
        _compare(executable[f"main{number}"], inputs, group, made, arguments, rtol, atol)


def _listed(found: Any) -> list[te.Tensor]:
    return list(found) if isinstance(found, list | tuple) else [found]


def _module(inputs: Sequence[te.Tensor], outputs: Sequence[Mapping[str, list[te.Tensor]]]) -> rx.IRModule:
    """A prim func for each group of outputs."""
    module: rx.IRModule | None = None
    for number, made in enumerate(outputs):
        flat = [tensor for tensors in made.values() for tensor in tensors]
        name = f"main{number}"
        if module is None:
            module = te.create_prim_func([*inputs, *flat], name)
        else:
            module.update(build(inputs, flat, name, module.context).module)
    assert module is not None
    return module


def _compare(
    main: Any,
    inputs: Sequence[te.Tensor],
    cases: Cases,
    outputs: Mapping[str, list[te.Tensor]],
    arguments: Sequence[Sequence[Array]],
    rtol: float,
    atol: float,
) -> None:
    """Call a prim func with each list of arguments."""
    flat = [tensor for tensors in outputs.values() for tensor in tensors]
    for args in arguments:
        sizes = {
            str(dim): size
            for tensor, array in zip(inputs, args, strict=True)
            for dim, size in zip(tensor.shape, array.shape, strict=True)
            if not isinstance(dim, int) and len(symbolic.symbols(dim)) == 1 and str(dim).isidentifier()
        }
        found = [
            np.full([symbolic.evaluate(dim, sizes) for dim in t.shape], 77).astype(dtype(t.dtype).numpy)
            for t in flat
        ]
        main(*args, *found)
        rest = iter(found)
        for name, (_, reference) in cases.items():
            have = [next(rest) for _ in outputs[name]]
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the mean of nothing
                try:
                    given = reference(*args)
                except ValueError:
                    continue
            want = list(given) if isinstance(given, list | tuple) else [given]
            for mine, theirs in zip(have, want, strict=True):
                message = f"{name} of {[a.shape for a in args]}"
                assert mine.shape == np.shape(theirs), f"{message}: {mine.shape}, not {np.shape(theirs)}"
                np.testing.assert_allclose(
                    wide(mine), wide(np.asarray(theirs)), rtol=rtol, atol=atol, err_msg=message
                )


def wide(array: Array) -> Array:
    """Small floats as float64, which NumPy can compare."""
    return array.astype("f8") if array.dtype.kind == "V" or str(array.dtype) == "bfloat16" else array


def random(shape: Sequence[int], name: str = "float32", seed: int = 0) -> Array:
    """Numbers of both signs; few distinct integers, so that some are equal."""
    rng = np.random.default_rng([seed, *shape])
    if name == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if name.startswith(("int", "uint")):
        return np.asarray(rng.integers(0 if name[0] == "u" else -6, 7, shape)).astype(name)
    return np.asarray(rng.standard_normal(shape) * 2).astype(dtype(name).numpy)
