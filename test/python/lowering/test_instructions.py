"""The instructions of kernels, in the assembly that LLVM generates for several CPUs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

import pytest
import sweep
from jit import link, lower
from machine_text import Assembly, Code, destinations
from math_check import MAX_ULP, MAX_ULP_DOUBLE, loop
from relax_mlir.lowering.expand import ExpandFma, ExpandMath, ExpandRounding
from relax_mlir.lowering.kernels.attention.attention import emit_weighted_sum
from relax_mlir.lowering.kernels.attention.attention_pack import Sizes
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm
from relax_mlir.lowering.kernels.gemm.gemm_blocks import Parts
from relax_mlir.lowering.kernels.gemm.gemm_micro import emit_finish, emit_tile
from relax_mlir.lowering.kernels.gemm.gemm_pack import PAIR
from relax_mlir.lowering.kernels.gemm.gemm_small_n import emit_narrow
from relax_mlir.lowering.kernels.gemm.gemm_tiling import tiling
from relax_mlir.lowering.kernels.gemm.gemv import emit_by_dots
from relax_mlir.lowering.llvm.cross_compile import assembly, llvm_ir, object_file
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

REGISTERS = {
    "x86-64": r"%xmm\d+",
    "haswell": r"%ymm\d+",
    "skylake-avx512": r"%zmm\d+",
    "sapphirerapids": r"%zmm\d+",
    "neoverse-n1": r"v\d+\.(4s|2d)",
}
"""The vector registers of each CPU."""

NO_FMA = "haswell -mattr=-fma"
CPUS = tuple(REGISTERS)
MULTIPLY_ADD = r"vfmadd\d+p|fmla "
MULTIPLY = r"v?mulp"


def target_of(cpu: str) -> Target:
    return Target(f"cpu -mcpu={cpu}")


def code_of(module: ir.Module, target: Target) -> Assembly:
    """The assembly of a module of kernels, all of whose functions are kept."""
    for op in module.body.operations:
        if isinstance(op, func.FuncOp) and op.regions[0].blocks:
            op.attributes["sym_visibility"] = ir.StringAttr.get("public")
            op.attributes["llvm.linkage"] = ir.Attribute.parse("#llvm.linkage<external>")
            op.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get("noinline")])
    lower(module, str(target))
    return Assembly(assembly(llvm_ir(module), target))


@cache
def tiles(cpu: str, element: str, panel: str) -> Assembly:
    """The register tiles of a GEMM for all numbers of rows."""
    with ir.Context(), ir.Location.unknown():
        module, types = ir.Module.create(), [ir.Type.parse(name) for name in (element, panel)]
        sizes = tiling(target_of(cpu), types[0].width)
        emit_finish(module.body, "tile_finish", sizes, types[0], None)
        for rows in sizes.row_counts:
            emit_tile(
                module.body,
                f"tile_{rows}",
                "tile_finish",
                sizes,
                types[0],
                rows,
                (types[0], types[1]),
                None,
            )
        operands = (types[0], types[1])
        emit_tile(
            module.body,
            "tile_narrow",
            "tile_finish",
            sizes,
            types[0],
            sizes.rows,
            operands,
            None,
            narrow=True,
        )
        return code_of(module, target_of(cpu))


def check_tile(loop: Code, multiply: str, sums: int, register: str, steps: int) -> None:
    """Every accumulator has a separate register in all steps of the depth, and nothing is spilled.

    With two steps, one integer may be spilled: the prefetch distance.
    """
    found = loop.matching(multiply)
    assert len(found) == sums * steps, "\n".join(loop.lines)
    assert all(re.search(register, line) for line in found)
    assert [line for line in loop.on_the_stack if steps == 1 or not line.startswith("addq")] == []
    assert len(loop.on_the_stack) < steps and loop.calls == []


@pytest.mark.parametrize(
    ("cpu", "element", "panel"),
    [(cpu, "f32", "f32") for cpu in CPUS]
    + [(cpu, "f64", "f64") for cpu in sweep.every(CPUS, 2)]
    + [(cpu, "f32", "bf16") for cpu in sweep.every(("x86-64", "haswell", "skylake-avx512", "neoverse-n1"), 2)]
    + [(cpu, "f32", "f16") for cpu in sweep.every(("haswell", "skylake-avx512", "neoverse-n1"), 2)]
    + [(NO_FMA, "f32", "f32")],
)
def test_inner_loop_of_products(cpu: str, element: str, panel: str) -> None:
    """One multiply-add per vector of the tile, each into a separate register; no spills."""
    target = target_of(cpu)
    sizes = tiling(target, int(element[1:]))
    register = REGISTERS[target.cpu]
    multiply = MULTIPLY_ADD if target.has_fma else MULTIPLY
    for rows in sizes.row_counts:
        if rows * sizes.vectors < 6:
            continue  # LLVM may unroll short loops
        inner = tiles(cpu, element, panel)[f"tile_{rows}"].loop_with(multiply)
        steps = sizes.steps if rows == sizes.rows else 1
        check_tile(inner, multiply, rows * sizes.vectors, register, steps)
        sums = inner.matching(MULTIPLY_ADD if target.has_fma else r"v?addp")
        assert len(destinations(sums)) == rows * sizes.vectors
        moves = inner.count(r"v?movap\w %\w+, %|mov v")
        assert moves <= (rows * sizes.vectors * steps if cpu == "x86-64" else 0)  # two-operand instructions need copies


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "neoverse-n1"])
def test_inner_loop_of_narrow_tiles(cpu: str) -> None:
    """The highest tile, with one vector per row, reads one vector of each row of the panel."""
    sizes = tiling(target_of(cpu), 32)
    inner = tiles(cpu, "f32", "f32")["tile_narrow"].loop_with(MULTIPLY_ADD)
    check_tile(inner, MULTIPLY_ADD, sizes.rows, REGISTERS[target_of(cpu).cpu], sizes.steps)
    assert len(destinations(inner.matching(MULTIPLY_ADD))) in (sizes.rows, sizes.rows * sizes.steps)


@pytest.mark.parametrize(
    ("options", "register"), [("", r"%zmm\d+"), (" -vector-bytes=32 -vector-registers=16", r"%ymm\d+")]
)
def test_inner_loop_of_products_of_pairs(options: str, register: str) -> None:
    """One dot product per vector of the tile; a pair is read once for all vectors of its row."""
    target = Target("cpu -mcpu=sapphirerapids -mattr=-amx_bf16" + options)
    with ir.Context(), ir.Location.unknown():
        module, sizes = ir.Module.create(), tiling(target, 32, PAIR)
        bf16, f32 = ir.BF16Type.get(), ir.F32Type.get()
        emit_finish(module.body, "tile_finish", sizes, f32, None)
        emit_tile(module.body, "tile", "tile_finish", sizes, f32, sizes.rows, (bf16, bf16), None)
        inner = code_of(module, target)["tile"].loop_with("vdpbf16ps")
    check_tile(inner, "vdpbf16ps", sizes.rows * sizes.vectors, register, sizes.steps)
    assert len(destinations(inner.matching("vdpbf16ps"))) == sizes.rows * sizes.vectors
    assert inner.count(r"vbroadcastss|vpbroadcastd") == sizes.rows * sizes.steps


def test_tiles_ask_for_what_comes_next() -> None:
    """Tiles for AVX2 prefetch one cache line into L2 per iteration."""
    for cpu, asked in (("haswell", 1), ("skylake-avx512", 0), ("neoverse-n1", 0)):
        for rows in tiling(target_of(cpu), 32).row_counts[1:]:
            inner = tiles(cpu, "f32", "f32")[f"tile_{rows}"].loop_with(MULTIPLY_ADD)
            assert inner.count(r"prefetcht1 \(%r|prfm pldl2") == asked


@pytest.mark.parametrize(
    ("cpu", "accumulators"), [("haswell", 12), ("skylake-avx512", 28), ("neoverse-n1", 24), ("x86-64", 12)]
)
def test_accumulators_of_the_tile(cpu: str, accumulators: int) -> None:
    sizes = tiling(target_of(cpu), 32)
    assert sizes.rows * sizes.vectors == accumulators


def test_edges_are_masked() -> None:
    """A partial tile is read and written through masks, with AVX2 through 1/2, 1/4, … of a register."""
    masked = tiles("skylake-avx512", "f32", "f32")["tile_finish"]
    assert any("{%k" in line for line in masked.lines)
    pieces = tiles("haswell", "f32", "f32")["tile_finish"]
    assert pieces.count("vmaskmovps") == 0
    assert all(pieces.count(rf"{store} %xmm\d+, .*\(") >= 1 for store in ("vmovups", "vmovlps", "vmovss"))


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512"])
@pytest.mark.parametrize("bits", sweep.quick([32, 64], 32))
def test_inner_loops_of_narrow_products(cpu: str, bits: int) -> None:
    """Each accumulator has a separate register; no vector except a mask is spilled."""
    target = target_of(cpu)
    with ir.Context(), ir.Location.unknown():
        module, sizes, element = ir.Module.create(), tiling(target, bits), ir.Type.parse(f"f{bits}")
        emit_by_dots(module.body, Parts("product").dots, sizes, element, element)
        emit_narrow(module.body, Parts("product"), sizes, element)
        code = code_of(module, target)
    high = min(sizes.rows, 8)
    tiles = {"one": 8, "two": 2 * high, "tall": 4 * (3 if cpu == "haswell" else 4)}
    tiles |= {"two_whole": 2 * high} if cpu == "haswell" else {"one_half": 2 * high} if bits == 64 else {}
    for kind, sums in tiles.items():
        inner = code[f"product.unpacked_{kind}"].loop_with(MULTIPLY_ADD)
        assert len(destinations(inner.matching(MULTIPLY_ADD))) == sums
        assert [line for line in inner.on_the_stack if not line.startswith("vmov")] == []
        assert len(inner.on_the_stack) <= 1 and inner.calls == []


@cache
def product(cpu: str, operand: str) -> Assembly:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        emit_gemm(module.body, GemmKernel(operand, "f32"), target_of(cpu))
        link(module, target_of(cpu))
        return code_of(module, target_of(cpu))


def test_tile_matrix_multiply() -> None:
    """Four tile multiplications per two tiles of each operand, and no other instructions than those of the loop."""
    code = product("sapphirerapids", "bf16")
    inner = code.everything.loop_with("tdpbf16ps")
    assert (inner.count("tdpbf16ps"), inner.count("tileloadd")) == (4, 4)
    assert len(destinations(inner.matching("tdpbf16ps"))) == 4
    assert inner.on_the_stack == []


@pytest.mark.parametrize("cpu", sweep.quick(CPUS, "sapphirerapids", "neoverse-n1"))
def test_products_call_nothing_that_is_slow(cpu: str) -> None:
    called = {name for name in product(cpu, "bf16").everything.calls if not name.startswith("relax.")}
    assert called <= {"malloc", "free", "memset", "memcpy"}


def functions(names: Sequence[str], target: Target, bits: int = 32) -> Assembly:
    """`apply_NAME` for each: a math function on a buffer, vector by vector."""
    with ir.Context():
        module = ir.Module.parse("\n".join(loop(name, f"f{bits}", target.lanes(bits)) for name in names))
        with ir.Location.unknown():
            ExpandMath(str(target)).apply_(module)
            for expand in (ExpandFma(str(target)), ExpandRounding(str(target))):
                expand.run(module, PassContext())
            return code_of(module, target)


@pytest.mark.parametrize("cpu", sweep.quick([*CPUS, NO_FMA], *CPUS[::2], NO_FMA))
def test_math_functions_are_vector_code(cpu: str) -> None:
    """No function of f32 calls libm, and all work on whole registers."""
    target = target_of(cpu)
    code = functions(sorted(MAX_ULP), target)
    for name in MAX_ULP:
        found = code[f"apply_{name}"]
        assert found.calls == [], f"{name} calls {set(found.calls)}"
        assert found.count(rf"\S*mulp\S* .*{REGISTERS[target.cpu]}|fmul v|fmla v|\S*fmadd\S* .*%[yz]mm") >= 2


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "neoverse-n1"])
def test_math_functions_of_f64_are_vector_code(cpu: str) -> None:
    """They call nothing, multiply and add whole registers, and use at most two divisions."""
    target = target_of(cpu)
    code = functions(sorted(MAX_ULP_DOUBLE), target, 64)
    for name in MAX_ULP_DOUBLE:
        found = code[f"apply_{name}"]
        assert found.calls == [], f"{name} calls {set(found.calls)}"
        by_table = cpu == "skylake-avx512" and name in ("exp", "exp2", "log", "log10", "log2")
        assert found.count(MULTIPLY_ADD) >= (6 if by_table else 7) and found.count("vfmadd\\S*sd") == 0
        assert found.count(r"v?divpd|fdiv\s+v") <= (0 if by_table else 2) and found.count(r"v?divsd|fdiv\s+d") == 0


@pytest.mark.parametrize(("cpu", "machine"), [("neoverse-n1", 183), ("haswell", 62)])
def test_objects(cpu: str, machine: int) -> None:
    """Kernels become relocatable ELF objects of the target's machine."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        sizes = tiling(target_of(cpu), 32)
        f32 = ir.F32Type.get()
        emit_finish(module.body, "tile_finish", sizes, f32, None)
        emit_tile(module.body, "tile", "tile_finish", sizes, f32, sizes.rows, (f32, f32), None)
        lower(module, f"cpu -mcpu={cpu}")
        data = object_file(llvm_ir(module), target_of(cpu))
    assert data[:6] == b"\x7fELF\x02\x01" and data[18] == machine


