"""What a runner says and does where something confines, and where nothing does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from assembler.errors import AssemblerError, problem
from assembler.runners.base import Confinement, ScriptJob, ScriptResult
from assembler.runners.bubblewrap import Bubblewrap, installed
from assembler.runners.plain import Subprocess, run_unconfined
from assembler.runners.prober import Prober
from assembler.runners.sandbox import Sandbox
from assembler.runners.scripts import Backend, ScriptPlan

HELLO = "print('hello')"


class Leaky:
    """Claims to confine, and does not."""

    name = "leaky"
    label = "leaky backend"

    def __init__(self) -> None:
        self.runs = 0

    async def run(self, plan: ScriptPlan) -> ScriptResult:
        self.runs += 1
        return await run_unconfined(plan)


class Broken:
    """Does not start."""

    name = "broken"
    label = "broken backend"

    async def run(self, plan: ScriptPlan) -> ScriptResult:
        raise problem("runner/start-failed", f"no way to run {plan.job.script}")


def sandbox(prober: Prober, **options: str) -> Sandbox:
    class Probed(Sandbox, kind="sandbox"):
        def prober(self) -> Prober:
            return prober

    return Probed.model_validate(options)


def offering(*backends: Backend, missing: Sequence[str] = ()) -> Prober:
    return Prober(lambda: (backends, missing))


def test_a_sandbox_refuses_where_nothing_confines(skill) -> None:
    leaky = Leaky()
    runner = sandbox(offering(leaky, Broken(), missing=["bubblewrap: no `bwrap` anywhere"]))
    ran = skill({"main.py": "open('/tmp/ran', 'w')"})
    for attempt in (runner.confinement(), runner.run(ScriptJob(ran, "main.py"))):
        with pytest.raises(AssemblerError) as caught:
            asyncio.run(attempt)
        diagnostic = caught.value.diagnostics[0]
        assert diagnostic.code == "runner/no-isolation"
        assert "bubblewrap: no `bwrap` anywhere; leaky backend: " in diagnostic.message
        assert "a file outside can be read" in diagnostic.message
        assert "a network socket can be opened" in diagnostic.message
        assert "broken backend: no way to run probe.py" in diagnostic.message
        for way_out in (
            "install bubblewrap",
            "`assembler[sandbox]`",
            "`runner=subprocess`",
            "`runner.isolation=prefer`",
        ):
            assert way_out in diagnostic.hint
    assert leaky.runs == 1


def test_a_sandbox_that_only_prefers_runs_and_says_why(skill) -> None:
    runner = sandbox(offering(Broken()), isolation="prefer")
    confinement = asyncio.run(runner.confinement())
    assert confinement == Confinement("none", "broken backend: no way to run probe.py")
    result = asyncio.run(runner.run(ScriptJob(skill({"main.py": HELLO}), "main.py")))
    assert (result.stdout, result.isolation) == ("hello\n", "none")


def test_a_bubblewrap_that_is_not_there_is_no_isolation(tmp_path: Path) -> None:
    runner = sandbox(offering(Bubblewrap(tmp_path / "bwrap")))
    with pytest.raises(AssemblerError, match=f"bubblewrap `{tmp_path}/bwrap`: .*No such file"):
        asyncio.run(runner.confinement())


def test_a_bubblewrap_that_cannot_make_namespaces_is_no_isolation(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to creating new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    with pytest.raises(AssemblerError, match="No permissions to creating new namespace"):
        asyncio.run(sandbox(offering(Bubblewrap(fake))).confinement())


def test_a_bubblewrap_that_confines_nothing_is_no_isolation(tmp_path: Path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nuntil [ "$1" = -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    with pytest.raises(AssemblerError) as caught:
        asyncio.run(sandbox(offering(Bubblewrap(fake))).confinement())
    assert caught.value.diagnostics[0].code == "runner/no-isolation"


@pytest.mark.usefixtures("sandbox_works")
def test_this_machine_is_probed_by_a_real_run() -> None:
    backends, _ = installed()
    found = asyncio.run(Prober(installed).find())
    assert found.backend in backends
    assert asyncio.run(Sandbox().confinement()) == Confinement("bubblewrap+seccomp")


def test_probing_happens_once_for_all_tasks_and_loops() -> None:
    leaky = Leaky()
    prober = offering(leaky)

    async def ask() -> None:
        found = await asyncio.gather(*(prober.find() for _ in range(20)))
        assert {each.backend for each in found} == {None}

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert leaky.runs == 1


def test_who_stops_waiting_for_the_probe_spoils_it_for_nobody() -> None:
    prober = offering(Leaky())

    async def give_up() -> None:
        task = asyncio.create_task(prober.find())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    assert len(asyncio.run(prober.find()).failures) == 1


def test_a_subprocess_says_that_it_is_unconfined() -> None:
    confinement = asyncio.run(Subprocess().confinement())
    assert confinement.name == "none"
    assert "runner=subprocess" in confinement.why
