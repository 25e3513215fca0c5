"""``--irdl-file``: dialects defined by an IRDL file."""

from __future__ import annotations

from collections.abc import Iterator

from relax_mlir.diagnostics import collect, of_error, parse_module
from relax_mlir.error import Diagnostic, ParseError
from relax_mlir.files import read_bytes
from relax_mlir.mlir import ir, irdl


def load_irdl_file(path: str, context: ir.Context) -> None:
    """Register the dialects of a file in a context.

    Raises:
        ParseError: the file cannot be read or is no valid IRDL, or a dialect exists already.
    """
    try:
        data = read_bytes(path)
    except OSError as error:
        raise ParseError(f"cannot open IRDL file '{path}': {error.strerror}") from None
    try:
        module = parse_module(data, context)
    except ir.MLIRError as error:
        raise _invalid(path, of_error(error)) from None
    names = list(_dialects(module))
    if not names:
        raise ParseError(f"'{path}' is no IRDL file: it has no irdl.dialect")
    for name in names:
        if _is_there(name, context):
            raise ParseError(f"'{path}' defines dialect '{name}', which is there already")
    found: list[Diagnostic] = []
    try:
        with collect(context, found.append), context:
            irdl.load_dialects(module)
    except (RuntimeError, ValueError, ir.MLIRError) as error:
        raise _invalid(path, [*found, *of_error(error)]) from None


def _invalid(path: str, diagnostics: list[Diagnostic]) -> ParseError:
    errors = [each for each in diagnostics if each.severity == "error"]
    lines = [f"  {path}{str(each).removeprefix('-')}" for each in errors]
    return ParseError("\n".join([f"'{path}' is no valid IRDL file", *lines]))


def _dialects(module: ir.Module) -> Iterator[str]:
    for op in module.body.operations:
        if op.operation.name == "irdl.dialect":
            yield ir.StringAttr(op.operation.attributes["sym_name"]).value


def _is_there(name: str, context: ir.Context) -> bool:
    try:
        context.get_dialect_descriptor(name)
    except ValueError:
        return False
    return True
