"""`from_exported_program`: import the result of ``torch.export`` as a module; `compile_program`: compile it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tvm_ffi

from relax_mlir import symbolic
from relax_mlir.analysis.well_formed import parameter_names
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.dialects.random import STATE
from relax_mlir.dialects.structure import prim_value
from relax_mlir.dialects.types import StructInfo, struct_info
from relax_mlir.dialects.value import Value, Var
from relax_mlir.error import ArgumentError, RelaxError, UnsupportedError, expect
from relax_mlir.frontend.common import UnsupportedOps, compiling, importing
from relax_mlir.frontend.torch.decompositions import decomposed
from relax_mlir.frontend.torch.graph_importer import GraphImporter
from relax_mlir.frontend.torch.registry import draws
from relax_mlir.frontend.torch.sizes import (
    Guard,
    Leaf,
    ProgramSignature,
    Sizes,
    Tree,
    UnknownGuard,
    bounds_of,
    children,
    eliminate,
    exact_symbols,
    leaf_names,
    named_sizes,
    read_guards,
    read_signature,
    tensor_info,
    tree_info,
    unpacked,
)
from relax_mlir.frontend.torch.torch_mlir_fallback import TorchMlirFallback
from relax_mlir.frontend.torch.torch_types import (
    Argument,
    ExportedProgram,
    FakeTensor,
    Size,
    TreeSpec,
    array,
    exact_sizes,
    require_dense,
    require_torch,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.shapes.body import leaves
from relax_mlir.mlir import ir
from relax_mlir.random import Generator
from relax_mlir.runtime.build import build
from relax_mlir.runtime.executable import Executable
from relax_mlir.symbolic import Expr

# `export_program`: ``torch.export.export`` that records branches on sizes 0 and 1 instead of assuming them away.


def export_program(
    module: Argument,
    args: Sequence[Argument] = (),
    kwargs: Mapping[str, Argument] | None = None,
    *,
    dynamic_shapes: Argument = None,
    strict: bool = False,
) -> ExportedProgram:
    """``torch.export.export`` under ``backed_size_oblivious``: a branch of the model on ``size == 1`` is recorded.

    By default torch assumes sizes of two or more when it traces, and does not record the decisions that follow: a
    program with ``if x.shape[0] == 1`` silently takes the other branch for all sizes. Here such a condition is an error
    of torch's if the size has a `Dim` that may be 1, and a check of each call if it is ``Dim.DYNAMIC``. Conditions on
    size 0 are not recorded: torch assumes that sizes are positive.

    Raises:
        ArgumentError: torch is not installed. Errors of ``torch.export.export`` are passed on.
    """
    torch = require_torch()
    with exact_sizes():
        found: ExportedProgram = torch.export.export(
            module,
            tuple(args),
            dict(kwargs) if kwargs else None,
            dynamic_shapes=dynamic_shapes,
            strict=strict,
        )
    return found


# Parameters, buffers and constants of an exported program as module constants.


class Weights:
    """The tensors of a program by name. Tensors that share memory (tied weights) become one constant."""

    def __init__(self, program: ExportedProgram, copy: bool) -> None:
        self._tensors: dict[str, Any] = {**program.state_dict, **program.constants}
        self._copy = copy
        self._made: dict[tuple[Any, ...], Value] = {}

    def tensor(self, name: str) -> Argument:
        """Return the tensor `name`. Raises `UnsupportedError` for other objects."""
        found = self._tensors.get(name)
        if not hasattr(found, "data_ptr"):
            raise UnsupportedError(f"the program uses '{name}', a {type(found).__name__}, which is no tensor")
        return found

    def constant(self, builder: BlockBuilder, name: str) -> Value:
        """Return the tensor `name` as a constant."""
        tensor = self.tensor(name)
        require_dense(tensor, name)
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if tensor.numel() == 0 or key not in self._made:
            self._made[key] = builder.const(array(tensor, name, self._copy), name=name)
        return self._made[key]


# `from_exported_program`: import the result of ``torch.export`` as a module.


ConvertFunction = Callable[..., Any]
"""A user's rule: it takes the `OpCall` and the op's arguments, and returns a value or a list of values."""


def from_exported_program(
    exported_program: ExportedProgram,
    *,
    copy: bool = False,
    keep_params_as_input: bool = False,
    unwrap_unit_return_tuple: bool = False,
    run_ep_decomposition: bool = True,
    custom_convert_map: Mapping[str, ConvertFunction] | None = None,
    symbol_names: Mapping[str, str] | None = None,
    fallback: bool = True,
    donate: bool = False,
) -> IRModule:
    """Import a program of ``torch.export`` as a module with the function ``main``.

    >>> program = torch.export.export(model.eval(), (x,), dynamic_shapes=({0: torch.export.Dim("batch")},))
    >>> main = rx.build(from_exported_program(program))["main"]
    >>> y = main(x)

    ``main`` takes the arguments of ``forward`` by position, with their names. Lists, tuples, dictionaries and other
    containers of tensors become tuples. Numbers, strings and None were fixed at export and are omitted. It returns the
    results of ``forward`` with the same nesting. Symbols have the names and ranges of the `Dim`s; torch's other
    assumptions about sizes are checked by each call.

    Buffers that the program changes are additional parameters. ``main`` then returns a pair: the results, and a tuple
    of new values of buffers and of arguments that the program changes. A program that draws random numbers has a
    parameter ``generator`` after these, the state of a `relax_mlir.random.Generator`, and the next state is the last of
    the new values. Its numbers have torch's distributions, but are not torch's numbers.
    `relax_mlir.frontend.torch.compile_program` wraps all of this in a function that is called like the original module.

    Args:
        copy: copy parameters and buffers. Otherwise constants share memory with the module: changing a parameter in
            place afterwards may or may not change results.
        keep_params_as_input: parameters and buffers are parameters of ``main``, after the arguments, in the order of
            ``exported_program.graph_signature``; the function's ``num_input`` counts the arguments.
        unwrap_unit_return_tuple: a tuple of one result becomes that result.
        run_ep_decomposition: make the program functional first, by ``run_decompositions({})``, if it is not.
        custom_convert_map: your own rules, by op name (``"mylib.scale.default"``); they take precedence over the
            built-in ones.
        symbol_names: names for torch's symbols (``{"s77": "batch"}``), for programs that were saved and loaded and
            have lost the names of their `Dim`s.
        fallback: lower ops without a rule by torch-mlir if they are listed (`LOWERED`), each with a
            `TorchMlirWarning`; if False, such ops are rejected.
        donate: ``main`` changes arguments and buffers in the memory that it is given, and omits them from the new
            values. Those whose shape changes remain new values. This is supported only in native code.

    Raises:
        UnsupportedError: all ops that are not supported, with counts and lines of the model.
        ArgumentError: torch is not installed, or `exported_program` is something else.
    """
    program = prepared(exported_program, functional=run_ep_decomposition, known=custom_convert_map or {})
    return _Import(
        program,
        Weights(program, copy),
        custom_convert_map or {},
        symbol_names or {},
        keep_params_as_input,
        unwrap_unit_return_tuple,
        fallback,
        donate,
    ).module()


def prepared(exported_program: ExportedProgram, *, functional: bool = True, known: Collection[str] = ()) -> Argument:
    """Return the program in functional form, without ops that have no rule but that torch can decompose.

    Raises:
        ArgumentError: torch is not installed, or the argument is no exported program.
        UnsupportedError: torch cannot decompose the program.
    """
    torch = require_torch()
    expect(
        "from_exported_program: 'exported_program'",
        exported_program,
        torch.export.ExportedProgram,
        "what torch.export.export gives",
    )
    try:
        return decomposed(exported_program, functional=functional, known=known)
    except (RelaxError, MemoryError):
        raise
    except Exception as error:  # torch raises various errors if tracing fails
        reason = (str(error).splitlines() or [""])[0]
        raise UnsupportedError(
            "from_exported_program: torch cannot decompose the program into ops without effects: "
            f"{type(error).__name__}: {reason}; run_decompositions({{}}) of it may say more"
        ) from error


GENERATOR = "generator"
"""The name of the parameter with the generator's state."""


