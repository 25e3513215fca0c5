"""Cases of fusion: one function per case in one module, and how many calls `fuse-ops` leaves of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import relax_mlir as rx
from relax_mlir.dialects.types import Tensor
from relax_mlir.ir_queries import callee_of, ops_of
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.passes.fuse_ops import FuseOps

Case = tuple[Callable[..., rx.Value], Callable[..., Any], Sequence[Tensor], int]
"""How it is built, the same in NumPy, its parameters, and how many calls of prim funcs are left."""


def module_of(cases: Mapping[str, Case]) -> rx.IRModule:
    """The functions ``case0``, ``case1`` and so on."""
    bb = rx.BlockBuilder()
    for number, (build, _, params, _) in enumerate(cases.values()):
        variables = [rx.Var(f"x{i}", info) for i, info in enumerate(params)]
        with bb.function(f"case{number}", variables):
            bb.emit_func_output(build(*variables))
    return bb.get()


def check_calls(cases: Mapping[str, Case]) -> None:
    """Every case has as many calls as it says."""
    mod = module_of(cases)
    LegalizeOps()(mod.mlir)
    FuseOps()(mod.mlir)
    mod.verify()
    functions = {op.attributes["sym_name"].value: op for op in mod.mlir.body.operations}
    for number, (name, case) in enumerate(cases.items()):
        calls = [callee_of(op) for op in ops_of(functions[f"case{number}"].operation, "relax.call_tir")]
        assert len(calls) == case[3], (name, calls)
