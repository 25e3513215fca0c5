"""`--verify-roundtrip`: the differences that it reports."""

from __future__ import annotations

from typing import Any

import pytest
import relax_mlir as rx
from relax_mlir.diagnostics import BYTECODE
from relax_mlir.dialects import dialect
from relax_mlir.error import VerifyError
from relax_mlir.mlir import ir
from relax_mlir.tools.opt_actions import bytecode_of, verify_roundtrip

TEXT = "func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\n"
OTHER = "func.func @g(%a: i32) -> i32 {\n  return %a : i32\n}\n"


def test_bytecode_is_read_again() -> None:
    module = rx.IRModule.parse(TEXT)
    data = bytecode_of(module.mlir)
    assert data.startswith(BYTECODE)
    assert str(ir.Module.parse(data, dialect.context())) == str(module.mlir)
    verify_roundtrip(module.mlir, dialect.context)


def test_text_that_cannot_be_read_again() -> None:
    """The other context does not accept what the first one does."""
    context = dialect.context()
    context.allow_unregistered_dialects = True
    module = ir.Module.parse('"nobody.knows"() : () -> ()', context)
    with pytest.raises(VerifyError, match="failed to parse textual content back") as caught:
        verify_roundtrip(module, dialect.context)
    assert "unregistered dialect" in caught.value.diagnostics[0].message


class Printing:
    """A module whose text or bytecode is that of another module."""

    def __init__(self, text: str, bytecode: str) -> None:
        self.operation = self
        self.true = rx.IRModule.parse(TEXT).mlir
        self.text, self.bytecode = (rx.IRModule.parse(each).mlir for each in (text, bytecode))

    def get_asm(self, enable_debug_info: bool = False, **others: Any) -> str:
        shown = self.true if others else self.text
        return str(shown.operation.get_asm(enable_debug_info=enable_debug_info, **others))

    def write_bytecode(self, stream: Any) -> None:
        self.bytecode.operation.write_bytecode(stream)


@pytest.mark.parametrize(("text", "bytecode", "kind"), [(OTHER, TEXT, "textual"), (TEXT, OTHER, "bytecode")])
def test_another_module_comes_back(text: str, bytecode: str, kind: str) -> None:
    module: Any = Printing(text, bytecode)
    with pytest.raises(VerifyError, match=rf"{kind} round-trip: .* differs\n  before: .*\"f\".*\n  after:  .*\"g\""):
        verify_roundtrip(module, dialect.context)
    verify_roundtrip(Printing(TEXT, TEXT), dialect.context)  # type: ignore[arg-type]  # prints like a module


def test_weights_come_back() -> None:
    text = """func.func @f() -> tensor<4xf32> {
  %w = arith.constant dense_resource<weights> : tensor<4xf32>
  return %w : tensor<4xf32>
}
{-# dialect_resources: { builtin: { weights: "0x0400000001000000020000000300000004000000" } } #-}
"""
    module = rx.IRModule.parse(text)
    verify_roundtrip(module.mlir, dialect.context)
    again = ir.Module.parse(bytecode_of(module.mlir), dialect.context())
    assert "04000000" in str(again) and "01000000020000000300000004000000" in str(again)


def test_names_are_optional() -> None:
    module = rx.IRModule.parse("func.func @f(%first: i32) -> i32 {\n  return %first : i32\n}\n")
    for elide_above in (16, None):
        assert "%first" in module.asm(elide_above=elide_above)
        assert "%arg0" in module.asm(elide_above=elide_above, value_names=False)
    assert "%first" in str(module)
