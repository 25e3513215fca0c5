"""Notebook output is readable on light and on dark pages, and escapes the user's markup."""

import re
from html import unescape

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import highlight
from relax_mlir import op as R
from relax_mlir.profiler import Limits


@pytest.fixture(scope="module")
def executable() -> rx.Executable:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", "n")))
    with bb.function("main", [x]):
        y = bb.emit(R.nn.softmax(bb.emit(R.matmul(x, x), name="scores")))
        bb.emit_func_output(bb.emit(R.nn.softmax(y)))
    return rx.build(bb.get(), profile=True)


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * value for weight, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def colours(html: str) -> set[str]:
    """All colours, of text and background; named colours would not be found, so there must be none."""
    assert not re.search(r"color: *(?!inherit|#|transparent)\w", html)
    return {found.lower() for found in re.findall(r"#[0-9A-Fa-f]{6}\b", html)}


def test_modules() -> None:
    mod = rx.IRModule.parse("func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}")
    html = mod._repr_html_()
    assert unescape(re.sub("<[^>]+>", "", html)).split() == mod.script().split()
    found = colours(html)
    assert len(found) >= 3
    for page in ("#ffffff", "#111111"):
        assert min(contrast(colour, page) for colour in found) >= 4
    assert repr(mod) == "<IRModule with main>"
    assert repr(rx.IRModule.parse("module {}")) == "<IRModule with no functions>"


def test_every_colour_of_the_style_is_readable() -> None:
    found = {style["color"] for _, style in highlight.PageStyle if style["color"]}
    assert len(found) >= 6
    for page in ("#ffffff", "#111111"):
        assert min(contrast(f"#{colour}", page) for colour in found) >= 4


def test_profiles_and_plans(executable: rx.Executable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "measure", lambda: Limits(flops=1e11, bandwidth=1e10))
    with executable.profile() as profile:
        executable["main"](np.ones((3, 3), "f4"))
    html = profile._repr_html_()
    assert html.count("<tr") == 1 + len(profile.ops()) + len(profile.functions())
    assert all(f">{op.site.name}</td>" in html for op in profile.ops())
    assert "test_notebook.py:" in html and not colours(html)
    assert repr(profile) == f"<Profile of {len(profile.events)} calls; print() shows the table>"
    plan = executable.memory_plan("main")
    html = plan._repr_html_()
    assert unescape(re.sub("<[^>]+>", "", html)) == str(plan) and not colours(html)


def test_text_is_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    made = (
        highlight.table_html(hostile, [hostile], [[hostile]], 1),
        highlight.preformatted_html(hostile),
        highlight.code_html(hostile),
    )
    assert all("<script" not in html and "script" in html for html in made)
