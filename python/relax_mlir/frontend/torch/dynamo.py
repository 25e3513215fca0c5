"""``torch.compile(model, backend="relax_mlir")``: compile the graphs that Dynamo captures.

Torch handles graph breaks, guards, mutation and aliases. Parameters are arguments of the compiled code, so that it sees
every change of the module. Training graphs are rejected.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import cache, partial, wraps
from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.random import STATE
from relax_mlir.dialects.structure import prim_value
from relax_mlir.dialects.types import Prim
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.common import UnsupportedOps
from relax_mlir.frontend.torch.decompositions import decompositions, eager_aliases
from relax_mlir.frontend.torch.exported_program import GENERATOR
from relax_mlir.frontend.torch.graph_importer import GraphImporter
from relax_mlir.frontend.torch.registry import draws, rules
from relax_mlir.frontend.torch.sizes import Sizes, tensor_info
from relax_mlir.frontend.torch.torch_mlir_fallback import TorchMlirFallback
from relax_mlir.frontend.torch.torch_types import (
    Argument,
    GraphModule,
    Node,
    SymPy,
    exact_sizes,
    require_torch,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.random import Generator, State
from relax_mlir.runtime.build import build
from relax_mlir.symbolic import Expr

__all__ = ["compile_module", "dynamo_backend"]

ADVICE = "Let torch run these parts: torch.compiler.disable, or torch._dynamo.graph_break() around them."


def dynamo_backend(
    graph_module: GraphModule, example_inputs: Sequence[Argument], **options: Argument
) -> Callable[..., Argument]:
    """Compile one graph of Dynamo. `options` are those of `relax_mlir.build`, and ``fallback``.

    ``fallback=False`` rejects ops that torch-mlir would lower; see `from_exported_program`.

    Raises:
        UnsupportedError: a training graph; all ops that are not supported, with counts and lines.
    """
    import torch
    from torch._dynamo.backends.common import aot_autograd

    if torch.is_grad_enabled() and any(getattr(item, "requires_grad", False) for item in example_inputs):
        raise UnsupportedError(
            "backend 'relax_mlir' compiles for inference, and this graph has gradients; call the model under "
            "torch.no_grad() or torch.inference_mode()"
        )

    def compile_forward(graph: GraphModule, inputs: Sequence[Argument]) -> Callable[..., Argument]:
        return _compiled(graph, options.get("options") or {})

    compiler = aot_autograd(fw_compiler=compile_forward, decompositions=_table())
    with eager_aliases():
        found: Callable[..., Argument] = compiler(graph_module, example_inputs)
    return found


def compile_module(
    module: Callable[..., Argument], *, fullgraph: bool = False, **options: Argument
) -> Callable[..., Argument]:
    """``torch.compile(module, backend="relax_mlir", dynamic=True)`` without recompilation for sizes 0 and 1.

    By default torch recompiles when a size is 0 or 1 for the first time. `options` are those of `relax_mlir.build`.
    """
    torch = require_torch()
    compiled = torch.compile(module, backend=dynamo_backend, dynamic=True, fullgraph=fullgraph, options=options or None)

    @wraps(module.forward if isinstance(module, torch.nn.Module) else module)
    def run(*args: Argument, **kwargs: Argument) -> Argument:
        with exact_sizes():
            return compiled(*args, **kwargs)

    return run


@cache
def _table() -> dict[Any, Any]:
    """Return torch's decompositions of all ops without a rule."""
    from torch._decomp import decomposition_table

    return decompositions({op for op in decomposition_table if hasattr(op, "_schema") and str(op) not in rules()})


def _compiled(graph_module: GraphModule, options: dict[str, Any]) -> Callable[..., Argument]:
    """Compile one functional graph to a function of a list of arguments."""
    nodes = list(graph_module.graph.nodes)
    inputs = [node for node in nodes if node.op == "placeholder"]
    (results,) = next(node for node in nodes if node.op == "output").args
    used = [index for index, node in enumerate(inputs) if _is_value(node)]
    given = {inputs[index]: index for index in used}
    kept = [item for item in results if item is not None and item not in given and not isinstance(item, int)]
    if not kept:
        return _boxed(lambda *args: tuple(args[given[i]] if i in given else i for i in results))
    rest = {name: value for name, value in options.items() if name != "fallback"}
    main = build(graph_to_module(graph_module, options.get("fallback", True)), **rest)["main"]

    layouts = _layouts(inputs, results)
    seeds = [_seed_of_torch] if draws(graph_module) else []

    def run(*args: Argument) -> tuple[Argument, ...]:
        found = iter(main(*(args[index] for index in used), *(seed() for seed in seeds)))
        return tuple(
            args[given[item]]
            if item in given
            else item
            if item is None or isinstance(item, int)
            else layouts[item](next(found), args)
            if item in layouts
            else next(found)
            for item in results
        )

    return _boxed(run)


def _layouts(
    inputs: Sequence[Node], results: Sequence[Node]
) -> dict[Any, Callable[[Argument, Sequence[Argument]], Argument]]:
    """Return functions that lay out results as torch traced them, for results that are views or have views as results.

    For a view of an argument, torch rebuilds the view on the argument's memory from the strides and offset of the
    result.
    """
    import torch

    nodes = [item for item in results if isinstance(item, torch.fx.Node) and item not in inputs]
    views = {item: root for item in nodes if (root := _viewed(item)) is not item}
    kept = {item for item, root in views.items() if root in inputs or root in nodes}
    kept |= {root for root in views.values() if root in nodes}
    fakes = {item: item.meta.get("val") for item in kept}
    return {
        item: partial(_laid_out, _numbers((*fake.stride(), fake.storage_offset()), inputs))
        for item, fake in fakes.items()
        if isinstance(fake, torch.Tensor)
    }


