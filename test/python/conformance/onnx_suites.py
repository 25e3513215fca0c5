"""ONNX's own tests of backends, as functions that run one case."""

from __future__ import annotations

import unittest
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import deferred_data
import onnx_random_cases
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner
from onnx_tolerances import TOLERANCES
from relax_mlir.frontend.onnx.session import RelaxBackend

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
"""The suites that need no models from the network."""


class SuiteRunner(Runner):
    """ONNX's runner, with comparisons of sequences fixed: ONNX's own treats their elements as sequences.

    ONNX's runner compares random numbers like all others; here `onnx_random_cases` checks them.
    """

    case = ""
    """The case that is being run."""

    @classmethod
    def assert_similar_outputs(
        cls,
        ref_outputs: Sequence[Any],
        outputs: Sequence[Any],
        rtol: float,
        atol: float,
        model_dir: str | None = None,
    ) -> None:
        """Compare outputs, and elements of outputs that are sequences, shapes and dtypes included."""
        if cls.case in onnx_random_cases.CHECKS:
            onnx_random_cases.check(cls.case, ref_outputs, outputs)
            return
        assert len(ref_outputs) == len(outputs), f"{len(outputs)} outputs, expected {len(ref_outputs)}"
        for wanted, found in zip(ref_outputs, outputs, strict=True):
            if isinstance(wanted, list | tuple):
                assert isinstance(found, list | tuple), f"{type(found).__name__} in the place of a sequence"
                cls.assert_similar_outputs(wanted, found, rtol, atol, model_dir)
            else:
                super().assert_similar_outputs([wanted], [found], rtol, atol, model_dir)


@cache
def case_names(kind: str) -> list[str]:
    """The cases of a suite, sorted."""
    with warnings.catch_warnings(), deferred_data.deferred():
        warnings.simplefilter("ignore")
        return sorted(case.name for case in load_model_tests(kind=kind))


@cache
def _runner() -> Runner:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return SuiteRunner(RelaxBackend, __name__, TOLERANCES)


@cache
def _items() -> dict[str, dict[str, unittest.TestCase]]:
    """The tests of ONNX's runner, by suite and name."""
    case_names("node")
    categories = {
        "node": "NodeModel",
        "simple": "SimpleModel",
        "pytorch-converted": "PyTorchConvertedModel",
        "pytorch-operator": "PyTorchOperatorModel",
    }
    return {kind: _runner()._test_items[category] for kind, category in categories.items()}


def run_case(kind: str, name: str) -> None:
    """Run a case; raises the errors of the backend, or an `AssertionError` if the results differ."""
    SuiteRunner.case = name
    items = _items()[kind]  # imports the suite, whose data is computed afterwards
    if kind == "node":
        deferred_data.compute(name)
    items[f"{name}_cpu"].func(unittest.TestCase())
