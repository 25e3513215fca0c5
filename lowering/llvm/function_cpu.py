"""The CPU and features that LLVM compiles functions for."""

from __future__ import annotations

from dataclasses import dataclass

from relax_mlir.target import Target

_NAMES = {"sse4_1": "sse4.1", "asimd": "neon", "asimdhp": "fullfp16", "asimddp": "dotprod"}


@dataclass(frozen=True)
class FunctionCpu:
    """The CPU that functions are compiled for if it is not the host's: its LLVM name and features."""

    name: str
    features: str

    @staticmethod
    def of(target: Target) -> FunctionCpu | None:
        """Return the CPU of a target whose features the host has. None means the host's own CPU.

        Also None if the host lacks a feature of the target. Code for the host uses every feature that LLVM detects,
        including those that no target names.
        """
        if target.cpu == "native" or not target.features <= Target.host().features:
            return None
        return FunctionCpu(target.cpu, feature_text(target))


def feature_text(target: Target) -> str:
    """The target's features in LLVM's syntax: ``+avx2,-fma``; missing ones come last and take precedence."""
    wanted = [f"+{_llvm_name(name)}" for name in sorted(target.features)]
    masked = [f"-{_llvm_name(name)}" for name in sorted(target.known_features - target.features)]
    return ",".join([*wanted, *masked])


def _llvm_name(feature: str) -> str:
    """LLVM's name of a feature whose Linux name is ``avx512_bf16``, ``amx_tile`` or ``asimdhp``."""
    if feature.startswith("amx_"):
        return feature.replace("_", "-")
    return _NAMES.get(feature, feature.replace("_", ""))
