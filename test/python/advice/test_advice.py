"""Each message with advice has a row of a table that provokes it; following the advice gives the right result."""

from __future__ import annotations

import ast
import re

import pytest
from advice_exceptions import BEHIND, EXPLANATIONS, NO_ADVICE, OTHER_TEXTS
from advice_messages import advice_of, clauses, messages, sources, strings, texts
from advice_tables import TABLES


@pytest.mark.usefixtures("warm_measurers")
@pytest.mark.parametrize(("table", "name"), [(t, n) for t, table in TABLES.items() for n in table.names])
def test_message(table: str, name: str) -> None:
    assert name == "internal" or "internal error" not in TABLES[table].error(name)


@pytest.mark.parametrize(("table", "name"), [(t, n) for t, table in TABLES.items() for n in table.followed])
def test_what_the_message_advises_works(table: str, name: str) -> None:
    TABLES[table].follow(name)


def test_every_message_with_advice_has_a_row() -> None:
    errors = [table.error(name) for table in TABLES.values() for name in table.names]
    missing = [
        str(message)
        for message in messages()
        if not any(map(message.is_in, errors)) and not any(re.search(p, message.text) for p in BEHIND)
    ]
    assert not missing, "no row of test/python/advice provokes:\n" + "\n".join(missing)


def test_exceptions_are_used() -> None:
    all_texts = [message.text for message in texts()]
    found = {clause for text in all_texts for separator, clause in clauses(text) if separator == "; "}
    unused = [p for p in EXPLANATIONS if not any(re.match(p, clause) for clause in found)]
    unused += [p for p in (*NO_ADVICE, *BEHIND) if not any(re.search(p, text) for text in all_texts)]
    assert not unused


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the rank is unknown; match_shape it first", ["match_shape it first"]),
        ("a bound: write (n,) for one", ["write (n,) for one"]),
        ("no index; op.take takes several", ["op.take takes several"]),
        ("astype it", ["astype it"]),
        ("reshape: the sizes differ", []),
        ("the step is 0; loops count upwards", []),
    ],
)
def test_what_advice_is(text: str, found: list[str]) -> None:
    assert advice_of(text) == found


def test_strings_of_a_file() -> None:
    source = '"""A module; write nothing."""\nraise E(f"no {x}; give {y}")\nT = "a {0}; use b"\n'
    assert sorted(strings(ast.parse(source))) == [(2, "no \x00; give \x00"), (3, "a \x00; use b")]


def test_the_sources_are_those_of_the_package() -> None:
    found = {path.name for path in sources()}
    assert {"builder.py", "check_prim_funcs.py", "specialize_closures.py", "indexing.py"} <= found
    assert not any(path.match(other) for path in sources() for other in OTHER_TEXTS)
