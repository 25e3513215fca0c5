"""Words in docstrings, comments and Markdown that readers of the field would have to translate.

A finding is a hint: a word may be used in its plain sense. The limit of `test_layout.py` leaves room for that.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

OPENERS = re.compile(r"(Whether|What|Where|How|Who|Which|Let)\b")
"""Openings of docstrings that should be a noun or an imperative: "True if …", "Return …", "The …"."""

TERMS: dict[str, str] = {
    r"where (?:it|they|the data|keys?|rows?)\b[^.;,]{0,20}\blies?\b|\bas (?:it|they) lies?\b": "in place, contiguous",
    r"\bturned\b|\bturns? (?:it|them)\b": "transposed",
    r"\basks? for .{0,40}\bahead\b|\basked for\b": "prefetches",
    r"\b(?:made|done|compiled|kept|computed|written) apart\b|\bapart from each\b": "separately",
    r"\bmade of\b|\banew\b": "composed of; again, rebuilt",
    r"\bmakers?\b": "defining op, producer, factory",
    r"\bnobody\b|\bwhoever\b|\bsomebody\b": "the component, or the passive",
    r"\b(?:a|the|its|their) ways? of (?:its|their) own\b|\bone of these ways\b": "variant, code path",
    r"\b(?:stands?|standing) (?:in|on|at|for|beside|between|there)\b": "is, is stored in, denotes",
    r"\bbesides?\b": "next to, in addition to, compared with",
    r"\bbehind\b": "after",
    r"\b(?:is|are|be) told\b|\btells? (?:of|that|it|them|which)\b": "is inferred from; determines, reports",
    r"\bgoes (?:on|down|up|through|there|along)\b|\bgo by\b": "continues, is lowered, passes",
    r"\bof (?:its|their) own\b": "separate, dedicated",
    r"\bas (?:it|they) (?:is|are|was|were)\b": "unchanged",
    r"\b(?:numbers )?from zero on\b": "non-negative integers",
    r"\bin turns?\b(?! (?:by|with))": "alternating, round-robin",
    r"\bside by side\b": "interleaved, adjacent, in parallel",
    r"\b(?:likewise|thereby|hence|wherever|elsewhere)\b": "say it directly",
    r"\bmended?\b|\bflaws?\b": "fixed; error",
    r"\bword of\b|\btakes? the word\b": "message, status",
    r"\b(?:straight|plain) loops?\b": "unoptimised loop",
    r"\bhalves\b(?! of)": "low-precision (f16, bf16)",
    r"\bthat there (?:is|are)\b|\bthere to be\b|\bto be had\b": "available, existing",
    r"\bso many\b|\bas many .{0,20} as there are\b": "the number of",
    r"\bgreatest\b|\bleast\b(?! one| recently| significant)": "maximum; minimum",
    r"\bcut (?:up|off|out|down|apart)\b|\bcuts (?:it|them)\b": "split, outlined, truncated",
    r"\bcontestants?\b": "peers, baselines",
    r"\bputs? together\b|\btaken? apart\b": "combines, fuses; unpacks, decomposes",
}
"""Patterns and the usual terms."""

_PATTERNS = [(re.compile(pattern, re.IGNORECASE), usual) for pattern, usual in TERMS.items()]


def prose(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yield the line number and the text of each line of prose in a file, and True if it opens a docstring."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        fenced = False
        for number, line in enumerate(source.splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            elif not fenced:
                yield number, line, False
        return
    for start, text in docstrings(ast.parse(source)):
        for offset, line in enumerate(text.splitlines()):
            yield start + offset, line.strip(), offset == 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("# "), False


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each docstring of modules, classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.body:
            first = node.body[0]
            constant = first.value if isinstance(first, ast.Expr) else None
            if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                yield first.lineno, constant.value


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the words and the usual term of each finding in a file; inline code does not count."""
    found = [(number, re.sub(r"`[^`]*`", "", text), opens) for number, text, opens in prose(path)]
    whole = "\n".join(plain for _, plain, _ in found)
    patterns = [each for each in _PATTERNS if each[0].search(whole)]
    for number, plain, opens in found:
        if opens and (opener := OPENERS.match(plain)):
            yield number, opener[0], "open with a noun or an imperative"
        for pattern, usual in patterns:
            for match in pattern.finditer(plain):
                yield number, match[0], usual


def words(path: Path) -> int:
    """The number of words of prose in a file."""
    return sum(len(text.split()) for _, text, _ in prose(path))
