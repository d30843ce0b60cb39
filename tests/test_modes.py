from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator

import pytest

import arraygrad as ag


def records() -> bool:
    return (ag.tensor(1.0, requires_grad=True) * 2).requires_grad


def test_modes_nest_and_survive_exceptions() -> None:
    assert ag.is_grad_enabled()
    with ag.no_grad():
        assert not records()
        with ag.enable_grad():
            assert records()
            with pytest.raises(ZeroDivisionError), ag.no_grad():
                _ = 1 / 0
            assert records()
        assert not records()
    assert records()


def test_one_object_may_be_entered_again() -> None:
    mode = ag.no_grad()
    with mode, mode:
        assert not records()
    assert records()
    with mode:
        assert not records()
    assert records()


def test_set_grad_enabled_holds_from_its_line_on() -> None:
    ag.set_grad_enabled(False)
    assert not records()
    ag.set_grad_enabled(True)
    with ag.set_grad_enabled(False):
        assert not records()
    assert records()


def test_set_grad_enabled_as_decorator_sets_nothing_by_itself() -> None:
    @ag.set_grad_enabled(False)
    def f() -> bool:
        return records()

    assert records()
    assert not f()
    assert records()


def test_functions_keep_their_name_and_their_callers_mode() -> None:
    @ag.no_grad()
    def predict(x: int, *, y: int) -> tuple[bool, int]:
        """What it does."""
        return records(), x + y

    assert predict(1, y=2) == (False, 3)
    assert records()
    assert (predict.__name__, predict.__doc__) == ("predict", "What it does.")


def test_a_block_in_a_generator_does_not_leak_into_the_caller() -> None:
    def batches() -> Iterator[bool]:
        with ag.no_grad():
            yield records()
            yield records()
        yield records()

    generator = batches()
    assert next(generator) is False
    assert records()
    assert next(generator) is False
    assert records()
    assert next(generator) is True
    assert records()


def test_a_generator_closed_early_leaves_nothing_behind() -> None:
    def batches() -> Iterator[int]:
        with ag.no_grad():
            yield 1
            yield 2

    with ag.no_grad():
        generator = batches()
        next(generator)
    assert records()
    generator.close()
    assert records()


def test_generators_interleaved_and_left_in_any_order() -> None:
    def block(mode: Callable[[], object]) -> Iterator[bool]:
        with mode():
            yield records()
            yield records()

    one, two = block(ag.no_grad), block(ag.enable_grad)
    assert next(one) is False
    assert next(two) is True
    assert records()
    one.close()
    assert records()
    assert next(two) is True
    two.close()
    assert records()


def test_a_generator_entered_inside_a_block_keeps_its_own_mode_after_it() -> None:
    def block() -> Iterator[bool]:
        with ag.enable_grad():
            yield records()
            yield records()
        yield records()

    with ag.no_grad():
        generator = block()
        assert next(generator) is True
        assert not records()
    assert next(generator) is True
    assert next(generator) is True
    with ag.no_grad():
        generator = block()
        assert next(generator) is True
        assert next(generator) is True
        assert next(generator) is False  # its block has ended; the caller's holds
    assert records()


def test_decorated_generators() -> None:
    @ag.no_grad()
    def batches() -> Iterator[bool]:
        got = yield records()
        yield got
        return 5

    generator = batches()
    assert next(generator) is False
    assert records()
    assert generator.send("sent") == "sent"
    assert records()
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == 5


def test_coroutines_and_tasks() -> None:
    seen: list[bool] = []

    @ag.no_grad()
    async def quiet() -> bool:
        await asyncio.sleep(0)
        return records()

    async def block() -> None:
        with ag.no_grad():
            await asyncio.sleep(0)
            seen.append(records())

    async def loud() -> None:
        for _ in range(4):
            await asyncio.sleep(0)
            seen.append(records())

    async def main() -> None:
        assert await quiet() is False
        assert records()
        await asyncio.gather(block(), loud())
        assert records()
        with ag.no_grad():
            task = asyncio.create_task(block_state())
        assert await task is False  # inherited when it was created
        assert await asyncio.to_thread(records) is True

    async def block_state() -> bool:
        return records()

    asyncio.run(main())
    assert seen.count(False) == 1
    assert seen.count(True) == 4


def test_a_coroutine_stepped_by_hand_does_not_leak() -> None:
    class Pause:
        def __await__(self) -> Iterator[None]:
            yield

    async def block() -> None:
        with ag.no_grad():
            await Pause()

    coroutine = block()
    coroutine.send(None)
    assert records()
    coroutine.close()
    assert records()


def test_asynchronous_generators() -> None:
    @ag.no_grad()
    async def batches() -> AsyncIterator[bool]:
        yield records()
        yield records()

    async def main() -> list[tuple[bool, bool]]:
        return [(inside, records()) async for inside in batches()]

    assert asyncio.run(main()) == [(False, True), (False, True)]


def test_threads_have_modes_of_their_own() -> None:
    seen = []
    with ag.no_grad():
        thread = threading.Thread(target=lambda: seen.append(contextvars.Context().run(records)))
        thread.start()
        thread.join()
        assert not records()
    assert seen == [True]