class _Import:
    """The import of one program."""

    def __init__(
        self,
        program: ExportedProgram,
        weights: Weights,
        custom: Mapping[str, ConvertFunction],
        names: Mapping[str, str],
        weights_as_input: bool,
        unwrap: bool,
        fallback: bool,
        donate: bool,
    ) -> None:
        self.program = program
        self.weights = weights
        self.custom = custom
        self.weights_as_input = weights_as_input
        self.unwrap = unwrap
        self.fallback = fallback
        self.donate = donate
        self.signature: ProgramSignature = read_signature(program)
        self.sizes: Sizes = named_sizes(program, self.signature, names)
        self.guards, self.bounds = self._conditions()

    def _conditions(self) -> tuple[list[Guard], dict[str, tuple[int, int | None]]]:
        """Return the conditions on sizes that each call checks, and the bounds of the symbols."""
        shapes = {
            f"{path}.size()[{axis}]": size
            for leaf in self.signature.leaves
            if leaf.node is not None and hasattr(leaf.node.meta.get("val"), "shape")
            for path in leaf.paths
            for axis, size in enumerate(leaf.node.meta["val"].shape)
        }
        shapes |= {
            path: leaf.node.meta["val"]
            for leaf in self.signature.leaves
            for path in leaf.paths
            if leaf.node is not None and type(leaf.node.meta.get("val")).__name__ == "SymInt"
        }
        try:
            guards = read_guards(getattr(self.program, "_guards_code", None) or [], shapes, self.sizes)
        except UnknownGuard as error:
            raise UnsupportedError(str(error)) from None
        defined = self._defined()
        left = eliminate(self.sizes, guards, defined)
        bounds, ranges = bounds_of(self.program, self.sizes, defined)
        with symbolic.assuming(bounds):
            open_guards = [guard for guard in dict.fromkeys([*left, *ranges]) if not guard.holds]
        exact = exact_symbols(self.signature, self.sizes)
        for name in defined - self._defined(tensors_only=True):  # symbols of integers cannot have bounds
            low, high = bounds.pop(name, (0, None))
            open_guards += [Guard(symbolic.symbol(name), ">=", low)] if low > 0 else []
            open_guards += [Guard(symbolic.symbol(name), "<=", high)] if high is not None else []
            exact = exact | {name}
        return [guard for guard in open_guards if guard.names <= exact or not guard.is_of_tracing], bounds

    def _defined(self, tensors_only: bool = False) -> set[str]:
        """Return the symbols that are defined by a dimension of an argument or by an integer argument."""
        found: set[str] = set()
        for leaf in self.signature.leaves:
            value: FakeTensor = None if leaf.node is None else leaf.node.meta.get("val")
            for size in value.shape if hasattr(value, "shape") else [] if tensors_only else [value]:
                if type(size).__name__ == "SymInt":
                    dim = self.sizes.dim(size)
                    name = symbolic.linear_definition(dim) if isinstance(dim, Expr) else None
                    found |= set() if name is None else {name}
        return found

    def module(self) -> IRModule:
        """Build the module with its function ``main``."""
        builder = BlockBuilder()
        unsupported = UnsupportedOps("the exported program")
        params, inputs = self._parameters()
        state = [Var(_identifier(name), self._weight_info(name)) for name in self.signature.state]
        kept = self._kept_weights()
        generator = [Var(GENERATOR, STATE)] if draws(self.program.graph_module) else []
        with builder.function(
            "main", [*params, *state, *generator, *kept.values()], bounds=self._used_bounds([*params, *state])
        ):
            for guard in self.guards:
                guard.emit()
            fallback = TorchMlirFallback(builder, self.fallback)
            importer = GraphImporter(builder, self.sizes, unsupported, self.custom, fallback=fallback)
            importer.random_state = generator[0] if generator else None
            for tree, value in zip(inputs, params, strict=True):
                found = dict(unpacked(tree, value))
                importer.values.update({n: v for n, v in found.items() if hasattr(n.meta["val"], "shape")})
            buffers = dict(zip(self.signature.state, state, strict=True))
            for node, name in self.signature.weights:
                given = buffers.get(name, kept.get(name))
                importer.values[node] = self.weights.constant(builder, name) if given is None else given
            with importing("the program", len(self.program.graph.nodes)) as done:
                importer.run(self.program.graph, done=done)
            result = self._result(importer)
            if unsupported:
                raise unsupported.error(
                    'Give rules of your own with custom_convert_map={"name.of.op": function}, or write the model '
                    "without these ops."
                )
            builder.emit_func_output(result)
        if self.donate and self.signature.changed:
            self._donate(builder, importer, result)
        return builder.get()

    def _donate(self, builder: BlockBuilder, importer: GraphImporter, result: Argument) -> None:
        """Record which new values reuse the memory of their old values."""
        main = builder.lookup("main")
        names = {name: _identifier(name) for name in self.signature.state}
        for parameter in self.signature.parameters:
            if parameter.values is not None:
                found = leaf_names(parameter.name, parameter.values)
                names.update({node.name: name for node, name in found})
        params = zip(parameter_names(main), main.type.inputs, strict=True)
        infos = {leaf.name: leaf.info for name, type_ in params for leaf in leaves(name, struct_info(type_))}
        count = len(list(_values_of(result[0])))
        given = [""] * count
        for _, name, node in self.signature.changed:
            value, place = importer.argument(node), names[name]
            fits = place not in given and value.struct_info == infos[place]
            given.append(place if fits else "")
        given += [""] * (importer.random_state is not None)
        with builder.mod.context:
            texts = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in given])
            main.attributes[DONATED] = texts

    def _used_bounds(self, params: Sequence[Var]) -> dict[str, tuple[int, int | None]]:
        used = {name for param in params for name in param.struct_info.symbols()}
        return {name: bound for name, bound in self.bounds.items() if name in used}

    def _parameters(self) -> tuple[list[Var], list[Tree]]:
        params: list[Var] = []
        trees: list[Tree] = []
        for parameter in self.signature.parameters:
            tree = parameter.values
            if tree is not None:
                params.append(Var(parameter.name, tree_info(tree, self.sizes)))
                trees.append(tree)
        return params, trees

    def _weight_info(self, name: str) -> StructInfo:
        node = next(node for node, target in self.signature.weights if target == name)
        return tensor_info(node.meta["val"], self.sizes)

    def _kept_weights(self) -> dict[str, Var]:
        if not self.weights_as_input:
            return {}
        names = [name for _, name in self.signature.weights if name not in self.signature.state]
        return {name: Var(_identifier(name), self._weight_info(name)) for name in dict.fromkeys(names)}

    def _result(self, importer: GraphImporter) -> Argument:
        values = iter([importer.argument(item) for item in self.signature.results])
        result = _nested(self.signature.out_spec, values)
        if result is None:
            result = []
        if self.unwrap and isinstance(result, list) and len(result) == 1:
            result = result[0]
        new = [importer.argument(node) for _, _, node in self.signature.changed]
        new += [importer.random_state] if importer.random_state is not None else []
        return [result, new] if new else result


