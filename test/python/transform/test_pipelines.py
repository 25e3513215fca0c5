"""Textual pipelines, options as text, names, MLIR's own passes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest
from pass_helpers import Recorder, parse
from relax_mlir.error import ParseError, PassError, UnknownNameError
from relax_mlir.lowering.pipeline import phases
from relax_mlir.mlir import PassManager, func, ir
from relax_mlir.transform import (
    FunctionPass,
    MLIRPass,
    ModulePass,
    Pass,
    PassContext,
    PipelinePass,
    create_pass,
    parse_pipeline,
    registry,
)
from relax_mlir.transform.pipeline_text import describe_options, parse_elements
from relax_mlir.transform.registry import MLIR_PASSES, MLIR_PIPELINES


@dataclass(frozen=True)
class Configured(ModulePass):
    """A pass with options of every type."""

    name: ClassVar[str] = "configured"
    max_depth: int = 4
    ratio: float = 0.5
    fast: bool = False
    label: str = ""
    sizes: tuple[int, ...] = ()
    mode: Literal["auto", "manual"] = "auto"
    limit: int | None = None

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        pass


class PerFunction(FunctionPass):
    """A function pass."""

    name = "per-function"

    def run_on_function(self, function: func.FuncOp, module: ir.Module, ctx: PassContext) -> None:
        pass


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    registry.register_pass("configured", Configured)
    registry.register_pass("per-function", PerFunction)
    yield
    del registry._CLASSES["configured"], registry._CLASSES["per-function"]


def test_options_of_every_type() -> None:
    text = "max-depth=2 ratio=1 fast label='a b' sizes=1,2,3 mode=manual limit=9"
    expected = Configured(2, 1.0, True, "a b", (1, 2, 3), "manual", 9)
    assert create_pass("configured", text) == expected


def test_text_of_a_pass_parses_to_the_same_pass() -> None:
    original = Configured(2, 1.0, True, "a {b", (1, 2, 3), "manual", 9)
    assert parse_pipeline(original.info.text).passes == (original,)


def test_underscores_are_accepted() -> None:
    assert create_pass("configured", "max_depth=1") == Configured(max_depth=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("max-dept=1", "unknown option of pass 'configured' 'max-dept'; did you mean 'max-depth'"),
        ("max-depth=x", "option 'max-depth' takes int, got 'x'"),
        ("fast=maybe", "option 'fast' takes bool"),
        ("sizes=1,b", "option 'sizes' takes int, got 'b'"),
        ("mode=manuel", "did you mean 'manual'"),
        ("label='a", "unbalanced"),
    ],
)
def test_bad_options(options: str, message: str) -> None:
    with pytest.raises((ParseError, UnknownNameError), match=message):
        create_pass("configured", options)


def test_missing_option() -> None:
    with pytest.raises(ParseError, match=r"pass 'check-legality': option 'level' is required"):
        create_pass("check-legality")


def test_options_are_described_for_help() -> None:
    described = {name: (kind, default) for name, kind, default in describe_options(Configured)}
    assert described["max-depth"] == ("int", "4")
    assert described["fast"] == ("bool", "false")


@pytest.mark.parametrize(
    "text",
    [
        "cse",
        "func.func(cse,canonicalize)",
        "a{b=1 c={d,e}},f(g(h))",
        "inline{op-pipelines=func.func(cse)}",
        "f()",
    ],
)
def test_elements_print_as_parsed(text: str) -> None:
    assert ",".join(map(str, parse_elements(text))) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cse,,cse", "expected the name of a pass"),
        ("func.func(cse", "this '(' is never closed"),
        ("cse{a=1", "this '{' is never closed"),
        ("cse)", "unexpected '\\)'"),
        ("a b", "expected the name"),
    ],
)
def test_bad_syntax_points_at_the_place(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message.replace("(", r"\(")) as caught:
        parse_pipeline(text)
    assert str(caught.value).endswith("^")


def test_project_and_upstream_passes_mix() -> None:
    events: list[str] = []
    with PassContext(instruments=[Recorder("1", events)]):
        parse_pipeline("builtin.module(configured,func.func(canonicalize,per-function),cse)")(parse())
    assert [e for e in events if "before" in e] == [
        *("1 before pipeline", "1 before configured", "1 before canonicalize"),
        *("1 before per-function", "1 before cse"),
    ]


def test_module_pass_inside_a_function_anchor() -> None:
    with pytest.raises(ParseError, match=r"'configured' runs on the module and cannot stand inside 'func\.func'"):
        parse_pipeline("func.func(configured)")


@pytest.mark.parametrize("text", ["canonicalise", "any(canonicalise)", "builtin.module(cse,canonicalise)"])
def test_unknown_pass_lists_near_matches(text: str) -> None:
    with pytest.raises(UnknownNameError, match="unknown pass 'canonicalise'; did you mean 'canonicalize'"):
        parse_pipeline(text)
    with pytest.raises(UnknownNameError, match="did you mean 'canonicalize'"):
        MLIRPass(text)


def test_unknown_pass_near_a_project_pass() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'legalize-ops'"):
        create_pass("legalise-ops")


def test_names_are_checked_before_anything_runs() -> None:
    with pytest.raises(UnknownNameError):
        parse_pipeline("cse,nonsense")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cse{foo=3}", "no such option foo"),
        ("one-shot-bufferize{bufferize-function-boundaries=3}", "'3' is invalid value"),
        ("func.func(one-shot-bufferize)", r"runs on 'builtin\.module' and cannot stand inside 'func\.func'"),
        ("func.func(sparsifier)", "runs on the whole module"),
    ],
)
def test_upstream_options_and_places(text: str, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ParseError, match=message):
        MLIRPass(text)
    assert capfd.readouterr() == ("", "")


def test_upstream_function_pass_is_nested_by_itself() -> None:
    assert MLIRPass("affine-loop-tile").info.text == "func.func(affine-loop-tile)"


def test_mlir_accepts_the_passes_of_the_lowering_as_they_stand() -> None:
    known = [p for phase in phases() for p in phase.passes if isinstance(p, MLIRPass)]
    assert known
    for each in known:
        assert MLIRPass(each.info.text).passes == each.passes


def test_passes_are_taken_as_they_are_where_mlir_is_not_asked() -> None:
    unchecked = MLIRPass("cse,nonsense", check=False)
    assert [p.info.name for p in unchecked.passes] == ["cse", "nonsense"]
    with pytest.raises(PassError, match="nonsense"):
        unchecked(parse())


def test_upstream_pipeline_is_taken_apart() -> None:
    names = [p.info.name for p in MLIRPass("sparsifier").passes]
    assert names[0] == "linalg-generalize-named-ops" and "sparsifier" not in names


def test_nested_anchors_run() -> None:
    module = parse()
    MLIRPass("any(cse),func.func(any(canonicalize))").apply_(module)
    assert str(module).count("addi") == 1


def test_every_listed_upstream_name_is_known_to_the_bindings() -> None:
    context = ir.Context()
    for name in sorted(MLIR_PASSES):
        PassManager.parse(f"any({name})", context)
    for name in sorted(MLIR_PIPELINES):
        PassManager.parse(f"builtin.module({name})", context)


def test_registry_imports_nothing() -> None:
    code = (
        "import sys; from relax_mlir.transform import registry\n"
        "modules = {t.partition(':')[0] for t in registry.PASSES.values()}\n"
        "assert modules and not modules & set(sys.modules), modules & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@dataclass(frozen=True)
class CleanUp(PipelinePass):
    """A named pipeline with an option."""

    name: ClassVar[str] = "clean-up"
    deep: bool = False

    def passes(self) -> list[MLIRPass]:
        return [MLIRPass("cse"), *([MLIRPass("canonicalize")] if self.deep else [])]


def test_named_pipeline_has_options_and_reports_its_parts() -> None:
    registry.register_pass("clean-up", CleanUp)
    events: list[str] = []
    try:
        with PassContext(instruments=[Recorder("1", events)]):
            parse_pipeline("clean-up{deep}")(parse())
    finally:
        del registry._CLASSES["clean-up"]
    before = [e.split()[-1] for e in events if "before" in e]
    assert before == ["pipeline", "clean-up", "cse", "canonicalize"]


@pytest.mark.parametrize("name", sorted(registry.PASSES))
def test_every_registered_pass_loads_under_its_own_name(name: str) -> None:
    cls = registry.pass_class(name)
    assert issubclass(cls, Pass)
    assert cls.name == name
    assert cls.__doc__ and not cls.__doc__.startswith(f"{cls.__name__}(")
