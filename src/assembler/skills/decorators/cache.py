"""Remembers what a source lists."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from pydantic import StrictBool

from assembler.errors import NOWHERE, AssemblerError, Diagnostic
from assembler.quantities import Duration
from assembler.skills.decorators.base import SkillDecorator
from assembler.skills.skill import Skill, Source, SourceContext

MAX_KEYS = 64
"""Most listings that one cache remembers; the one that was not asked for longest goes first."""


class Cache(SkillDecorator, kind="cache"):
    """Remembers a source's skills for a while.

    Callers that come while it lists wait for that one listing, from whichever thread or event loop they come. A listing
    that fails is not remembered; one that finds nothing is.
    """

    ttl: Duration = timedelta(minutes=5)
    """How long a listing is used."""
    stale_if_error: StrictBool | Duration = False
    """Whether the last listing is used on when a new one fails, or for how long after its `ttl`."""

    def wrap(self, inner: Source) -> Source:
        """A source that remembers."""
        return Cached(inner, self.ttl, _longest(self.stale_if_error))


def _longest(stale_if_error: bool | timedelta) -> timedelta:
    if isinstance(stale_if_error, timedelta):
        return stale_if_error
    return timedelta.max if stale_if_error else timedelta(0)


@dataclass(frozen=True, slots=True)
class _Listing:
    """What a source listed, what it said, and when."""

    skills: Sequence[Skill]
    diagnostics: Sequence[Diagnostic]
    at: float

    def hand_out(self, context: SourceContext) -> list[Skill]:
        """A list of the caller's own; what was skipped or changed is told to every caller."""
        for diagnostic in self.diagnostics:
            context.report(diagnostic)
        return list(self.skills)


_Key = tuple[str, Path]
_Outcome = _Listing | Exception | None
"""What a listing came to; None if its caller gave up."""


class Cached:
    """A source over another one that remembers what that listed.

    Nothing in it belongs to an event loop: callers of several loops and threads share it.

    Args:
        inner: The source.
        ttl: How long a listing is used.
        stale_if_error: How much longer it is used when a new listing fails.
        clock: Seconds that only grow.
    """

    def __init__(
        self, inner: Source, ttl: timedelta, stale_if_error: timedelta, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._inner, self._ttl, self._stale, self._clock = inner, ttl.total_seconds(), stale_if_error, clock
        self._lock = threading.Lock()
        self._known: OrderedDict[_Key, _Listing] = OrderedDict()
        self._running: dict[_Key, Future[_Outcome]] = {}

    async def list_skills(self, context: SourceContext) -> Sequence[Skill]:
        """The skills, remembered or new.

        Raises:
            AssemblerError: The source failed, and nothing remembered may stand in for it.
        """
        key = (context.name, context.base)
        while True:
            with self._lock:
                known = self._known.get(key)
                fresh = known if known is not None and self._clock() - known.at < self._ttl else None
                running = self._running.get(key)
                if fresh is not None:
                    self._known.move_to_end(key)
                elif running is None:
                    self._running[key] = Future[_Outcome]()
                    self._running[key].set_running_or_notify_cancel()  # from now on no waiting caller can cancel it
            if fresh is not None:
                return fresh.hand_out(context)
            outcome = await (self._list(key, context) if running is None else asyncio.wrap_future(running))
            if isinstance(outcome, _Listing):
                return outcome.hand_out(context)
            if outcome is not None:
                return self._stand_in(known, outcome, context)

    async def _list(self, key: _Key, context: SourceContext) -> _Outcome:
        """Lists for all who wait."""
        outcome: _Outcome = None
        try:
            outcome = await self._listed(context)
            return outcome
        finally:
            # However this ends, cancelled or closed too, nobody may go on waiting for it.
            with self._lock:
                running = self._running.pop(key)
                if isinstance(outcome, _Listing):
                    self._known[key] = outcome
                    self._known.move_to_end(key)
                    if len(self._known) > MAX_KEYS:
                        self._known.popitem(last=False)
            running.set_result(outcome)

    async def _listed(self, context: SourceContext) -> _Listing | Exception:
        diagnostics: list[Diagnostic] = []
        try:
            skills = await self._inner.list_skills(replace(context, report=diagnostics.append))
        except Exception as error:  # noqa: BLE001 - of every caller that waits, each has to get it
            return error
        return _Listing(tuple(skills), diagnostics, self._clock())

    def _stand_in(self, known: _Listing | None, error: Exception, context: SourceContext) -> Sequence[Skill]:
        """The last listing in place of one that failed, if that is wanted and not too old."""
        if known is None or not self._clock() - known.at - self._ttl < self._stale.total_seconds():
            raise error
        reasons = error.diagnostics if isinstance(error, AssemblerError) else ()
        reason = reasons[0].message if reasons else f"it failed with {type(error).__name__}"
        where = reasons[0].where if reasons else NOWHERE
        message = f"`{context.name}` cannot be listed, what it listed before is used: {reason}"
        context.report(Diagnostic("skills/stale", message, "warning", where))
        return known.hand_out(context)