@pytest.mark.parametrize("cpu", ["haswell", "skylake-avx512", "neoverse-n1"])
def test_products_of_attention_stay_in_registers(cpu: str) -> None:
    """One query sums values in place, several panels or steps at once; the rest are GEMM tiles."""
    target = target_of(cpu)
    with ir.Context(), ir.Location.unknown():
        module, element = ir.Module.create(), ir.F32Type.get()
        sizes = Sizes.of(target, element)
        emit_weighted_sum(module.body, "weighted_sum", sizes)
        code = code_of(module, target)["weighted_sum"]
    assert code.loop_with(MULTIPLY_ADD).count(MULTIPLY_ADD) >= 8
    for inner in code.inner_loops:
        spilled = [line for line in inner.on_the_stack if re.search(r"%[xyz]mm|\bq\d", line)]
        assert spilled == []


def test_loops_are_kept_as_they_are_written() -> None:
    """The loops of kernels are marked, down to LLVM IR, so that LLVM does not unroll them."""
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        emit_gemm(module.body, GemmKernel("f32", "f32"), target_of("haswell"))
        link(module, target_of("haswell"))
        loops = str(module).count("loop_annotation =")
        lower(module, "cpu -mcpu=haswell")
        text = llvm_ir(module)
    assert "llvm.loop.unroll.disable" in text and "llvm.loop.vectorize.disable" in text
    assert len(re.findall(r"!llvm\.loop !", text)) >= loops // 2 > 10
