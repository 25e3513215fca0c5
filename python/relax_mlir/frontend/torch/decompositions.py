"""Functional ATen: remove mutation from programs, and replace ops without a rule by torch's decompositions."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from relax_mlir.error import UnsupportedError
from relax_mlir.fork_safety import Order, SharedChange
from relax_mlir.frontend.torch.graph_importer import find_rule, op_name
from relax_mlir.frontend.torch.registry import CHECKS, REFUSED, is_ignored, rules
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram, GraphModule, Node, exact_sizes

# Check if a program of ``torch.export`` is already in functional form and need not be traced again.


_SWITCHES = ("train", "training", "use_input_stats")
"""Parameters of ops that draw random numbers or change statistics if they are true."""
_CHANCES = ("dropout_p",)
"""Parameters of ops that draw random numbers unless they are 0."""
_STATISTICS = ("batch_norm", "instance_norm")
"""Ops that change their arguments in training, which their schemas do not declare."""
UNMARKED = frozenset(
    f"aten.{name}" if "." in name else f"aten.{name}.default"
    for name in (
        *("_cast_Byte", "_cast_Char", "_cast_Double", "_cast_Float", "_cast_Half", "_cast_Int", "_cast_Long"),
        *("_cast_Short", "alpha_dropout", "broadcast_tensors", "cartesian_prod", "conj_physical", "dropout"),
        *(
            "einsum",
            "feature_alpha_dropout",
            "feature_dropout",
            "meshgrid",
            "meshgrid.indexing",
            "sum_to_size",
        ),
        *("type_as", "unflatten_dense_tensors", "unsafe_chunk", "unsafe_split.Tensor"),
        *(f"atleast_{rank}d{kind}" for rank in (1, 2, 3) for kind in ("", ".Sequence")),
        "unsafe_split_with_sizes",
    )
)
"""Ops that may return their operand or a view of it, which their schemas do not declare."""


def is_functional(program: ExportedProgram) -> bool:
    """True if no op changes memory or draws random numbers, each has a rule, and no result may alias another value.

    ``run_decompositions({})``, which traces the program again, would then change nothing that the import uses. Programs
    with control flow, or with weights of tensor subclasses, do not count as functional.
    """
    import torch
    from torch.utils._python_dispatch import is_traceable_wrapper_subclass

    if any(map(is_traceable_wrapper_subclass, program.state_dict.values())):
        return False
    if sum(isinstance(module, torch.fx.GraphModule) for module in program.graph_module.modules()) != 1:
        return False
    return all(map(_is_pure, program.graph.nodes)) and not _share_results(program)


def _is_pure(node: Node) -> bool:
    if node.op != "call_function":
        return bool(node.op in ("placeholder", "output"))
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return not hasattr(node.target, "py_kernels")  # a higher-order op
    name = str(node.target)
    if not name.startswith(("aten.", "prims.")) or (find_rule(node) is None and not is_ignored(node)):
        return False
    if schema.is_mutable:
        return name == "aten.detach_.default"
    return not _is_drawn_or_counted(node, name)


def _is_drawn_or_counted(node: Node, name: str) -> bool:
    """True if an op draws random numbers or changes statistics."""
    import torch

    draws = torch.Tag.nondeterministic_seeded in node.target.tags
    if not draws and not any(part in name for part in _STATISTICS):
        return False
    given = dict(_arguments(node))
    switches = [given[key] for key in (*_SWITCHES, *_CHANCES) if key in given]
    return any(switches) if switches else draws


def _arguments(node: Node) -> Iterator[tuple[str, Argument]]:
    """Yield the arguments of an op by name, defaults included."""
    for index, parameter in enumerate(node.target._schema.arguments):
        given = node.args[index] if index < len(node.args) else parameter.default_value
        yield parameter.name, node.kwargs.get(parameter.name, given)


def _share_results(program: ExportedProgram) -> bool:
    """True if a result may be an argument or another result, returned unchanged by ops."""
    output = next(node for node in program.graph.nodes if node.op == "output")
    results = [item for item in output.args[0] if hasattr(item, "meta")]
    sources = [_source(item) for item in results]
    moved = {source for item, source in zip(results, sources, strict=True) if item is not source}
    return any(source.op == "placeholder" or sources.count(source) > 1 for source in moved)


def _source(node: Node) -> Node:
    """Return the earliest node that a node may be the same tensor as."""
    while _may_be_operand(node):
        node = node.args[0]
    return node


def _may_be_operand(node: Node) -> bool:
    """True if an op may return its operand itself, as ``x.to(dtype)`` does if there is nothing to convert."""
    import torch

    schema = getattr(node.target, "_schema", None)
    if schema is None or not node.args or not hasattr(node.args[0], "meta"):
        return False
    name = str(node.target)
    marked = any(value.alias_info is not None for value in schema.returns)
    if name != "aten.detach_.default" and name not in UNMARKED:
        key = torch._C.DispatchKey.CompositeImplicitAutograd
        if not marked or name == "aten.reshape.default":
            return False
        if not torch._C._dispatch_has_kernel_for_dispatch_key(node.target.name(), key):
            return False
    return _is_like(node.args[0].meta.get("val"), node.meta.get("val"))


def _is_like(operand: Any, result: Any) -> bool:  # noqa: ANN401 - whatever torch knows of a node
    """True if two values may be the same: tensors of one dtype and rank, or lists."""
    if not hasattr(operand, "shape") or not hasattr(result, "shape"):
        return True
    return bool(operand.dtype == result.dtype and len(operand.shape) == len(result.shape))


_ROUNDS = 8
"""The maximum number of rounds in which decompositions may introduce ops that need another one."""


def decomposed(program: ExportedProgram, *, functional: bool, known: Collection[str]) -> Argument:
    """Return `program` in functional form, with ops without a rule decomposed.

    An op that torch cannot decompose remains and is reported by the import. `known` are ops with users' rules, by their
    names in functional form.

    A trace takes seconds. The first trace therefore also decomposes all ATen ops without a rule, whether the program
    contains them or not, because decompositions may lead to them. Another trace is needed only for users' ops that are
    used only by other users' ops.
    """
    tried: set[Any] = set()
    is_open = functional and (known or not is_functional(program))
    if is_open:
        _refuse_lifts(program)
    for _ in range(_ROUNDS):
        missing = {op for op in _missing(program.graph_module, known) if op not in tried}
        table = decompositions(missing)
        if is_open:
            table |= _unmarked(program.graph_module)
        elif not table:
            break
        kept = {*rules(), *known, *CHECKS}
        led_to = {op for op in _decomposable() if str(op) not in kept}
        program = _run(program, {**decompositions(led_to), **table})
        tried |= missing | led_to
        is_open = False
    return program


@functools.cache
def _decomposable() -> frozenset[Any]:
    """Return the ATen ops that torch can decompose and that change no memory."""
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    ops = {*decomposition_table, *default_decompositions()}
    return frozenset(op for op in ops if hasattr(op, "_schema") and not op._schema.is_mutable)


def _run(program: ExportedProgram, table: Mapping[Argument, Argument]) -> ExportedProgram:
    """Call `run_decompositions` without torch's warnings about its own code.

    It traces again, and would otherwise assume again that sizes are two or more.
    """
    with warnings.catch_warnings(), exact_sizes(), eager_aliases():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        return program.run_decompositions(table)


def _unmarked(graph_module: GraphModule) -> dict[Any, Any]:
    """Return kernels for ops of a graph whose results may be views that their schemas do not declare.

    Torch treats a change of such a result as a change of a new tensor, unless the op is decomposed first.
    """
    targets = {node.target for node in _nodes(graph_module) if str(node.target) in UNMARKED}
    return {op: composite_kernel(op) for op in targets if _is_composite(op)}


def _refuse_lifts(program: ExportedProgram) -> None:
    """Reject ``lift_fresh`` of a non-constant: `torch.export` copies it, eager torch returns its operand."""
    constants = program.graph_signature.inputs_to_lifted_tensor_constants
    for node in program.graph.nodes:
        if str(node.target) not in ("aten.lift_fresh.default", "aten.lift_fresh_copy.default"):
            continue
        operand = node.args[0]
        if operand.op != "get_attr" and operand.name not in constants:
            raise UnsupportedError(
                f"aten.lift_fresh of '{operand.name}', which is no constant, in a program that is not functional; "
                "use the tensor itself"
            )


def eager_aliases() -> AbstractContextManager[None]:
    """Within the context, trace ops with eager torch's views where torch's tracing kernels return copies."""
    return _eager_kernels.made()


def _use_eager_kernels() -> Callable[[], None]:
    import torch

    key = torch._C.DispatchKey
    kernels = {_op(name): kernel for name, kernel in _EAGER.items()}
    saved = {op: dict(op.py_kernels) for op in kernels}
    for op, kernel in kernels.items():
        keys = [key.CompositeImplicitAutograd] if _is_composite(op) else []
        op.py_kernels.update(dict.fromkeys([*keys, key.Autograd], kernel))
        op._dispatch_cache.clear()

    def undo() -> None:
        for op, before in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(before)
            op._dispatch_cache.clear()

    return undo


_eager_kernels = SharedChange(Order.TORCH_KERNELS, _use_eager_kernels)


def _op(name: str) -> Argument:
    import torch

    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload)


def _dropout(x: Argument, p: float, train: bool | None) -> Argument:
    return _op("native_dropout.default")(x, p, train)[0] if train and p != 0 else x


def _marked(name: str) -> Callable[..., Argument]:
    """Return a kernel that runs another op, which returns the same views and declares them in its schema."""
    return lambda *args: list(_op(name)(*args))


_EAGER = {
    "dropout.default": _dropout,
    "unsafe_chunk.default": _marked("chunk.default"),
    "unsafe_split.Tensor": _marked("split.Tensor"),
    "unsafe_split_with_sizes.default": _marked("split_with_sizes.default"),
}
"""Kernels that return the same views as eager torch, by op name."""


def decompositions(ops: set[Any]) -> dict[Any, Any]:
    """Return torch's decompositions of those `ops` that have one, as functions of the schema's arguments."""
    found = {op: _decomposition(op) for op in ops if str(op) not in REFUSED and hasattr(op, "_schema")}
    return {op: function for op, function in found.items() if function is not None}


def _decomposition(op: Argument) -> Callable[..., Argument] | None:
    """Return the decomposition of a functional op. For a composite op it is the kernel that eager torch runs."""
    from torch._decomp import decomposition_table

    if op._schema.is_mutable:
        return None
    if _is_composite(op):
        return composite_kernel(op)
    function: Callable[..., Argument] | None = decomposition_table.get(op)
    return function if function is not None and not _is_prim(op) and follows_schema(op, function) else None


def follows_schema(op: Argument, function: Callable[..., Argument]) -> bool:
    """True if `function` takes the arguments of the op's schema.

    Torch's table also contains functions of ``torch._refs``, whose parameters are those of ``torch.nn.functional``: for
    example, a reduction is a string there and an integer in ATen.
    """
    try:
        parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())
    except ValueError:
        return False
    kinds = {parameter.kind for parameter in parameters}
    if kinds == {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return True  # it forwards its arguments
    if inspect.Parameter.VAR_POSITIONAL in kinds:
        return False
    by_name = {parameter.name: parameter for parameter in parameters}
    by_place = [parameter for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY]
    taken = set()
    for index, argument in enumerate(op._schema.arguments):
        if argument.kwarg_only:
            parameter = by_name.get(argument.name)
        else:
            parameter = by_place[index] if index < len(by_place) else None
        if parameter is None or not _takes(parameter, argument):
            return False
        taken.add(parameter.name)
    return all(p.name in taken or p.default is not p.empty for p in parameters)


def _takes(parameter: inspect.Parameter, argument: Argument) -> bool:
    """True if a Python parameter matches a schema argument in type, and in name or default."""
    if parameter.annotation is not parameter.empty:
        expected, annotated = _kinds(argument.type), _kinds(parameter.annotation)
        if not expected & annotated:
            return False
        if expected == {"Tensor"}:
            return True
    if parameter.name == argument.name or str(argument.type) == "Tensor":
        return True
    if not argument.has_default_value():
        return parameter.default is parameter.empty
    return bool(parameter.default == argument.default_value)


def _kinds(annotation: Argument) -> set[str]:
    """Return the kinds of values of a type: tensors, strings, and everything else as one kind."""
    words = set(re.findall(r"\w+", annotation.__name__ if isinstance(annotation, type) else str(annotation)))
    words -= {"torch", "typing", "Optional", "Union", "None", "NoneType", "List", "list", "Sequence", "tuple"}
    return {_KINDS.get(word, "number") for word in words}


_KINDS = {"Tensor": "Tensor", "TensorLike": "Tensor", "str": "str", "Literal": "str"}


def _is_composite(op: Argument) -> bool:
    """True if torch implements an op through other ops, in one kernel for all devices."""
    import torch

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key))


def composite_kernel(op: Argument) -> Callable[..., Argument]:
    """Return the kernel of a composite op. (`op.decompose` would request the decomposition that is being built.)"""
    import torch

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    found: Callable[..., Argument] = op.py_kernels.get(key) or partial(op._op_dk, key)
    return found


def _is_prim(op: Argument) -> bool:
    """True if torch's decomposition is a prim of the same name, for which there is no rule either."""
    import torch

    name = op._schema.name.partition("::")[2].removeprefix("special_")
    return name in dir(torch.ops.prims) and f"prims.{name}.default" not in rules()


def _missing(graph_module: GraphModule, known: Collection[str]) -> Iterator[Any]:
    """Yield the ops without a rule of a graph and of the graphs that its control flow calls."""
    for node in _nodes(graph_module):
        if not is_ignored(node) and op_name(node) not in known and find_rule(node) is None:
            yield node.target


def _nodes(graph_module: GraphModule) -> Iterator[Node]:
    """Yield the calls of ops with a schema in a graph and in the graphs that its control flow calls."""
    for module in graph_module.modules():
        graph = getattr(module, "graph", None)
        for node in graph.nodes if graph is not None else []:
            if node.op == "call_function" and hasattr(node.target, "_schema"):
                yield node
