"""Types inferred again from the operands, so that a mutated module is valid again if possible."""

from __future__ import annotations

from generic_text import Block, Module, Op, split_list
from relax_mlir.dialects import dialect
from relax_mlir.dialects.base import OpArgs, RelaxOp, as_sequence, ir_fields
from relax_mlir.dialects.types import struct_info
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir
from seed_modules import shared_context

KEPT = (
    "relax.match_shape",
    "relax.call_tir",
    "relax.call_dps_packed",
    "relax.call_packed",
    "relax.call_pure_packed",
)


def reinfer(module: Module) -> None:
    """Set the types of results in `module` by the ops' shape rules; ops that refuse keep theirs."""
    with shared_context(), ir.Location.unknown():
        rules = {op.OPERATION_NAME: op for op in dialect.Relax.operations}
        for function in module.functions:
            if function.regions and function.regions[0] and function.regions[0][0].ops:
                _Retype(rules).function(function)


class _Retype:
    def __init__(self, rules: dict[str, type[RelaxOp]]) -> None:
        self.rules = rules
        self.types: dict[str, str] = {}

    def function(self, function: Op) -> None:
        block = function.regions[0][0]
        ends = self.block(block)
        declared = str(function.properties.get("function_type", ""))
        inputs, arrow, _ = declared.partition(") -> ")
        if arrow and len(split_list(inputs[1:])) == len(block.arguments) and ends:
            result = ends[0] if len(ends) == 1 and not ends[0].startswith("(") else f"({', '.join(ends)})"
            given = ", ".join(type_ for _, type_ in block.arguments)
            function.properties["function_type"] = f"({given}) -> {result}"

    def block(self, block: Block) -> list[str]:
        """The types of the terminator's operands."""
        self.types.update(block.arguments)
        for op in block.ops:
            self.op(op)
        return block.ops[-1].operand_types if block.ops else []

    def op(self, op: Op) -> None:
        known = [self.types.get(name) for name in op.operands]
        op.operand_types = [k or t for k, t in zip(known, op.operand_types, strict=False)]
        if op.name in ("scf.for", "scf.while"):
            carried = op.operand_types[3 if op.name == "scf.for" else 0 :]
            for region in op.regions:
                arguments = region[0].arguments
                first = len(arguments) - len(carried)
                named = zip(arguments[first:], carried, strict=False)
                arguments[first:] = [(name, type_) for (name, _), type_ in named]
        ends = [self.block(block) for region in op.regions for block in region]
        if op.name in ("scf.for", "scf.while"):
            op.result_types = carried
        elif op.name in ("relax.dataflow", "scf.if") and ends:
            op.result_types = ends[0][:1]
        elif op.name == "builtin.unrealized_conversion_cast" and len(op.results) == 1:
            op.result_types = [f"tuple<{', '.join(op.operand_types)}>"]
        elif op.name in self.rules and op.name not in KEPT and len(op.results) == 1:
            op.result_types = self._inferred(op) or op.result_types
        self.types.update(zip(op.results, op.result_types, strict=False))

    def _inferred(self, op: Op) -> list[str] | None:
        rule = self.rules[op.name]
        try:
            infos = tuple(struct_info(ir.Type.parse(text)) for text in op.operand_types)
            attributes = {
                name: ir.UnitAttr.get() if value is None else ir.Attribute.parse(value)
                for name, value in op.attributes.items()
            }
            args = OpArgs(op.name.removeprefix("relax."), ir_fields(rule)[0], infos, attributes)
            rule.check_declared(args)
            return [str(info.to_type()) for info in as_sequence(rule.infer(args))]
        except (RelaxError, ValueError, ir.MLIRError):
            return None
