import Glibc
package import Testing

/// The longest time of a test in minutes: 15, or as many as `ROUTERD_TEST_MINUTES` says on a slow machine.
///
/// Tests wait for events; a limit ends only a hanging test.
package let longestMinutes = getenv("ROUTERD_TEST_MINUTES").flatMap { Int(String(cString: $0)) } ?? 15

extension Trait where Self == TimeLimitTrait {
    /// The limit of a test or a suite.
    package static var longest: Self { .timeLimit(.minutes(longestMinutes)) }
}
