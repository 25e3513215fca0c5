"""Resources after a module's text: external ones are removed, others are kept."""

from __future__ import annotations

import pytest
from relax_mlir.error import ParseError
from relax_mlir.mlir_text import quoted, unquoted
from relax_mlir.transform.run import take_external_resources

EXTERNAL = 'external_resources: { a: { x: "1", y: true }, b: { z: 3 } }'
DIALECT = 'dialect_resources: { builtin: { w: "0x00" } }'
RESOURCES = {"a": {"x": "1", "y": "true"}, "b": {"z": "3"}}


@pytest.mark.parametrize(
    ("section", "left"),
    [
        (f"{{-# {EXTERNAL} #-}}", ""),
        (f"{{-#\n  {EXTERNAL}\n#-}}", ""),
        (f"{{-# {EXTERNAL}, {DIALECT} #-}}", f"{{-# {DIALECT} #-}}"),
        (f"{{-# {DIALECT}, {EXTERNAL} #-}}", f"{{-# {DIALECT} #-}}"),
        (f"{{-# {DIALECT} #-}}\n{{-# {EXTERNAL} #-}}", f"{{-# {DIALECT} #-}}"),
    ],
)
def test_external_resources_are_taken_out(section: str, left: str) -> None:
    text = f'module {{}} // "{{-#\n{section}\n// end'
    found, rest = take_external_resources(text)
    assert found == RESOURCES
    assert rest.count("\n") == text.count("\n")
    assert " ".join(rest.split()) == " ".join(f'module {{}} // "{{-#\n{left}\n// end'.split())


def test_a_text_without_any() -> None:
    text = '"a.b"() {s = "{-# external_resources: 3"} : () -> () // {-# }'
    assert take_external_resources(text) == ({}, text)
    dialects = f"module {{}}\n{{-# {DIALECT} #-}}\n"
    assert take_external_resources(dialects) == ({}, dialects)


@pytest.mark.parametrize(
    "section",
    [
        "{-# a",
        "{-# a: }",
        "{-# a: { b: 1",
        "{-# a b #-}",
        '{-# a: "x #-}',
        "{-# : 1 #-}",
        "{-# a: 1 b: 2 #-}",
    ],
)
def test_bad_sections(section: str) -> None:
    with pytest.raises(ParseError, match=r"line 2: unexpected .* in the resources of the module"):
        take_external_resources(f"module {{}}\n{section}")


@pytest.mark.parametrize("text", ["", "plain", 'a"b', "a\\b", "a\nb", '\\"', "ä€", "\\n"])
def test_string_literals(text: str) -> None:
    assert unquoted(quoted(text)) == text


def test_escapes_of_mlir() -> None:
    assert unquoted(r'"{\22a\22: 1}\0A\C3\A4\t\\22"') == '{"a": 1}\nä\t\\22'
