"""The shell blocks of pages in docs that are no tutorial: each block is played by itself, or says why it is not."""
import json
import re
from pathlib import Path

from terminal import Terminal
from walkthrough import SECONDS, require

from .stage import Stage, poll

ROOT = Path(__file__).resolve().parents[3]
APPLICATION = "com.example.Gallery"
GALLERY = f"http://127.0.0.1:8080/v1/applications/{APPLICATION}"
SEND = f"""curl -sSf {GALLERY}/notifications -d '{{"notification-content-id": "gallery://photo/7"}}'"""


class Page(Stage):
    def __init__(self, folder: Path, variables: dict[str, str], document: str) -> None:
        self.text = (ROOT / document).read_text()
        super().__init__(folder, variables, ROOT / document, self.text)

    def serve(self, command: str = "routerd serve") -> None:
        self.start_daemon(["bash", "-c", f"exec {command}"], self.folder)

    def serve_gallery(self) -> None:
        self.serve()
        self.shell.run(f"""curl -sSf -X PUT {GALLERY} -d '{{"displayName": "Gallery"}}'""")

    def stop_daemon(self) -> None:
        if self.daemon is not None:
            self.daemon.stop()
            self.daemon = None

    def shows(self, block: str, *texts: str) -> str:
        output = self.shell.run(block)
        require(all(text in output for text in texts), f"{block.strip()} prints {texts}: {output}")
        return output

    def follows(self, block: str, *texts: str) -> None:
        """Runs a block that prints events until it is interrupted, and sends notifications until it has printed them."""
        terminal = Terminal(["bash", "-c", block], self.folder, self.variables)

        def after_another() -> str:
            self.shell.run(SEND)
            return terminal.written

        try:
            poll(after_another, lambda written: all(text in written for text in texts), f"{block} prints {texts}", SECONDS)
        finally:
            terminal.stop()


class Operating(Page):
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        super().__init__(folder, variables, "docs/OPERATING.md")
        self.checks = {
            "vacuum": self.is_vacuumed, "check": lambda block: self.shows(block, "sound"), "backup": self.is_backed_up,
            "tail": lambda block: self.follows(block, "notification.accepted"), "dead-letters": self.is_found,
        }

    def is_vacuumed(self, block: str) -> None:
        self.serve_gallery()
        self.stop_daemon()
        output = self.shell.run(block)
        told = re.search(r"^(\S+): (\d+) bytes before, (\d+) after$", output, re.M)
        require(told is not None, f"the command says how large the database was and is: {output}")
        size = (self.folder / told[1]).stat().st_size
        require(size == int(told[3]) <= int(told[2]), f"the database has the size that the command says: {size}, {output}")

    def is_backed_up(self, block: str) -> None:
        self.serve_gallery()
        backups = self.folder / "backup"
        backups.mkdir()
        self.shell.run(block.replace("/backup/", f"{backups}/"))
        require(len(list(backups.glob("routerd-*.sqlite"))) == 1, "the backup has its name")

    def is_found(self, block: str) -> None:
        self.shell.run(SEND)
        listing, show = block.strip().splitlines()
        name = re.search(r"ntf_\w+", self.shows(listing, "deadLettered"))
        require(name is not None, "the notification without a session is listed")
        self.shows(show.replace("ntf_…", name[0]), name[0], "deadLettered")


class Configuration(Page):
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        super().__init__(folder, variables, "docs/CONFIGURATION.md")
        self.checks = {
            "key": lambda block: self.shows(block, "rk_", "sha256", f"application: {APPLICATION}"),
            "secrets-key": self.is_private,
        }

    def is_private(self, block: str) -> None:
        self.shell.run(block)
        key = self.folder / "secrets.key"
        require(key.stat().st_mode & 0o077 == 0, "the key is readable for its owner only")
        (self.folder / "sealed.yaml").write_text(f"secrets:\n  keyFile: {key}\n")
        self.shows("routerd check --config sealed.yaml", "valid")


