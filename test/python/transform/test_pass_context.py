"""`PassContext`: precedence, config, thread locality, and exceptions in instruments."""

from __future__ import annotations

import threading

import pytest
import relax_mlir as rx
from pass_helpers import Recorder, failing_pass, logging_pass, parse
from relax_mlir.error import ArgumentError, PassError, UnknownNameError
from relax_mlir.transform import MLIRPass, PassContext, PassInfo, Sequential, register_config_option

OPTION = register_config_option("test.pass_context.limit", int, 7, "an option of this test")


def test_disabled_beats_level() -> None:
    assert not PassContext(opt_level=3, disabled_pass=["cse"]).pass_enabled(PassInfo("cse"))


def test_required_beats_level() -> None:
    ctx = PassContext(opt_level=0, required_pass=["cse"])
    assert ctx.pass_enabled(PassInfo("cse", opt_level=3))
    assert not ctx.pass_enabled(PassInfo("q", opt_level=3))


@pytest.mark.parametrize(("level", "runs"), [(0, True), (2, True), (3, False)])
def test_default_level_is_two(level: int, runs: bool) -> None:
    assert PassContext().pass_enabled(PassInfo("p", opt_level=level)) is runs


def test_current_is_innermost() -> None:
    outside = PassContext.current()
    with PassContext() as outer:
        with PassContext() as inner:
            assert PassContext.current() is inner
        assert PassContext.current() is outer
    assert PassContext.current() is outside


def test_current_is_thread_local() -> None:
    seen: list[PassContext] = []
    with PassContext() as ctx:
        thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
        thread.start()
        thread.join()
    assert seen[0] is not ctx


def test_config_default_and_value() -> None:
    assert PassContext().option(OPTION.key) == 7
    assert PassContext(config={OPTION.key: 3}).option(OPTION.key) == 3


def test_unknown_config_key_lists_near_matches() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean.*'test\.pass_context\.limit'"):
        PassContext(config={"test.pass_context.limits": 3})


@pytest.mark.parametrize("value", ["3", 3.5, True, None])
def test_config_value_of_wrong_type(value: object) -> None:
    with pytest.raises(ArgumentError, match="takes int"):
        PassContext(config={OPTION.key: value})


def test_option_is_registered_once() -> None:
    with pytest.raises(ArgumentError, match="registered already"):
        register_config_option(OPTION.key, int, 1)


def test_list_configs() -> None:
    assert PassContext.list_configs()[OPTION.key].type is int


def test_call_sequence() -> None:
    events: list[str] = []
    with PassContext(instruments=[Recorder("1", events), Recorder("2", events)]):
        logging_pass("p", events)(parse())
    assert events == [
        *("1 enter", "2 enter", "1 should_run p", "2 should_run p", "1 before p", "2 before p"),
        *("p", "1 after p", "2 after p", "1 exit", "2 exit"),
    ]


def test_should_run_is_anded_and_all_are_asked() -> None:
    events: list[str] = []
    instruments = [Recorder("1", events, answer=False), Recorder("2", events)]
    with PassContext(instruments=instruments):
        logging_pass("p", events)(parse())
    assert events == ["1 enter", "2 enter", "1 should_run p", "2 should_run p", "1 exit", "2 exit"]


def test_required_pass_skips_should_run() -> None:
    events: list[str] = []
    work = logging_pass("p", events)
    with PassContext(required_pass=["p"], instruments=[Recorder("1", events, answer=False)]):
        work(parse())
    assert events == ["1 enter", "1 before p", "p", "1 after p", "1 exit"]


def test_failing_enter_exits_those_entered_in_order_and_clears() -> None:
    events: list[str] = []
    outside = PassContext.current()
    instruments = [
        Recorder("1", events),
        Recorder("2", events),
        Recorder("3", events, "enter"),
        Recorder("4", events),
    ]
    ctx = PassContext(instruments=instruments)
    with pytest.raises(RuntimeError, match="3 fails in enter"), ctx:
        events.append("body")
    assert events == ["1 enter", "2 enter", "3 enter", "1 exit", "2 exit"]
    assert ctx.instruments == []
    assert PassContext.current() is outside


