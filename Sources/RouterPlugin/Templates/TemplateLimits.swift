/// Bounds of templates. A template beyond a bound is refused when it is made.
public enum TemplateLimits: Sendable {
    /// UTF-8 bytes of a template's text: 4 KiB.
    public static let textBytes = 4096
    /// Holes of a template.
    public static let holes = 64
    /// Alternatives of a hole, its default included.
    public static let alternatives = 16
    /// Members and elements that a path may name.
    public static let pathSteps = 32
    /// Greatest index of an array's element in a path.
    public static let elementIndex = 65_535
    /// UTF-8 bytes of a result: the greatest length of a content id.
    public static let resultBytes = 4096
    /// Templates of a table.
    public static let tableEntries = 256
    /// UTF-8 bytes of a type of event in a table.
    public static let typeBytes = 256
}
