"""The built-in implementations of an op call: its rule, with the generated kernel if one applies, and without."""

from __future__ import annotations

from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS, PRIM_FUNC
from relax_mlir.ir_queries import ops_of
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS
from relax_mlir.lowering.kernels.nest.loop_nest import loops_of
from relax_mlir.lowering.kernels.registry import Request
from relax_mlir.lowering.kernels.select_kernels import generator_of
from relax_mlir.lowering.kernels.windows.window_match import lie_apart, terms_of
from relax_mlir.lowering.legalize.rules import Arg, Legalizer, OpCall, Rule
from relax_mlir.mlir import func, ir, linalg
from relax_mlir.module_functions import functions_of
from relax_mlir.passes.fusion.prim_merging import is_contraction
from relax_mlir.strategy.implementation import DEFAULT_PLEVEL, OpImplementation
from relax_mlir.strategy.op_strategy import OpStrategy
from relax_mlir.target import Target

KERNEL_PLEVEL = 15
"""The priority of generated kernels."""
LINALG = "linalg"
PRODUCT = "matrix product"
WINDOWS = "windows"


def builtin_strategy(call: OpCall, rule: Rule, target: Target) -> OpStrategy:
    """The implementations of a call that `rule` legalises, from the prim funcs that it builds in a scratch module."""
    strategy = OpStrategy()
    scratch = _legalized(call, rule)
    prims = [op for op in functions_of(scratch) if PRIM_FUNC in op.attributes]
    asking = next((prim for prim in prims if KERNEL in prim.attributes), None)
    product = next((prim for prim in prims if is_contraction(prim) and _multiplies(prim)), None)
    windows = next((prim for prim in prims if _over_windows(prim)), None)
    if asking is not None:
        name = ir.StringAttr(asking.attributes[KERNEL]).value
        unless = _against_kernel(name, asking, target)
        strategy.add(OpImplementation(f"kernel {name}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
    elif windows is not None:
        unless = _against_windows(windows)
        strategy.add(OpImplementation(f"kernel {WINDOWS}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
        if not unless:
            return strategy
    elif product is not None:
        unless = _against_product(product)
        strategy.add(OpImplementation(f"kernel {PRODUCT}", plevel=KERNEL_PLEVEL, rule=rule, unless=unless))
        if not unless:
            return strategy  # the kernel is recognised by the linalg op
    strategy.add(OpImplementation(LINALG, plevel=DEFAULT_PLEVEL, rule=rule, takes_kernel=False))
    return strategy


def _legalized(call: OpCall, rule: Rule) -> ir.Module:
    """A module with the prim funcs that the rule builds for a call, and a function that calls them."""
    legalizer = Legalizer(ir.Module.create(ir.Location.unknown()))
    types = [arg.ssa.type for arg in call.operands]
    with ir.InsertionPoint(legalizer.module.body):
        caller = func.FuncOp("caller", ir.FunctionType.get(types, []))
    block = caller.add_entry_block()
    operands = [Arg(value, arg.info) for value, arg in zip(block.arguments, call.operands, strict=True)]
    with ir.InsertionPoint(block):
        rule(legalizer, OpCall(call.args, tuple(operands), call.results))
        func.ReturnOp([])
    return legalizer.module


def _against_kernel(name: str, prim: func.FuncOp, target: Target) -> str:
    """The reason why the generator of a kernel declines a prim func; "" if it accepts."""
    generator = generator_of(name)
    if generator is None:
        return "there is no generator of this name"
    attributes = {named.name: named.attr for named in prim.attributes.get(KERNEL_ATTRS, ())}
    types = [t for t in prim.type.inputs if isinstance(t, ir.RankedTensorType)]
    scratch = ir.Module.create(ir.Location.unknown())
    with ir.InsertionPoint(scratch.body):
        buffers = [ir.MemRefType.get(t.shape, t.element_type) for t in types]
        block = func.FuncOp("buffers", ir.FunctionType.get(buffers, [])).add_entry_block()
    request = Request(name, target, scratch.body, list(block.arguments), attributes)
    shown = ", ".join(dict.fromkeys(str(t.element_type) for t in types))
    return "" if generator(request) else f"no kernel for these axes, layouts or dtypes ({shown})"


def _multiplies(prim: func.FuncOp) -> bool:
    """True if a contraction adds products, and not elements as poolings do."""
    return bool(ops_of(prim.operation, "linalg.matmul", "arith.mulf", "arith.muli", "arith.andi"))


def _over_windows(prim: func.FuncOp) -> ir.Operation | None:
    """The reduction of a prim func that reads its data at sums of loop indices; None if there is none."""
    for op in ops_of(prim.operation, "linalg.generic"):
        if len(op.operands) == 3 and any(
            "reduction" in str(kind) for kind in op.attributes["iterator_types"]
        ):
            maps = linalg.get_indexing_maps(op)
            if loops_of(maps[0].value) is None and None not in map(
                loops_of, (x.value for x in list(maps)[1:])
            ):
                return op
    return None


def _against_windows(prim: func.FuncOp) -> str:
    """The reason why no kernel over windows takes a contraction; "" if one does."""
    operation = _over_windows(prim)
    assert operation is not None
    data, sizes, total = (ir.RankedTensorType(x.type) for x in operation.operands)
    maps = [attribute.value for attribute in linalg.get_indexing_maps(operation)]
    element = str(data.element_type)
    if element not in FLOATS or (not _multiplies(prim) and str(total.element_type) not in FLOATS):
        return f"no kernel for {element}"
    taps = dict(zip(loops_of(maps[1]) or (), sizes.shape, strict=True))
    padded = bool(ops_of(prim.operation, "tensor.insert_slice"))
    if ops_of(operation, "arith.maximumf") and not padded and lie_apart(maps[0], taps):
        return "windows have no elements in common"
    added = [terms for expression in maps[0].results if len(terms := terms_of(expression)) > 1]
    *_, last = loops_of(maps[2]) or (None,)
    return "" if any(last in dict(terms) for terms in added) else "channels are the last dimension"


def _against_product(prim: func.FuncOp) -> str:
    """The reason why the generated GEMM kernels do not take a contraction; "" if they do."""
    names = {str(ir.RankedTensorType(t).element_type) for t in prim.type.inputs[:2]}
    taken = len(names) == 1 and names <= FLOATS.keys()
    return "" if taken else f"no kernel for {' and '.join(sorted(names))}"
