import Glibc
package import Testing

extension Trait where Self == TimeLimitTrait {
    /// The longest time of a test: 15 minutes, or as many as `ROUTERD_TEST_MINUTES` says on a slow machine.
    ///
    /// A test waits for events, so that a limit ends only a test that hangs.
    package static var longest: Self {
        .timeLimit(.minutes(getenv("ROUTERD_TEST_MINUTES").flatMap { Int(String(cString: $0)) } ?? 15))
    }
}
