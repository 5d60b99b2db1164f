"""Power cuts: an ext4 on a loop device is shut down under the daemon, so that only flushed bytes are left.

The shutdown is the file system's own (FS_IOC_SHUTDOWN without flushing its journal): from then on every access fails,
and the next mount replays the journal as after a cut. A control with `durability: normal` has to lose something;
otherwise the cuts would prove nothing.
"""

import fcntl
import os
import sqlite3
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chaos import clock
from chaos.crowd import Crowd, balance
from chaos.daemon import Daemon
from chaos.history import History
from chaos.options import Options, Result, Stage, need, need_root
from chaos.schedule import strikes
from chaos.verdict import repetitions_after_kills, judge

FS_IOC_SHUTDOWN = 0x8004587D
WITHOUT_FLUSHING = 2
IMAGE_BYTES = 96 << 20


class Disk:
    """An image of a file system, mounted in a folder."""

    def __init__(self, folder: Path) -> None:
        self.image = folder / "image"
        self.mount_point = folder / "mounted"
        self.mount_point.mkdir()
        with self.image.open("wb") as file:
            file.truncate(IMAGE_BYTES)
        self._run("mkfs.ext4", "-q", "-F", str(self.image))

    def mount(self) -> None:
        self._run("mount", "-o", "loop", str(self.image), str(self.mount_point))

    def unmount(self) -> None:
        """Again and again: a process that has just died may still hold it.

        Every mount namespace made meanwhile has the file system too, until it ends; to mount it again before would
        bring the same one back, shut down as it is.
        """
        clock.wait_until(
            lambda: subprocess.run(["umount", str(self.mount_point)], capture_output=True).returncode == 0,
            "the file system is unmounted", 20)
        clock.wait_until(lambda: not self._is_attached(), "no process has the file system mounted any more", 20)

    def _is_attached(self) -> bool:
        listed = subprocess.run(["losetup", "--associated", str(self.image)], capture_output=True, text=True, timeout=60)
        return bool(listed.stdout.strip())

    def cut(self) -> None:
        folder = os.open(self.mount_point, os.O_RDONLY)
        try:
            fcntl.ioctl(folder, FS_IOC_SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING))
        finally:
            os.close(folder)

    @staticmethod
    def _run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise clock.Skipped(f"{command[0]} does not work here: {done.stderr.strip()}")


@contextmanager
def mounted(stage: Stage) -> Iterator[Disk]:
    """A disk that is gone in the end, in any case."""
    disk = Disk(stage.folder)
    disk.mount()
    try:
        try_cut(disk)
        yield disk
    finally:
        for daemon in stage.daemons:
            daemon.close()
        if disk.mount_point.is_mount():
            disk.unmount()


def try_cut(disk: Disk) -> None:
    """Whether this kernel has power to cut."""
    try:
        disk.cut()
    except OSError as error:
        raise clock.Skipped(f"the file system cannot be shut down here: {error}") from error
    disk.unmount()
    disk.mount()


def scenario(options: Options) -> Iterator[Result]:
    need_root("mounting a file system")
    need("mkfs.ext4")
    for durability in ("full", "normal"):
        with options.stage() as stage, mounted(stage) as disk:
            history, faults, figures = play(stage, disk, durability, options)
            if durability == "full":
                yield Result("power cuts", history, faults, figures)
            else:
                known = {entry.id for entry in history.books.entries}
                lost = sum(bool(each.ids) and each.ids[0] not in known for each in history.submissions)
                told = [] if lost else ["the control lost nothing: these cuts prove nothing"]
                yield Result("control with durability normal", None, told, {**figures, "lost, as it must": lost})


def play(stage: Stage, disk: Disk, durability: str, options: Options) -> tuple[History, list[str], dict[str, object]]:
    folder = disk.mount_point / "data"
    folder.mkdir()
    daemon = stage.daemon(f"durability: {durability}", folder=folder)
    # Files on another disk are not cut.
    daemon.log, daemon.configuration = move(daemon.log, stage), move(daemon.configuration, stage)
    daemon.start()
    os.sync()
    crowd = Crowd(stage, daemon, options.seed)
    crowd.load.start()
    for strike in strikes(options.seed, options.cycles, longest=2.0):
        time.sleep(strike.after)
        # First the processor, then the disk: a flush that is under way as the file system shuts down may seem to
        # succeed though its data goes nowhere. A machine without power hears nothing of it, and this one must not.
        daemon.freeze()
        disk.cut()
        daemon.kill()
        stage.zoo.bury()
        disk.unmount()
        disk.mount()
        if not daemon.start():
            raise clock.Failure("the daemon does not start after a power cut")
        if durability != "full":
            crowd.register()
    crowd.settle()
    history = crowd.history()
    faults = balance(history, stage.ledger.distinct_taken())
    daemon.kill()
    if damage := check_integrity(daemon):
        faults.append(f"the database is damaged: {damage}")
    return history, faults, {
        "cuts": options.cycles, "accepted": history.books.accepted,
        "delivered": history.books.by_state["delivered"], "repeated": repetitions_after_kills(history)}


def move(path: Path, stage: Stage) -> Path:
    target = stage.folder / path.name
    if path.exists():
        target.write_bytes(path.read_bytes())
    return target


def check_integrity(daemon: Daemon) -> str:
    """SQLite's own check of the file, of which no process has a handle now; nothing if all is well."""
    connection = sqlite3.connect(daemon.database)
    try:
        rows = [row[0] for row in connection.execute("PRAGMA integrity_check")]
    finally:
        connection.close()
    return "" if rows == ["ok"] else "; ".join(rows)
