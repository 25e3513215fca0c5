"""The thread switch interval is short during compilation, and is restored afterwards."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.error import ArgumentError
from relax_mlir.instrument import PassInstrument
from relax_mlir.runtime.build_setup import SECONDS, short_switch_interval
from relax_mlir.transform import PassInfo


@pytest.fixture(autouse=True)
def before() -> Iterator[float]:
    interval = sys.getswitchinterval()
    yield interval
    assert sys.getswitchinterval() == pytest.approx(interval)


def test_several_blocks_at_a_time(before: float) -> None:
    """The last block to end restores the interval that the first one found, in whatever thread."""
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with short_switch_interval():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with short_switch_interval():
        thread.start()
        assert inside.wait(60)
        with short_switch_interval():
            assert sys.getswitchinterval() == pytest.approx(SECONDS)
    assert sys.getswitchinterval() == pytest.approx(SECONDS)
    leave.set()
    thread.join()
    assert sys.getswitchinterval() == pytest.approx(before)


def test_an_error_restores_it() -> None:
    with pytest.raises(ArgumentError), short_switch_interval():
        raise ArgumentError("no")


@pytest.mark.parametrize("microseconds", [29, 299, 1001, 4999])
def test_no_microsecond_is_lost(microseconds: int) -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval((microseconds + 0.5) / 1e6)
    try:
        for _ in range(3):
            with short_switch_interval():
                assert sys.getswitchinterval() == pytest.approx(min(SECONDS, microseconds / 1e6))
        assert sys.getswitchinterval() == pytest.approx(microseconds / 1e6)
    finally:
        sys.setswitchinterval(interval)


class Notes(PassInstrument):
    """The switch intervals that passes observe."""

    def __init__(self) -> None:
        self.seen: set[float] = set()

    def run_before_pass(self, module: object, info: PassInfo) -> None:
        self.seen.add(round(sys.getswitchinterval(), 6))


def test_build_switches_often(before: float) -> None:
    builder = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(R.exp(x))
    notes = Notes()
    rx.build(builder.get(), instruments=[notes], cache=False)
    assert notes.seen == {SECONDS}
    assert sys.getswitchinterval() == pytest.approx(before)
