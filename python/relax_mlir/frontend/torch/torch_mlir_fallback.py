"""Lower ops without a rule by torch-mlir: one at a time, only listed ops, with a warning.

A graph of the single op runs through torch-mlir's passes in a child process, which returns loops on buffers. They
become a prim func that is checked like users' prim funcs: ops that prim funcs do not allow are rejected by name, and
accesses that are not proved in bounds are checked at run time.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from relax_mlir import op as R
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.types import Tensor
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.torch_types import Graph, Node, dtype_name
from relax_mlir.ir_module import kept
from relax_mlir.lowering.legalize.check_prim_funcs import problems
from relax_mlir.mlir import arith, func, ir
from relax_mlir.mlir.torch_lowering import torch_text

if TYPE_CHECKING:
    from relax_mlir.frontend.torch.registry import OpCall


# ATen ops that torch-mlir lowers for this importer, if it has no rule or its rule rejects the arguments.


_DOUBLE = frozenset({"float32", "float64"})

LOWERED: dict[str, frozenset[str]] = {
    "aten._int_mm.default": frozenset({"int8"}),
    "aten.kthvalue.default": frozenset({"int32", "int64"}),
    "aten.scatter_reduce.two": _DOUBLE,
}
"""For each op name, the dtypes of the first tensor for which a test shows torch's results at all sizes.

Ops that torch-mlir lowers but computes differently from torch are not listed: `kthvalue` of floats (NaN),
`logcumsumexp` (overflow), `upsample_nearest2d` by a factor, `scatter_reduce` of integers (means round down) and of
bools.
"""


SECONDS = 60.0
"""The timeout in seconds for lowering one op."""
COMMAND = (sys.executable, "-m", "relax_mlir.mlir.torch_lowering")
"""The child process."""


class TorchMlirWarning(UserWarning):
    """An op of PyTorch was lowered by torch-mlir, to unoptimised loops."""


@dataclass
class TorchMlirFallback:
    """The fallback of one import; equal ops share a function."""

    builder: BlockBuilder
    enabled: bool = True
    _made: dict[str, str] = field(default_factory=dict)
    """The prim func of each graph given to torch-mlir."""
    _warned: set[str] = field(default_factory=set)

    def call(self, call: OpCall, name: str, place: tuple[str, int] | None, reason: str) -> Value:
        """Return the results of an op, `name`, that the importer rejects for `reason`.

        Raises:
            UnsupportedError: with `reason`, and with torch-mlir's reason if it cannot lower the op.
        """
        if not self.enabled or not _is_listed(name, call.node):
            raise UnsupportedError(reason)
        tensors, integers = _inputs(call.node, reason)
        outs = [Tensor(call.importer.shape(fake.shape), dtype_name(fake.dtype)) for fake in call.results]
        callee = self._prim(call.node, [*tensors, *integers], len(tensors), name, reason)
        self._warn(name, place, reason)
        values = [call.importer.values[node] for node in tensors]
        sizes = [call.importer.dim(node.meta["val"]) for node in integers]
        several = isinstance(call.node.meta["val"], tuple | list)
        return R.call_tir(callee, values, outs if several else outs[0], sizes)

    def _prim(self, node: Node, inputs: Sequence[Node], tensors: int, name: str, reason: str) -> str:
        try:
            text = torch_text(graph_of(node, inputs))
        except Exception as error:  # torch-mlir's importer raises various errors
            raise UnsupportedError(f"{reason} (torch-mlir's importer: {_first_line(error)})") from None
        if text not in self._made:
            try:
                prim = adopted(self.builder, through_child(text), tensors)
            except LoweringFailed as error:
                raise UnsupportedError(f"{reason} (torch-mlir's lowering: {error})") from None
            hint = re.sub(r"\W", "_", name.removeprefix("aten.").removesuffix(".default"))
            self._made[text] = self.builder.add_func(prim, f"torch_mlir_{hint}").name_hint
        return self._made[text]

    def _warn(self, name: str, place: tuple[str, int] | None, reason: str) -> None:
        if name in self._warned:
            return
        self._warned.add(name)
        message = (
            f"{name} is lowered by torch-mlir, as plain loops, since this importer refuses it ({reason}), "
            "as it does with fallback=False"
        )
        if place is None:
            warnings.warn(message, TorchMlirWarning, stacklevel=2)
        else:
            warnings.warn_explicit(message, TorchMlirWarning, *place)


class LoweringFailed(Exception):
    """The reason why torch-mlir's lowering of an op cannot be used."""