class Streams(Page):
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        super().__init__(folder, variables, "docs/STREAMS.md")
        self.checks = {
            "deliveries": self.arrives, "range": lambda block: self.shows(block, '"last":'),
            "wait": lambda block: self.shows(block, '"whileAway":"wait"'), "token": self.is_given,
        }

    def arrives(self, block: str) -> None:
        self.serve_gallery()
        self.follows(block, "event: delivery", '"envelope":')

    def is_given(self, block: str) -> None:
        # Without keys in the configuration, requests need none.
        answer = json.loads(self.shell.run(block.replace("-H 'Authorization: Bearer rk_…' ", "")))
        require(answer.keys() == {"token", "expiresAt"} and answer["token"].startswith("rs_"), f"a token comes: {answer}")


class Plugins(Page):
    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        super().__init__(folder, variables, "docs/PLUGINS.md")
        self.project = folder
        # Plugins run as another user, who has to reach the project.
        for place in (folder.parent, folder):
            place.chmod(0o755)
        self.checks = {
            "rules-project": lambda block: self.shows(block, "ok      a comment waits for the morning"),
            "night-daemon": lambda block: self.serve(block.strip()), "night": self.is_held, "diff": self.is_compared,
            "swift-project": self.is_package, "python-project": self.is_made,
            "conforms": lambda block: self.shows(self.here(block), "com.example.rule.shielded-roles conforms"),
            "configured-plugin": self.is_served,
            "plugin-list": lambda block: self.shows(block, *re.findall(r"\n(entrance .*)\n", self.text)),
            "node-project": lambda block: self.shows(self.here(block), "# fail 0", "com.example.rule.shift conforms"),
        }

    def here(self, block: str) -> str:
        return block.replace("/srv/", f"{self.folder}/srv/")

    def is_held(self, block: str) -> None:
        self.shows(block, "held until 2026-01-03T06:00:00.000Z", "hall")
        self.stop_daemon()

    def is_compared(self, block: str) -> None:
        (self.folder / "rules.yaml").write_text((self.folder / "night/rules.yaml").read_text())
        self.serve_gallery()
        self.shell.run(SEND)
        # The second rule of the file vetoes the session that has sent it.
        sent = self.shell.run(f"""curl -sSf {GALLERY}/notifications -d '{{"sender": "hall"}}'""")
        self.shows(block, json.loads(sent)["id"], "undeliverable", "2 compared, 1 would go elsewhere")
        self.stop_daemon()

    def is_package(self, block: str) -> None:
        self.shows(block.replace("/srv/routerd", str(ROOT)), "kiosk-router/Package.swift", "ShieldedRolesTests.swift")
        package = (self.folder / "kiosk-router/Package.swift").read_text()
        require(f'.package(name: "routerd", path: "{ROOT}")' in package, f"the package depends on routerd's: {package}")

    def is_made(self, block: str) -> None:
        # The folder of the page is below that of the test, where no rights of root are needed.
        made = self.here(block).replace("sudo install", "install").replace('"$USER"', '"$(id -un)"')
        self.project = Path(self.shell.run(f"{made}\npwd").splitlines()[-1])
        require(self.project != self.folder, f"the block goes into the folder of the project: {self.project}")

    def is_served(self, block: str) -> None:
        listed = re.search(r"```yaml\n(rules:\n  - id: routerd\.rule\.process\n.*?)```", self.text, re.S)
        require(listed is not None, "docs/PLUGINS.md shows the configuration of the plugin")
        # The folder of the shell, as the block before has left it: the database and the plugin lie side by side.
        (self.project / "routerd.yaml").write_text(self.here(listed[1]))
        self.start_daemon(["bash", "-c", f"exec {block.strip()}"], self.project)


PAGES = {
    "docs/OPERATING.md": Operating, "docs/CONFIGURATION.md": Configuration, "docs/STREAMS.md": Streams,
    "docs/PLUGINS.md": Plugins,
}
