"""Free, bound and defined symbols."""

from __future__ import annotations

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import bound_symbols, defined_symbols, free_symbols
from relax_mlir.error import ArgumentError


def tensor(*dims: str | int | None) -> rx.Tensor:
    return rx.Tensor(dims, "float32")


@pytest.mark.parametrize(
    ("info", "defined", "bound", "free"),
    [
        (tensor("n", "m"), ["n", "m"], ["n", "m"], []),
        (tensor("n", "n*m"), ["n", "m"], ["n", "m"], []),
        (tensor("n // 2", "m"), ["m"], ["m"], ["n"]),
        (tensor("k*n"), [], [], ["k", "n"]),
        (tensor(2, None), [], [], []),
        (rx.Tensor(None, "float32"), [], [], []),
        (rx.Shape(("2*n", "m % 3")), ["n"], ["n"], ["m"]),
        (rx.Tuple([tensor("n % m"), rx.Shape(("m",))]), ["m"], ["m"], ["n"]),
        (rx.Object(), [], [], []),
    ],
)
def test_struct_infos(info: rx.StructInfo, defined: list[str], bound: list[str], free: list[str]) -> None:
    assert defined_symbols(info) == defined
    assert sorted(bound_symbols(info)) == sorted(bound)
    assert sorted(free_symbols(info)) == sorted(free)


def test_values_and_functions() -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", tensor("n", "2*m")), rx.Var("y", rx.Tensor(ndim=2))
    with bb.function("main", [x, y]):
        match = R.match_shape(y, ("n", "k"))
        again = R.match_shape(x, ("n", "k"))
        total = R.full(("k + m",), 1.0)
        number = R.prim_value("k*n")
        bb.emit_func_output([match, again, total])
    assert defined_symbols(x) == ["n", "m"]
    assert defined_symbols(match) == ["k"] and free_symbols(match) == ["n"] and bound_symbols(match) == ["k"]
    assert defined_symbols(again) == [] and free_symbols(again) == ["n", "k"]
    assert free_symbols(total) == ["k", "m"] and bound_symbols(total) == []
    assert sorted(free_symbols(number)) == ["k", "n"]
    main = bb.get()["main"]
    assert defined_symbols(main) == ["n", "m", "k"]
    assert bound_symbols(main) == ["n", "m", "k"] and free_symbols(main) == []


def test_a_function_that_is_not_well_formed() -> None:
    k = 'tensor<?xf32, #relax.shape<["k"]>>'
    mod = rx.IRModule.parse(
        'func.func @f(%x: tensor<?xf32, #relax.shape<["n"]>>) -> !relax.shape_value<["k"]> {\n'
        '  %0 = "relax.shape_expr"() {values = ["k"]} : () -> !relax.shape_value<["k"]>\n'
        f'  return %0 : !relax.shape_value<["k"]>\n}}\nfunc.func private @g(%x: {k}) -> {k}'
    )
    assert free_symbols(mod["f"]) == ["k"] and defined_symbols(mod["f"]) == ["n"]
    assert defined_symbols(mod["g"]) == ["k"] and free_symbols(mod["g"]) == []


def test_what_has_no_symbols() -> None:
    with pytest.raises(ArgumentError, match="free_symbols: 'subject' is 3"):
        free_symbols(3)  # type: ignore[arg-type]
