/// The limits on the cost of a JSON document.
///
/// Every limit is checked while reading, before the memory beyond it would be taken.
public struct JSONLimits: Hashable, Sendable {
    /// The greatest size in bytes.
    public let maximumBytes: Int
    /// The greatest number of arrays and objects that are open at once; at most `deepest`.
    public let maximumDepth: Int
    /// The greatest length of a number in bytes, sign, point and exponent included.
    public let maximumNumberLength: Int

    /// The depth that no limit may exceed.
    ///
    /// Reading needs no stack, but comparing, writing and freeing a tree recurse once per level.
    public static let deepest = 512

    /// All limits at once; a depth beyond `deepest` counts as `deepest`.
    public init(maximumBytes: Int, maximumDepth: Int = 64, maximumNumberLength: Int = 1000) {
        self.maximumBytes = maximumBytes
        self.maximumDepth = min(maximumDepth, Self.deepest)
        self.maximumNumberLength = maximumNumberLength
    }

    /// For bodies from the network: 256 KiB, depth 64, numbers of up to 1000 bytes.
    public static let ingest = JSONLimits(maximumBytes: 256 * 1024)

    /// For files that the operator has written: 16 MiB, otherwise as `ingest`.
    public static let configuration = JSONLimits(maximumBytes: 16 * 1024 * 1024)
}
