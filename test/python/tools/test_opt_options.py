"""The command line of ``relax-opt``."""

from __future__ import annotations

import pytest
from relax_mlir.error import ParseError, UnknownNameError
from relax_mlir.tools.opt_options import parse_arguments, pipeline_elements


def test_defaults() -> None:
    options = parse_arguments([])
    assert options.input == "-"
    assert options.on("verify-each", True)
    assert pipeline_elements(options) == ()


def test_passes_keep_their_order_and_options() -> None:
    options = parse_arguments(["--cse", "in.mlir", "-canonicalize=top-down=false", "--cse"])
    assert options.input == "in.mlir"
    assert [str(e) for e in pipeline_elements(options)] == ["cse", "canonicalize{top-down=false}", "cse"]


def test_values_with_and_without_equals_sign() -> None:
    assert parse_arguments(["-o", "x"]).text("o") == parse_arguments(["-o=x"]).text("o") == "x"


def test_list_flags_add_up() -> None:
    options = parse_arguments(["--mlir-print-ir-before=cse,inline", "--mlir-print-ir-before=sccp"])
    assert options.names("mlir-print-ir-before") == ["cse", "inline", "sccp"]


def test_bool_values() -> None:
    assert not parse_arguments(["--verify-each=0"]).on("verify-each", True)
    assert parse_arguments(["--verify-each"]).on("verify-each")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.mlir", "b.mlir"], "more than one input file"),
        (["-o"], "-o needs a value"),
        (["--opt-level=x"], "takes a number"),
        (["--mlir-timing=maybe"], "on or off"),
        (["--cse", "--pass-pipeline=builtin.module()"], "exclude each other"),
    ],
)
def test_bad_arguments(arguments: list[str], message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_arguments(arguments)


@pytest.mark.parametrize("pipeline", ["cse", "func.func(cse)", "builtin.module(cse),cse"])
def test_pipeline_must_have_the_module_around_it(pipeline: str) -> None:
    with pytest.raises(ParseError, match="must be of the form"):
        pipeline_elements(parse_arguments([f"--pass-pipeline={pipeline}"]))


def test_unknown_flag_lists_near_matches() -> None:
    with pytest.raises(UnknownNameError, match="did you mean '--mlir-timing'"):
        parse_arguments(["--mlir-timin"])
