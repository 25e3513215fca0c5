"""Minimising a failing mutant: fewer mutations, functions, ops and passes, while it fails in the same way."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import generic_text
from tree_queries import rename_everywhere, visible
from worker_pool import Answer, Worker

MAX_RUNS = 60
Signature = Callable[[Answer], str]


def shrunk(worker: Worker, seed: int, number: int, answer: Answer, signature: Signature) -> dict[str, Any]:
    """The smallest mutant found that fails as `answer` does; runs at most `MAX_RUNS` candidates."""
    search = _Search(worker, signature(answer), signature)
    mutant = answer.mutant
    assert mutant is not None
    keep = list(range(len(mutant["steps"])))
    for index in reversed(range(len(keep))):
        fewer = [i for i in keep if i != index]
        found = search.fails({"seed": seed, "number": number, "keep": fewer})
        if found is not None and found.mutant is not None:
            keep, mutant = fewer, found.mutant
    mutant = dict(mutant, steps=[mutant["steps"][i] for i in keep])
    for index in reversed(range(len(mutant["passes"]))):
        candidate = dict(mutant, passes=mutant["passes"][:index] + mutant["passes"][index + 1 :])
        if search.fails({"mutant": candidate}):
            mutant = candidate
    if mutant["language"] == "ir":
        mutant = _fewer_ops(mutant, search)
    return mutant


class _Search:
    def __init__(self, worker: Worker, wanted: str, signature: Signature) -> None:
        self.worker, self.wanted, self.signature = worker, wanted, signature
        self.runs = 0

    def fails(self, job: dict[str, Any]) -> Answer | None:
        """The answer to a job that fails in the same way; None if it does not, or if the limit of runs is reached."""
        if self.runs >= MAX_RUNS:
            return None
        self.runs += 1
        answer = self.worker.run(job)
        return answer if answer.failure and self.signature(answer) == self.wanted else None


def _fewer_ops(mutant: dict[str, Any], search: _Search) -> dict[str, Any]:
    try:
        tree = generic_text.parse(mutant["text"])
    except generic_text.TextError:
        return mutant
    changed = True
    while changed and search.runs < MAX_RUNS:
        changed = False
        for candidate in _smaller(tree):
            text = candidate.text()
            if search.fails({"mutant": dict(mutant, text=text)}):
                tree, mutant, changed = candidate, dict(mutant, text=text), True
                break
    return mutant


def _smaller(tree: generic_text.Module) -> Iterator[generic_text.Module]:
    """The tree without one function; without unused ops; without one op, another value in the place of its result."""
    for index in range(len(tree.functions)):
        if len(tree.functions) > 1:
            less = copy.deepcopy(tree)
            less.top.regions[0][0].ops.remove(less.functions[index])
            yield less
    less = copy.deepcopy(tree)
    if _drop_unused(less):
        yield less
    for index in reversed(range(len(tree.ops()))):
        less = copy.deepcopy(tree)
        op, block = less.ops()[index]
        if op.name != "func.func" and op.results and _replaced(less, op):
            block.ops.remove(op)
            yield less


def _replaced(tree: generic_text.Module, op: generic_text.Op) -> bool:
    """Replace uses of the results of `op` by earlier values of their types; False if there are none."""
    used = {name for other, _ in tree.ops() for name in other.operands}
    values = visible(tree, op)
    for result, type_ in zip(op.results, op.result_types, strict=False):
        if result in used:
            fitting = [name for name, other in values if other == type_]
            if not fitting:
                return False
            rename_everywhere(tree, result, fitting[0])
    return True


def _drop_unused(tree: generic_text.Module) -> bool:
    dropped = False
    while True:
        used = {name for op, _ in tree.ops() for name in op.operands}
        unused = [(op, b) for op, b in tree.ops() if op.results and not used & set(op.results) and op in b.ops]
        if not unused:
            return dropped
        for op, block in unused:
            block.ops.remove(op)
        dropped = True
