"""The options of a run, the stages of its scenarios, and their results."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.clock import Skipped
from chaos.daemon import Daemon
from chaos.history import History
from chaos.ledger import Ledger
from chaos.zoo import Zoo


@dataclass
class Result:
    """A history to be judged if there is one, the faults that the scenario itself has found, and figures for people."""

    label: str
    history: History | None
    faults: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    # Faults that have been shown to be an open finding of docs/CHAOS.md and nothing else. The run fails of it too.
    known: list[str] = field(default_factory=list)


@dataclass
class Stage:
    """Where one history takes place: a folder, a zoo with its ledger, and a daemon or several."""

    binary: Path
    folder: Path
    ledger: Ledger
    zoo: Zoo
    daemons: list[Daemon] = field(default_factory=list)

    def daemon(self, *settings: str, folder: Path | None = None) -> Daemon:
        """A daemon with lines of configuration; not started yet."""
        daemon = Daemon(self.binary, folder or self.folder, self.ledger, settings)
        self.daemons.append(daemon)
        return daemon


@dataclass
class Options:
    """The command line's values."""

    binary: Path
    seed: int
    seconds: float | None
    kills: int
    cycles: int
    rounds: int
    points: int
    only: str | None
    keep: Path | None
    without_open: bool
    is_short: bool
    _stage: Stage | None = None
    _log: list[str] = field(default_factory=list)

    @property
    def log_tail(self) -> list[str]:
        """The last that the daemon of this stage said, or of the one before."""
        return self._stage.daemons[-1].log_tail() if self._stage and self._stage.daemons else self._log

    @contextmanager
    def stage(self) -> Iterator[Stage]:
        """Makes a stage, and leaves nothing of it behind."""
        folder = Path(tempfile.mkdtemp(prefix="routerd-chaos-"))
        ledger = Ledger()
        made = Stage(self.binary, folder, ledger, Zoo(ledger))
        self._stage, self._log = made, []
        try:
            yield made
        finally:
            self._stage = None
            for daemon in made.daemons:
                self._log = daemon.log_tail()
                daemon.close()
            made.zoo.close()
            shutil.rmtree(folder, ignore_errors=True)


def need_root(what: str) -> None:
    if os.geteuid() != 0:
        raise Skipped(f"{what} needs root")


def need(program: str) -> None:
    if shutil.which(program) is None:
        raise Skipped(f"{program} is not installed")
