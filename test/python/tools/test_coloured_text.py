"""Colouring changes nothing but the colours of a text."""

from __future__ import annotations

import re

import pytest
from fuzz_corpus import corpus
from pygments.token import Comment, Keyword, Name, Number, String
from relax_mlir.highlight import MAX_SIZE, MLIRLexer, ir_in_colours, script_in_colours

CODE = re.compile(r"\x1b\[[\d;]*m")


def test_every_text_of_the_corpus_survives() -> None:
    for text in corpus(most_lines=10_000):
        if "\r" not in text:
            assert CODE.sub("", ir_in_colours(text)) == text


@pytest.mark.parametrize("text", ["", "\n", "\n\n%x", '"open', "ä€ %ü\t@", "  trailing \n\n"])
def test_odd_texts_survive(text: str) -> None:
    assert CODE.sub("", ir_in_colours(text)) == text
    assert CODE.sub("", script_in_colours(text)) == text


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("%scores#1", Name.Variable),
        ("%x.y-z", Name.Variable),
        ("@relax.fn.main", Name.Function),
        ('@"a b"', String),
        ("^bb0", Name.Label),
        ("#relax.shape", Name.Attribute),
        ("!llvm.ptr", Name.Attribute),
        ("arith.addi", Keyword),
        ("func.func", Keyword),
        ("module", Keyword),
        ("bf16", Keyword.Type),
        ("tensor", Keyword.Type),
        ("0xFF800000", Number),
        ("1.000000e+00", Number),
        ('"relax.add"', String),
        ("// note", Comment.Single),
    ],
)
def test_kinds_of_words(word: str, kind: object) -> None:
    assert list(MLIRLexer(ensurenl=False, stripnl=False).get_tokens(word)) == [(kind, word)]


def test_long_texts_stay_plain() -> None:
    text = "%x\n" * (MAX_SIZE // 3 + 1)
    assert ir_in_colours(text) is text
