"""`build` for another CPU of the same architecture than the host."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import relax_mlir as rx
import scipy.special
import sweep
from relax_mlir import op as R
from relax_mlir.error import UnsupportedError
from relax_mlir.instrument import PassInstrument
from relax_mlir.lowering.pipeline import phases
from relax_mlir.runtime import to_numpy
from relax_mlir.target import Target
from relax_mlir.transform import PassInfo


def module() -> rx.IRModule:
    """Three functions for which AVX-512 has special instructions."""
    bb = rx.BlockBuilder()
    a, b = rx.Var("a", rx.Tensor(("n", "k"), "bfloat16")), rx.Var("b", rx.Tensor(("k", "m"), "bfloat16"))
    with bb.function("product", [a, b]):
        bb.emit_func_output(bb.emit(R.matmul(a, b)))
    for name, op in (("gelu", R.nn.gelu), ("softmax", R.nn.softmax)):
        x = rx.Var("x", rx.Tensor(("n", "m"), "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(bb.emit(op(x)))
    return bb.get()


class Instructions(PassInstrument):
    """True if x86 instructions of some names occur after any phase."""

    def __init__(self) -> None:
        self.seen: dict[str, bool] = {}

    def run_after_pass(self, mod: rx.IRModule, info: PassInfo) -> None:
        if info.name in [phase.name for phase in phases()]:
            self.seen[info.name] = "x86." in str(mod)


@pytest.mark.parametrize("host", sweep.quick(["haswell", "sapphirerapids"], "haswell"))
def test_instructions_that_the_machine_lacks(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would stop the process."""
    at_hand, wanted = Target.host(), "cpu -mcpu=sapphirerapids -mattr=-amx_tile"
    here = replaced_features(at_hand, Target(f"cpu -mcpu={host}"))
    monkeypatch.setattr(Target, "host", lambda: here)
    instructions = Instructions()
    executable = rx.build(module(), wanted, instruments=[instructions], cache=False)
    assert len(instructions.seen) == len(phases())
    assert any(instructions.seen.values()) == here.has("avx512f")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(5, 133)).astype(np.float32)
    weights = np.exp(x - x.max(-1, keepdims=True))
    np.testing.assert_allclose(to_numpy(executable["softmax"](x)), weights / weights.sum(-1, keepdims=True), rtol=1e-6)
    half = 0.5 + 0.5 * scipy.special.erf(x.astype(np.float64) / np.sqrt(2))
    np.testing.assert_allclose(to_numpy(executable["gelu"](x)), x * half, rtol=1e-5, atol=1e-6)
    a, b = (rng.normal(size=size).astype(ml_dtypes.bfloat16) for size in ((5, 7), (7, 40)))
    want = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_allclose(to_numpy(executable["product"](a, b)).astype(np.float32), want, rtol=2**-7, atol=1e-5)


def replaced_features(at_hand: Target, other: Target) -> Target:
    """The host with only those of its features that another CPU has."""
    options = [f"-{name}" for name in sorted(at_hand.features - other.features)]
    return Target("cpu" + (f" -mattr={','.join(options)}" if options else ""))


def test_tiles_that_the_machine_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    here = Target("cpu -mcpu=haswell")
    monkeypatch.setattr(Target, "host", lambda: here)
    with pytest.raises(UnsupportedError, match="the target has amx_bf16, amx_int8, amx_tile, which this machine has"):
        rx.build(module(), "cpu -mcpu=sapphirerapids", cache=False)


def test_another_architecture() -> None:
    with pytest.raises(UnsupportedError, match=r"rx\.export\.cross_build makes code for it"):
        rx.build(module(), "cpu -mcpu=neoverse-n1", cache=False)
