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


MUTANTS: dict[str, dict[str, list[tuple[str, str]]]] = {
    "lowering/analysis/check_bounds.py": {
        "other ops have no indexing maps; the condition saves time": [
            ('elif op.name.startswith("linalg."):', "elif True:"),
        ],
        "an unknown size is not proved equal to a known one": [
            (
                "return a is not None and b is not None and prove_equal(a, b)",
                "return True and b is not None and prove_equal(a, b)",
            ),
            (
                "return size is not None and prove_equal(size, total)",
                "return True and prove_equal(size, total)",
            ),
        ],
        "static sizes agree, which is proved": [
            (
                "if not target.is_dynamic_dim(axis) and ir.ShapedType(source.type).is_dynamic_dim(axis):",
                "if not target.is_dynamic_dim(axis) and True:",
            ),
        ],
        "a group of dimensions has one": [
            (
                "return equal if positive is None else arith.andi(positive, equal)",
                "return equal if False else arith.andi(positive, equal)",
            ),
        ],
        "MLIR refuses a divisor of 0": [
            (
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 0",
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value >= 0",
            ),
            (
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 0",
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > -1",
            ),
        ],
        "MLIR folds a divisor of 1": [
            (
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 0",
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 1",
            ),
        ],
        "in a map without symbols a divisor is a constant": [
            (
                "constant = isinstance(divisor, ir.AffineConstantExpr) and ir.AffineConstantExpr(divisor).value > 0",
                "constant = True and ir.AffineConstantExpr(divisor).value > 0",
            ),
        ],
        "nothing is proved of an unknown size": [
            (
                "if dim is None or width is None or not isinstance(step, int) or not is_small(width):",
                "if False or width is None or not isinstance(step, int) or not is_small(width):",
            ),
        ],
        "in a map without symbols a divisor is a positive constant": [
            ("return constant and is_rising_access(expr.lhs)", "return True and is_rising_access(expr.lhs)"),
        ],
    },
    "lowering/bufferize.py": {
        "a cast has one operand": [
            (
                'TARGETS = {"tensor.cast": 0, "tensor.insert": 1, "tensor.insert_slice": 1}',
                'TARGETS = {"tensor.cast": -1, "tensor.insert": 1, "tensor.insert_slice": 1}',
            ),
        ],
        "a function returns no argument of a nested block": [
            (
                "elif isinstance(value, ir.BlockArgument) and value.owner == entry_block(function):",
                "elif isinstance(value, ir.BlockArgument) and True:",
            ),
        ],
        "the owner of a result is an op, not a block": [
            (
                "elif isinstance(value, ir.BlockArgument) and value.owner == entry_block(function):",
                "elif True and value.owner == entry_block(function):",
            ),
        ],
    },
    "lowering/checks.py": {
        "a message shows the values that it names": [
            (
                "name: (Check.of(op.operation), len(op.type.inputs) - 1)",
                "name: (Check.of(op.operation), len(op.type.inputs) - 0)",
            ),
            (
                "name: (Check.of(op.operation), len(op.type.inputs) - 1)",
                "name: (Check.of(op.operation), len(op.type.inputs) + 1)",
            ),
        ],
        "an assertion shows no values": [
            (
                "asserted = [(_asserted(op), 0) for op in failing.asserts]",
                "asserted = [(_asserted(op), -1) for op in failing.asserts]",
            ),
            (
                "asserted = [(_asserted(op), 0) for op in failing.asserts]",
                "asserted = [(_asserted(op), 1) for op in failing.asserts]",
            ),
        ],
        "other calls are left; the condition saves time": [
            (
                "status = {name for name, op in table.items() if STATUS_OF in op.attributes}",
                "status = {name for name, op in table.items() if True}",
            ),
        ],
        "without clean-up nothing is rewritten; the condition saves time": [
            ("if any(DEFER in op.attributes for op in found):", "if True:"),
        ],
    },
    "lowering/entry/emit_ffi_wrappers.py": {
        "the name of an entry begins with the prefix, and holds it once": [
            (
                'names[part.exported[0]].replace(ENTRY_PREFIX, f"{ENTRY_GROUP}.", 1)',
                'names[part.exported[0]].replace(ENTRY_PREFIX, f"{ENTRY_GROUP}.", 2)',
            ),
        ],
        "an empty slice that begins at 1 is at 1": [
            ("texts[1:1] = [DECLARED, CONSTRUCT]", "texts[1: 0] = [DECLARED, CONSTRUCT]"),
        ],
    },
    "lowering/entry/instrument_calls.py": {
        "without a region there is no work": [
            (
                'if op.name.startswith("linalg.") and op.regions:',
                'if op.name.startswith("linalg.") and True:',
            ),
        ],
    },
    "lowering/entry/lower_objects.py": {
        "functions without a suffix do not use the count": [
            (
                "_FUNCTIONS[stem].write(writer, int(count or 0))",
                "_FUNCTIONS[stem].write(writer, int(count or 1))",
            ),
            (
                "_FUNCTIONS[stem].write(writer, int(count or 0))",
                "_FUNCTIONS[stem].write(writer, int(count or -1))",
            ),
            (
                "_FUNCTIONS[stem].write(writer, int(count or 0))",
                "_FUNCTIONS[stem].write(writer, int(count or False))",
            ),
        ],
    },
    "lowering/kernels/gemm/lower_contractions.py": {
        "other ops are no contractions; the condition saves time": [
            (
                'found = [operation for operation in own_ops(module) if operation.name.startswith("linalg.")]',
                "found = [operation for operation in own_ops(module) if True]",
            ),
        ],
        "what a contraction takes, its fill and its epilogue, is no contraction": [
            (
                "contraction = None if operation in taken else match_contraction(operation)",
                "contraction = None if False else match_contraction(operation)",
            ),
        ],
        "the pass asks about ops of linalg only": [
            (
                'if not operation.name.startswith("linalg.") or len(operation.operands) != 3 or operation.results:',
                "if False or len(operation.operands) != 3 or operation.results:",
            ),
        ],
        "ops with results are on tensors, which are not matched": [
            (
                'if not operation.name.startswith("linalg.") or len(operation.operands) != 3 or operation.results:',
                'if not operation.name.startswith("linalg.") or len(operation.operands) != 3 or False:',
            ),
        ],
        "without rows and columns the operands may be exchanged": [
            (
                "if columns and (last not in columns or not c.unit_inner):",
                "if True and (last not in columns or not c.unit_inner):",
            ),
        ],
        "the type has the unit stride": [
            (
                "c = memref_at(here[2], element, [c_apart, 1], unit_inner=True)",
                "c = memref_at(here[2], element, [c_apart, 0], unit_inner=True)",
            ),
            (
                "c = memref_at(here[2], element, [c_apart, 1], unit_inner=True)",
                "c = memref_at(here[2], element, [c_apart, 2], unit_inner=True)",
            ),
        ],
    },
    "lowering/kernels/nest/vector_loops.py": {
        "upstream's pass, which runs then, finds nothing left": [
            ("done += 1", "done += 0"),
            ("done = 0", "done = -1"),
            ("if done < len(left):", "if True:"),
            ("if done < len(left):", "if done <= len(left):"),
        ],
        "generic ops are left as they are; the condition saves time": [
            ('if copies or any(operation.name != "linalg.generic" for operation in left):', "if True:"),
        ],
    },
    "lowering/kernels/select_kernels.py": {
        "only functions carry the attribute": [
            (
                "if isinstance(function, func.FuncOp) and KERNEL in function.attributes:",
                "if True and KERNEL in function.attributes:",
            ),
        ],
        "the warm process has imported the generators; `lit -Dcold=1` notices": [
            ("if name in GENERATOR_MODULES:", "if False:"),
            ("importlib.import_module(GENERATOR_MODULES[name])", "pass"),
        ],
        "the constant is -1, and the destination is the last buffer": [
            (
                "buffers = [*(out if number == FROM_PROLOGUE else buffers[number] for number in inputs), out]",
                "buffers = [*(out if False else buffers[number] for number in inputs), out]",
            ),
        ],
    },
    "lowering/legality.py": {
        "the part before the first dot is the same": [
            (
                'return op_name in allowed or op_name.split(".", 1)[0] in allowed',
                'return op_name in allowed or op_name.split(".", 2)[0] in allowed',
            ),
        ],
        "nothing is reported then; the condition saves time": [
            ("if wanted.encodings and not illegal:", "if False:"),
        ],
        "ops of LLVM have no such types; the flag saves time": [
            (
                'Level("llvm", "LLVM dialect", frozenset({"builtin.module", "llvm"}), encodings=True),',
                'Level("llvm", "LLVM dialect", frozenset({"builtin.module", "llvm"}), encodings=False),',
            ),
        ],
    },
    "lowering/legalize/check_prim_funcs.py": {
        "all maps of an op have its loops as dimensions": [
            ("rank = maps[0].value.n_dims", "rank = maps[ 1].value.n_dims"),
        ],
        "one that is not of bf16 is replaced by its like": [
            ('if op.name == "math.fma":', "if False:"),
        ],
        "both operands of a shift have one type": [
            ("bits = Integers(op.operands[0].type).bits", "bits = Integers(op.operands[ 1].type).bits"),
        ],
        "a constant that is compared as a float is one": [
            (
                'if op is None or op.name != "arith.constant" or not isinstance(op.attributes["value"], ir.FloatAttr):',
                'if op is None or op.name != "arith.constant" or False:',
            ),
        ],
        "without prim funcs nothing is found; the condition saves time": [
            ("if not prims:", "if False:"),
        ],
        "other ops have no indexing maps": [
            ('elif op.name.startswith("linalg.") and len(op.regions):', "elif True:"),
            ('elif op.name.startswith("linalg.") and len(op.regions):', "elif True and len(op.regions):"),
        ],
    },
    "lowering/legalize/expose_prim_funcs.py": {
        "a Relax function has no global symbol, and is no prim func of an entry": [
            (
                "prims = {op.name.value: op for op in functions_of(module) if PRIM_FUNC in op.attributes}",
                "prims = {op.name.value: op for op in functions_of(module) if True}",
            ),
        ],
        "declared shapes are known": [
            (
                "{symbol for dim in all_dims(info) if dim is not None for symbol in symbolic.symbols(dim)} - known",
                "{symbol for dim in all_dims(info) if True for symbol in symbolic.symbols(dim)} - known",
            ),
        ],
        "a buffer declares both, an integer neither": [
            ("if param.shape is None or param.dtype is None:", "if False or param.dtype is None:"),
            ("if param.shape is None or param.dtype is None:", "if param.shape is None or False:"),
        ],
        "the last 0 are none": [
            (
                "return {*stores(name, prims, {}), *(tensors[len(tensors) - results :] if results else ())}",
                "return {*stores(name, prims, {}), *(tensors[len(tensors) - results :] if True else ())}",
            ),
        ],
    },
    "lowering/legalize/outline_branches.py": {
        "nothing inside uses the results of the conditional": [
            (
                "inside = {result for inner in ops_of(op)[1:] for result in inner.results}",
                "inside = {result for inner in ops_of(op)[ 0:] for result in inner.results}",
            ),
        ],
    },
    "lowering/llvm/to_llvm.py": {
        "other attributes are replaced by themselves": [
            (
                "return isinstance(attribute, ir.FloatAttr | ir.DenseElementsAttr) and NAME in str(attribute.type)",
                "return True and NAME in str(attribute.type)",
            ),
        ],
        "an op that does not mention bf16 is not changed": [
            (
                "if own or (attribute is not None and NAME in str(op.attributes[attribute].value)):",
                "if own or (attribute is not None and True):",
            ),
        ],
        "the text of a type is parsed to the same type; the condition saves time": [
            (
                'known[type_] = ir.Type.parse(text.replace(NAME, "i16")) if NAME in text else type_',
                'known[type_] = ir.Type.parse(text.replace(NAME, "i16")) if True else type_',
            ),
        ],
        "NumPy infers a size for any negative number": [
            (
                "items = [ir.IntegerAttr.get(i16, int(item)) for item in bits.reshape(-1)]",
                "items = [ir.IntegerAttr.get(i16, int(item)) for item in bits.reshape(- 2)]",
            ),
        ],
    },
    "lowering/loops/unroll_loops.py": {
        "no dimension is before the first": [
            ("for last in reversed(range(1, len(digits))):", "for last in reversed(range( 0, len(digits))):"),
        ],
        "no extent is equal to None": [
            ("or total.below is None", "or False"),
        ],
        "the conditions do not hold in the next round either": [
            ("break", "continue"),
        ],
        "the count is known only if both are": [
            ("assert begin is not None and step is not None", "assert True and step is not None"),
            ("assert begin is not None and step is not None", "assert begin is not None and True"),
        ],
        "of two operands one is constant if the other is not": [
            (
                "constants = [constant_of(operand) is not None for operand in op.operands]",
                "constants = [constant_of(operand) is None for operand in op.operands]",
            ),
        ],
        "no count is a reason, too; the condition is for type checkers": [
            ("if reason is not None or count is None:", "if reason is not None or False:"),
        ],
        "the ops are moved in this order afterwards": [
            ("op.move_before(chosen[0])", "op.move_before(chosen[ 1])"),
        ],
    },
    "lowering/loops/parallelize_loops.py": {
        "declarations have no calls, and their contents are not looked up": [
            (
                "contents = {name: _Contents.of(op.operation) for name, op in table.items() if not op.is_external}",
                "contents = {name: _Contents.of(op.operation) for name, op in table.items() if True}",
            ),
        ],
        "only more than 0 counts": [
            ("around.calls[RUN] += 1", "around.calls[RUN] += 2"),
        ],
    },
    "lowering/loops/skip_empty_loops.py": {
        "what is around functions is no loop; the condition saves time": [
            ('while op is not None and op.operation.name != "func.func":', "while op is not None and True:"),
        ],
        "a function is around every loop; the condition is for type checkers": [
            ("while parent is not None and parent.name in LOOPS:", "while True and parent.name in LOOPS:"),
        ],
        "a function is around every value; the condition is for type checkers": [
            (
                'while op is not None and op.operation.name != "func.func":',
                'while True and op.operation.name != "func.func":',
            ),
        ],
    },
    "lowering/memory/pack_constants.py": {
        "no call reads a constant then; the condition saves time": [
            ("if not declarations:", "if False:"),
        ],
        "the product of two of them is the same": [
            ("return -(-size // step) * step", "return (-size // step) * step"),
        ],
    },
    "lowering/memory/plan_memory.py": {
        "no slot is nearer; the end of the loop saves time": [
            ("if distance == (False, False, 0):", "if distance == (False, False, -1):"),
            ("if distance == (False, False, 0):", "if False:"),
            ("break", "continue"),
        ],
        "the answer is the same; the condition saves time": [
            ("if key not in self._known:", "if True:"),
        ],
        "what is declared already is not declared again; the condition saves time": [
            ("if not declared:", "if True:"),
        ],
        "what is declared already is not declared again; the flag saves time": [
            ("declared = True", "declared = False"),
        ],
        "both types are the same here": [
            (
                "return same and is_scannable(types[0]) and KERNEL_INPUTS not in function.attributes",
                "return same and is_scannable(types[ 1]) and KERNEL_INPUTS not in function.attributes",
            ),
        ],
        "no range ends before it begins": [
            (
                "index = bisect.bisect_left(self.lives, (buffer.last + 1, 0)) - 1",
                "index = bisect.bisect_left(self.lives, (buffer.last + 1, 1)) - 1",
            ),
        ],
    },
    "lowering/memory/pool_buffers.py": {
        "other functions submit no jobs; the condition saves time": [
            (
                "guard_jobs(module, [uses[name].function for name in uses if RUN in uses[name].calls], taking)",
                "guard_jobs(module, [uses[name].function for name in uses if True], taking)",
            ),
        ],
        "nothing is wrong then; the condition saves time": [
            ("if pointed_at and (", "if True and ("),
        ],
        "what is around functions is no loop; the condition saves time": [
            (
                "while parent is not None and not isinstance(parent, func.FuncOp):",
                "while parent is not None and True:",
            ),
        ],
    },
    "lowering/shapes/lower_symbolic_shapes.py": {
        "the warm process has imported the handlers; `lit -Dcold=1` notices": [
            ("for handlers in HANDLERS:", "for handlers in []:"),
            ('importlib.import_module(f"relax_mlir.lowering.shapes.{handlers}")', "pass"),
        ],
    },
    "passes/bindings.py": {
        "a shape with this axis is not empty": [
            ("dim = (info.shape or ())[axis]", "dim = (info.shape or False)[axis]"),
        ],
        "without symbols a function is bound to itself": [
            ("if mapping:", "if True:"),
        ],
        "negative values are refused before": [
            ("low, high = bounds.get(name, (0, None))", "low, high = bounds.get(name, ( -1, None))"),
        ],
        "a result without users is replaced nowhere": [
            ("if users and not _is_inside(defining, block):", "if True and not _is_inside(defining, block):"),
        ],
        "the same outputs are given out again": [
            ("if wanted != given:", "if True:"),
        ],
        "the visitor after it infers the type; dead-code-elimination.mlir notices": [
            ("block.results[0].set_type(end.operands[0].type)", "pass"),
        ],
        "an op of a function has a parent": [
            (
                "return op is not None and op.parent is not None and bool(op.parent.operation == block)",
                "return op is not None and True and bool(op.parent.operation == block)",
            ),
        ],
        "ops with an evaluator have a class": [
            (
                "if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
                "if False or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
            ),
        ],
        "ops with an evaluator give tensors": [
            (
                "if cls is None or not isinstance(info, Tensor) or info.dtype is None or info.known_shape is None:",
                "if cls is None or False or info.dtype is None or info.known_shape is None:",
            ),
        ],
        "the verifier refuses symbols in a result of constants": [
            (
                "sizes = [dim for dim in info.known_shape if isinstance(dim, int)]",
                "sizes = [dim for dim in info.known_shape if True]",
            ),
            (
                "if len(sizes) != len(info.known_shape) or math.prod(sizes) > self.max_elements:",
                "if False or math.prod(sizes) > self.max_elements:",
            ),
        ],
    },
    "passes/calls.py": {
        "each size that is not known gets the one that is expected": [
            (
                'dims = ["?" if d is None else d for d in pattern]',
                'dims = ["?" if False else d for d in pattern]',
            ),
        ],
        "it holds; for type checkers": [
            (
                "assert isinstance(info, Tensor) and info.shape is not None",
                "assert True and info.shape is not None",
            ),
            (
                "assert isinstance(info, Tensor) and info.shape is not None",
                "assert isinstance(info, Tensor) and True",
            ),
        ],
        "without tuples the parameters are replaced by their like": [
            ("if any(isinstance(info, Tuple) for info in infos):", "if True:"),
        ],
        "it is an op of a copy that is dropped": [
            ("op.erase()", "pass"),
        ],
        "only tuples are converted to tuples": [
            (
                "if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):",
                "if have != want and True and isinstance(want, Tuple):",
            ),
        ],
        "tuples are converted to tuples only": [
            (
                "if have != want and isinstance(have, Tuple) and isinstance(want, Tuple):",
                "if have != want and isinstance(have, Tuple) and True:",
            ),
        ],
    },
    "passes/lambda_lift.py": {
        "the op gets another location afterwards": [
            (
                'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
                'with ir.InsertionPoint(block), op.location, located_at("", 0, 1):',
            ),
            (
                'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
                'with ir.InsertionPoint(block), op.location, located_at("", 0, -1):',
            ),
            (
                'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
                'with ir.InsertionPoint(block), op.location, located_at("", 1, 0):',
            ),
            (
                'with ir.InsertionPoint(block), op.location, located_at("", 0, 0):',
                'with ir.InsertionPoint(block), op.location, located_at("", -1, 0):',
            ),
        ],
        "the symbols of its type are those of its parameters and of its body": [
            ("if inner == op:", "if False:"),
        ],
        "the symbols of other arguments are in scope": [
            ("if parent.name == LambdaOp.OPERATION_NAME:", "if True:"),
        ],
    },
    "passes/specialize_closures.py": {
        "what is left over goes in the next step, which begins with it": [
            ("clean(self.module)", "pass"),
        ],
        "an unknown dimension names no symbol": [
            (
                "yield from (dim for dim in dims or () if dim is not None)",
                "yield from (dim for dim in dims or () if True)",
            ),
        ],
    },
    "passes/convert_layout.py": {
        "without convolutions nothing moves; the condition saves time": [
            ("if _has_any(function, wanted):", "if True:"),
        ],
        "the walk begins with the function": [
            (
                'names, found = {f"relax.{op}" for op in ops}, False',
                'names, found = {f"relax.{op}" for op in ops}, True',
            ),
        ],
        "a convolution that has the layouts is replaced by its like": [
            (
                "if (data, kernel, out) == (new_data, new_kernel, new_data) or not _have_ranks(binding):",
                "if False or not _have_ranks(binding):",
            ),
        ],
        "a transposition of a transposition has a rank": [
            (
                "if order is None or before is None or source.ssa not in self._spatial:",
                "if False or before is None or source.ssa not in self._spatial:",
            ),
        ],
        "without an op there are no axes": [
            ("if made is None or axes is None:", "if False or axes is None:"),
        ],
        "no dimension is added to a shape of the same rank": [
            (
                "if shape is not None and len(shape) < len(order):",
                "if shape is not None and len(shape) <= len(order):",
            ),
            ("if shape is not None and len(shape) < len(order):", "if shape is not None and True:"),
        ],
    },
    "passes/dataflow.py": {
        "an op of a function has a parent": [
            (
                "(user, number) for user, number in uses if user.parent is None or user.parent.operation != dataflow",
                "(user, number) for user, number in uses if False or user.parent.operation != dataflow",
            ),
        ],
        "what has its place keeps it, since a dictionary keeps the first place of a key": [
            (
                "following = next((n for n in rest if n not in order), None)",
                "following = next((n for n in rest if True), None)",
            ),
        ],
    },
    "passes/decompose_ops.py": {
        "no float has 31 bits": [
            ("if dtype.bits >= 32:", "if dtype.bits >= 31:"),
        ],
        "the verifier refuses the axis of the channels among the others": [
            (
                "reduced = [channel + 1, *(axis + (axis > channel) for axis in axes)]",
                "reduced = [channel + 1, *(axis + (axis >= channel) for axis in axes)]",
            ),
        ],
        "queries and keys have the same last dimension": [
            (
                "queries, keys, size = shapes[0][1], shapes[1][1], shapes[0][3]",
                "queries, keys, size = shapes[0][1], shapes[1][1], shapes[ 1][3]",
            ),
        ],
    },
    "python/relax_mlir/rewrite/effects.py": {
        "nothing is replaced then; the condition saves time": [
            ("if latest:", "if True:"),
        ],
        "the call follows, or an op with regions that holds it": [
            ("while op is not None and op != call:", "while True and op != call:"),
        ],
        "an operand that is the latest value is replaced by itself": [
            ("if new is not None and new != value:", "if new is not None and True:"),
        ],
    },
    "passes/fusion/fuse_attention.py": {
        "all dtypes must be equal": [
            ("dtype = infos[0].dtype", "dtype = infos[ 1].dtype"),
        ],
        "without an op the factor is not used": [
            ("return None, 0.0", "return None, 1.0"),
        ],
    },
    "passes/shapes.py": {
        "the type stays the same then": [
            (
                "return old != new and all(a == b or _differ_in_dims(a, b) for a, b in pairs)",
                "return True and all(a == b or _differ_in_dims(a, b) for a, b in pairs)",
            ),
            (
                "return old != new and old.dtype == new.dtype and old.ndim == new.ndim",
                "return True and old.dtype == new.dtype and old.ndim == new.ndim",
            ),
            (
                "return isinstance(old, Shape) and isinstance(new, Shape) and old != new and old.ndim == new.ndim",
                "return isinstance(old, Shape) and isinstance(new, Shape) and True and old.ndim == new.ndim",
            ),
        ],
        "both infos are of one kind": [
            (
                "if isinstance(old, Tensor) and isinstance(new, Tensor):",
                "if isinstance(old, Tensor) and True:",
            ),
            (
                "if isinstance(old, Tensor) and isinstance(new, Tensor):",
                "if True and isinstance(new, Tensor):",
            ),
            ("if isinstance(old, Tuple) and isinstance(new, Tuple):", "if isinstance(old, Tuple) and True:"),
            ("if isinstance(old, Tuple) and isinstance(new, Tuple):", "if True and isinstance(new, Tuple):"),
            (
                "return isinstance(old, Shape) and isinstance(new, Shape) and old != new and old.ndim == new.ndim",
                "return True and isinstance(new, Shape) and old != new and old.ndim == new.ndim",
            ),
            (
                "return isinstance(old, Shape) and isinstance(new, Shape) and old != new and old.ndim == new.ndim",
                "return isinstance(old, Shape) and True and old != new and old.ndim == new.ndim",
            ),
        ],
        "the loop ends before, when nothing is learnt any more": [
            ("for _ in range(len(functions) + 1):", "for _ in range(len(functions) + 2):"),
        ],
        "the last round of a chain of calls only finds that nothing is learnt any more": [
            ("for _ in range(len(functions) + 1):", "for _ in range(len(functions) + 0):"),
        ],
        "further rounds learn nothing": [
            ("if before == [function.type for function in functions]:", "if False:"),
        ],
        "visitors see ops of Relax only": [
            (
                'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if '
                'name.startswith("relax."))',
                'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if True)',
            ),
            (
                'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if '
                'name.startswith("relax."))',
                'VIEWS = frozenset(name.removeprefix("relax.") for name in ops_with(IsView) if True)',
            ),
        ],
        "only more than 1 counts": [
            (
                "axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 1",
                "axes, source, length = [inner[axis] for axis in axes], made.operands[0], length + 2",
            ),
            (
                "source, length = made.operands[0], length + 1",
                "source, length = made.operands[0], length + 2",
            ),
        ],
        "only another number than 1 counts": [
            (
                "source, length = made.operands[0], length + 1",
                "source, length = made.operands[0], length - 1",
            ),
        ],
    },
    "passes/patterns.py": {
        "another op between two calls keeps them apart": [
            (
                "return user.name == TUPLE and bool(users) and all(_is_part(item, calls) for item in users)",
                "return True and bool(users) and all(_is_part(item, calls) for item in users)",
            ),
        ],
        "the order of groups has no circles; the condition saves time": [
            ("if other != current and other not in found:", "if other != current and True:"),
        ],
        "only calls are inlined; the condition saves time": [
            ("known = symbols_of(caller) if calls else []", "known = symbols_of(caller) if True else []"),
        ],
    },
    "passes/vm.py": {
        "axes from which symbols are solved have dimensions; the condition is for type checkers": [
            ("if dim is not None and axis in solved:", "if True and axis in solved:"),
        ],
        "the verifier refuses unknown values; the condition is for type checkers": [
            (
                'dims = [dim for dim in dims_in(op.attributes["values"]) if dim is not None]',
                'dims = [dim for dim in dims_in(op.attributes["values"]) if True]',
            ),
        ],
    },
    "lowering/loops/vectorize_loops.py": {
        "of two factors one is stepped: the other is a constant only then": [
            ("if isinstance(side, Stepped) and factor is not None:", "if True and factor is not None:"),
        ],
        "the first iteration is a number here; the condition is for type checkers": [
            ("if factor and isinstance(first, int):", "if factor and True:"),
        ],
        "no set has so few elements": [
            ("before = -1", "before = - 2"),
        ],
        "a loop with a constant number of iterations has a constant begin; the condition is for type checkers": [
            ("if count is not None and begin is not None:", "if count is not None and True:"),
        ],
    },
    "passes/memory.py": {
        "the number is only compared with those of storages, of which the least is 0": [
            (
                "symbols = ChainMap({s: 0 for t in function.type.inputs for s in _symbols_of(t)})",
                "symbols = ChainMap({s: -1 for t in function.type.inputs for s in _symbols_of(t)})",
            ),
        ],
        "an op without regions changes nothing; the condition saves time": [
            ("elif len(op.regions):", "elif True:"),
        ],
        "no symbol is called None; the condition is for type checkers": [
            (
                "symbols.update({n: len(self._root) for n in names if n is not None and n not in symbols})",
                "symbols.update({n: len(self._root) for n in names if True and n not in symbols})",
            ),
        ],
        "the integers of a call are known": [
            (
                'tir_vars = [d for d in dims_from_attr(op.attributes["tir_vars"]) if d is not None]',
                'tir_vars = [d for d in dims_from_attr(op.attributes["tir_vars"]) if True]',
            ),
        ],
        "a field of another tuple is not owned": [
            (
                "defining is not None and defining.name == TUPLE and self._is_owned(value, op, defining)",
                "defining is not None and True and self._is_owned(value, op, defining)",
            ),
        ],
        "the new results are in the set already": [
            (
                "self._call_prim(op, given, fresh, [value for value in results if value not in fresh])",
                "self._call_prim(op, given, fresh, [value for value in results if True])",
            ),
        ],
        "it holds; for type checkers": [
            (
                "assert isinstance(info, Tensor) and info.known_shape is not None and info.dtype is not None",
                "assert True and info.known_shape is not None and info.dtype is not None",
            ),
            (
                "assert isinstance(info, Tensor) and info.known_shape is not None and info.dtype is not None",
                "assert isinstance(info, Tensor) and True and info.dtype is not None",
            ),
            (
                "assert isinstance(info, Tensor) and info.known_shape is not None and info.dtype is not None",
                "assert isinstance(info, Tensor) and info.known_shape is not None and True",
            ),
        ],
        "without copies the same tuple is built again, and the old one goes": [
            ("if copies:", "if True:"),
        ],
        "the terminator ends no life": [
            ("while op is not None and has_trait(op, EndsLife):", "while True and has_trait(op, EndsLife):"),
        ],
    },
}
"""By file and reason: lines before and after the change."""
EQUIVALENT = tuple(
    Equivalent(path, before, after, reason)
    for path, reasons in MUTANTS.items()
    for reason, pairs in reasons.items()
    for before, after in pairs
)
