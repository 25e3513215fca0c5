"""How LLVM is told for which CPU it compiles."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.target import Target

_NAMES = {"sse4_1": "sse4.1", "asimd": "neon", "asimdhp": "fullfp16", "asimddp": "dotprod"}


@dataclass(frozen=True)
class FunctionCpu:
    """The CPU that functions are compiled for, where it is not the host's: LLVM's name of it, and its features."""

    name: str
    features: str

    @staticmethod
    def of(target: Target) -> FunctionCpu | None:
        """Of a target whose features the host has; None: the host's, or the nearest to it where it lacks some.

        Code for the host alone uses all that LLVM finds there, also features that no target names.
        """
        if target.cpu == "native" or not target.features <= Target.host().features:
            return None
        return FunctionCpu(target.cpu, feature_text(target))


def feature_text(target: Target) -> str:
    """What the target says about features, in LLVM's names: ``+avx2,-fma``; what is missing comes last and counts."""
    wanted = [f"+{_llvm_name(name)}" for name in sorted(target.features)]
    masked = [f"-{_llvm_name(name)}" for name in sorted(target.known_features - target.features)]
    return ",".join([*wanted, *masked])


def _llvm_name(feature: str) -> str:
    """LLVM's name of a feature that Linux names ``avx512_bf16``, ``amx_tile`` or ``asimdhp``."""
    if feature.startswith("amx_"):
        return feature.replace("_", "-")
    return _NAMES.get(feature, feature.replace("_", ""))
