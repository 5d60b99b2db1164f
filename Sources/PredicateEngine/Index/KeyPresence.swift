/// A summary of the keys in use, so that only those tags of a subject are computed that may be found.
///
/// Lookups take the address of this value, not the value: Swift would copy a value of this size for the call.
struct KeyPresence: ~Copyable {
    private var wholes = (given: 0, lower: 0)
    private var starts = LengthPresence()
    private var ends = LengthPresence()
    private var windows = WindowPresence()
    /// The number of keys that are looked for in the lower case of a subject.
    private(set) var foldedCount = 0

    init() {}

    var byteCount: Int { starts.byteCount + ends.byteCount + windows.byteCount }

    mutating func add(_ key: AccessKey) {
        if key.isFolded { foldedCount += 1 }
        switch key.place {
        case .whole: if key.isFolded { wholes.lower += 1 } else { wholes.given += 1 }
        case .start: starts.add(key)
        case .end: ends.add(key)
        case .window: windows.add(key)
        }
    }

    mutating func remove(_ key: AccessKey) {
        if key.isFolded { foldedCount -= 1 }
        switch key.place {
        case .whole: if key.isFolded { wholes.lower -= 1 } else { wholes.given -= 1 }
        case .start: starts.remove(key)
        case .end: ends.remove(key)
        case .window: windows.remove(key)
        }
    }

    // MARK: - Looking up

    /// Shows the tag of every key in use that a subject may have.
    ///
    /// One look at ASCII text without capitals, which is its own lower case; two at other ASCII text, five at the rest.
    @inline(__always)
    static func forEachTag(
        _ live: UnsafePointer<KeyPresence>, of subject: PreparedSubject, _ hash: KeyHash, _ body: (UInt32) -> Void
    ) {
        let looks = subject.isASCII ? (subject.isLower || live.pointee.foldedCount == 0 ? 1 : 2) : Form.count
        for look in 0..<looks {
            let (text, forms) = looks == 1 ? (subject.given, [.given, .lower]) : subject.form(look)
            forEachStart(live, of: text, forms, hash, body)
            forEachEnd(live, of: text, forms, hash, body)
            if live.pointee.windows.count > 0 { live.pointee.windows.forEachTag(of: text, forms, hash, body) }
        }
    }

    /// The starts in use, shortest first, and the whole: one walk over the words of the text.
    @inline(__always)
    private static func forEachStart(
        _ live: UnsafePointer<KeyPresence>, of text: TextView, _ forms: CaseForms, _ hash: KeyHash,
        _ body: (UInt32) -> Void
    ) {
        var (state, walked) = (hash.seed, 0)
        live.pointee.starts.forEachLive(in: text, .start, forms) { length, isFolded in
            while walked &+ 8 <= length {
                state = hash.next(state, KeyHash.word(text.bytes + walked))
                walked &+= 8
            }
            let rest = KeyHash.first(length &- walked, of: KeyHash.word(text.bytes + walked))
            body(hash.tag(state, rest, .start, isFolded, length))
        }
        let isGiven = live.pointee.wholes.given > 0 && forms.contains(.given)
        let isLower = live.pointee.wholes.lower > 0 && forms.contains(.lower)
        guard isGiven || isLower else { return }
        while walked &+ 8 <= text.count {
            state = hash.next(state, KeyHash.word(text.bytes + walked))
            walked &+= 8
        }
        let rest = KeyHash.first(text.count &- walked, of: KeyHash.word(text.bytes + walked))
        if isGiven { body(hash.tag(state, rest, .whole, false, text.count)) }
        if isLower { body(hash.tag(state, rest, .whole, true, text.count)) }
    }

    @inline(__always)
    private static func forEachEnd(
        _ live: UnsafePointer<KeyPresence>, of text: TextView, _ forms: CaseForms, _ hash: KeyHash,
        _ body: (UInt32) -> Void
    ) {
        var (state, walked) = (hash.seed, 0)
        live.pointee.ends.forEachLive(in: text, .end, forms) { length, isFolded in
            while walked &+ 8 <= length {
                walked &+= 8
                state = hash.next(state, KeyHash.word(text.bytes + (text.count &- walked)))
            }
            let rest = KeyHash.first(length &- walked, of: KeyHash.word(text.bytes + (text.count &- length)))
            body(hash.tag(state, rest, .end, isFolded, length))
        }
    }

    // MARK: - Copying

    private init(copying other: borrowing KeyPresence) {
        wholes = other.wholes
        starts = other.starts.copy()
        ends = other.ends.copy()
        windows = other.windows.copy()
        foldedCount = other.foldedCount
    }

    func copy() -> KeyPresence { KeyPresence(copying: self) }
}

/// How a text is looked at: as given, in lower case, or as both at once where they are the same.
struct CaseForms: OptionSet {
    let rawValue: UInt16

    static let given = CaseForms(rawValue: 1)
    static let lower = CaseForms(rawValue: 2)
}

extension AccessKey {
    var form: CaseForms { isFolded ? .lower : .given }
}

extension PreparedSubject {
    /// The text of a look, and the form that it shows.
    @inline(__always)
    func form(_ look: Int) -> (TextView, CaseForms) {
        guard !isASCII, let form = Form(rawValue: look) else { return look == 0 ? (given, .given) : (lower, .lower) }
        return (view(form), form.isCaseFolded ? .lower : .given)
    }
}
