/// The version of routerd.
public enum RouterdVersion: Sendable {
    /// The version in the form of semantic versioning.
    public static let current = "0.1.0"
}
