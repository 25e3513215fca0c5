"""The functions of an `IRModule`: added, replaced, removed, copied between modules with their weights."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, ParseError, RelaxError, UnknownNameError, VerifyError

X = np.arange(6, dtype="float32").reshape(2, 3)


def scaled(name: str, factor: float, size: int = 100) -> rx.IRModule:
    """`x` plus the sum of `size` equal weights."""
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 3), "float32"))
    with bb.function(name, [x]):
        with bb.dataflow():
            weights = bb.const(np.full(size, factor, "float32"))
            other = bb.const(np.full(size, factor, "float32"))
            y = bb.emit_output(R.add(x, R.sum(R.add(weights, other))))
        bb.emit_func_output(y)
    return bb.get()


def test_an_empty_module() -> None:
    mod = rx.IRModule()
    mod.verify()
    assert list(mod) == [] and repr(mod) == "<IRModule with no functions>" and rx.IRModule({}).keys() == []
    assert list(rx.build(mod)) == []


def test_functions_by_name() -> None:
    source = scaled("f", 1)
    mod = rx.IRModule({"main": source["f"], rx.GlobalVar("other"): scaled("g", 2)})
    assert [*mod] == ["main", "other"] and "main" in mod and rx.GlobalVar("other") in mod and 3 not in mod
    for name, total in (("main", 200), ("other", 400)):
        np.testing.assert_array_equal(np.from_dlpack(rx.build(mod)[name](X)), X + total)
    assert list(source) == ["f"]


def test_update_puts_and_replaces_in_place() -> None:
    mod = rx.IRModule({"a": scaled("a", 1), "b": scaled("b", 2)})
    mod.update(rx.IRModule({"a": scaled("a", 3), "c": scaled("c", 4)}))
    mod.update({"d": mod["c"]})
    mod.update(mod)
    assert list(mod) == ["a", "b", "c", "d"]
    ex = rx.build(mod)
    totals = [np.from_dlpack(ex[name](X))[0, 0] for name in mod]
    assert totals == [600, 400, 800, 800]


def test_functions_as_a_mapping() -> None:
    mod = rx.IRModule({"a": scaled("a", 1), "b": scaled("b", 2)})
    for items in (mod.functions.items(), mod.functions_items(), mod.items()):
        assert [(gv.name_hint, f.name.value) for gv, f in items] == [("a", "a"), ("b", "b")]
    assert [f.name.value for f in mod.functions()] == ["a", "b"] and len(mod.functions) == 2
    assert mod.get_global_vars() == [rx.GlobalVar("a"), rx.GlobalVar("b")]
    gv = mod.get_global_var("a")
    assert mod[gv].name.value == "a" and repr(gv) == "GlobalVar('a')"
    with pytest.raises(UnknownNameError, match="unknown function 'x'; known: a, b"):
        mod.get_global_var("x")
    assert_structural_equal(rx.IRModule(mod.functions), mod)


def test_functions_that_were_taken_out_can_be_read() -> None:
    mod = scaled("main", 1)
    held = mod["main"]
    inner = held.regions[0].blocks[0].operations[0]
    del mod["main"]
    assert list(mod) == [] and "relax.dataflow" in str(held) and "relax.sum" in str(inner)
    with pytest.raises(UnknownNameError):
        del mod["main"]
    mod["main"] = held
    del mod, inner
    gc.collect()
    assert held.name.value == "main" and "relax.dataflow" in str(held)


def test_a_function_that_calls_itself_calls_the_copy() -> None:
    bb = rx.BlockBuilder()
    n = rx.Var("n", rx.Prim("int64"))
    with bb.function("down", [n], result=rx.Prim("int64")):
        bb.emit_func_output(bb.call("down", n))
    mod = rx.IRModule({"again": bb.get()["down"]})
    mod.verify()
    assert "@down" not in mod.asm() and "callee = @again" in mod.asm()


def test_a_call_of_what_is_not_there_is_an_error_of_verify() -> None:
    mod = scaled("f", 1)
    bb = rx.BlockBuilder(mod)
    x = rx.Var("x", rx.Tensor(("n", 3), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.call("f", x))
    lone = rx.IRModule({"main": mod["main"]})
    with pytest.raises(VerifyError, match="f"):
        lone.verify()
    lone["f"] = mod["f"]
    lone.verify()
    np.testing.assert_array_equal(np.from_dlpack(rx.build(lone)["main"](X)), X + 200)


def test_weights_of_the_same_name_stay_apart() -> None:
    target = rx.IRModule()
    for index in range(3):
        target[f"f{index}"] = scaled("f", index + 1)
    twice = rx.IRModule()
    for name, f in target.items():
        twice[name] = f
        twice[f"{name}_again"] = f
    ex = rx.build(twice)
    totals = {name: np.from_dlpack(ex[name](X))[0, 0] for name in twice}
    assert totals == {f"f{i}{end}": 200 * (i + 1) for i in range(3) for end in ("", "_again")}


def test_save_and_load_with_all_weights(tmp_path: Path) -> None:
    mod = rx.IRModule({"a": scaled("a", 1, 1000), "b": scaled("b", 2, 1000)})
    mod.save(tmp_path / "m.zip")
    again = rx.IRModule.load(tmp_path / "m.zip")
    assert_structural_equal(mod, again)
    ex = rx.build(again)
    assert [np.from_dlpack(ex[name](X))[0, 0] for name in again] == [2000, 4000]


def test_weights_that_are_missing() -> None:
    text = scaled("f", 1).asm().partition("{-#")[0]
    with pytest.raises(RelaxError, match="no data for its weights"):
        rx.IRModule()["f"] = rx.IRModule.parse(text)["f"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, r"IRModule is 3 \(int\), expected functions by name"),
        (["main"], "expected functions by name"),
        ({"main": None}, "IRModule: 'main' is None .*expected a function"),
        ({"main": "f"}, "IRModule: 'main' is 'f'"),
        (
            {"main": rx.IRModule()},
            "IRModule: 'main': a module stands for its function if it has just one; it has: none",
        ),
        ({3: scaled("f", 1)}, "a function's name is 3"),
        ({"": scaled("f", 1)}, "a function's name '' is empty"),
    ],
)
def test_wrong_functions(given: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        rx.IRModule(given)  # type: ignore[arg-type]  # wrong on purpose
    if not isinstance(given, dict):
        with pytest.raises(ArgumentError, match="update: 'other'"):
            rx.IRModule().update(given)  # type: ignore[arg-type]  # wrong on purpose


def test_a_module_of_several_functions_is_no_function() -> None:
    mod = rx.IRModule({"a": scaled("a", 1), "b": scaled("b", 1)})
    with pytest.raises(ArgumentError, match=r"it has: a, b\. Take one by name"):
        rx.IRModule()["main"] = mod


def test_diagnostics_that_are_no_text_leave_no_lock() -> None:
    """After a name that is not UTF-8 in a diagnostic, texts are parsed in the same process, and in its children."""
    same = 'func.func private @"\\FF"()'
    with pytest.raises(ParseError, match="what MLIR says of it is no valid UTF-8"):
        rx.IRModule.parse(f"{same}\n{same}")
    gc.collect()  # the context may be used again
    for _ in range(4):
        assert str(rx.IRModule.parse("module {}")).split() == ["module", "{", "}"]
