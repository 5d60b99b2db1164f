/// Bounds of the choice among sessions.
public enum RoutingLimits: Sendable {
    /// The greatest number of candidates of a tier that the router shows when a rule may answer `prefer`.
    ///
    /// Without such a rule the first accepted candidate ends the choice; with one, this bounds the work among a
    /// million equal sessions.
    public static let lookAhead = 64
}
