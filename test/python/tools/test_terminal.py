"""Output fits the terminal, and numbers are never truncated."""

import io
import re

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir import terminal
from relax_mlir.profiler import Limits, Profile
from relax_mlir.tools import opt_help
from relax_mlir.transform import explain_fusion
from rich.console import Console

LONG = "a_function_with_a_name_that_is_longer_than_what_a_terminal_of_eighty_columns_shows_of_it"


@pytest.fixture(scope="module")
def profiled() -> rx.Executable:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "n")))
    with bb.function(LONG, [x]):
        y = bb.emit(R.nn.softmax(bb.emit(R.matmul(x, x))))
        bb.emit_func_output(bb.emit(R.matmul(bb.emit(R.nn.softmax(y)), x)))
    return rx.build(bb.get(), profile=True)


def printed(profile: Profile, width: int) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    terminal.print_table(profile.table(Limits(flops=1e11, bandwidth=1e10)), console)
    return out.getvalue().splitlines()


def test_width_is_that_of_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for given, expected in (("132", 132), ("3", 40), ("x", 80)):
        monkeypatch.setenv("COLUMNS", given)
        assert terminal.width() == expected


@pytest.mark.parametrize("width", [80, 100, 40])
def test_profiles(profiled: rx.Executable, width: int) -> None:
    with profiled.profile() as profile:
        for _ in range(1000):
            profiled[LONG](np.ones((3, 3), "f4"))
    lines = printed(profile, width)
    if width >= 80:
        assert max(map(len, lines)) <= width
    text = "\n".join(lines)
    assert "…" not in text
    assert "% copy" in text
    for op in (*profile.ops(), *profile.functions()):
        assert re.search(rf"(?<![\d.]){op.seconds * 1e6:.1f}(?![\d.])", text)
    assert text.count(" 1000 ") == len(profile.ops()) + len(profile.functions())
    rows = lines[4:-1]
    (first,) = [number for number, line in enumerate(rows) if line.startswith(" a_func")]
    name_width = len(rows[first].split()[0])
    assert "".join(line[1 : name_width + 1].strip() for line in rows[first:]) == LONG


def test_memory_plans(profiled: rx.Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = profiled.memory_plan(LONG)
    for columns, lines_each in (("60", 2), ("200", 1)):
        monkeypatch.setenv("COLUMNS", columns)
        head, *lines = str(plan).splitlines()
        assert head.startswith(f"{LONG}: workspace of ")
        assert max(map(len, lines)) <= int(columns)
        assert len(lines) == lines_each * (len(plan.buffers) + 1)
        assert all(str(b.bytes) in str(plan) for b in plan.buffers)


@pytest.mark.parametrize("columns", [60, 80, 200])
def test_help_and_lists(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for text in (opt_help.passes_text(), opt_help.dialects_text(), opt_help.help_text()):
        lines = [line for line in text.splitlines() if " " in line.strip() or len(line) < columns]
        if columns >= 80:
            assert max(map(len, lines)) <= min(columns, 110)
        assert text.endswith("\n")
    assert "--verify-each=0" in opt_help.help_text()


def test_explanations_of_fusion(monkeypatch: pytest.MonkeyPatch) -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 4)))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = R.exp(R.nn.relu(R.add(x, x)))
            out = bb.emit_output(R.nn.softmax(R.cumsum(R.tanh(y), axis=0)))
        bb.emit_func_output(out)
    with explain_fusion() as report:
        rx.build(bb.get(), cache=False)
    assert report.decisions
    for columns in (40, 80, 132):
        monkeypatch.setenv("COLUMNS", str(columns))
        text = report.render()
        words = " ".join(text.split())
        assert all(d.reason in words and d.place in words for d in report.decisions)
        assert all(len(line) <= columns or " " not in line.strip() for line in text.splitlines())
        assert report.render(columns) == text
