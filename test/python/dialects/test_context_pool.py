"""Reused contexts behave like new ones, and are not shared."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects import dialect
from relax_mlir.dialects.dialect import KEPT, MOST_USES
from relax_mlir.error import ParseError, UnsupportedError
from relax_mlir.mlir import ext, ir, irdl

TEXT = "func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}"
WEIGHTS = """
func.func @f() -> tensor<100xf32> {
  %w = "relax.constant"() {value = dense_resource<w> : tensor<100xf32>} : () -> tensor<100xf32>
  return %w : tensor<100xf32>
}
"""


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "_kept", [])


def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(R.add(x, x))
        bb.emit_func_output(y)
    return bb.get()


def context_of(make: Callable[[], rx.IRModule]) -> weakref.ref[ir.Context]:
    """The context of a module that is freed immediately."""
    return weakref.ref(make().context)


def is_used_again(context: weakref.ref[ir.Context]) -> bool:
    return any(module().context is context() for _ in range(3))


def test_modules_one_after_the_other_share_one() -> None:
    first = context_of(module)
    for make in (module, lambda: rx.IRModule.parse(TEXT), rx.IRModule, lambda: rx.BlockBuilder().mod):
        assert make().context is first()


def test_a_built_module_leaves_its_context() -> None:
    first = module()
    executable = rx.build(first, cache=False)
    context = weakref.ref(first.context)
    del first
    assert is_used_again(context)
    assert executable["main"](np.ones((2, 4), "float32")).sum() == 16


@pytest.mark.parametrize(
    "part",
    [
        lambda mod: mod,
        lambda mod: mod.mlir,
        lambda mod: mod["f"],
        lambda mod: mod["f"].type,
        lambda mod: mod["f"].location,
        lambda mod: mod["f"].attributes["sym_name"],
        lambda mod: mod.context,
    ],
)
def test_whoever_holds_a_part_keeps_it(part: Callable[[rx.IRModule], Any]) -> None:
    held = part(rx.IRModule.parse(TEXT))
    text = str(held)
    context = held if isinstance(held, ir.Context) else held.context
    assert not is_used_again(weakref.ref(context))
    assert str(held) == text


def test_modules_at_a_time_have_their_own() -> None:
    modules = [module() for _ in range(2 * KEPT)]
    assert len({id(m.context) for m in modules}) == 2 * KEPT
    assert len(dialect._kept) == KEPT


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_looked_for_unless_the_user_switched_that_off(collects: bool) -> None:
    def garbage() -> list[Any]:
        cycle: list[Any] = [module()]
        cycle.append(cycle)
        return cycle

    gc.disable()
    try:
        for _ in range(KEPT):
            garbage()
        kept = list(dialect._kept)
        if collects:
            gc.enable()
        mod = module()
    finally:
        gc.enable()
    used_again = [each for each in kept if each.uses == 2]
    assert [each.context is mod.context for each in used_again] == [True] * collects


def test_threads_at_a_time_have_their_own() -> None:
    with ThreadPoolExecutor(4) as pool:
        modules = list(pool.map(lambda _: module(), range(40)))
    assert len({id(m.context) for m in modules}) == 40


def test_flags_are_those_of_a_new_one() -> None:
    context = context_of(lambda: rx.IRModule.parse(TEXT))
    context().allow_unregistered_dialects = True
    assert is_used_again(context)
    with pytest.raises(ParseError, match="unregistered"):
        rx.IRModule.parse('"nobody.knows"() : () -> ()')


def test_arrays_of_constants_go_with_their_module() -> None:
    def weights() -> rx.IRModule:
        bb = rx.BlockBuilder()
        with bb.function("main", []):
            bb.emit_func_output(R.const(np.ones(100, "float32")))
        return bb.get()

    context = context_of(weights)
    assert not is_used_again(context)
    assert context() is None


def test_text_without_its_data_finds_none_of_another_module() -> None:
    data = WEIGHTS + '{-# dialect_resources: { builtin: { w: "0x04000000' + 100 * "0000803F" + '" } } #-}'
    assert np.from_dlpack(rx.build(rx.IRModule.parse(data), cache=False)["f"]()).sum() == 100
    with pytest.raises(UnsupportedError, match="no data for its weights 'w'"):
        rx.build(rx.IRModule.parse(WEIGHTS), cache=False)


def test_other_dialects_are_not_left() -> None:
    mod = module()
    context = weakref.ref(mod.context)
    with mod.context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse("irdl.dialect @mine { irdl.operation @op { } }"))
    del mod
    assert not is_used_again(context)


def test_after_many_uses_there_is_a_new_one() -> None:
    context = context_of(module)
    assert all(module().context is context() for _ in range(MOST_USES - 1))
    assert module().context is not context()
    assert context() is None


def test_classes_that_came_later_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    context = context_of(module)
    classes = (*dialect._kept[0].classes, ext.Operation)
    monkeypatch.setattr(dialect, "classes", lambda: classes)
    assert not is_used_again(context)
