"""`collector_paused`: imports run without the garbage collector, and leave their objects in its oldest generation."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from relax_mlir.lazy import collector_paused


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_objects_made_meanwhile_are_old_and_collectable() -> None:
    with collector_paused():
        assert not gc.isenabled()
        made = [[number] for number in range(5000)]
    assert gc.isenabled() and not gc.get_freeze_count()
    assert any(item is made for item in gc.get_objects(generation=2))


def test_a_collector_that_is_off_stays_off() -> None:
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()


def test_what_a_user_has_frozen_stays_frozen() -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    with collector_paused():
        pass
    assert gc.isenabled() and gc.get_freeze_count() == frozen > 0


def test_the_collector_is_on_again_after_an_error() -> None:
    with pytest.raises(ImportError), collector_paused():
        raise ImportError
    assert gc.isenabled()
