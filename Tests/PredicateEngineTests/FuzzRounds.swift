import Glibc

/// The rounds of a loop over random inputs: a tenth, or all with `ROUTERD_FUZZ_ALL` (`make verify-index`).
enum FuzzRounds {
    static func of(_ all: UInt64) -> UInt64 { getenv("ROUTERD_FUZZ_ALL") == nil ? all / 10 : all }
}
