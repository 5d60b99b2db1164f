/// What is in use of the keys that are looked for in one side of a subject: as given, or in lower case.
///
/// Looking up takes the place of a side, not its value: Swift would copy a value of this size for the call.
struct KeySide: ~Copyable {
    let isFolded: Bool
    private(set) var wholes = 0
    private(set) var starts = LiveLengths()
    private(set) var ends = LiveLengths()
    private(set) var windows = LiveWindows()
    /// Nothing is looked for on this side if there is none.
    private(set) var keyCount = 0

    init(isFolded: Bool) { self.isFolded = isFolded }

    var byteCount: Int { starts.byteCount + ends.byteCount + windows.byteCount }

    mutating func add(_ key: AccessKey) {
        keyCount += 1
        switch key.place {
        case .whole: wholes += 1
        case .start: starts.add(key)
        case .end: ends.add(key)
        case .window: windows.add(key)
        }
    }

    mutating func remove(_ key: AccessKey) {
        keyCount -= 1
        switch key.place {
        case .whole: wholes -= 1
        case .start: starts.remove(key)
        case .end: ends.remove(key)
        case .window: windows.remove(key)
        }
    }

    // MARK: - Looking up

    /// Shows the tag of every key in use that the text may have.
    @inline(__always)
    static func forEachTag(
        _ side: UnsafePointer<KeySide>, of text: TextView, _ hash: KeyHash, _ body: (UInt32) -> Void
    ) {
        let isFolded = side.pointee.isFolded
        if side.pointee.wholes > 0 || side.pointee.starts.entries.count > 0 {
            forEachStart(side, of: text, hash, isFolded, body)
        }
        if side.pointee.ends.entries.count > 0 { forEachEnd(side, of: text, hash, isFolded, body) }
        if side.pointee.windows.count > 0 { side.pointee.windows.forEachTag(of: text, hash, isFolded: isFolded, body) }
    }

    /// The starts in use, shortest first, and the whole: one walk over the words of the text.
    @inline(__always)
    private static func forEachStart(
        _ side: UnsafePointer<KeySide>, of text: TextView, _ hash: KeyHash, _ isFolded: Bool, _ body: (UInt32) -> Void
    ) {
        var (state, walked) = (hash.seed, 0)
        var entry = UnsafePointer(side.pointee.starts.entries.base)
        let end = entry + side.pointee.starts.entries.count
        while entry < end {
            let length = Int(entry.pointee.length)
            if length > text.count { break }
            if LiveLengths.Entry.has(text.bytes[length &- 1], at: entry) {
                while walked &+ 8 <= length {
                    state = hash.next(state, KeyHash.word(text.bytes + walked))
                    walked &+= 8
                }
                let rest = KeyHash.first(length &- walked, of: KeyHash.word(text.bytes + walked))
                body(hash.tag(state, rest, .start, isFolded, length))
            }
            entry += 1
        }
        guard side.pointee.wholes > 0 else { return }
        while walked &+ 8 <= text.count {
            state = hash.next(state, KeyHash.word(text.bytes + walked))
            walked &+= 8
        }
        let rest = KeyHash.first(text.count &- walked, of: KeyHash.word(text.bytes + walked))
        body(hash.tag(state, rest, .whole, isFolded, text.count))
    }

    @inline(__always)
    private static func forEachEnd(
        _ side: UnsafePointer<KeySide>, of text: TextView, _ hash: KeyHash, _ isFolded: Bool, _ body: (UInt32) -> Void
    ) {
        var (state, walked) = (hash.seed, 0)
        var entry = UnsafePointer(side.pointee.ends.entries.base)
        let end = entry + side.pointee.ends.entries.count
        while entry < end {
            let length = Int(entry.pointee.length)
            if length > text.count { break }
            let start = text.bytes + (text.count &- length)
            if LiveLengths.Entry.has(start[0], at: entry) {
                while walked &+ 8 <= length {
                    walked &+= 8
                    state = hash.next(state, KeyHash.word(text.bytes + (text.count &- walked)))
                }
                let rest = KeyHash.first(length &- walked, of: KeyHash.word(start))
                body(hash.tag(state, rest, .end, isFolded, length))
            }
            entry += 1
        }
    }

    // MARK: - Copying

    private init(
        isFolded: Bool, wholes: Int, keyCount: Int, starts: consuming LiveLengths, ends: consuming LiveLengths,
        windows: consuming LiveWindows
    ) {
        self.isFolded = isFolded
        self.wholes = wholes
        self.keyCount = keyCount
        self.starts = starts
        self.ends = ends
        self.windows = windows
    }

    func copy() -> KeySide {
        KeySide(
            isFolded: isFolded, wholes: wholes, keyCount: keyCount, starts: starts.copy(), ends: ends.copy(),
            windows: windows.copy())
    }
}
