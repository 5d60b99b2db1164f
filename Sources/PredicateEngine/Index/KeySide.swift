/// What is in use of the keys that are looked for in one side of a subject: as given, or in lower case.
struct KeySide: ~Copyable {
    let isFolded: Bool
    private(set) var wholes = 0
    private(set) var starts = LiveLengths()
    private(set) var ends = LiveLengths()
    private(set) var eights = LiveWindows(size: 8)
    private(set) var sixes = LiveWindows(size: 6)
    private(set) var fours = LiveWindows(size: 4)
    private(set) var threes = LiveWindows(size: 3)
    private(set) var twos = LiveWindows(size: 2)
    private(set) var ones = LiveWindows(size: 1)

    init(isFolded: Bool) { self.isFolded = isFolded }

    /// Whether nothing is looked for on this side.
    private(set) var keyCount = 0

    mutating func add(_ key: AccessKey) {
        keyCount += 1
        switch (key.place, key.length) {
        case (.whole, _): wholes += 1
        case (.start, _): starts.add(key)
        case (.end, _): ends.add(key)
        case (.window, 8): eights.add(key)
        case (.window, 6): sixes.add(key)
        case (.window, 4): fours.add(key)
        case (.window, 3): threes.add(key)
        case (.window, 2): twos.add(key)
        case (.window, _): ones.add(key)
        }
    }

    mutating func remove(_ key: AccessKey) {
        keyCount -= 1
        switch (key.place, key.length) {
        case (.whole, _): wholes -= 1
        case (.start, _): starts.remove(key)
        case (.end, _): ends.remove(key)
        case (.window, 8): eights.remove(key)
        case (.window, 6): sixes.remove(key)
        case (.window, 4): fours.remove(key)
        case (.window, 3): threes.remove(key)
        case (.window, 2): twos.remove(key)
        case (.window, _): ones.remove(key)
        }
    }

    // MARK: - Looking up

    /// Shows the tag of every key in use that the text may have.
    @inline(__always)
    func forEachTag(of text: TextView, _ hash: KeyHash, _ body: (UInt32) -> Void) {
        if wholes > 0 || starts.entries.count > 0 { forEachStart(of: text, hash, body) }
        if ends.entries.count > 0 { forEachEnd(of: text, hash, body) }
        if eights.count > 0 { forEachWindow(of: text, eights, hash, body) }
        if sixes.count > 0 { forEachWindow(of: text, sixes, hash, body) }
        if fours.count > 0 { forEachWindow(of: text, fours, hash, body) }
        if threes.count > 0 { forEachWindow(of: text, threes, hash, body) }
        if twos.count > 0 { forEachWindow(of: text, twos, hash, body) }
        if ones.count > 0 { forEachWindow(of: text, ones, hash, body) }
    }

    /// The starts in use, shortest first, and the whole: one walk over the words of the text.
    @inline(__always)
    private func forEachStart(of text: TextView, _ hash: KeyHash, _ body: (UInt32) -> Void) {
        var (state, walked) = (hash.seed, 0)
        var entry = starts.entries.base
        let end = entry + starts.entries.count
        while entry < end {
            let length = Int(entry.pointee.length)
            if length > text.count { break }
            if entry.pointee.has(text.bytes[length &- 1]) {
                while walked &+ 8 <= length {
                    state = hash.next(state, KeyHash.word(text.bytes + walked))
                    walked &+= 8
                }
                let rest = KeyHash.first(length &- walked, of: KeyHash.word(text.bytes + walked))
                body(hash.tag(state, rest, .start, isFolded, length))
            }
            entry += 1
        }
        guard wholes > 0 else { return }
        while walked &+ 8 <= text.count {
            state = hash.next(state, KeyHash.word(text.bytes + walked))
            walked &+= 8
        }
        let rest = KeyHash.first(text.count &- walked, of: KeyHash.word(text.bytes + walked))
        body(hash.tag(state, rest, .whole, isFolded, text.count))
    }

    @inline(__always)
    private func forEachEnd(of text: TextView, _ hash: KeyHash, _ body: (UInt32) -> Void) {
        var (state, walked) = (hash.seed, 0)
        var entry = ends.entries.base
        let end = entry + ends.entries.count
        while entry < end {
            let length = Int(entry.pointee.length)
            if length > text.count { break }
            let start = text.bytes + (text.count &- length)
            if entry.pointee.has(start[0]) {
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

    @inline(__always)
    private func forEachWindow(
        of text: TextView, _ windows: borrowing LiveWindows, _ hash: KeyHash, _ body: (UInt32) -> Void
    ) {
        let (mask, size, marks) = (windows.mask, windows.size, windows.marks.base)
        var offset = 0
        while offset &+ size <= text.count {
            let word = KeyHash.word(text.bytes + offset) & mask
            let mark = Int(truncatingIfNeeded: word & 0xFFFF)
            if marks[mark &>> 6] &>> UInt64(mark & 63) & 1 != 0 { body(hash.window(word, isFolded, size)) }
            offset &+= 1
        }
    }

    // MARK: - Copying

    private init(
        isFolded: Bool, wholes: Int, keyCount: Int, starts: consuming LiveLengths, ends: consuming LiveLengths,
        eights: consuming LiveWindows, sixes: consuming LiveWindows, fours: consuming LiveWindows,
        threes: consuming LiveWindows, twos: consuming LiveWindows, ones: consuming LiveWindows
    ) {
        self.isFolded = isFolded
        self.wholes = wholes
        self.keyCount = keyCount
        self.starts = starts
        self.ends = ends
        self.eights = eights
        self.sixes = sixes
        self.fours = fours
        self.threes = threes
        self.twos = twos
        self.ones = ones
    }

    func copy() -> KeySide {
        KeySide(
            isFolded: isFolded, wholes: wholes, keyCount: keyCount, starts: starts.copy(), ends: ends.copy(),
            eights: eights.copy(), sixes: sixes.copy(), fours: fours.copy(), threes: threes.copy(), twos: twos.copy(),
            ones: ones.copy())
    }
}
