"""`relax_mlir.tools.emit_code`: LLVM IR, assembly and objects of modules, for any target."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import relax_mlir as rx
import sweep
from relax_mlir import op as R
from relax_mlir.error import ArgumentError, CompileError, UnknownNameError, UnsupportedError
from relax_mlir.lowering.base.module_parts import feature_text
from relax_mlir.lowering.llvm import cross_compile
from relax_mlir.lowering.llvm.cross_compile import llvm_ir, with_exact_floats
from relax_mlir.lowering.pipeline import pipeline
from relax_mlir.mlir import ir
from relax_mlir.target import Target
from relax_mlir.tools import emit_code as emit

ARM = "cpu -mcpu=neoverse-n1"


@pytest.fixture(scope="module")
def module() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(R.multiply(x, x)))
    return bb.get()


def test_llvm_ir_leaves_the_module(module: rx.IRModule) -> None:
    before = str(module)
    text = emit.llvm_ir(module, "cpu -mcpu=haswell")
    assert "define void @relax.fn.main(" in text and "fmul <8 x float>" in text
    assert str(module) == before


def test_a_lowered_module_is_taken_as_it_is(module: rx.IRModule) -> None:
    lowered = module.clone()
    lowered.apply_(pipeline("relax-to-llvm", "cpu -mcpu=haswell"))
    assert emit.llvm_ir(lowered, "cpu -mcpu=x86-64") == emit.llvm_ir(module, "cpu -mcpu=haswell")


def test_assembly_is_that_of_the_target(module: rx.IRModule) -> None:
    assert "fmul\tv" in emit.assembly(module, ARM)
    assert "%ymm" in emit.assembly(module, "cpu -mcpu=haswell")
    baseline = emit.assembly(module, Target("cpu -mcpu=x86-64"))
    assert "mulps" in baseline and "vmulps" not in baseline
    assert "vmulps" in emit.assembly(module, "cpu", opt_level=0) or Target.host().architecture != "x86_64"


@pytest.mark.parametrize(("target", "machine"), [(ARM, 183), ("cpu -mcpu=haswell", 62)])
def test_objects_are_relocatable_elf(module: rx.IRModule, target: str, machine: int) -> None:
    data = emit.object_file(module, target)
    kind, found = struct.unpack_from("<HH", data, 16)
    assert data[:5] == b"\x7fELF\x02" and (kind, found) == (1, machine)
    assert b"__tvm_ffi_main\0" in data


def test_objects_of_other_systems(module: rx.IRModule) -> None:
    data = emit.object_file(module, "cpu -mcpu=neoverse-n1 -mtriple=arm64-apple-darwin")
    assert data[:4] == b"\xcf\xfa\xed\xfe"  # Mach-O


def test_features() -> None:
    assert feature_text(Target("cpu -mcpu=haswell -mattr=-fma")) == (
        "+avx,+avx2,+f16c,+sse4.1,-amx-bf16,-amx-int8,-amx-tile,-avx512bf16,-avx512fp16,-avx512vnni,-avx512bw,-avx512dq,"
        "-avx512f,-avx512vl,-fma"
    )
    assert feature_text(Target(ARM)) == "+neon,+dotprod,+fullfp16,-bf16,-sve"


@pytest.mark.parametrize(
    ("line", "exact"),
    [
        ("  %1 = fmul float %0, 8.368780e-03", "  %1 = fmul float %0, 0x3F8123A6A0000000"),
        ("splat (float f0x7F800000)", "splat (float 0x7FF0000000000000)"),
        ("splat (float +inf)", "splat (float 0x7FF0000000000000)"),
        ("ret float -qnan", "ret float 0xFFF8000000000000"),
        ("ret float +nan(0x1)", "ret float 0x7FF8000020000000"),
        ("ret float +snan(0x200001)", "ret float 0x7FF4000020000000"),
        ("ret double -inf", "ret double 0xFFF0000000000000"),
        ("ret half +snan(0x101)", "ret half 0xH7D01"),
        ("float %x, float f0xFFA00001)", "float %x, float 0xFFF4000020000000)"),
        ("<2 x half> <half 1.5, half f0x7C00>", "<2 x half> <half 0xH3E00, half 0xH7C00>"),
        ("ret half f0x7C00", "ret half 0xH7C00"),
        ("phi bfloat [ 1.5, %a ], [ f0x8000, %b ]", "phi bfloat [ 0xR3FC0, %a ], [ 0xR8000, %b ]"),
        ("fadd double 1.1, f0x7FF0000000000000", "fadd double 1.1, 0x7FF0000000000000"),
        ('@t = constant [4 x i8] c"float 0.1 "', '@t = constant [4 x i8] c"float 0.1 "'),
        ("call float @f.1.5(float %x)", "call float @f.1.5(float %x)"),
        ('call float @"float 1.5 "(float 1.5)', 'call float @"float 1.5 "(float 0x3FF8000000000000)'),
        ('ret float 1.5, !"half 1.5 "', 'ret float 0x3FF8000000000000, !"half 1.5 "'),
    ],
)  # fmt: skip
def test_float_constants_are_exact(line: str, exact: str) -> None:
    assert with_exact_floats(line) == exact


CONSTANTS = {
    "f32": [0x7F800000, 0xFF800000, 0xFFC00000, 0x7FA00001, 0x7FC00001, 0x80000000, 0x3DCCCCCD],
    "f64": [
        0x7FF0000000000000,
        0xFFF8000000000000,
        0x7FF8000000000001,
        0x7FF4000000000001,
        0x3FB999999999999A,
    ],
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_reach_the_code(name: str) -> None:
    """Every bit of a constant is in the assembly."""
    width = int(name[1:])
    with ir.Context(), ir.Location.unknown():
        functions = [
            f"llvm.func @f{n}(%p: !llvm.ptr) {{ %0 = llvm.mlir.constant({bits:#x} : {name}) : {name}\n"
            f"llvm.store %0, %p : {name}, !llvm.ptr llvm.return }}"
            for n, bits in enumerate(CONSTANTS[name])
        ]
        text = llvm_ir(ir.Module.parse("\n".join(functions)))
    code = cross_compile.assembly(text, Target("cpu -mcpu=haswell"))
    stored = re.findall(r"(?:mov\w*|movabsq)\s+\$(-?\d+), [(%]", code)
    assert [int(value) % 2**width for value in stored] == CONSTANTS[name]


def test_text_that_is_no_ir() -> None:
    with pytest.raises(CompileError, match=r"llvmlite, with LLVM [\d.]+, cannot read the LLVM IR"):
        cross_compile.assembly("define toast", Target(ARM))


def test_bad_arguments(module: rx.IRModule) -> None:
    with pytest.raises(ArgumentError, match="llvm_ir: 'mod' is 3"):
        emit.assembly(3)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown CPU 'toaster'"):
        emit.assembly(module, "cpu -mcpu=toaster")
    wrong: tuple[Any, ...] = (-1, 4, "2")
    for call in (emit.assembly, emit.object_file):
        for level in wrong:
            with pytest.raises(ArgumentError, match=f"'opt_level' is {level!r}, expected an integer from 0 to 3"):
                call(module, opt_level=level)


@pytest.mark.parametrize("level", sweep.quick(range(4), 0))
def test_tiles_at_all_levels(level: int) -> None:
    """At level 0, LLVM's code generator would abort the process on them."""
    bb = rx.BlockBuilder()
    x, y = (rx.Var(name, rx.Tensor(("n", "n"), "bfloat16")) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(R.matmul(x, y)))
    text = emit.assembly(bb.get(), "cpu -mcpu=sapphirerapids", level)
    assert "tdpbf16ps" in text


