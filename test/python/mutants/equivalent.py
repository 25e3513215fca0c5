"""Mutants that compute what the sources compute, which no test can notice; `make mutants` leaves them out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """A mutant by its lines before and after the change, without indentation."""

    path: str
    before: str
    after: str
    reason: str


EQUIVALENT = (
    Equivalent(
        "lowering/bufferize/bufferize.py",
        'TARGETS = {"tensor.cast": 0, "tensor.insert": 1, "tensor.insert_slice": 1}',
        'TARGETS = {"tensor.cast": -1, "tensor.insert": 1, "tensor.insert_slice": 1}',
        "a cast has one operand",
    ),
    Equivalent(
        "lowering/entry/lower_objects.py",
        "_FUNCTIONS[stem].write(writer, int(count or 0))",
        "_FUNCTIONS[stem].write(writer, int(count or 1))",
        "functions without a suffix do not use the count",
    ),
    Equivalent(
        "lowering/entry/lower_objects.py",
        "_FUNCTIONS[stem].write(writer, int(count or 0))",
        "_FUNCTIONS[stem].write(writer, int(count or -1))",
        "functions without a suffix do not use the count",
    ),
    Equivalent(
        "lowering/entry/lower_objects.py",
        "_FUNCTIONS[stem].write(writer, int(count or 0))",
        "_FUNCTIONS[stem].write(writer, int(count or False))",
        "functions without a suffix do not use the count",
    ),
    Equivalent(
        "lowering/kernels/gemm/lower_contractions.py",
        'found = [operation for operation in own_ops(module) if operation.name.startswith("linalg.")]',
        "found = [operation for operation in own_ops(module) if True]",
        "other ops are no contractions; the condition saves time",
    ),
    Equivalent(
        "lowering/kernels/gemm/lower_contractions.py",
        "contraction = None if operation in taken else match_contraction(operation)",
        "contraction = None if False else match_contraction(operation)",
        "what a contraction takes, its fill and its epilogue, is no contraction",
    ),
    Equivalent(
        "lowering/kernels/nest/linalg_to_loops.py",
        "done += 1",
        "done += 0",
        "upstream's pass, which runs then, finds nothing left",
    ),
    Equivalent(
        "lowering/kernels/select_kernels.py",
        "if isinstance(function, func.FuncOp) and KERNEL in function.attributes:",
        "if True and KERNEL in function.attributes:",
        "only functions carry the attribute",
    ),
    Equivalent(
        "lowering/kernels/select_kernels.py",
        "if name in GENERATOR_MODULES:",
        "if False:",
        "the warm process has imported the generators; `lit -Dcold=1` notices",
    ),
    Equivalent(
        "lowering/kernels/select_kernels.py",
        "importlib.import_module(GENERATOR_MODULES[name])",
        "pass",
        "the warm process has imported the generators; `lit -Dcold=1` notices",
    ),
    Equivalent(
        "lowering/kernels/select_kernels.py",
        "buffers = [*(out if number == FROM_PROLOGUE else buffers[number] for number in inputs), out]",
        "buffers = [*(out if False else buffers[number] for number in inputs), out]",
        "the constant is -1, and the destination is the last buffer",
    ),
    Equivalent(
        "lowering/legality.py",
        'return op_name in allowed or op_name.split(".", 1)[0] in allowed',
        'return op_name in allowed or op_name.split(".", 2)[0] in allowed',
        "the part before the first dot is the same",
    ),
    Equivalent(
        "lowering/legality.py",
        "if wanted.encodings and not illegal:",
        "if False:",
        "nothing is reported then; the condition saves time",
    ),
    Equivalent(
        "lowering/llvm/to_llvm.py",
        "return isinstance(attribute, ir.FloatAttr | ir.DenseElementsAttr) and NAME in str(attribute.type)",
        "return True and NAME in str(attribute.type)",
        "other attributes are replaced by themselves",
    ),
    Equivalent(
        "lowering/llvm/to_llvm.py",
        "if own or (attribute is not None and NAME in str(op.attributes[attribute].value)):",
        "if own or (attribute is not None and True):",
        "an op that does not mention bf16 is not changed",
    ),
    Equivalent(
        "lowering/llvm/to_llvm.py",
        'known[type_] = ir.Type.parse(text.replace(NAME, "i16")) if NAME in text else type_',
        'known[type_] = ir.Type.parse(text.replace(NAME, "i16")) if True else type_',
        "the text of a type is parsed to the same type; the condition saves time",
    ),
    Equivalent(
        "lowering/llvm/to_llvm.py",
        "items = [ir.IntegerAttr.get(i16, int(item)) for item in bits.reshape(-1)]",
        "items = [ir.IntegerAttr.get(i16, int(item)) for item in bits.reshape(- 2)]",
        "NumPy infers a size for any negative number",
    ),
    Equivalent(
        "lowering/loops/join_fused_indices.py",
        "for last in reversed(range(1, len(digits))):",
        "for last in reversed(range( 0, len(digits))):",
        "no dimension is before the first",
    ),
    Equivalent(
        "lowering/loops/join_fused_indices.py",
        "or total.below is None",
        "or False",
        "no extent is equal to None",
    ),
    Equivalent(
        "lowering/loops/join_fused_indices.py",
        "break",
        "continue",
        "the conditions do not hold in the next round either",
    ),
    Equivalent(
        "lowering/loops/parallelize_loops.py",
        "contents = {name: _Contents.of(op.operation) for name, op in table.items() if not op.is_external}",
        "contents = {name: _Contents.of(op.operation) for name, op in table.items() if True}",
        "declarations have no calls, and their contents are not looked up",
    ),
    Equivalent(
        "lowering/loops/parallelize_loops.py",
        "around.calls[RUN] += 1",
        "around.calls[RUN] += 2",
        "only more than 0 counts",
    ),
    Equivalent(
        "lowering/loops/skip_empty_loops.py",
        'while op is not None and op.operation.name != "func.func":',
        "while op is not None and True:",
        "what is around functions is no loop; the condition saves time",
    ),
    Equivalent(
        "lowering/loops/skip_empty_loops.py",
        "if is_declaration(callee) or SHARED_GROUP in callee.attributes:  # kernels have no checks",
        "if is_declaration(callee) or False:  # kernels have no checks",
        "kernels have no checks; the condition saves time",
    ),
    Equivalent(
        "lowering/loops/unroll_loops.py",
        "assert begin is not None and step is not None",
        "assert True and step is not None",
        "the count is known only if both are",
    ),
    Equivalent(
        "lowering/loops/unroll_loops.py",
        "assert begin is not None and step is not None",
        "assert begin is not None and True",
        "the count is known only if both are",
    ),
    Equivalent(
        "lowering/memory/pack_constants.py",
        "if not declarations:",
        "if False:",
        "no call reads a constant then; the condition saves time",
    ),
    Equivalent(
        "lowering/memory/pack_constants.py",
        "return -(-size // step) * step",
        "return (-size // step) * step",
        "the product of two of them is the same",
    ),
    Equivalent(
        "lowering/memory/plan_memory.py",
        "if distance == (False, False, 0):",
        "if distance == (False, False, -1):",
        "no slot is nearer; the end of the loop saves time",
    ),
    Equivalent(
        "lowering/memory/plan_memory.py",
        "if distance == (False, False, 0):",
        "if False:",
        "no slot is nearer; the end of the loop saves time",
    ),
    Equivalent(
        "lowering/memory/plan_memory.py",
        "break",
        "continue",
        "no slot is nearer; the end of the loop saves time",
    ),
    Equivalent(
        "lowering/memory/pool_buffers.py",
        "guard_jobs(module, [uses[name].function for name in uses if RUN in uses[name].calls], taking)",
        "guard_jobs(module, [uses[name].function for name in uses if True], taking)",
        "other functions submit no jobs; the condition saves time",
    ),
    Equivalent(
        "lowering/shapes/lower_symbolic_shapes.py",
        "for handlers in HANDLERS:",
        "for handlers in []:",
        "the warm process has imported the handlers; `lit -Dcold=1` notices",
    ),
    Equivalent(
        "lowering/shapes/lower_symbolic_shapes.py",
        'importlib.import_module(f"relax_mlir.lowering.shapes.{handlers}")',
        "pass",
        "the warm process has imported the handlers; `lit -Dcold=1` notices",
    ),
    Equivalent(
        "passes/bind_params.py",
        "dim = (info.shape or ())[axis]",
        "dim = (info.shape or False)[axis]",
        "a shape with this axis is not empty",
    ),
    Equivalent(
        "passes/bind_symbolic_vars.py",
        "if mapping:",
        "if True:",
        "without symbols a function is bound to itself",
    ),
    Equivalent(
        "passes/bind_symbolic_vars.py",
        "low, high = bounds.get(name, (0, None))",
        "low, high = bounds.get(name, ( -1, None))",
        "negative values are refused before",
    ),
    Equivalent(
        "passes/canonicalize_bindings.py",
        "if users and not _is_inside(defining, block):",
        "if True and not _is_inside(defining, block):",
        "a result without users is replaced nowhere",
    ),
    Equivalent(
        "passes/canonicalize_bindings.py",
        "if wanted != given:",
        "if True:",
        "the same outputs are given out again",
    ),
    Equivalent(
        "passes/canonicalize_bindings.py",
        "block.results[0].set_type(end.operands[0].type)",
        "pass",
        "the visitor after it infers the type; dead-code-elimination.mlir notices",
    ),
    Equivalent(
        "passes/canonicalize_bindings.py",
        "return op is not None and op.parent is not None and bool(op.parent.operation == block)",
        "return op is not None and True and bool(op.parent.operation == block)",
        "an op of a function has a parent",
    ),
    Equivalent(
        "passes/check_prim_calls.py",
        'dims = ["?" if d is None else d for d in pattern]',
        'dims = ["?" if False else d for d in pattern]',
        "each size that is not known gets the one that is expected",
    ),
    Equivalent(
        "passes/check_prim_calls.py",
        "assert isinstance(info, Tensor) and info.shape is not None",
        "assert True and info.shape is not None",
        "it holds; for type checkers",
    ),
    Equivalent(
        "passes/check_prim_calls.py",
        "assert isinstance(info, Tensor) and info.shape is not None",
        "assert isinstance(info, Tensor) and True",
        "it holds; for type checkers",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
        'with ir.InsertionPoint(block), op.location, located_at("", 0,  1):',
        "the op gets another location afterwards",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
        'with ir.InsertionPoint(block), op.location, located_at("", 0, -1):',
        "the op gets another location afterwards",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
        'with ir.InsertionPoint(block), op.location, located_at("",  1, 0):',
        "the op gets another location afterwards",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
        'with ir.InsertionPoint(block), op.location, located_at("", -1, 0):',
        "the op gets another location afterwards",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        "if inner == op:",
        "if False:",
        "the symbols of its type are those of its parameters and of its body",
    ),
    Equivalent(
        "passes/closures/lambda_lift.py",
        "if parent.name == LambdaOp.OPERATION_NAME:",
        "if True:",
        "the symbols of other arguments are in scope",
    ),
    Equivalent(
        "passes/closures/specialize_closures.py",
        "clean(self.module)",
        "pass",
        "what is left over goes in the next step, which begins with it",
    ),
    Equivalent(
        "passes/closures/specialize_closures.py",
        "yield from (dim for dim in dims or () if dim is not None)",
        "yield from (dim for dim in dims or () if True)",
        "an unknown dimension names no symbol",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if _has_any(function, wanted):",
        "if True:",
        "without convolutions nothing moves; the condition saves time",
    ),
    Equivalent(
        "passes/convert_layout.py",
        'names, found = {f"relax.{op}" for op in ops}, False',
        'names, found = {f"relax.{op}" for op in ops}, True',
        "the walk begins with the function",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if (data, kernel, out) == (new_data, new_kernel, new_data) or not _have_ranks(binding):",
        "if False or not _have_ranks(binding):",
        "a convolution that has the layouts is replaced by its like",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if order is None or before is None or source.ssa not in self._spatial:",
        "if False or before is None or source.ssa not in self._spatial:",
        "a transposition of a transposition has a rank",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if made is None or axes is None:",
        "if False or axes is None:",
        "without an op there are no axes",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if shape is not None and len(shape) < len(order):",
        "if shape is not None and len(shape) <= len(order):",
        "no dimension is added to a shape of the same rank",
    ),
    Equivalent(
        "passes/convert_layout.py",
        "if shape is not None and len(shape) < len(order):",
        "if shape is not None and True:",
        "no dimension is added to a shape of the same rank",
    ),
    Equivalent(
        "passes/decompose_ops.py",
        "if dtype.bits >= 32:",
        "if dtype.bits >= 31:",
        "no float has 31 bits",
    ),
    Equivalent(
        "passes/decompose_ops.py",
        "reduced = [channel + 1, *(axis + (axis > channel) for axis in axes)]",
        "reduced = [channel + 1, *(axis + (axis >= channel) for axis in axes)]",
        "the verifier refuses the axis of the channels among the others",
    ),
    Equivalent(
        "passes/decompose_ops.py",
        "queries, keys, size = shapes[0][1], shapes[1][1], shapes[0][3]",
        "queries, keys, size = shapes[0][1], shapes[1][1], shapes[ 1][3]",
        "queries and keys have the same last dimension",
    ),
    Equivalent(
        "passes/explicit_effects.py",
        "if latest:",
        "if True:",
        "nothing is replaced then; the condition saves time",
    ),
    Equivalent(
        "passes/fold_constant.py",
        "if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
        "if False or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
        "ops with an evaluator have a class",
    ),
    Equivalent(
        "passes/fold_constant.py",
        "if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
        "if cls is None or False or info.dtype is None or info.known_shape is None:",
        "ops with an evaluator give tensors",
    ),
    Equivalent(
        "passes/fold_constant.py",
        "sizes = [dim for dim in info.known_shape if isinstance(dim, int)]",
        "sizes = [dim for dim in info.known_shape if True]",
        "the verifier refuses symbols in a result of constants",
    ),
    Equivalent(
        "passes/fold_constant.py",
        "if len(sizes) != len(info.known_shape) or math.prod(sizes) > self.max_elements:",
        "if False or math.prod(sizes) > self.max_elements:",
        "the verifier refuses symbols in a result of constants",
    ),
    Equivalent(
        "passes/fusion/fuse_attention.py",
        "dtype = infos[0].dtype",
        "dtype = infos[ 1].dtype",
        "all dtypes must be equal",
    ),
    Equivalent(
        "passes/fusion/fuse_attention.py",
        "return None, 0.0",
        "return None, 1.0",
        "without an op the factor is not used",
    ),
    Equivalent(
        "passes/patterns/merge_composite_functions.py",
        "return user.name == TUPLE and bool(users) and all(_is_part(item, calls) for item in users)",
        "return True and bool(users) and all(_is_part(item, calls) for item in users)",
        "another op between two calls keeps them apart",
    ),
    Equivalent(
        "passes/patterns/merge_composite_functions.py",
        "if other != current and other not in found:",
        "if other != current and True:",
        "the order of groups has no circles; the condition saves time",
    ),
    Equivalent(
        "passes/patterns/run_codegen.py",
        "known = symbols_of(caller) if calls else []",
        "known = symbols_of(caller) if True else []",
        "only calls are inlined; the condition saves time",
    ),
    Equivalent(
        "passes/refine_shapes.py",
        "for _ in range(len(functions) + 1):",
        "for _ in range(len(functions) + 2):",
        "the loop ends before, when nothing is learnt any more",
    ),
    Equivalent(
        "passes/refine_shapes.py",
        "for _ in range(len(functions) + 1):",
        "for _ in range(len(functions) + 0):",
        "the last round of a chain of calls only finds that nothing is learnt any more",
    ),
    Equivalent(
        "passes/refine_shapes.py",
        "if before == [function.type for function in functions]:",
        "if False:",
        "further rounds learn nothing",
    ),
    Equivalent(
        "passes/remove_redundant_reshape.py",
        (
            'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if '
            'name.startswith("relax."))'
        ),
        'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if True)',
        "visitors see ops of Relax only",
    ),
    Equivalent(
        "passes/remove_redundant_reshape.py",
        "axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 1",
        "axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 2",
        "only more than 1 counts",
    ),
    Equivalent(
        "passes/remove_redundant_reshape.py",
        'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if name.startswith("relax."))',
        'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if True)',
        "visitors see ops of Relax only",
    ),
    Equivalent(
        "passes/remove_redundant_reshape.py",
        "source, length = made.operands[0], length + 1",
        "source, length = made.operands[0], length + 2",
        "only more than 1 counts",
    ),
    Equivalent(
        "passes/topological_sort.py",
        "following = next((n for n in rest if n not in order), None)",
        "following = next((n for n in rest if True), None)",
        "what has its place keeps it, since a dictionary keeps the first place of a key",
    ),
    Equivalent(
        "passes/vm/vm_shape_lower.py",
        "if dim is not None and axis in solved:",
        "if True and axis in solved:",
        "axes from which symbols are solved have dimensions; the condition is for type checkers",
    ),
)
