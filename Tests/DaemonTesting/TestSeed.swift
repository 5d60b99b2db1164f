import Foundation

/// Where a test takes its randomness from: another place each time, unless `ROUTERD_TEST_SEED` says which.
enum TestSeed {
    static func next() -> UInt64 {
        ProcessInfo.processInfo.environment["ROUTERD_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
    }
}
