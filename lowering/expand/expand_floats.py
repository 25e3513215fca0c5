"""Pass `expand-floats`: f16 and bf16 without a runtime library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.core import lanes
from relax_mlir.lowering.kernels.core.emit import Value, element_of
from relax_mlir.lowering.kernels.core.lanes import same_shape
from relax_mlir.mlir import arith, ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.native_pipeline import run_native

Operation: TypeAlias = ir.Operation

IN_SINGLE_PRECISION = (
    "arith-emulate-unsupported-floats{source-types=bf16,f16 target-type=f32}",
    "func.func(math-extend-to-supported-types)",
)
CONVERSIONS = frozenset(
    f"arith.{name}" for name in ("extf", "truncf", "sitofp", "uitofp", "fptosi", "fptoui")
)


def mentions_low_precision(module: ir.Module) -> bool:
    """True if a valid module of level R0 mentions f16 or bf16; values of these types have no other source."""
    text: str = module.operation.get_asm(large_resource_limit=0, use_local_scope=True, assume_verified=True)
    return "f16" in text or "float16" in text


@dataclass(frozen=True)
class ExpandFloats(ModulePass):
    """Compute f16 and bf16 in f32, and expand their conversions if the target has no instructions for them.

    Every operation rounds its result, as in NumPy. Conversions, including those from f64, round once, to nearest, ties
    to even. Integers are converted through f32, as in NumPy.
    """

    name: ClassVar[str] = "expand-floats"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the module in place."""
        pipeline = f"builtin.module({','.join(IN_SINGLE_PRECISION)})"
        run_native(pipeline, module)
        native = Target.parse(self.target).has("f16c") or Target.parse(self.target).has("asimd")
        for operation in ops_of(module.operation, *CONVERSIONS):
            _replace(operation, native)


def _replace(operation: Operation, native_f16: bool) -> None:
    operand, result = operation.operands[0], operation.results[0]
    if not (_is_half(operand) or _is_half(result)):
        return
    if native_f16 and {str(element_of(v.type)) for v in (operand, result)} == {"f16", "f32"}:
        # Upstream's flag would let pairs of conversions cancel, which leaves intermediate results in f32.
        operation.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<none>")
        return
    with ir.InsertionPoint(operation), operation.location:
        value = _to_single(operand, operation.name, native_f16)
        value = _from_single(value, operation, native_f16)
    result.replace_all_uses_with(value)
    operation.erase()


def _is_half(value: Value) -> bool:
    return isinstance(element_of(value.type), (ir.F16Type, ir.BF16Type))


def _to_single(value: Value, conversion: str, native_f16: bool) -> Value:
    """The operand in f32; an f64 that is rounded again later is rounded to odd."""
    element = element_of(value.type)
    single = same_shape(value.type, ir.F32Type.get())
    if isinstance(element, ir.BF16Type):
        return lanes.bf16_to_f32(value)
    if isinstance(element, ir.F16Type):
        return arith.ExtFOp(single, value).result if native_f16 else lanes.f16_to_f32(value)
    if isinstance(element, ir.F64Type):
        return lanes.f64_to_f32_odd(value)
    if conversion == "arith.sitofp":
        return arith.SIToFPOp(single, value).result
    if conversion == "arith.uitofp":
        return arith.UIToFPOp(single, value).result
    return value


def _from_single(value: Value, operation: Operation, native_f16: bool) -> Value:
    """Convert from f32 to the result type of the conversion."""
    type_ = operation.results[0].type
    element = element_of(type_)
    if isinstance(element, ir.BF16Type):
        return lanes.f32_to_bf16(value)
    if isinstance(element, ir.F16Type):
        return arith.TruncFOp(type_, value).result if native_f16 else lanes.f32_to_f16(value)
    if isinstance(element, ir.F64Type):
        return arith.ExtFOp(type_, value).result
    if operation.name == "arith.fptosi":
        return arith.FPToSIOp(type_, value).result
    if operation.name == "arith.fptoui":
        return arith.FPToUIOp(type_, value).result
    return value
