"""The cache: one inner call for many, from whatever loop or thread they come, and nothing that callers can spoil."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from tests.skills.support import inline, list_of

from assembler.errors import AssemblerError, Diagnostic, problem
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.decorators.cache import MAX_KEYS, Cache, Cached
from assembler.skills.skill import Skill, Source, SourceContext

MINUTE = timedelta(minutes=1)


class Counting:
    """A source that counts its calls, and does what it is told in each."""

    def __init__(self, *skills: Skill, before: Callable[[int], Awaitable[None]] | None = None) -> None:
        self.skills, self.before, self.calls = list(skills), before, 0

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        self.calls += 1
        context.report(Diagnostic("skills/bad-name", f"call {self.calls}", "warning"))
        if self.before is not None:
            await self.before(self.calls)
        return self.skills


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


async def slowly(_: int) -> None:
    await asyncio.sleep(0.02)


async def failing(call: int) -> None:
    await asyncio.sleep(0.01)
    raise problem("skills/down", f"down {call}")


def cached(inner: Source, *, stale: timedelta = timedelta(0), clock: Clock | None = None) -> Cached:
    return Cached(inner, MINUTE, stale, clock or Clock())


class TestRemembering:
    def test_a_second_listing_asks_nobody_and_says_the_same(self) -> None:
        inner = Counting(*inline("a", "b"))
        source = Cache().wrap(inner)

        async def twice() -> None:
            first, second = await list_of(source), await list_of(source)
            assert first.names == second.names == ["a", "b"]
            assert first.diagnostics == second.diagnostics != []

        asyncio.run(twice())
        assert inner.calls == 1

    def test_an_empty_listing_is_remembered_too(self) -> None:
        inner = Counting()
        source = cached(inner)
        assert [asyncio.run(list_of(source)).names for _ in range(3)] == [[], [], []]
        assert inner.calls == 1

    def test_it_ends_with_the_ttl(self) -> None:
        inner, clock = Counting(*inline("a")), Clock()
        source = cached(inner, clock=clock)
        for later, calls in ((0, 1), (59.9, 1), (0.2, 2), (59.9, 2)):
            clock.now += later
            asyncio.run(list_of(source))
            assert inner.calls == calls

    def test_callers_cannot_alter_what_is_remembered(self) -> None:
        inner = Counting(*inline("a", "b"))
        source = cached(inner)

        async def spoil() -> list[str]:
            for _ in range(3):
                skills = await source.list_skills(SourceContext())
                assert isinstance(skills, list)
                skills.clear()
                inner.skills.clear()
            return [skill.name for skill in await source.list_skills(SourceContext())]

        assert asyncio.run(spoil()) == ["a", "b"]

    def test_names_and_bases_are_kept_apart_and_not_for_ever(self) -> None:
        inner = Counting(*inline("a"))
        source = cached(inner)

        async def ask(*keys: tuple[str, str]) -> int:
            before = inner.calls
            for name, base in keys:
                await list_of(source, Path(base), name)
            return inner.calls - before

        assert asyncio.run(ask(("x", "/"), ("y", "/"), ("x", "/srv"), ("x", "/"))) == 3
        assert asyncio.run(ask(*((str(number), "/") for number in range(MAX_KEYS - 1)), ("x", "/"))) == MAX_KEYS - 1
        assert asyncio.run(ask(("y", "/"))) == 1

    def test_two_caches_of_one_declaration_share_nothing(self) -> None:
        cache = Cache()
        inner = Counting(*inline("a"))
        asyncio.run(list_of(cache.wrap(inner)))
        asyncio.run(list_of(cache.wrap(inner)))
        assert inner.calls == 2
        assert cache == Cache()


class TestCrowds:
    def test_twenty_callers_on_a_slow_source_cause_one_call(self) -> None:
        inner = Counting(*inline("a"), before=slowly)
        source = cached(inner)

        async def crowd() -> list[list[str]]:
            return [found.names for found in await asyncio.gather(*(list_of(source) for _ in range(20)))]

        assert asyncio.run(crowd()) == [["a"]] * 20
        assert inner.calls == 1

    def test_twenty_callers_on_a_failing_source_cause_one_call_and_it_is_not_remembered(self) -> None:
        inner = Counting(before=failing)
        source = cached(inner)

        async def crowd() -> list[str]:
            outcomes = await asyncio.gather(*(list_of(source) for _ in range(20)), return_exceptions=True)
            return [str(outcome) for outcome in outcomes]

        assert asyncio.run(crowd()) == [str(problem("skills/down", "down 1"))] * 20
        assert asyncio.run(crowd()) == [str(problem("skills/down", "down 2"))] * 20
        assert inner.calls == 2

    def test_threads_with_loops_of_their_own_share_one_call(self) -> None:
        together = threading.Barrier(8)
        inner = Counting(*inline("a"), before=slowly)
        source = cached(inner)

        def one() -> list[str]:
            async def ask() -> list[str]:
                together.wait(10)
                founds = await asyncio.gather(*(list_of(source) for _ in range(5)))
                assert all(found.codes == ["skills/bad-name"] for found in founds)
                return founds[0].names

            return asyncio.run(ask())

        with ThreadPoolExecutor(8) as threads:
            answers = [thread.result(20) for thread in [threads.submit(one) for _ in range(8)]]
        assert answers == [["a"]] * 8
        assert inner.calls == 1

    def test_loops_one_after_another_work_after_a_crowd_in_each(self) -> None:
        clock = Clock()
        inner = Counting(*inline("a"), before=slowly)
        source = cached(inner, clock=clock)

        async def crowd() -> None:
            await asyncio.gather(*(list_of(source) for _ in range(5)))

        for calls in (1, 2, 3):
            asyncio.run(crowd())
            assert inner.calls == calls
            clock.now += 61

    @pytest.mark.parametrize(
        ("leaving", "calls"),
        [((1, 2), 1), ((0,), 2), ((0, 1), 2)],
        ids=["who waits", "who lists for all", "both"],
    )
    def test_a_caller_who_gives_up_takes_nobody_along(self, leaving: Sequence[int], calls: int) -> None:
        inner = Counting(*inline("a"), before=slowly)
        source = cached(inner)

        async def crowd() -> None:
            callers = [asyncio.create_task(list_of(source)) for _ in range(5)]
            await asyncio.sleep(0.005)
            for position in leaving:
                callers[position].cancel()
            outcomes = await asyncio.gather(*callers, return_exceptions=True)
            gone = [position for position, outcome in enumerate(outcomes) if isinstance(outcome, BaseException)]
            assert gone == list(leaving)

        asyncio.run(crowd())
        assert inner.calls == calls

    def test_a_loop_that_dies_while_it_lists_leaves_nobody_waiting(self) -> None:
        inner = Counting(*inline("a"), before=slowly)
        source = cached(inner)
        loop = asyncio.new_event_loop()
        abandoned = source.list_skills(SourceContext("main", Path("/")))
        loop.call_soon(lambda: abandoned.send(None) and None)
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        assert inner.calls == 1
        waiting = ThreadPoolExecutor(1)
        answer = waiting.submit(lambda: asyncio.run(list_of(source)).names)
        with pytest.raises(TimeoutError):
            answer.result(0.05)
        abandoned.close()  # what the garbage collector does with it
        assert answer.result(10) == ["a"]
        waiting.shutdown()


class TestStale:
    @pytest.mark.parametrize(
        ("stale", "later", "served"),
        [(0, 61, False), (30, 61, True), (30, 89, True), (30, 91, False), (10**9, 10**6, True)],
    )
    def test_the_last_listing_stands_in_as_long_as_it_may(self, stale: int, later: int, served: bool) -> None:
        async def fails_later(call: int) -> None:
            if call > 1:
                raise problem("skills/down", "the server is down")

        inner, clock = Counting(*inline("a"), before=fails_later), Clock()
        source = cached(inner, stale=timedelta(seconds=stale), clock=clock)
        asyncio.run(list_of(source))
        clock.now += later
        if not served:
            with pytest.raises(AssemblerError, match="the server is down"):
                asyncio.run(list_of(source))
            return
        for calls in (2, 3):
            found = asyncio.run(list_of(source))
            assert (found.names, found.codes) == (["a"], ["skills/stale", "skills/bad-name"])
            assert "the server is down" in found.diagnostics[0].message
            assert inner.calls == calls

    def test_an_unexpected_error_is_named_but_not_quoted(self) -> None:
        async def fails_later(call: int) -> None:
            if call > 1:
                raise RuntimeError("token=secret")

        inner, clock = Counting(*inline("a"), before=fails_later), Clock()
        source = cached(inner, stale=timedelta.max, clock=clock)
        asyncio.run(list_of(source))
        clock.now += 61
        message = asyncio.run(list_of(source)).diagnostics[0].message
        assert "RuntimeError" in message
        assert "secret" not in message

    @pytest.mark.parametrize(
        ("written", "read"),
        [({}, False), ({"stale_if_error": True}, True), ({"stale_if_error": "1h"}, timedelta(hours=1))],
    )
    def test_it_is_written_as_yes_or_as_a_duration(self, written: dict[str, Any], read: Any) -> None:
        cache = Cache.model_validate(written)
        assert cache.stale_if_error == read
        assert TypeAdapter(SkillDecorator).validate_python(cache.model_dump(mode="json")) == cache

    def test_anything_else_is_refused(self) -> None:
        with pytest.raises(ValidationError):
            Cache.model_validate({"stale_if_error": "sometimes"})


@given(st.lists(st.sampled_from(["ask", "wait", "fail", "work"]), max_size=30))
def test_what_is_listed_is_never_older_than_the_ttl(steps: list[str]) -> None:
    clock, works = Clock(), [True]

    async def before(_: int) -> None:
        if not works[0]:
            raise problem("skills/down", "down")

    class Dated(Counting):
        async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
            await super().list_skills(context)
            return inline(f"at-{clock.now:.0f}")

    inner = Dated(before=before)
    source = cached(inner, clock=clock)

    async def follow() -> None:
        for step in steps:
            if step == "wait":
                clock.now += 25
            elif step != "ask":
                works[0] = step == "work"
            else:
                try:
                    (name,) = (await list_of(source)).names
                except AssemblerError:
                    assert not works[0]
                else:
                    assert clock.now - float(name.removeprefix("at-")) < MINUTE.total_seconds()

    asyncio.run(follow())
