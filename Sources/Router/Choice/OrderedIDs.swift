/// Ids in the order of their bytes, for lists that are read in pages.
///
///     chunks: [a … f] [g … m] [n … z]        each sorted, none empty, at most `chunkLimit` ids
///
/// A chunk that outgrows its limit is split in two. An insertion moves at most one chunk's ids and the list of chunks: with
/// a million ids some 4,000 chunks of some 250.
struct OrderedIDs<ID: Comparable & Hashable & Sendable>: Hashable, Sendable {
    static var chunkLimit: Int { 512 }

    private var chunks: [[ID]] = []

    /// Inserts an id that is not there.
    mutating func insert(_ id: ID) {
        guard !chunks.isEmpty else { return chunks.append([id]) }
        let place = max(0, chunk(after: id) - 1)
        chunks[place].insert(id, at: Self.count(in: chunks[place], upTo: id))
        guard chunks[place].count > Self.chunkLimit else { return }
        // Ids that come in order fill their chunks: only the last chunk grows, and its first part stays as it is.
        let half = place == chunks.count - 1 ? Self.chunkLimit : Self.chunkLimit / 2
        chunks.insert(Array(chunks[place][half...]), at: place + 1)
        chunks[place].removeSubrange(half...)
    }

    /// Removes an id that is there.
    mutating func remove(_ id: ID) {
        let place = chunk(after: id) - 1
        guard place >= 0 else { return }
        let index = Self.count(in: chunks[place], upTo: id) - 1
        guard index >= 0, chunks[place][index] == id else { return }
        chunks[place].remove(at: index)
        if chunks[place].isEmpty { chunks.remove(at: place) }
    }

    /// Calls `body` with each id behind another, in order, until it returns false.
    ///
    /// - Parameter after: The id to begin behind, which need not be there; nil begins with the first.
    func visit(after: ID?, _ body: (ID) -> Bool) {
        var place = 0
        var index = 0
        if let after {
            place = max(0, chunk(after: after) - 1)
            index = place < chunks.count ? Self.count(in: chunks[place], upTo: after) : 0
        }
        while place < chunks.count {
            while index < chunks[place].count {
                guard body(chunks[place][index]) else { return }
                index += 1
            }
            (place, index) = (place + 1, 0)
        }
    }

    /// The index of the first chunk whose ids are all greater.
    private func chunk(after id: ID) -> Int {
        var (low, high) = (0, chunks.count)
        while low < high {
            let middle = (low + high) / 2
            if id < chunks[middle][0] { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// How many ids of a sorted chunk are no greater.
    private static func count(in chunk: [ID], upTo id: ID) -> Int {
        var (low, high) = (0, chunk.count)
        while low < high {
            let middle = (low + high) / 2
            if id < chunk[middle] { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
