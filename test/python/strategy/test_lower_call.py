"""`lower_call`, `select_implementation`, `get_valid_implementations`, and the compile engine."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import te
from relax_mlir.dialects.traits import OpPatternKind
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.strategy import (
    CompileEngine,
    OpStrategy,
    SpecializedCondition,
    get_valid_implementations,
    lower_call,
    select_implementation,
    temporary_strategy,
)

A = te.placeholder(("n", 64), name="A")
B = te.placeholder((64, "m"), name="B")


def zeros(attrs: Any, inputs: list[te.Tensor], out_type: Any) -> te.Tensor:
    return te.compute(out_type.shape, lambda *i: te.const(0, str(out_type.dtype)), "zeros")


def mine(attrs: Any, inputs: list[te.Tensor], out_type: Any, target: Any) -> OpStrategy:
    strategy = OpStrategy()
    strategy.add_implementation(zeros, name="zeros", plevel=12)
    with SpecializedCondition(inputs[0].shape[0] <= 4):
        strategy.add_implementation(zeros, name="few", plevel=30)
    return strategy


def names(found: list[Any]) -> list[str]:
    return [implementation.name for implementation in found]


def test_builtin_implementations() -> None:
    assert names(get_valid_implementations("relax.matmul", {}, [A, B])) == ["kernel matrix product"]
    integers = [te.placeholder((3, 4), "int32"), te.placeholder((4, 5), "int32")]
    assert names(get_valid_implementations("matmul", {}, integers)) == ["linalg"]
    assert names(get_valid_implementations("nn.softmax", {"axis": -1}, [A])) == ["kernel softmax", "linalg"]
    assert names(get_valid_implementations("nn.softmax", {"axis": 0}, [A])) == ["linalg"]
    assert names(get_valid_implementations("exp", {}, [A])) == ["linalg"]


def test_selection() -> None:
    implementation, outputs = select_implementation("matmul", {}, [A, B])
    assert implementation.name == "kernel matrix product" and not implementation.is_expression
    assert outputs == (rx.Tensor(("n", "m")),)
    with temporary_strategy("matmul", mine):
        # The unconditional one; the other one is a branch.
        assert names(get_valid_implementations("matmul", {}, [A, B])) == ["kernel matrix product", "zeros"]
        lowered = lower_call(
            rx.Call("relax.matmul", [rx.Var("x", rx.Tensor((3, 64))), rx.Var("y", rx.Tensor((64, "m")))])
        )
        assert lowered.implementation.name == "few"
        (output,) = lowered.outputs
        assert isinstance(output, te.Tensor) and str(output) == "zeros: (3, m) float32"
        call = rx.Call("relax.matmul", [rx.Var("x", rx.Tensor(("n", 64))), rx.Var("y", rx.Tensor((64, "m")))])
        lowered = lower_call(call, [A, B])
        assert [c.implementation.name for c in lowered.selection.taken] == ["few", "kernel matrix product"]


def test_tuples_among_the_arguments() -> None:
    x, y = rx.Var("x", rx.Tensor(("n", 4))), rx.Var("y", rx.Tensor(("m", 4)))
    lowered = lower_call(rx.Call("relax.concat", [rx.Tuple([x, y])], {"axis": 0}))
    assert lowered.outputs == (rx.Tensor(("n + m", 4)),)


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match="takes 2 tensors, 'inputs' has 1"):
        lower_call(rx.Call("relax.add", [rx.Var("x", rx.Tensor((3,))), rx.Var("y", rx.Tensor((3,)))]), [A])
    with pytest.raises(ArgumentError, match=r'relax.exp gives Tensor\(\(n, 64\), "float32"\), not'):
        get_valid_implementations("exp", {}, [A], rx.Tensor((3,)))
    with pytest.raises(ArgumentError, match=r"'call' is 3 \(int\), expected a Call"):
        lower_call(3)  # type: ignore[arg-type]  # tested here
    with pytest.raises(UnsupportedError, match="one, the CPU"):
        rx.Op.get("device_copy")


def group(n: Any, m: Any, times: int = 1) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor((n, m))), rx.Var("y", rx.Tensor((m,)))
    with bb.function("main", [x, y]):
        out = R.add(x, y)
        for _ in range(times):
            out = R.nn.relu(out)
        bb.emit_func_output(out)
    return bb.get()


def test_the_engine_remembers() -> None:
    engine = CompileEngine()
    first = engine.lower(group("n", "m"))
    assert first.func_name == "fused_add_nn_relu" and first.names == ["add_f32_nn_relu_f32"]
    assert first.inputs == (rx.Tensor(("n", "m")), rx.Tensor(("m",)))
    assert first.outputs == (rx.Tensor(("n", "m")),)
    assert engine.lower(group("rows", "columns")) is first and engine.hits == 1
    others = [
        engine.lower(group("n", "n")),
        engine.lower(group("n", 4)),
        engine.lower(group("n", "m"), "cpu -mcpu=haswell"),
    ]
    assert all(other is not first for other in others) and len(engine) == 4
    with temporary_strategy("add", mine):
        again = engine.lower(group("n", "m"))
        assert again is not first
        assert [c.implementation.name for c in again.decisions[0].selection.taken] == ["few", "zeros"]
    assert engine.lower(group("n", "m")) is first
    engine.clear()
    assert len(engine) == 0 and engine.lower(group("n", "m")) is not first


def test_long_names_are_cut() -> None:
    long = CompileEngine().lower(group("n", "m", times=12))
    assert len(long.func_name) == 80 + 1 + 16 and long.func_name.startswith("fused_add_nn_relu_nn_relu_")
    assert all(len(name) <= 80 + 1 + 16 for name in long.names)


def test_the_engine_takes_one_function() -> None:
    with pytest.raises(ArgumentError, match="the module has 0 Relax functions, expected one"):
        CompileEngine().lower(rx.IRModule())


def test_pattern_kinds_are_attributes_of_ops() -> None:
    """The numbers are TVM's; views keep the order of elements."""
    found = {
        name: rx.Op.get(name).get_attr("TOpPattern")
        for name in ("exp", "add", "take", "sum", "matmul", "reshape", "nn.softmax")
    }
    assert found == {
        "exp": OpPatternKind.ELEMWISE,
        "add": OpPatternKind.BROADCAST,
        "take": OpPatternKind.INJECTIVE,
        "sum": OpPatternKind.COMM_REDUCE,
        "matmul": OpPatternKind.OUT_ELEMWISE_FUSABLE,
        "reshape": OpPatternKind.INJECTIVE,
        "nn.softmax": OpPatternKind.OPAQUE,
    }
    assert OpPatternKind.TUPLE == 7
