"""Strategies and selection: conditions, priorities, the selected implementation, and the table that explains it."""

from __future__ import annotations

from typing import Any

import pytest
from relax_mlir import te
from relax_mlir.error import ArgumentError, UnknownNameError, UnsupportedError
from relax_mlir.lowering.strategy.op_strategy import any_registered, registered_for, select
from relax_mlir.strategy import (
    OpStrategy,
    SpecializedCondition,
    StrategyDecision,
    StrategyReport,
    register_strategy,
    temporary_strategy,
    unregister_strategy,
)
from relax_mlir.symbolic import assuming, divisible, symbol
from relax_mlir.target import Target

N, M = symbol("n"), symbol("m")


def compute(attrs: Any, inputs: Any, out_type: Any) -> te.Tensor:
    raise AssertionError("nothing is computed here")


def strategy(*implementations: tuple[Any, str, int]) -> OpStrategy:
    """Implementations with clauses, names and priorities."""
    made = OpStrategy()
    for clauses, name, plevel in implementations:
        with SpecializedCondition(clauses):
            made.add_implementation(compute, name=name, plevel=plevel)
    return made


def taken(*implementations: tuple[Any, str, int]) -> list[str]:
    return [c.implementation.name for c in select("op", [strategy(*implementations)]).taken]


def test_priorities() -> None:
    assert taken(([], "a", 10), ([], "b", 15), ([], "c", 12)) == ["b"]
    assert taken(([], "first", 10), ([], "second", 10)) == ["first"]
    assert taken(([], "a", 10), (N < 0, "never", 20), (N >= 0, "always", 15)) == ["always"]


def test_open_conditions_are_tried_in_order() -> None:
    found = taken(
        ([], "any", 10), (N <= 16, "small", 20), ([divisible(M, 8), N > 64], "large", 30), (N <= 4, "tiny", 5)
    )
    assert found == ["large", "small", "any"]
    with assuming({"n": (0, 8)}):
        assert taken(([], "any", 10), (N <= 16, "small", 20), (N > 64, "large", 30)) == ["small"]


def test_clauses_that_are_bools() -> None:
    assert taken(([], "any", 10), (True, "yes", 20), ([True, False], "no", 30)) == ["yes"]


def test_nested_conditions() -> None:
    made = OpStrategy()
    with SpecializedCondition(N <= 16):
        with SpecializedCondition(M <= 4):
            made.add_implementation(compute, name="both", plevel=20)
        made.add_implementation(compute, name="one", plevel=15)
    made.add_implementation(compute)
    assert list(map(str, made.specializations)) == [
        "n <= 16 and m <= 4: both (20)",
        "n <= 16: one (15)",
        "default (10)",
    ]
    assert SpecializedCondition.current().clauses == ()


def test_nothing_holds_for_all_sizes() -> None:
    with pytest.raises(UnsupportedError, match=r"no implementation holds for all sizes: small: where n <= 4; bad"):
        made = strategy((N <= 4, "small", 20))
        made.add_implementation(compute, name="bad", unless="needs float64")
        select("relax.add", [made])


def test_wrong_arguments() -> None:
    made = OpStrategy()
    not_callable: Any = 3
    with pytest.raises(ArgumentError, match="'compute' is 3, expected a function"):
        made.add_implementation(not_callable)
    with pytest.raises(ArgumentError, match="'schedule' is 3, expected a function"):
        made.add_implementation(compute, not_callable)
    with pytest.raises(ArgumentError, match="a clause"):
        SpecializedCondition([3])  # type: ignore[list-item]  # tested here
    with pytest.raises(UnknownNameError, match="matmull"):
        register_strategy("matmull")
    with pytest.raises(ArgumentError, match="is no function"):
        register_strategy("matmul")(not_callable)


def test_registration() -> None:
    def first(*args: Any) -> OpStrategy:
        return OpStrategy()

    def second(*args: Any) -> OpStrategy:
        return OpStrategy()

    wide, narrow = Target("cpu -mcpu=skylake-avx512"), Target("cpu -mcpu=haswell")
    with (
        temporary_strategy("relax.nn.softmax", first),
        temporary_strategy("nn.softmax", second, "cpu -mattr=+avx512f"),
    ):
        assert registered_for("relax.nn_softmax", wide) == [second, first]
        assert registered_for("relax.nn_softmax", narrow) == [first]
        assert any_registered()
    assert registered_for("relax.nn_softmax", wide) == [] and not any_registered()
    with pytest.raises(ArgumentError, match="is not registered"):
        unregister_strategy("relax.nn.softmax", first)


def test_report() -> None:
    made = strategy((N <= 16, "small", 20), ([], "any", 12), ([], "worse", 10))
    made.add_implementation(compute, name="wrong", unless="needs float64, got float32")
    decision = StrategyDecision("main", "relax.add", 'Tensor((n,), "float32")', "f.py:3:0", select("op", [made]))
    text = StrategyReport([decision, decision]).render(72)
    assert text.splitlines() == [
        'main: relax.add(Tensor((n,), "float32")) (2 times)',
        "  at f.py:3:0",
        "  taken   small   20  where n <= 16",
        "  taken   any     12  otherwise",
        "  lower   worse   10  holds, at a lower priority",
        "  no      wrong   10  needs float64, got float32",
        "2 calls",
    ]
