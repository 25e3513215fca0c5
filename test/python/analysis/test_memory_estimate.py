"""`estimate_memory`: formulas of what functions allocate."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import MemoryEstimate, estimate_memory
from relax_mlir.error import UnknownNameError, UnsupportedError
from relax_mlir.transform import create_pass

N = rx.Tensor(("n",), "float32")


def chain(legalize: bool = True) -> rx.IRModule:
    """Four steps of n, n, 2*n and n elements."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", N)
    with bb.function("main", [x]):
        a = R.nn.softmax(x)
        b = R.nn.softmax(a)
        c = R.concat([b, b], axis=0)
        bb.emit_func_output(R.sum(c))
    if legalize:
        bb.get().apply_(create_pass("legalize-ops"))
    return bb.get()


def test_formulas() -> None:
    (found,) = estimate_memory(chain())
    assert (found.function, found.tensors, found.storages) == ("main", 4, 3)
    assert str(found.total) == "16*n + 4"
    assert str(found.planned) == "12*n + 4"
    assert str(found.peak) == "max(12*n, 8*n + 4)"


def test_the_module_stays() -> None:
    mod = chain()
    before = str(mod.mlir)
    estimate_memory(mod)
    assert str(mod.mlir) == before


def test_values() -> None:
    (found,) = estimate_memory(chain(), "main", values={"n": 100})
    assert (found.total, found.planned) == (1604, 1204)
    assert estimate_memory(chain())[0].at(n=100) == {"total": 1604, "planned": 1204, "peak": 1200}


def test_bounds() -> None:
    (found,) = estimate_memory(chain(), bounds={"n": (1, 16)})
    assert found.limits()["planned"] == (16, 196)
    assert str(found).splitlines() == [
        "main: 4 tensors in 3 storages",
        "               bytes     at most",
        "without reuse  16*n + 4  260",
        "with reuse     12*n + 4  196",
        "live at once   12*n      192",
    ]


def test_explicit_memory_is_taken_as_it_is() -> None:
    mod = chain()
    mod.apply_(create_pass("call-tir-rewrite"))
    (found,) = estimate_memory(mod)
    assert found.storages == 4
    assert str(found.planned) == "16*n + 4"
    assert str(found.peak) == "max(12*n, 8*n + 4)"


def test_branches_count_by_the_larger() -> None:
    bb = rx.BlockBuilder()
    x, c = rx.Var("x", N), rx.Var("c", rx.Tensor((), "bool"))
    with bb.function("main", [x, c]):
        y = R.if_then_else(c, lambda: R.sum(R.concat([x, x, x], axis=0)), lambda: R.sum(R.nn.softmax(x)))
        bb.emit_func_output(y)
    bb.get().apply_(create_pass("legalize-ops"))
    (found,) = estimate_memory(bb.get())
    assert str(found.peak) == "12*n + 4"
    assert isinstance(found, MemoryEstimate)


def test_errors() -> None:
    with pytest.raises(UnknownNameError, match="unknown function 'mian'"):
        estimate_memory(chain(), "mian")
    with pytest.raises(UnsupportedError, match="run legalize-ops before"):
        estimate_memory(chain(legalize=False))
    mod = chain()
    for name in ("call-tir-rewrite", "vm-memory-lower"):
        mod.apply_(create_pass(name))
    with pytest.raises(UnsupportedError, match="estimate it before vm-memory-lower"):
        estimate_memory(mod)
