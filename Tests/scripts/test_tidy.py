"""Rules of Scripts/tidy.py against planted faults."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "Scripts"))
import tidy  # noqa: E402


class VectorTests(unittest.TestCase):
    def test_bytes_of_vectors(self) -> None:
        for code, count in [
            ("var a = SIMD4<Int>.zero", 32), ("let b: SIMD8<UInt8>", 8), ("SIMD16<UInt8>(repeating: 0)", 16),
            ("func f<S>(_ a: SIMD2<S>)", 16), ("SIMD3<Double>", 24), ("SIMD4<Int32>", 16), ("let simd = 4", 0), ("SIMD64<Int8>", 64),
        ]:
            self.assertEqual(tidy.vector_bytes(code), count, code)

    def test_a_planted_vector_is_a_fault(self) -> None:
        root = tidy.ROOT
        with tempfile.TemporaryDirectory() as folder:
            tidy.ROOT = Path(folder)
            path = tidy.ROOT / "Sources/Router/Planted.swift"
            path.parent.mkdir(parents=True)
            path.write_text("struct Planted {\n    var counts = SIMD4<Int>.zero\n}\n")
            try:
                faults = list(tidy.swift_faults(path))
            finally:
                tidy.ROOT = root
        self.assertEqual([(place, number) for place, number, _ in faults], [(path, 2)])
        self.assertIn("#91639", faults[0][2])


if __name__ == "__main__":
    unittest.main()