def _is_listed(name: str, node: Node) -> bool:
    """True if the op is listed, with the dtype of its first tensor."""
    first = next((item.meta["val"] for item in node.all_input_nodes if hasattr(item.meta.get("val"), "dtype")), None)
    return name in LOWERED and first is not None and str(first.dtype).removeprefix("torch.") in LOWERED[name]


def _inputs(node: Node, reason: str) -> tuple[list[Node], list[Node]]:
    """Return the tensors that an op takes, and the symbolic integers."""
    tensors: list[Node] = []
    integers: list[Node] = []
    for item in node.all_input_nodes:
        value = item.meta.get("val")
        if hasattr(value, "shape"):
            tensors.append(item)
        elif type(value).__name__ == "SymInt":
            integers.append(item)
        else:
            raise UnsupportedError(f"{reason} ('{item.name}' is no tensor or integer, and torch-mlir takes no others)")
    return tensors, integers


def graph_of(node: Node, inputs: Sequence[Node]) -> Graph:
    """Return a graph of `node` alone, with placeholders for `inputs`."""
    import operator

    from torch import fx

    graph = fx.Graph()
    places: dict[Node, Node] = {}
    for item in inputs:
        places[item] = graph.placeholder(item.name)
        places[item].meta["val"] = item.meta["val"]
    result = graph.node_copy(node, places.__getitem__)
    said = node.meta["val"]
    result.meta = {"val": said}
    if not isinstance(said, list | tuple):
        graph.output((result,))
        return graph
    parts = []
    for index, fake in enumerate(said):
        part = graph.call_function(operator.getitem, (result, index))
        part.meta["val"] = fake
        parts.append(part)
    graph.output(tuple(parts))
    return graph


@lru_cache(maxsize=256)
def through_child(text: str) -> str:
    """Run torch-mlir's passes on a graph in a child process; return the lowered text.

    Raises:
        LoweringFailed: the passes do not support the graph, the process crashed, or it took longer than `SECONDS`.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            COMMAND, input=text, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise LoweringFailed(f"it takes longer than {SECONDS:g} s") from None
    if done.returncode < 0:
        raise LoweringFailed(f"its process has ended with signal {-done.returncode}")
    if done.returncode:
        raise LoweringFailed(_first_line(done.stderr) or f"status {done.returncode}")
    return done.stdout


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def adopted(builder: BlockBuilder, text: str, tensors: int) -> func.FuncOp:
    """Parse a prim func whose parameters are `tensors` tensors, then integers, then buffers for the results.

    Integers become the last parameters, as `call_tir` passes them.

    Raises:
        LoweringFailed: it contains ops that prim funcs do not allow.
    """
    with builder.mod.context, ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise LoweringFailed(_first_line(error.message)) from None
        found = list(module.body.operations)
        if len(found) != 1 or not isinstance(found[0], func.FuncOp):
            others = ", ".join(sorted({op.operation.name for op in found} - {"func.func"}))
            raise LoweringFailed(f"it needs more than one function ({others or 'several functions'})")
        prim = found[0]
        _integers_last(prim, tensors)
        for name in list(prim.attributes):
            if name not in ("sym_name", "function_type"):
                del prim.attributes[name]
        prim.attributes["sym_visibility"] = ir.StringAttr.get("private")
        prim.attributes[PRIM_FUNC] = ir.UnitAttr.get()
        wrong = [problem.message for problem in problems(prim, {prim.name.value: prim})]
        if wrong:
            raise LoweringFailed(wrong[0])
        return kept(module, prim)


def _integers_last(prim: func.FuncOp, tensors: int) -> None:
    """Replace the integers that follow `tensors` tensors by ``index`` parameters at the end."""
    block = prim.regions[0].blocks[0]
    while tensors < len(block.arguments) and isinstance(block.arguments[tensors].type, ir.IntegerType):
        old = block.arguments[tensors]
        new = block.add_argument(ir.IndexType.get(), ir.Location.unknown())
        with ir.InsertionPoint.at_block_begin(block):
            old.replace_all_uses_with(arith.index_cast(old.type, new))
        block.erase_argument(tensors)
    signature = ir.FunctionType.get([argument.type for argument in block.arguments], [])
    prim.attributes["function_type"] = ir.TypeAttr.get(signature)