def _viewed(node: Node) -> Node:
    """Return the root node that a node is a view of."""
    while True:
        source = node.args[0] if node.args else None
        schema = getattr(node.target, "_schema", None)
        views = schema is not None and any(result.alias_info is not None for result in schema.returns)
        if not hasattr(source, "meta") or not (views or node.target is operator.getitem):
            return node
        node = source


def _numbers(sizes: Sequence[Argument], inputs: Sequence[Node]) -> Callable[[Sequence[Argument]], list[int]]:
    """Return a function from a graph's arguments to the values of symbolic integers."""
    import torch

    sources: dict[Any, tuple[int, str, int]] = {}
    for index, node in enumerate(inputs):
        value = node.meta.get("val")
        if isinstance(value, torch.SymInt):
            sources.setdefault(value.node.expr, (index, "", 0))
        elif hasattr(value, "shape"):
            for axis in range(len(value.shape)):
                for kind, size in (("shape", value.shape[axis]), ("stride", value.stride()[axis])):
                    if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                        sources.setdefault(size.node.expr, (index, kind, axis))
    exprs = [size.node.expr if isinstance(size, torch.SymInt) else size for size in sizes]

    def value_of(symbol: SymPy, args: Sequence[Argument]) -> int:
        index, kind, axis = sources[symbol]
        value = args[index]
        return int(value.shape[axis] if kind == "shape" else value.stride(axis) if kind else value)

    def compute(args: Sequence[Argument]) -> list[int]:
        return [
            e if isinstance(e, int) else int(e.xreplace({s: value_of(s, args) for s in e.free_symbols})) for e in exprs
        ]

    return compute


def _laid_out(
    numbers: Callable[[Sequence[Argument]], list[int]], value: Argument, args: Sequence[Argument]
) -> Argument:
    """Return a tensor with the strides and the offset from `numbers`; `value` itself if it has them."""
    import torch

    *strides, offset = numbers(args)
    dense = value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)
    if list(dense.stride()) == strides and dense.storage_offset() == offset:
        return dense
    last = sum((size - 1) * stride for size, stride in zip(dense.shape, strides, strict=True))
    memory = torch.empty(offset + last + 1 if dense.numel() else offset, dtype=dense.dtype)
    return memory.as_strided(dense.shape, strides, offset).copy_(dense)


def _seed_of_torch() -> State:
    """Return a generator state seeded by torch's generator, so that ``torch.manual_seed`` determines the numbers."""
    import torch

    return Generator(int(torch.randint(2**63 - 1, (), dtype=torch.int64, device="cpu"))).state


def _boxed(function: Callable[..., Argument]) -> Callable[..., Argument]:
    """Return `function` in torch's boxed calling convention, with a list of arguments."""
    from torch._functorch.aot_autograd import make_boxed_func

    boxed: Callable[..., Argument] = make_boxed_func(function)
    return boxed


def graph_to_module(graph_module: GraphModule, fallback: bool = True) -> IRModule:
    """Import a functional graph: ``main`` takes its placeholders and returns a tuple of the computed results.

    Results that are placeholders, integers or None are omitted. A graph that draws random numbers has the state of a
    generator as last parameter; the next state is not returned. `fallback`: see `from_exported_program`.

    Raises:
        UnsupportedError: all ops that are not supported.
    """
    sizes = Sizes()
    unsupported = UnsupportedOps("the graph of torch.compile")
    builder = BlockBuilder()
    nodes = [node for node in graph_module.graph.nodes if node.op == "placeholder" and _is_value(node)]
    params = [Var(node.name, _info(node, sizes)) for node in nodes]
    generator = [Var(GENERATOR, STATE)] if draws(graph_module) else []
    with builder.function("main", [*params, *generator]):
        lowered = TorchMlirFallback(builder, fallback)
        values = _tensors(nodes, params)
        importer = GraphImporter(builder, sizes, unsupported, values=values, fallback=lowered)
        importer.random_state = generator[0] if generator else None
        importer.run(graph_module.graph)
        if unsupported:
            raise unsupported.error(ADVICE)
        (results,) = next(node for node in graph_module.graph.nodes if node.op == "output").args
        kept = [item for item in results if item is not None and item not in nodes and not isinstance(item, int)]
        builder.emit_func_output([_as_value(importer.argument(item)) for item in kept])
    return builder.get()


def _is_value(node: Node) -> bool:
    """True if a placeholder is a tensor or an integer."""
    value = node.meta.get("val")
    return hasattr(value, "shape") or type(value).__name__ == "SymInt"


def _info(node: Node, sizes: Sizes) -> Any:  # noqa: ANN401 - a struct info
    value = node.meta["val"]
    return tensor_info(value, sizes) if hasattr(value, "shape") else Prim("int64", value=sizes.dim(value))


def _tensors(nodes: Sequence[Node], params: Sequence[Var]) -> dict[Any, Any]:
    """Return the tensor parameters by node; integers are symbols."""
    pairs = zip(nodes, params, strict=True)
    return {node: param for node, param in pairs if hasattr(node.meta["val"], "shape")}


def _as_value(item: Argument) -> Value:
    return item if isinstance(item, Value) else prim_value(item if isinstance(item, Expr) else int(item))
