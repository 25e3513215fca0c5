"""Checks as data: what `relax.check` says, and the function that formats and raises the error."""

from __future__ import annotations

import re
from dataclasses import dataclass

from relax_mlir.error import CompileError
from relax_mlir.lowering.abi.signature import plain
from relax_mlir.lowering.abi.text import Code, Fragment, quoted, symbol
from relax_mlir.mlir import ir

PLACEHOLDER = re.compile(r"\{(\d+)(?::(\w+))?\}")
_NAMERS = {
    "dtype": "relax.rt.dtype_name",
    "device": "relax.rt.device_name",
    "type": "relax.rt.type_name",
}
_NAME_ROOM = 64


@dataclass(frozen=True)
class Check:
    """An error that a check raises: its kind, and its message with `{i}` for the i-th index value.

    `{i:dtype}`, `{i:device}` and `{i:type}` show a DLDataType, a DLDeviceType or an FFI type index by name.
    Braces that do not hold a number stand for themselves.
    """

    kind: str
    message: str

    @staticmethod
    def of(hook: ir.Operation) -> Check:
        """The check that a declaration with the attribute `relax.check` stands for."""
        data = plain(hook.attributes["relax.check"])
        return Check(data["kind"], data["message"])

    def raiser(self, fragment: Fragment, name: str, count: int) -> None:
        """Define `@name(index × count)`, which formats the message and sets it as the raised FFI error."""
        code = Code()
        format, values = "", []
        end = 0
        for match in PLACEHOLDER.finditer(self.message):
            position, shown = int(match[1]), match[2]
            if position >= count or (shown and shown not in _NAMERS):
                raise CompileError(f"message of check {name}: {match[0]} has no value: {self.message!r}")
            format += self.message[end : match.start()].replace("%", "%%")
            end = match.end()
            number = code.let(f"arith.index_cast %a{position} : index to i64")
            if shown:
                type = "(i64, !llvm.ptr) -> !llvm.ptr"
                namer = fragment.declare(_NAMERS[shown], type)
                values.append((code.let(f"func.call {namer}({number}, {code.stack(_NAME_ROOM)}) : {type}"), "!llvm.ptr"))
                format += "%s"
            else:
                values.append((number, "i64"))
                format += "%lld"
        format += self.message[end:].replace("%", "%%")
        size = len(format.encode()) + 24 * len(values) + _NAME_ROOM * len(values) + 1
        buffer = code.stack(size)
        fragment.define(f"llvm.mlir.global internal constant {symbol(name + '.format')}({quoted(format + chr(0))})")
        fragment.define(f"llvm.mlir.global internal constant {symbol(name + '.kind')}({quoted(self.kind + chr(0))})")
        text = code.let(f"llvm.mlir.addressof {symbol(name + '.format')} : !llvm.ptr")
        kind = code.let(f"llvm.mlir.addressof {symbol(name + '.kind')} : !llvm.ptr")
        fragment.external("@snprintf(!llvm.ptr, i64, !llvm.ptr, ...) -> i32")
        fragment.external("@TVMFFIErrorSetRaisedFromCStr(!llvm.ptr, !llvm.ptr)")
        operands = ", ".join([buffer, code.constant(size), text, *(v for v, _ in values)])
        types = ", ".join(["!llvm.ptr", "i64", "!llvm.ptr", *(t for _, t in values)])
        code.let(f"llvm.call @snprintf({operands}) vararg(!llvm.func<i32 (ptr, i64, ptr, ...)>) : ({types}) -> i32")
        code.do(f"llvm.call @TVMFFIErrorSetRaisedFromCStr({kind}, {buffer}) : (!llvm.ptr, !llvm.ptr) -> ()")
        code.do("func.return")
        parameters = ", ".join(f"%a{i}: index" for i in range(count))
        fragment.function(
            f"private {symbol(name)}({parameters})", code, 'passthrough = ["cold", "noinline"]'
        )
