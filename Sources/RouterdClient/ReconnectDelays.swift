/// How long a receiver waits before it connects again: a random part of a bound that doubles with each failure, so that the
/// receivers of a daemon that was restarted do not come at once.
///
///     failures   1      2    3    4    …   6     7
///     up to      0.5 s  1 s  2 s  4 s      15 s  15 s
public struct ReconnectDelays: Hashable, Sendable {
    /// Half of the bound after the first failure.
    public var first = Duration.milliseconds(250)
    /// The greatest bound.
    public var longest = Duration.seconds(15)

    /// The delays of the table.
    public init() {}

    /// - Parameter failures: How many connections in a row have brought no delivery, from 1.
    func delay(after failures: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        let bound = min(longest, first * (1 << min(failures, 16)))
        return bound * Double.random(in: 0..<1, using: &generator)
    }
}
