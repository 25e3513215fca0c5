"""Core ATen ops that this importer rejects, with the reason; the others have rules or are decomposed."""

from __future__ import annotations

from relax_mlir.frontend.torch.torch_types import FakeTensor, GraphModule, Node

_GRADIENT = "an op of gradients, which programs for inference do not have"
_BAGS = "bags of embeddings; use embedding, and a sum or mean"
CHANGES = "an op of users that changes its arguments; give it a functional form"
_COMPLEX = "it has complex numbers, which this project does not have"
_MEMORY = (
    "it says where elements lie in memory, which values here do not have; use slices, views and transposes"
)

REFUSED = {
    "aten._adaptive_avg_pool2d_backward.default": _GRADIENT,
    "aten.avg_pool2d_backward.default": _GRADIENT,
    "aten.convolution_backward.default": _GRADIENT,
    "aten._fft_c2r.default": _COMPLEX,
    "aten._fft_r2c.default": _COMPLEX,
    "aten.complex.default": _COMPLEX,
    "aten.polar.default": _COMPLEX,
    "aten.as_strided.default": _MEMORY,
    "aten.atan2.out": "it writes into its argument `out`; functional programs have aten.atan2.default",
    "aten._embedding_bag.default": _BAGS,
    "aten._embedding_bag_forward_only.default": _BAGS,
    "aten._pdist_forward.default": "distances of all pairs of rows; use cdist",
}
"""The reasons by op name."""


def reason(name: str, result: FakeTensor) -> str:
    """Return why there is no rule for an op with this result."""
    known = _COMPLEX if getattr(getattr(result, "dtype", None), "is_complex", False) else "no rule"
    if name.startswith("auto_functionalized"):  # torch's wrapper of an op that changes its arguments
        return CHANGES
    return REFUSED.get(name, known)


RANDOM = frozenset(
    f"aten.{name}"
    for name in (
        *(
            "rand.default",
            "rand_like.default",
            "randn.default",
            "randn_like.default",
            "normal_functional.default",
        ),
        *(
            "uniform.default",
            "randint.default",
            "randint.low",
            "randint_like.default",
            "randint_like.low_dtype",
        ),
        *("randperm.default", "bernoulli.default", "bernoulli.p", "multinomial.default"),
    )
)
"""Ops that draw random numbers; dropout also does, in training."""
DROPOUT = frozenset({"aten.dropout.default", "aten.native_dropout.default"})


def draws(graph_module: GraphModule) -> bool:
    """True if a graph, or one that its control flow calls, draws random numbers."""
    graphs = [getattr(module, "graph", None) for module in graph_module.modules()]
    return any(_draws(node) for graph in graphs if graph is not None for node in graph.nodes)


def _draws(node: Node) -> bool:
    name = str(node.target)
    return name in RANDOM or bool(name in DROPOUT and len(node.args) > 2 and node.args[2] and node.args[1])