def test_failing_exit_stops_and_clears() -> None:
    events: list[str] = []
    outside = PassContext.current()
    ctx = PassContext(instruments=[Recorder("1", events), Recorder("2", events, "exit"), Recorder("3", events)])
    with pytest.raises(RuntimeError, match="2 fails in exit"), ctx:
        events.clear()
    assert events == ["1 exit", "2 exit"]
    assert ctx.instruments == []
    assert PassContext.current() is outside


def test_override_exits_old_and_enters_new() -> None:
    events: list[str] = []
    with PassContext(instruments=[Recorder("1", events)]) as ctx:
        ctx.override_instruments([Recorder("2", events)])
        ctx.override_instruments(None)
    assert events == ["1 enter", "1 exit", "2 enter", "2 exit"]


def test_override_with_failing_enter_clears() -> None:
    ctx = PassContext.current()
    with pytest.raises(RuntimeError, match="fails in enter"):
        ctx.override_instruments([Recorder("1", [], "enter")])
    assert ctx.instruments == []


def test_override_with_failing_exit_clears() -> None:
    ctx = PassContext.current()
    ctx.override_instruments([Recorder("1", [], "exit")])
    with pytest.raises(RuntimeError, match="fails in exit"):
        ctx.override_instruments([Recorder("2", [])])
    assert ctx.instruments == []


def test_exception_in_should_run_goes_on_unchanged() -> None:
    events: list[str] = []
    with (
        pytest.raises(RuntimeError, match="1 fails in should_run"),
        PassContext(instruments=[Recorder("1", events, "should_run"), Recorder("2", events)]),
    ):
        logging_pass("p", events)(parse())
    assert events == ["1 enter", "2 enter", "1 should_run p", "1 exit", "2 exit"]


def test_exception_in_run_before_goes_on_unchanged() -> None:
    events: list[str] = []
    with (
        pytest.raises(RuntimeError, match="1 fails in before"),
        PassContext(instruments=[Recorder("1", events, "before"), Recorder("2", events)]),
    ):
        logging_pass("p", events)(parse())
    assert events[2:] == ["1 should_run p", "2 should_run p", "1 before p", "1 exit", "2 exit"]


def test_exception_in_run_after_goes_on_unchanged() -> None:
    events: list[str] = []
    with (
        pytest.raises(RuntimeError, match="1 fails in after"),
        PassContext(instruments=[Recorder("1", events, "after"), Recorder("2", events)]),
    ):
        logging_pass("p", events)(parse())
    assert events[4:] == ["1 before p", "2 before p", "p", "1 after p", "1 exit", "2 exit"]


def test_failing_pass_skips_run_after_but_exits() -> None:
    events: list[str] = []
    with pytest.raises(PassError), PassContext(instruments=[Recorder("1", events)]):
        failing_pass(lambda: KeyError("x"))(parse())
    assert events == ["1 enter", "1 should_run failing", "1 before failing", "1 exit"]


def test_exception_of_instrument_inside_a_pass_is_not_wrapped() -> None:
    from relax_mlir.transform import MLIRPass, module_pass

    @module_pass(name="outer")
    def outer(module: object, ctx: PassContext) -> None:
        MLIRPass("cse").apply_(module, ctx)

    class Fussy(Recorder):
        def run_before_pass(self, module: object, info: PassInfo) -> None:
            if info.name == "cse":
                raise RuntimeError("fussy")

    with pytest.raises(RuntimeError, match="fussy"), PassContext(instruments=[Fussy("1", [])]):
        outer(parse())


