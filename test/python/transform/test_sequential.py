"""`Sequential`: which passes run, and the passes that others require."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pass_helpers import Recorder, logging_pass, parse
from relax_mlir import transform
from relax_mlir.error import ArgumentError, RelaxError, UnknownNameError
from relax_mlir.transform import MLIRPass, PassContext, Sequential, registry
from relax_mlir.transform.passes import ModulePass

events: list[str] = []


def _registered(pass_name: str, *needs: str) -> None:
    class Logging(ModulePass):
        name = pass_name
        required = needs

        def run(self, module: object, ctx: object) -> None:
            events.append(pass_name)

    registry.register_pass(pass_name, Logging)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    events.clear()
    before = dict(registry._CLASSES)
    yield
    registry._CLASSES.clear()
    registry._CLASSES.update(before)


def test_order_and_level() -> None:
    sequence = [logging_pass("a", events), logging_pass("b", events, opt_level=3), logging_pass("c", events)]
    Sequential(sequence)(parse())
    assert events == ["a", "c"]


def test_disabled_pass_does_not_run() -> None:
    sequence = Sequential([logging_pass("a", events), logging_pass("b", events)])
    with PassContext(disabled_pass=["a"]):
        sequence(parse())
    assert events == ["b"]


def test_required_by_context_runs_above_its_level() -> None:
    sequence = Sequential([logging_pass("a", events, opt_level=3)])
    with PassContext(opt_level=0, required_pass=["a"]):
        sequence(parse())
    assert events == ["a"]


def test_disabled_upstream_pass_inside_a_pipeline() -> None:
    module = parse()
    with PassContext(disabled_pass=["cse"]):
        MLIRPass("cse,symbol-dce").apply_(module)
    assert str(module).count("addi") == 2


def test_pass_outside_a_sequence_ignores_level_and_disabled() -> None:
    work = logging_pass("a", events, opt_level=3)
    with PassContext(opt_level=0, disabled_pass=["a"]):
        work(parse())
    assert events == ["a"]


def test_required_passes_run_before() -> None:
    _registered("need")
    Sequential([logging_pass("a", events, required=("need",))])(parse())
    assert events == ["need", "a"]


def test_required_passes_run_unasked_and_although_disabled() -> None:
    _registered("need")
    log: list[str] = []
    with PassContext(disabled_pass=["need"], instruments=[Recorder("1", log, answer=True)]):
        Sequential([logging_pass("a", events, required=("need",))], name="s")(parse())
    assert events == ["need", "a"]
    assert "1 should_run need" not in log
    assert "1 before need" in log


def test_required_passes_run_although_should_run_refuses() -> None:
    _registered("need")

    class Refuse(Recorder):
        def should_run(self, module: object, info: object) -> bool:
            return getattr(info, "name", "") == "s"

    with PassContext(instruments=[Refuse("1", [])]):
        Sequential([logging_pass("a", events, required=("need",))], name="s")(parse())
    assert events == ["need"]


def test_required_pass_of_a_disabled_pass_does_not_run() -> None:
    _registered("need")
    sequence = Sequential([logging_pass("a", events, required=("need",))])
    with PassContext(disabled_pass=["a"]):
        sequence(parse())
    assert events == []


def test_required_pass_is_not_run_again_where_it_has_just_run() -> None:
    _registered("need")
    Sequential([registry.pass_class("need")(), logging_pass("a", events, required=("need",))])(parse())
    assert events == ["need", "a"]


def test_required_pass_runs_again_after_another_pass() -> None:
    _registered("need")
    sequence = [
        registry.pass_class("need")(),
        logging_pass("x", events),
        logging_pass("a", events, required=("need",)),
    ]
    Sequential(sequence)(parse())
    assert events == ["need", "x", "need", "a"]


def test_just_run_is_seen_through_nested_sequences() -> None:
    _registered("need")
    inner = Sequential([registry.pass_class("need")()])
    Sequential([inner, logging_pass("a", events, required=("need",))])(parse())
    assert events == ["need", "a"]


def test_required_of_required_run_first_and_once() -> None:
    _registered("base")
    _registered("left", "base")
    _registered("right", "base")
    Sequential([logging_pass("a", events, required=("left", "right"))])(parse())
    assert events == ["base", "left", "right", "a"]


def test_upstream_pass_can_be_required() -> None:
    module = parse()
    Sequential([logging_pass("a", events, required=("cse",))]).apply_(module)
    assert str(module).count("addi") == 1


def test_passes_that_require_each_other() -> None:
    _registered("left", "right")
    _registered("right", "left")
    with pytest.raises(RelaxError, match="left -> right -> left"):
        Sequential([registry.pass_class("left")()])(parse())


def test_unknown_required_pass() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown pass 'canonicalise'.*'canonicalize'"):
        Sequential([logging_pass("a", events, required=("canonicalise",))])(parse())


def test_what_a_sequence_requires_runs_before_it() -> None:
    _registered("need")
    Sequential([logging_pass("a", events)], required=["need"])(parse())
    assert events == ["need", "a"]


def test_what_a_pass_requires_runs_before_it_where_it_is_called_alone() -> None:
    _registered("need")
    logging_pass("a", events, required=("need",))(parse())
    assert events == ["need", "a"]


def test_a_sequence_of_nothing() -> None:
    module = parse()
    copy = Sequential(required=None)(module)
    assert copy is not module and str(copy) == str(module) and Sequential(None).passes == ()


def test_an_undefined_pass_in_a_sequence() -> None:
    with pytest.raises(ArgumentError, match=r"pass 1 is 'cse', expected a Pass; write transform\.get_pass\('cse'\)"):
        Sequential([MLIRPass("cse"), "cse"])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(
        ArgumentError, match=r"pass 0 is <class .*FoldConstant'>, expected a Pass; write FoldConstant\(\)"
    ):
        Sequential([transform.FoldConstant])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ArgumentError, match="pass 0 is None"):
        Sequential([None])  # type: ignore[list-item]  # wrong on purpose
    with pytest.raises(ArgumentError, match=r"'passes' is the string 'cse'.*parse_pipeline"):
        Sequential("cse")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="'passes' is 3"):
        Sequential(3)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ArgumentError, match="'required' is the string 'cse'"):
        Sequential([], required="cse")
    with pytest.raises(UnknownNameError, match="did you mean 'fold-constant'"):
        transform.get_pass("fold-constants")


def test_passes_by_name() -> None:
    assert transform.get_pass("fold-constant") == transform.get_pass("FoldConstant") == transform.FoldConstant()
    assert transform.get_pass("cse").info == MLIRPass("cse").info
    with pytest.raises(ArgumentError, match="get_pass: 'name' is 3"):
        transform.get_pass(3)  # type: ignore[arg-type]  # wrong on purpose
