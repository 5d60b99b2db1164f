/// Bounds of the choice among sessions.
public enum RoutingLimits: Sendable {
    /// How many candidates of a tier the router shows when a rule may answer `prefer`.
    ///
    /// Without such a rule the first accepted candidate ends the choice; with one, this bounds the work among a
    /// million equal sessions.
    public static let lookAhead = 64
}