def _nested(spec: TreeSpec, values: Argument) -> Argument:
    """Nest results as the module does; numbers become integer values, None is omitted."""
    if spec.is_leaf():
        value = next(values)
        if isinstance(value, Value):
            return value
        if isinstance(value, Expr) or (isinstance(value, int) and not isinstance(value, bool)):
            return prim_value(value)
        return None
    found = [_nested(child, values) for child in children(spec)]
    return [item for item in found if item is not None]


def _values_of(result: Argument) -> Iterator[Value]:
    if isinstance(result, list | tuple):
        for item in result:
            yield from _values_of(item)
    else:
        yield result


def _identifier(name: str) -> str:
    return name.replace(".", "_")


# `compile_program`: compile an exported program to a function that is called like its module.


__all__ = ["CompiledProgram", "compile_program"]


class CompiledProgram:
    """A compiled program of ``torch.export``, called like the original module.

    Arguments and results have the module's containers: dictionaries, tuples, dataclasses registered with torch. A
    result that is an argument is returned as the same object. Arguments and buffers that the module modifies in place
    are modified; tensors that share memory with one of these are rejected. Results are tensors without gradients.
    """

    def __init__(
        self,
        program: ExportedProgram,
        signature: ProgramSignature,
        executable: Executable,
        generator: Generator | None = None,
        donated: Sequence[bool] = (),
    ) -> None:
        """`donated`: for each tensor that the program changes, True if ``main`` changes it in place."""
        self.executable = executable
        """The result of `relax_mlir.build`, with the function ``main``."""
        self._main = executable["main"]
        self.generator = generator
        """The source of random numbers, in programs that draw any; its state is kept between calls."""
        self._in_spec = program.call_spec.in_spec
        self._out_spec = signature.out_spec
        self._signature = signature
        self._trees = [parameter.tree for parameter in signature.parameters]
        self._leaves = list(signature.leaves)
        self._constants = [
            (index, spec.arg.value)
            for index, spec in enumerate(s for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT")
            if type(spec.arg).__name__ == "ConstantArgument"
        ]
        tensors = {**program.state_dict, **program.constants}
        self._state = [tensors[name] for name in signature.state]
        self._places = {leaf.node: index for index, leaf in enumerate(self._leaves) if leaf.node is not None}
        names = {node.name: index for node, index in self._places.items()}
        self._changed = [
            (kind, signature.state.index(name) if kind == "buffer" else names[name], node)
            for kind, name, node in signature.changed
        ]
        self._donated = list(donated) or [False] * len(self._changed)

    def __call__(self, *args: Argument, **kwargs: Argument) -> Argument:
        """Call the program.

        Raises:
            ArgumentError: arguments of another structure, or that share memory with one that the program changes;
                and the errors of ``main``.
        """
        import torch.utils._pytree as pytree

        if kwargs:
            order = children(self._in_spec)[1].context
            kwargs = {name: kwargs[name] for name in order if name in kwargs} | kwargs
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._in_spec:
            raise ArgumentError(
                f"the arguments have the structure {spec}, the program was exported for {self._in_spec}"
            )
        for index, value in self._constants:
            if leaves[index] is not value and leaves[index] != value:
                raise ArgumentError(
                    f"argument {self._leaves[index].paths[0]} is {leaves[index]!r}; "
                    f"the program was exported with {value!r}, which is part of it"
                )
        state = list(self._state)
        self._refuse_overlaps(leaves)
        apart = self._made_dense(leaves, state)
        waiting = iter(leaves)
        given = [_packed(tree, waiting) for tree in self._trees]
        drawn_from = () if self.generator is None else (self.generator.state,)
        found = self._main(*(item for item in given if item is not _DROPPED), *state, *drawn_from)
        result, changed = (found[0], list(found[1])) if self._changed or drawn_from else (found, [])
        if self.generator is not None:
            self.generator.state = _as_torch(changed.pop()).numpy()
        for number, (tensor, dense) in apart.items():
            kind, index, _ = self._changed[number]
            tensor.detach().copy_(dense)
            (state if kind == "buffer" else leaves)[index] = tensor
        known = {node: leaves[index] for node, index in self._places.items()}
        new = iter(changed)
        for (kind, index, node), donated in zip(self._changed, self._donated, strict=True):
            known[node] = state[index] if kind == "buffer" else leaves[index]
            if not donated:
                known[node].detach().copy_(_as_torch(next(new)))
        out = self._results(result, known)
        return pytree.tree_unflatten(out, self._out_spec)

    def _refuse_overlaps(self, leaves: Sequence[Any]) -> None:
        """Reject tensors that share memory with one that the program changes, since it reads their old elements."""
        if not self._changed:
            return
        tensors = [*leaves, *self._state]
        changed = {index if kind == "input" else len(leaves) + index for kind, index, _ in self._changed}
        extents = sorted(
            (*found, number) for number, item in enumerate(tensors) if (found := _extent(item)) is not None
        )
        reaching: list[tuple[int, int]] = []  # what may overlap the next one: its end and its number
        for low, high, number in extents:
            reaching = [(end, other) for end, other in reaching if end > low]
            for _, other in reaching:
                pair = sorted((number, other), key=lambda each: (each not in changed, each))
                if pair[0] in changed and _overlap(tensors[pair[0]], tensors[pair[1]]):
                    first, second = map(self._name, pair)
                    raise ArgumentError(
                        f"{second} shares memory with {first}, which the program changes in place; "
                        f"pass a copy of one of them"
                    )
            reaching.append((high, number))

    def _name(self, number: int) -> str:
        """The name in messages of an argument, or of a buffer, which are counted after them."""
        count = len(self._leaves)
        if number < count:
            return f"argument {self._leaves[number].paths[0]}"
        return f"buffer '{self._signature.state[number - count]}'"

    def _made_dense(self, leaves: list[Any], state: list[Any]) -> dict[int, tuple[Any, Any]]:
        """Replace non-contiguous tensors that ``main`` changes by dense copies; return both by their index."""
        apart: dict[int, tuple[Any, Any]] = {}
        for number, ((kind, index, _), donated) in enumerate(zip(self._changed, self._donated, strict=True)):
            given = state if kind == "buffer" else leaves
            tensor = given[index]
            if donated and hasattr(tensor, "is_contiguous") and not tensor.is_contiguous():
                given[index] = tensor.detach().contiguous()
                apart[number] = tensor, given[index]
        return apart

    def _results(self, result: Argument, known: dict[Any, Any]) -> list[Any]:
        """Return the module's results, flattened. `known` maps nodes to arguments and buffers."""
        values = _flat(result)
        made: dict[Any, Any] = {}
        out: list[Any] = []
        for item in self._signature.results:
            if not hasattr(item, "meta"):
                out.append(item)
                if isinstance(item, int) and not isinstance(item, bool):
                    next(values)
                continue
            value = next(values)
            if item in known:
                out.append(known[item])
            elif item in made:
                out.append(made[item])
            else:
                made[item] = _as_torch(value)
                out.append(made[item])
        return out


def compile_program(
    exported_program: ExportedProgram,
    *,
    copy: bool = False,
    generator: Generator | None = None,
    fallback: bool = True,
    **options: Argument,
) -> CompiledProgram:
    """Import and compile a program of ``torch.export``; the result is called like the original module.

    >>> run = compile_program(torch.export.export(model.eval(), (x,)))
    >>> y = run(x)

    Random numbers come from `generator`, by default one with seed 0. They have torch's distributions, but are not
    torch's numbers. `fallback`: see `from_exported_program`. `options` are those of `relax_mlir.build`. A program that
    is not functional is made so first.
    """
    require_torch()
    program = prepared(exported_program)
    in_place = options.get("exec_mode", "native") == "native"
    module = from_exported_program(program, copy=copy, run_ep_decomposition=False, fallback=fallback, donate=in_place)
    signature = read_signature(program)
    with compiling(len(program.graph.nodes)):
        executable = build(module, **options)
    own = (generator or Generator(0)) if draws(program.graph_module) else None
    names = module["main"].attributes.get(DONATED, [])
    donated = [bool(item.value) for item in names][len(names) - len(signature.changed) - (own is not None) :]
    return CompiledProgram(program, signature, executable, own, donated[: len(signature.changed)])


def _packed(tree: Tree, waiting: Iterator[Any]) -> Argument:
    """Build an argument of ``main`` from the leaves in `waiting`, with tuples as containers and without constants."""
    if isinstance(tree, Leaf):
        item = next(waiting)
        return _DROPPED if tree.constant else item
    items = [_packed(item, waiting) for item in tree]
    kept = tuple(item for item in items if item is not _DROPPED)
    return kept if kept or not tree else _DROPPED


_DROPPED = object()
"""Marks an argument that is a constant of the program."""


def _extent(item: Argument) -> tuple[int, int] | None:
    """Return the address range of a tensor's elements; None if it has no elements in memory."""
    import torch

    if not isinstance(item, torch.Tensor) or item.numel() == 0 or item.layout is not torch.strided:
        return None
    start = item.data_ptr()
    last = sum((size - 1) * stride for size, stride in zip(item.shape, item.stride(), strict=True))
    return start, start + (last + 1) * item.element_size()


def _overlap(first: Argument, second: Argument) -> bool:
    """True if two tensors have an element in common."""
    return bool(np.shares_memory(_bytes_of(first), _bytes_of(second)))


def _bytes_of(tensor: Argument) -> np.ndarray:
    """Return a view of the memory of a tensor of any dtype."""
    size = tensor.element_size()
    interface = {
        "version": 3,
        "data": (tensor.data_ptr(), False),
        "typestr": f"|V{size}",
        "shape": tuple(tensor.shape),
        "strides": tuple(stride * size for stride in tensor.stride()),
    }
    return np.asarray(type("Memory", (), {"__array_interface__": interface})())


def _flat(result: Argument) -> Iterator[Any]:
    if isinstance(result, tuple | list | tvm_ffi.Array):
        for item in result:
            yield from _flat(item)
    else:
        yield result


def _as_torch(value: Size) -> Argument:
    import torch

    if isinstance(value, torch.Tensor | int | float):
        return value
    return torch.from_dlpack(value)
