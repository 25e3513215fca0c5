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
        "lowering/bufferize/bufferize.py",
        'TARGETS = {"tensor.cast": 0, "tensor.insert": 1, "tensor.insert_slice": 1}',
        'TARGETS = {"tensor.cast": -1, "tensor.insert": 1, "tensor.insert_slice": 1}',
        "a cast has one operand",
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
        'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if name.startswith("relax."))',
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
        "passes/topological_sort.py",
        "following = next((n for n in rest if n not in order), None)",
        "following = next((n for n in rest if True), None)",
        "what has its place keeps it, since a dictionary keeps the first place of a key",
    ),
)
