"""The disk is full, and has room again: nothing is acknowledged that is not kept, and no restart is needed."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos import clock
from chaos.client import API
from chaos.crowd import Crowd, balance
from chaos.options import Options, Result, Stage, need_root
from chaos.verdict import repetitions_after_kills

MEBIBYTES = 24
FULL_SECONDS = 1.5
REFUSAL_SECONDS = 15.0
RECOVERY_SECONDS = 20.0


@contextmanager
def small_disk(stage: Stage) -> Iterator[Path]:
    """A file system of a few mebibytes in memory."""
    folder = stage.folder / "small"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEBIBYTES}m", "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode != 0:
        raise clock.Skipped(f"no tmpfs can be mounted here: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        for daemon in stage.daemons:
            daemon.close()
        subprocess.run(["umount", str(folder)], capture_output=True)


def fill(folder: Path) -> Path:
    """Takes all that is left."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                pass
    return filler


def scenario(options: Options) -> Iterator[Result]:
    need_root("mounting a small file system")
    with options.stage() as stage, small_disk(stage) as folder:
        (folder / "data").mkdir()
        daemon = stage.daemon(folder=folder / "data")
        daemon.log = stage.folder / "daemon.log"
        daemon.start()
        crowd = Crowd(stage, daemon, options.seed)
        crowd.load.start()
        faults, refusals, api = [], 0, API(daemon)
        for _ in range(options.cycles):
            time.sleep(0.3)
            before = len(crowd.journal.refusals)
            filler = fill(folder)
            ends = clock.now() + REFUSAL_SECONDS
            while len(crowd.journal.refusals) == before and clock.now() < ends:
                # The space that a checkpoint frees is taken, too.
                time.sleep(0.2)
                with filler.open("ab", buffering=0) as file:
                    try:
                        file.write(b"\0" * (1 << 16))
                    except OSError:
                        pass
            time.sleep(FULL_SECONDS)
            if api.answers("/healthz") != 200:
                faults.append("/healthz did not answer while the disk was full")
            refusals += len(crowd.journal.refusals) - before
            filler.unlink()
            acked = count_acked(crowd)
            clock.wait_until(
                lambda: count_acked(crowd) > acked, "something is accepted again without a restart", RECOVERY_SECONDS)
        if refusals == 0:
            faults.append("nothing was ever refused: the disk was never full for the daemon")
        faults += [f"refused with {each}" for each in set(crowd.journal.refusals) if not each.startswith("503 ")]
        crowd.settle()
        daemon.kill()
        stage.zoo.bury()
        daemon.start()
        crowd.settle()
        api.close()
        history = crowd.history(disk_fails=True)
        faults += balance(history, stage.ledger.distinct_taken())
        yield Result("full disk", history, faults, {
            "times": options.cycles, "refused": refusals, "accepted": history.books.accepted,
            "delivered": history.books.by_state["delivered"], "repeated": repetitions_after_kills(history)})


def count_acked(crowd: Crowd) -> int:
    return sum(each.acked_at is not None for each in list(crowd.journal.submissions))
