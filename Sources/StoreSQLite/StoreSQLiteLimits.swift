/// The bounds of caches and connections, of the work that is put off, and of the work that then comes at once.
enum StoreSQLiteLimits {
    /// Page cache of the connection that writes, in KiB. It fills as pages are used: an idle daemon has little of it.
    static let writerCacheKiB = 8 * 1024
    /// Page cache of each connection that reads, in KiB.
    static let readerCacheKiB = 1024
    /// Most connections that read at once.
    static let maximumReaders = 6
    /// Sequences in a segment of the list index, as a power of two. The figure is part of the format: segments are numbered
    /// by it. A list reads a segment's worth of rows without an index at most, and a commit lists a segment at once.
    static let segmentBits: Int64 = 10
    /// Parts of the unsettled notifications that recovery reads at a time, and the least number of sequences of a part.
    static let recoveryParts: Int64 = 4
    static let recoveredTogether: Int64 = 8192
    /// Segments of the list index that one commit removes after their notifications are forgotten.
    static let removedSegments: Int64 = 4
    /// Sequences whose keys are found in memory alone before they are moved to the index of keys.
    static let recentKeySequences: Int64 = 16_384
    /// Parts of the index of keys: a commit brings one of them up to date.
    static let keySlices: Int64 = 64
}
