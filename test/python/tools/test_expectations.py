"""`--verify-diagnostics`: reading the comments and comparing."""

from __future__ import annotations

import pytest
from relax_mlir.error import Diagnostic
from relax_mlir.tools.opt_actions import compare, read_expectations


def check(text: str, *diagnostics: Diagnostic) -> list[str]:
    expected, complaints = read_expectations(text)
    return [str(each.diagnostic) for each in (*complaints, *compare(expected, diagnostics))]


def error(line: int, message: str = "bad thing here", severity: str = "error") -> Diagnostic:
    return Diagnostic(severity, f"-:{line}:1", message)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("op // expected-error {{bad thing}}", 1),
        ("// expected-error @below {{bad thing}}\nop", 2),
        ("op\n// expected-error @above {{bad thing}}", 1),
        ("// expected-error@+2 {{bad thing}}\n\nop", 3),
        ("op\n\n// expected-error @-2 {{bad thing}}", 1),
        ("// expected-error @3 {{bad thing}}", 3),
        ("// expected-error-re {{b{{.}}d thing}}", 1),
    ],
)
def test_places(text: str, line: int) -> None:
    assert check(text, error(line)) == []
    assert len(check(text, error(line + 1))) == 2


def test_unknown_location() -> None:
    text = "// expected-error @unknown {{no place}}"
    assert check(text, Diagnostic("error", "unknown", "it has no place")) == []


def test_two_on_one_line() -> None:
    text = "// expected-error@+1 {{one}} expected-note@+1 {{two}}"
    assert check(text, error(2, "one"), error(2, "two", "note")) == []


def test_severity_counts() -> None:
    assert check("// expected-warning {{bad}}", error(1)) == [
        "-:1:1: error: unexpected error: bad thing here",
        '-:1:4: error: expected warning "bad" was not produced',
    ]


def test_same_diagnostic_twice_needs_one_comment() -> None:
    assert check("// expected-error {{bad}}", error(1), error(1)) == []


def test_unexpected_note_is_a_complaint_but_the_op_note_is_not() -> None:
    assert check("", error(3, "why", "note")) == ["-:3:1: error: unexpected note: why"]
    assert check("", error(3, 'see current operation: "a.b"()', "note")) == []


def test_plain_text_is_not_a_regular_expression() -> None:
    assert len(check("// expected-error {{b.d}}", error(1))) == 2


def test_malformed_comment() -> None:
    (complaint,) = check("// expected-eror {{x}}")
    assert complaint == "-:1:4: error: malformed expected-* comment: // expected-eror {{x}}"
    assert check("// expected-error above {{x}}") != []


def test_what_is_marked() -> None:
    """The word that begins the comment, or the location of the unexpected diagnostic."""
    text = "op // expected-error {{bad}} expected-eror {{}}\n // expected-warning@+1 {{no expected-x {{.}} }}"
    expected, malformed = read_expectations(text)
    marked = [*malformed, *compare(expected, [])]
    assert [(each.diagnostic.location, each.underlined) for each in marked] == [
        ("-:1:30", len("expected-eror")),
        ("-:1:7", len("expected-error")),
        ("-:2:5", len("expected-warning")),
    ]
