"""Document 003, from graph ops to tensor expressions: strategies, selection, `lower_call`, cached functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from programs import numpy
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.error import UnsupportedError
from relax_mlir.strategy import (
    CompileEngine,
    OpStrategy,
    SpecializedCondition,
    explain_strategy,
    lower_call,
    select_implementation,
    temporary_strategy,
)

A = te.placeholder(("n", 4), name="A")


def doubled(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    x = inputs[0]
    return te.compute(x.shape, lambda i, j: x[i, j] + x[i, j], "doubled")


def tripled(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    x = inputs[0]
    return te.compute(x.shape, lambda i, j: x[i, j] * 3.0, "tripled")


def module(n: Any = "n") -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor((n, 4)))
    with bb.function("main", [x]):
        bb.emit_func_output(R.exp(x))
    return bb.get()


def of(*implementations: tuple[Any, str, int]) -> Any:
    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        for compute, name, plevel in implementations:
            made.add_implementation(compute, name=name, plevel=plevel)
        return made

    return strategy


def test_strategy_per_op_and_target() -> None:
    """``op.get_attr("FTVMStrategy")``, and strategies for some targets only."""
    with (
        temporary_strategy("exp", of((doubled, "doubled", 12))),
        temporary_strategy("exp", of((tripled, "tripled", 14)), "cpu -mattr=+avx512f"),
    ):
        strategy = rx.Op.get("exp").get_attr("FTVMStrategy")
        for cpu, wanted in (
            ("skylake-avx512", ["tripled", "doubled", "linalg"]),
            ("haswell", ["doubled", "linalg"]),
        ):
            found = strategy({}, [A], rx.Tensor(("n", 4)), f"cpu -mcpu={cpu}")
            assert [i.name for s in found.specializations for i in s.implementations] == wanted


def test_highest_plevel() -> None:
    with temporary_strategy("exp", of((doubled, "doubled", 12), (tripled, "tripled", 14))):
        implementation, outputs = select_implementation("exp", {}, [A])
        assert implementation.name == "tripled" and str(outputs[0]) == "tripled: (n, 4) float32"
        x = np.ones((2, 4), "float32")
        np.testing.assert_array_equal(numpy(rx.build(module())["main"](x)), 3 * x)


def test_clauses_are_simplified() -> None:
    """A clause that holds for all sizes is no branch; one that never holds is no candidate."""

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made, n = OpStrategy(), inputs[0].shape[0]
        with SpecializedCondition(n + 1 > n):
            made.add_implementation(doubled, name="always", plevel=20)
        with SpecializedCondition(n * 2 + 1 < n):
            made.add_implementation(tripled, name="never", plevel=30)
        return made

    with temporary_strategy("exp", strategy):
        lowered = lower_call(rx.Call("exp", [rx.Var("x", rx.Tensor(("n", 4)))]))
    assert [c.implementation.name for c in lowered.selection.taken] == ["always"]
    assert lowered.selection.candidates[0].verdict is False


def test_is_dyn() -> None:
    """With symbols one implementation per range of sizes, with numbers the one that fits."""

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        made = OpStrategy()
        with SpecializedCondition(inputs[0].shape[0] <= 3):
            made.add_implementation(doubled, name="few", plevel=20)
        made.add_implementation(tripled, name="many", plevel=15)
        return made

    x = np.ones((5, 4), "float32")
    with temporary_strategy("exp", strategy):
        dynamic, fixed = rx.build(module())["main"], rx.build(module(2))["main"]
        work = module(2)
        rx.transform.LegalizeOps().apply_(work)
    assert "exp_few" in str(work) and "by_size" not in str(work)
    np.testing.assert_array_equal(numpy(dynamic(x)), 3 * x)
    np.testing.assert_array_equal(numpy(dynamic(x[:3])), 2 * x[:3])
    np.testing.assert_array_equal(numpy(fixed(x[:2])), 2 * x[:2])


def test_log_of_the_implementation_chosen() -> None:
    with temporary_strategy("exp", of((doubled, "doubled", 12))), explain_strategy() as report:
        rx.transform.LegalizeOps()(module())
    assert "taken   doubled   12" in report.render(80)
    assert report.decisions[0].selection.taken[0].implementation.name == "doubled"


def test_lowered_output() -> None:
    with temporary_strategy("exp", of((doubled, "doubled", 12))):
        lowered = lower_call(rx.Call("exp", [rx.Var("x", rx.Tensor(("n", 4)))]), [A], "cpu")
    assert lowered.implementation.name == "doubled"
    assert isinstance(lowered.outputs[0], te.Tensor) and lowered.outputs[0].shape == A.shape


def test_cached_function() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "m"))), rx.Var("y", rx.Tensor(("m",)))
    with bb.function("main", [x, y]):
        bb.emit_func_output(R.nn.relu(R.add(x, y)))
    engine = CompileEngine()
    cached = engine.lower(bb.get(), "cpu")
    assert cached.func_name == "fused_add_nn_relu"
    assert cached.inputs == (rx.Tensor(("n", "m")), rx.Tensor(("m",))) and cached.target.kind == "cpu"
    assert cached.outputs == (rx.Tensor(("n", "m")),)
    assert engine.lower(bb.get(), "cpu") is cached


def test_names_of_more_than_eighty_characters() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",)))
    with bb.function("main", [x]):
        out: Any = x
        for _ in range(9):
            out = R.sigmoid(R.negative(out))
        bb.emit_func_output(out)
    name = CompileEngine().lower(bb.get()).func_name
    assert name[:80] == "fused_negative_sigmoid_negative_sigmoid_negative_sigmoid_negative_sigmoid_negati"
    assert len(name) == 80 + 1 + 16


def test_pattern_kinds() -> None:
    assert {kind.name: int(kind) for kind in OpPatternKind} == {
        "ELEMWISE": 0,
        "BROADCAST": 1,
        "INJECTIVE": 2,
        "COMM_REDUCE": 3,
        "OUT_ELEMWISE_FUSABLE": 4,
        "TUPLE": 7,
        "OPAQUE": 8,
    }
    assert rx.Op.get("matmul").get_attr("TOpPattern") == OpPatternKind.OUT_ELEMWISE_FUSABLE


def test_device_copy_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="about devices; there is one, the CPU"):
        rx.Op.get("device_copy")
