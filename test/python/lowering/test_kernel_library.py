"""The library of kernels, and which bodies of prim funcs may be replaced by them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.dialects.attributes import ARG_REDUCE, DEFINED_BY, KERNEL, KERNEL_SEAL, MAY_FAIL, SEPARATE
from relax_mlir.error import VerifyError
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.base.module_parts import PART_OPS
from relax_mlir.lowering.base.support import CORE_NAMES, MEMORY_TABLE, THREADS_TABLE
from relax_mlir.lowering.kernels import library
from relax_mlir.lowering.kernels.gemm.gemm import GemmKernel, emit_gemm, emit_gemm_row, emit_tiles
from relax_mlir.lowering.kernels.library import Kernel, define, kernels_of, scratch_module
from relax_mlir.lowering.legalize.check_prim_funcs import CheckPrimFuncs
from relax_mlir.lowering.legalize.legalize_ops import LegalizeOps
from relax_mlir.lowering.llvm.link_kernels import LinkKernels, units_of
from relax_mlir.lowering.loops.parallelize_loops import RUN
from relax_mlir.lowering.pipeline import phases
from relax_mlir.mlir import func, ir
from relax_mlir.mlir_text import functions, is_declaration
from relax_mlir.script import parse
from relax_mlir.target import Target
from relax_mlir.transform import parse_pipeline

F32 = GemmKernel("f32", "f32")
TARGET = Target("cpu -mcpu=haswell", num_threads=2)


@pytest.fixture
def context() -> Iterator[ir.Context]:
    with ir.Context() as context, ir.Location.unknown():
        yield context


def kernels(emit: library.Callable[..., object], target: Target = TARGET) -> list[Kernel]:
    return kernels_of(scratch_module(lambda body: emit(body, F32, target)), target)


def test_modules_declare_kernels(context: ir.Context) -> None:
    module = scratch_module(lambda body: emit_gemm(body, F32, TARGET))
    declared = functions(module)
    assert set(declared) == {"relax.gemm.f32", "relax.gemm.f32.finished"}
    types = {name: op.type for name, op in declared.items()}
    for op in declared.values():
        assert is_declaration(op)
        assert {SEPARATE, MAY_FAIL} <= set(op.attributes)  # it takes memory to pack into
        assert op.attributes[DEFINED_BY].value == "relax.gemm.f32"
    LinkKernels(str(TARGET)).apply_(module)
    linked = functions(module)
    for name, type_ in types.items():
        assert not is_declaration(linked[name]) and linked[name].type == type_
    assert not any(SEPARATE in op.attributes for op in linked.values())


def test_callers_come_first(context: ir.Context) -> None:
    names = [kernel.name for kernel in kernels(emit_gemm)]
    assert names[0] == "relax.gemm.f32"
    assert set(names[1:]) == {"relax.gemm.f32.dots", "relax.gemm.f32.pack_a", "relax.gemm.f32.block"}
    assert [kernel.name for kernel in kernels(emit_gemm_row)] == ["relax.gemm.f32.row", "relax.gemm.f32.dots"]


def test_what_takes_no_memory_cannot_fail(context: ir.Context) -> None:
    (tiles,) = kernels(emit_tiles)
    assert not tiles.failing
    product, *_ = kernels(emit_gemm)
    assert product.failing == set(product.exported)


def test_each_kernel_is_emitted_once_per_target(context: ir.Context) -> None:
    target, emitted = Target("cpu -mcpu=haswell -l1=65536"), []

    def emit(body: ir.Block) -> None:
        emitted.append(body)
        with ir.InsertionPoint(body):
            op = func.FuncOp("relax.test", ([], []), visibility="private")
        with ir.InsertionPoint(op.add_entry_block()):
            func.return_([])

    for cpu in (target, target, Target("cpu -mcpu=haswell -l1=131072"), target):
        scratch_module(lambda body, cpu=cpu: define(body, cpu, ("relax.test",), emit))
    assert len(emitted) == 2
    module = scratch_module(lambda body: [define(body, target, ("relax.test",), emit) for _ in range(2)])
    assert list(functions(module)) == ["relax.test"]


def test_the_least_recently_used_kernels_go(context: ir.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "KEPT", 4)
    monkeypatch.setattr(library, "_kernels", library.OrderedDict())
    kernels(emit_gemm)
    kernels(emit_tiles)
    kernels(emit_gemm_row)
    assert [name for _, name in library._kernels] == [
        f"relax.gemm.f32{ending}" for ending in ("", ".block", ".dots", ".row")
    ]
    # What packs A is gone: the product that needs it is emitted again.
    assert "relax.gemm.f32.pack_a" in [kernel.name for kernel in kernels(emit_gemm)]


def test_units(context: ir.Context) -> None:
    found = kernels(emit_gemm)
    units = list(units_of(found))
    assert units == list(units_of(found))
    exported = {name for unit in units for name in unit.exported}
    assert {name for kernel in found for name in kernel.exported} <= exported
    tables = {MEMORY_TABLE, THREADS_TABLE}
    for unit in units:
        assert unit.is_flat and unit.is_shared
        assert set(unit.external) <= exported | CORE_NAMES | tables
    (product,) = [unit for unit in units if "relax.gemm.f32.finished" in unit.exported]
    assert THREADS_TABLE in {name for unit in units for name in unit.external}
    assert RUN not in exported  # each unit has a copy of small support functions
    (tiles,) = [unit for unit in units if "relax.gemm.f32.block" in unit.exported]
    assert tiles.exported == ("relax.gemm.f32.block",) and not tiles.external
    assert str(ir.Module.parse(tiles.source)).count("noinline")
    parts = [unit for unit in units if unit not in units_of(found[1:])]
    assert product in parts and len(parts) > 1  # of one kernel, so that two threads can compile it
    assert max(unit.ops for unit in parts) < 1.5 * PART_OPS


def attention(target: Target, has_kernels: bool) -> ir.Module:
    """An attention, whose loop over heads calls kernels, down to level F."""
    builder, x = rx.BlockBuilder(), rx.Var("x", rx.Tensor((4, 256, 8, 64), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(R.nn.attention(x, x, x))
    work = builder.get()
    *before, _ = phases(str(target))
    for phase in before:
        work.apply_(rx.transform.Sequential(phase.passes))
        if phase.name == "kernels" and has_kernels:
            work.apply_(LinkKernels(str(target)))
    return work.mlir


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_loops_that_call_kernels_still_have_threads(threads: int) -> None:
    target = Target("cpu", num_threads=threads)
    declared, whole = (attention(target, has_kernels) for has_kernels in (False, True))
    jobs = [{name for name in functions(module) if name.startswith("relax.parallel.")} for module in (declared, whole)]
    assert jobs[0] == jobs[1] and bool(jobs[0]) == (threads > 1)
    assert is_declaration(functions(declared)["relax.gemm.f32.block"])
    assert not is_declaration(functions(whole)["relax.gemm.f32.block"])


def test_modules_share_the_code_of_kernels() -> None:
    objects = [
        rx.build(mod, cache=False)._engine.objects for mod in (product(lambda v: v), product(lambda v: R.nn.relu(v)))
    ]
    common = set(objects[0]) & set(objects[1])
    assert len(common) >= 5  # support functions, and the units of the product
    assert len(objects[0]) == len(set(objects[0]))


def product(finish: library.Callable[..., ir.Value]) -> rx.IRModule:
    builder = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", "k"), "float32")), rx.Var("y", rx.Tensor(("k", "m"), "float32"))
    with builder.function("main", [x, y]):
        builder.emit_func_output(finish(R.matmul(x, y)))
    return builder.get()


def test_what_is_removed_is_not_linked() -> None:
    """Tiles that are compiled early, in vain, are not part of the executable."""
    builder = rx.BlockBuilder()
    x, eye = rx.Var("x", rx.Tensor((4, 4), "float32")), np.eye(4, dtype=np.float32)
    with builder.function("main", [x]):
        with builder.dataflow():
            builder.emit(R.matmul(x, x))
            result = builder.emit_output(R.add(x, x))
        builder.emit_func_output(result)
    executable = rx.build(builder.get(), cache=False)
    assert not any(b"relax.gemm" in code for code in executable._engine.objects)
    np.testing.assert_array_equal(np.from_dlpack(executable["main"](eye)), eye + eye)


DOUBLING = """
func.func private @f(%x: tensor<2x8xf32>, %o: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {{
  relax.prim_func {of_func}
}} {{
  %r = linalg.generic {{
    indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
    iterator_types = ["parallel", "parallel"]
  }} ins(%x : tensor<2x8xf32>) outs(%o : tensor<2x8xf32>) {of_op} {{
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %a : f32
    linalg.yield %c : f32
  }} -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}}
func.func @main(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {{
  %t = builtin.unrealized_conversion_cast %x : tensor<2x8xf32> to tuple<tensor<2x8xf32>>
  %y = "relax.call_tir"(%t) {{callee = @f, tir_vars = []}} : (tuple<tensor<2x8xf32>>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}}
"""
X = np.linspace(-2, 3, 16, dtype=np.float32).reshape(2, 8)
LEAVE_OUT = "which legalize-ops makes: leave it out"
OF_LOWERING = "which the lowering makes: leave it out"
REFUSED = [
    (', relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}', "", LEAVE_OUT),
    (', relax.kernel = "cumsum", relax.kernel_attrs = {axis = 1 : i64, exclusive = false}', "", LEAVE_OUT),
    (', relax.kernel = "no kernel"', "", LEAVE_OUT),
    (", relax.kernel = 3", "", LEAVE_OUT),
    (", relax.kernel_attrs = {}", "", LEAVE_OUT),
    (", relax.kernel_inputs = array<i64: 7>", "", LEAVE_OUT),
    ("", 'attrs = {relax.arg_reduce = "max"}', LEAVE_OUT),
    ("", "attrs = {relax.prologue}", LEAVE_OUT),
    ("", "attrs = {relax.epilogue}", LEAVE_OUT),
    ("", "attrs = {relax.parallel}", OF_LOWERING),
    ("", "attrs = {relax.next_row}", OF_LOWERING),
    ("", "attrs = {relax.vectors_per_body = 4 : i64}", OF_LOWERING),
    ("", "attrs = {llvm.loop_annotation = 1}", OF_LOWERING),
    (', passthrough = ["noreturn"]', "", "invariant 15"),
    (", noreturn", "", "invariant 15"),
    (', target_cpu = "i386"', "", "invariant 15"),
]


@pytest.mark.parametrize(("of_func", "of_op", "message"), REFUSED)
def test_claims_of_users_are_refused(of_func: str, of_op: str, message: str) -> None:
    module = rx.IRModule.parse(DOUBLING.format(of_func=of_func, of_op=of_op))
    with pytest.raises(VerifyError, match=message) as raised:
        rx.build(module)
    assert "-:2:1" in str(raised.value) or "-:5:8" in str(raised.value)


@pytest.mark.parametrize(
    "of_func",
    [
        ', relax.kernel = "softmax", relax.kernel_attrs = {axis = 1 : i64}, relax.kernel_seal = "0123456789abcdef"',
        ', relax.kernel = "softmax", relax.kernel_seal = 3',
        ", relax.unchecked = 3",
        ', relax.pattern = "reduction"',
        ', relax.pattern = "out_fusable"',
    ],
)
def test_what_is_not_true_changes_nothing(of_func: str) -> None:
    main = rx.build(rx.IRModule.parse(DOUBLING.format(of_func=of_func, of_op="")))["main"]
    np.testing.assert_array_equal(np.from_dlpack(main(X)), 2 * X)


SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def softmax(x: R.Tensor(("n", 8), "float32")):
        return R.nn.softmax(R.exp(x) * 0.5, axis=-1)

    @R.function
    def norm(x: R.Tensor(("n", 8), "float32"), s: R.Tensor((8,), "float32"), b: R.Tensor((8,), "float32")):
        return R.exp(R.nn.layer_norm(x, s, b, axes=-1))

    @R.function
    def best(x: R.Tensor(("n", 8), "float32")):
        return R.argmax(x, axis=1)

    @R.function
    def scan(x: R.Tensor(("n", 8), "float32")):
        return R.cumsum(x, axis=1)
"""


def _claiming(module: rx.IRModule) -> list[str]:
    """The claims of the prim funcs of a module, sorted, each once."""
    with module.context:
        found = [
            op.attributes[KERNEL].value
            for op in module.mlir.body.operations
            if isinstance(op, func.FuncOp) and KERNEL in op.attributes
        ]
        found += ["argmax" for op in ops_of(module.mlir.operation) if ARG_REDUCE in op.attributes]
        return sorted(set(found))


def _legalized(passes: str) -> rx.IRModule:
    module = parse(SCRIPT)
    with module.context:
        module.apply_(parse_pipeline(passes))
    return rx.IRModule.parse(str(module))


@pytest.mark.parametrize("passes", ["legalize-ops", "legalize-ops,fuse-ops"])
def test_what_the_lowering_has_made_is_believed_when_it_is_read_again(passes: str) -> None:
    module = _legalized(passes)
    expected = ["argmax", "cumsum", "layer_norm", "softmax"]
    assert _claiming(module) == expected
    with module.context:
        module.apply_(CheckPrimFuncs())
    assert _claiming(module) == expected
    built, plain = rx.build(module), rx.build(parse(SCRIPT))
    s, b = np.linspace(0, 1, 8, dtype=np.float32), np.linspace(2, 1, 8, dtype=np.float32)
    for name, arguments in (("softmax", (X,)), ("norm", (X, s, b)), ("best", (X,)), ("scan", (X,))):
        np.testing.assert_allclose(
            np.from_dlpack(built[name](*arguments)), np.from_dlpack(plain[name](*arguments)), rtol=1e-6
        )


def test_a_body_that_was_changed_means_what_it_says() -> None:
    text = str(_legalized("legalize-ops"))
    assert text.count("math.exp") >= 2
    module = rx.IRModule.parse(text.replace("arith.divf", "arith.mulf"))
    with module.context:
        module.apply_(CheckPrimFuncs())
    assert "softmax" not in _claiming(module) and "cumsum" in _claiming(module)
    softmax = rx.build(rx.IRModule.parse(text.replace("arith.divf", "arith.mulf")))["softmax"]
    y = np.exp(X) * 0.5
    e = np.exp(y - y.max(1, keepdims=True))
    np.testing.assert_allclose(np.from_dlpack(softmax(X)), e * e.sum(1, keepdims=True), rtol=1e-5)


def test_every_legalisation_with_a_kernel_is_sealed() -> None:
    module = parse(SCRIPT)
    with module.context:
        module.apply_(LegalizeOps())
        for op in module.mlir.body.operations:
            assert (KERNEL in op.attributes) <= (KERNEL_SEAL in op.attributes)


def test_fusing_what_another_pass_has_changed() -> None:
    """A body without a valid provenance hash: the fused prim func claims nothing, and computes the same."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n", 5), "float32"))
    with bb.function("main", [x]):
        normed = bb.emit(R.nn.softmax(bb.emit(R.exp(x)), axis=-1))
        bb.emit_func_output(bb.emit(R.negative(normed)))
    module = bb.get()
    plain = rx.build(module)["main"]
    parse_pipeline("builtin.module(legalize-ops,canonicalize,cse,fuse-ops)").apply_(module)
    changed = rx.build(module)["main"]
    for n in (0, 1, 7):
        given = np.random.default_rng(n).standard_normal((n, 5)).astype("float32")
        results = [np.from_dlpack(function(given)) for function in (plain, changed)]
        np.testing.assert_allclose(results[0], results[1], rtol=1e-6, atol=1e-7)
