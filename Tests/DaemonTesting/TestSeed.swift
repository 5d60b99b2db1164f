import Foundation

/// The seed of a test's randomness: another one each time, unless `ROUTERD_TEST_SEED` sets it.
enum TestSeed {
    static func next() -> UInt64 {
        ProcessInfo.processInfo.environment["ROUTERD_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
    }
}
