"""The checks and their outcomes."""


class Report:
    """Counts claims that hold and claims that do not, and prints each."""

    def __init__(self) -> None:
        self.passed = 0
        self.failed = 0

    def check(self, claim: str, holds: bool, seen: object = None) -> None:
        """Notes whether a claim holds; `seen` is printed if it does not."""
        if holds:
            self.passed += 1
            print(f"  ✓ {claim}", flush=True)
        else:
            self.failed += 1
            print(f"  ✗ {claim}: {seen!r}", flush=True)

    def end(self) -> int:
        """Prints the sum; the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0