@pytest.mark.parametrize("key", ["required_pass", "disabled_pass"])
def test_names_are_a_list(key: str) -> None:
    for given in ([], (), set(), frozenset(), None):
        assert getattr(PassContext(**{key: given}), key) == frozenset()
    assert getattr(PassContext(**{key: ["fuse-ops", "FoldConstant", "cse"]}), key) == {
        "fuse-ops",
        "fold-constant",
        "cse",
    }
    with pytest.raises(ArgumentError, match=rf"'{key}' is the string 'fuse-ops', expected a list.*: \['fuse-ops'\]"):
        PassContext(**{key: "fuse-ops"})
    for wrong in (3, {"fuse-ops": 1}, [None], [["fuse-ops"]]):
        with pytest.raises(ArgumentError, match=f"PassContext: '{key}'"):
            PassContext(**{key: wrong})
    with pytest.raises(UnknownNameError, match=r"unknown pass 'fuse-op'; did you mean.*'fuse-ops'"):
        PassContext(**{key: ["fuse-op"]})
    with pytest.raises(UnknownNameError, match=r"unknown pass 'FuseOp'"):
        PassContext(**{key: ["FuseOp"]})


def test_required_and_disabled_at_once() -> None:
    with pytest.warns(UserWarning, match="both required and disabled, and therefore disabled: fuse-ops") as seen:
        ctx = PassContext(required_pass=["fuse-ops", "cse"], disabled_pass=["FuseOps"])
    assert seen[0].filename == __file__
    assert not ctx.pass_enabled(PassInfo("fuse-ops")) and ctx.pass_enabled(PassInfo("cse", opt_level=3))
    assert not ctx.derived(opt_level=3).pass_enabled(PassInfo("fuse-ops"))  # does not warn again


@pytest.mark.parametrize("level", [-1, 4, 1.0, True, "2", None])
def test_levels_that_there_are_not(level: object) -> None:
    with pytest.raises(ArgumentError, match=r"PassContext: 'opt_level' is .*, expected an integer from 0 to 3"):
        PassContext(opt_level=level)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="pass 'p': 'opt_level' is"):
        PassInfo("p", opt_level=level)  # type: ignore[arg-type]  # wrong on purpose


def test_other_arguments_of_the_wrong_kind() -> None:
    with pytest.raises(ArgumentError, match="'config' is 3"):
        PassContext(config=3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="'instruments': an entry is 3"):
        PassContext(instruments=[3])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ArgumentError, match="'instruments' is 3"):
        PassContext(instruments=3)  # type: ignore[arg-type]  # wrong on purpose


def test_derived_contexts() -> None:
    outer = PassContext(3, ["cse"], ["fuse-ops"], {OPTION.key: 3}, [Recorder("1", [])])
    inner = outer.derived(opt_level=1, instruments=None)
    assert (inner.opt_level, inner.required_pass, inner.disabled_pass) == (1, {"cse"}, {"fuse-ops"})
    assert inner.config == {OPTION.key: 3} and inner.instruments == []


def test_instruments_get_the_module_that_is_changed() -> None:
    seen: list[object] = []

    class Looks(Recorder):
        def run_before_pass(self, mod: rx.IRModule, info: PassInfo) -> None:
            seen.append(mod)
            assert [f.name.value for f in mod.functions()] == ["main"]

        def run_after_pass(self, mod: rx.IRModule, info: PassInfo) -> None:
            seen.append(mod)
            assert isinstance(info, PassInfo) and "def main(a" in mod.script()

    bb, x = rx.BlockBuilder(), rx.Var("a", rx.Tensor((2,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(x)
    mod = bb.get()
    with PassContext(instruments=[Looks("1", [])]):
        Sequential([MLIRPass("cse"), logging_pass("p", [])]).apply_(mod)
        assert len(seen) == 6 and all(each is mod for each in seen)
        new = Sequential([MLIRPass("cse"), logging_pass("p", [])])(mod)
    assert new is not mod and len(seen) == 12 and all(each is new for each in seen[6:])
