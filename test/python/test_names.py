"""Names that MLIR text, a linker, a shell or Python could misinterpret: they work, or are refused."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
import warm_process
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, ParseError, UnsupportedError, VerifyError
from relax_mlir.export import inspect_library
from relax_mlir.mlir import ir
from relax_mlir.mlir_text import attribute, quoted, quoted_bytes, symbols_in, undecodable, unquoted
from relax_mlir.script import parse
from relax_mlir.transform.pipeline_text import option_text, split_options
from relax_mlir.transform.run import Recipe, command

ODD = (
    *('a"b', "a\nb", "a\\b", "a'b", "a b", "ä", "😀", "a${b}", "%s%n", "// x", "\x01exp", "\x7f"),
    *(
        "malloc",
        "free",
        "memcpy",
        "exp",
        "main",
        "_start",
        "_init",
        "llvm.memcpy",
        "TVMFFIErrorMoveFromRaised",
    ),
    *("class", "None", "1", "-", "--help", "state", "f.level1", "code.f", "\u2028", "n" * 3000),
)
"""Names that functions may have."""


@functools.cache
def module() -> rx.IRModule:
    """A function x * number for each of `ODD`."""
    bb = rx.BlockBuilder()
    for number, name in enumerate(ODD):
        x = rx.Var(name, rx.Tensor(("n",), "float32"))
        with bb.function(name, [x]):
            bb.emit_func_output(R.multiply(x, R.const(np.float32(number))))
    return bb.get()


@functools.cache
def executable() -> rx.Executable:
    return rx.build(module(), opt_level=0)


def check_results(function_called: object) -> None:
    """Compare what each function gives with NumPy; `function_called` takes a name."""
    assert callable(function_called)
    x = np.arange(3, dtype="float32")
    for number, name in enumerate(ODD):
        found = np.from_dlpack(function_called(name)(tvm_ffi.from_dlpack(x)))
        np.testing.assert_array_equal(found, x * number, err_msg=name)


def test_functions_of_the_process() -> None:
    module().verify()
    check_results(lambda name: executable()[name])


def test_functions_of_libraries(tmp_path: Path) -> None:
    """Files have such names, too."""
    for number, name in enumerate(('a"b\n', "-x y\\", "${x} ä.b")):
        library = executable().export_library(tmp_path / f"{name}.so", weights="beside" if number else "embed")
        assert set(inspect_library(library).facts["functions"]) == set(ODD)
        check_results(tvm_ffi.load_module(str(library)).get_function)


def test_functions_of_bytecode(tmp_path: Path) -> None:
    rx.build(module(), exec_mode="bytecode").save(tmp_path / 'a"b.vmexec')
    loaded = rx.vm.Executable.load(tmp_path / 'a"b.vmexec')
    machine = rx.VirtualMachine(loaded)
    check_results(lambda name: machine[name])
    assert loaded.as_text().count("\n@") == len(loaded.functions) - 1
    made: dict[str, object] = {}
    exec(loaded.as_python(), made)
    assert made["ex"] == loaded


def test_text_and_script() -> None:
    assert set(rx.IRModule.parse(str(module())).functions) == set(ODD)
    again = parse(module().script())
    assert set(again.functions) == set(ODD)
    assert rx.analysis.structural_equal(again, module())


TEXT = """func.func @{}(%x: tensor<4xf32> {{relax.name = "x"}}) -> tensor<4xf32> {{ return %x : tensor<4xf32> }}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> {{ return %x : tensor<4xf32> }}"""


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ('""', "is empty"),
        ('"a.shapes"', "reserved for the lowering"),
        ('"__a"', "reserved for the lowering"),
        ('"x__tvm_ffi_a"', "reserved for the lowering"),
    ],
)
def test_names_that_verify_refuses(name: str, reason: str) -> None:
    with pytest.raises(VerifyError, match=rf"{reason}.*\[invariant 9\]"):
        rx.IRModule.parse(TEXT.format(name)).verify()


def test_names_of_other_symbols() -> None:
    """Of private functions, of globals, and below level R1: `verify` accepts them, `build` does not."""
    for more in (
        r'func.func private @"a\00"(%x: tensor<4xf32>, %out: tensor<4xf32>) -> tensor<4xf32> attributes '
        "{relax.prim_func} { return %out : tensor<4xf32> }",
        r'llvm.func @"a\00"()',
        r'memref.global "private" @"a\00" : memref<4xf32> = uninitialized',
    ):
        named = rx.IRModule.parse(f"{TEXT.format('main')}\n{more}")
        named.verify()
        assert str(rx.IRModule.parse(str(named))) == str(named)
        for mode in ("native", "bytecode"):
            with pytest.raises(VerifyError, match=r"has a NUL character.*\[invariant 18\]"):
                rx.build(named, exec_mode=mode)


def test_the_build_of_a_name_with_nul_is_an_error() -> None:
    """Built in a child process: LLVM would abort it."""
    text = TEXT.format(r'"a\00b"')
    code = f"""
