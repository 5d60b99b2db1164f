/// The version of routerd.
public enum RouterdVersion: Sendable {
    /// As semantic versioning has it.
    public static let current = "0.1.0"
}