def test_without_llvmlite(module: rx.IRModule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llvmlite.binding", None)
    cross_compile._binding.cache_clear()
    with pytest.raises(UnsupportedError, match=r"pip install 'relax-mlir\[asm\]' brings it"):
        emit.assembly(module, ARM)
    assert "define" in emit.llvm_ir(module, ARM)


def test_failing_command_leaves_the_output(module: rx.IRModule, tmp_path: Path) -> None:
    source, output = tmp_path / "module.mlir", tmp_path / "code.o"
    source.write_text(str(module))
    output.write_bytes(b"kept")
    command = [
        sys.executable,
        "-m",
        "relax_mlir.tools.opt",
        str(source),
        "--cse",
        "--emit=obj",
        "-o",
        str(output),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "--relax-to-llvm leads there" in done.stderr
    assert output.read_bytes() == b"kept" and sorted(tmp_path.iterdir()) == [output, source]


@pytest.mark.parametrize("passes", [[], ["--relax-to-llvm"]], ids=["none", "llvm"])
def test_commands_emit_the_kernels(tmp_path: Path, passes: list[str]) -> None:
    """Code is complete: what it calls is in it, or in the C library and the FFI."""
    bb, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor(("n", 8), "float32"))
    w = rx.Var("w", rx.Tensor((8, 16), "float32"))
    with bb.function("main", [x, w]):
        bb.emit_func_output(R.matmul(x, w))
    source = tmp_path / "module.mlir"
    source.write_text(str(bb.get()))
    command = [sys.executable, "-m", "relax_mlir.tools.opt", str(source), *passes, "--emit=llvm-ir"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "@relax.gemm.f32(" in done.stdout
    assert not [line for line in done.stdout.splitlines() if line.startswith("declare") and "relax." in line]