import relax_mlir as rx
try:
    rx.build(rx.IRModule.parse({text!r}), cache=False)
except rx.error.VerifyError as error:
    print(error)
"""
    done = warm_process.run(["-c", code])
    assert done.returncode == 0
    assert b"[invariant 18]" in done.stdout


@pytest.mark.parametrize("name", ["a\0b", "", "a\udc80"])
def test_names_that_builders_refuse(name: str) -> None:
    bb = rx.BlockBuilder()
    info = rx.Tensor((4,), "float32")
    with pytest.raises(ArgumentError, match="function: 'name'"), bb.function(name, []):
        pass
    with pytest.raises(ArgumentError), bb.function("main", [rx.Var(name, info)]):
        pass
    with pytest.raises(ArgumentError, match="a function's name"):
        module().clone()[name] = module()["main"]


def test_strings_that_are_no_text() -> None:
    """The bindings cannot return such strings to Python."""
    for text in (TEXT.format(r'"a\80"'), TEXT.format("main").replace('"x"', r'"x\FF"')):
        with pytest.raises(ParseError, match="is no UTF-8 text"):
            rx.IRModule.parse(text)
    assert set(rx.IRModule.parse(TEXT.format(r'"\C3\A4"')).functions) == {"ä", "other"}
    data = r'llvm.mlir.global internal constant @data("\80\FF") {addr_space = 0 : i32}'
    rx.IRModule.parse(f"{data}\n{TEXT.format('main')}").verify()


CALL = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = builtin.unrealized_conversion_cast %x : tensor<4xf32> to tuple<tensor<4xf32>>
  %1 = "relax.{op}"(%0) {{callee = {callee}{more}}} : (tuple<tensor<4xf32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}}"""


@pytest.mark.parametrize(("op", "more"), [("call", ""), ("call_tir", ", tir_vars = []")])
def test_nested_references(op: str, more: str) -> None:
    with pytest.raises(ParseError, match=f"{op}: attribute 'callee' is @main::@x, expected a symbol"):
        rx.IRModule.parse(CALL.format(op=op, callee="@main::@x", more=more))


def test_versions_of_symbols_have_no_library(tmp_path: Path) -> None:
    changed = rx.IRModule({"a@b": module()["main"]})
    with pytest.raises(UnsupportedError, match="no function 'a@b': linkers read a version"):
        rx.build(changed, opt_level=0).export_library(tmp_path / "x.so")


def test_paths_that_cannot_be(tmp_path: Path) -> None:
    for path in ("a\0b.so", f"{'n' * 300}.so", f"{tmp_path}/file/x.so"):
        (tmp_path / "file").write_text("")
        with pytest.raises(ArgumentError, match="export_library"):
            executable().export_library(tmp_path / path)
    with pytest.raises(ArgumentError, match="NUL"):
        module().save(tmp_path / "a\0b")


@pytest.mark.parametrize("name", ODD)
def test_literals_of_mlir(name: str) -> None:
    assert unquoted(quoted(name)) == name
    with ir.Context():
        assert ir.StringAttr(ir.Attribute.parse(quoted(name))).value == name
        found = ir.DictAttr(ir.Attribute.parse(attribute({name: name})))
        assert ir.StringAttr(found[name]).value == name
    head = f"llvm.func @{quoted(name)}()\nfunc.func private @plain()"
    assert symbols_in(head) == {name, "plain"}


def test_bytes_that_are_no_text() -> None:
    assert undecodable(b'"a" ' + quoted_bytes(b"\xc3").encode()) == '"\\C3"'
    assert undecodable(b'// \xff\n"a" "b\xc3"') == '"b\ufffd"'
    assert undecodable('// ä\n"ä"'.encode()) == ""
    assert undecodable(quoted("ä").encode() + b' // "\\\\80"') == ""


def test_options_of_passes() -> None:
    for text in ("", "a b", 'a"b', "a'b c", "{x", "a\nb", "plain"):
        assert split_options("pass", f"file={option_text(text)} n=1") == [("file", text), ("n", "1")]
    with pytest.raises(ArgumentError, match="both kinds"):
        option_text("a\"b'c")


def test_commands_that_replay() -> None:
    path = Path("/tmp/a b;$(x)/'failed'.mlir")
    said = command(path, Recipe("builtin.module(canonicalize)", False))
    assert said is not None
    assert shlex.split(said)[-1] == str(path)
