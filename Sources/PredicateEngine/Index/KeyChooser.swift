/// Keys of a code. Most codes have one, and need no array for it.
enum KeyCandidates {
    case one(AccessKey)
    case several([AccessKey])

    var count: Int {
        switch self {
        case .one: 1
        case .several(let keys): keys.count
        }
    }

    @inline(__always)
    func forEach(_ body: (AccessKey) -> Void) {
        switch self {
        case .one(let key): body(key)
        case .several(let keys): for key in keys { body(key) }
        }
    }
}

/// Finds the keys of a code, and chooses among them.
///
///     leaf     its literal; a window of its literal; the start, the end or a window of its pattern
///     and      the keys of its cheapest term, or the start that a lower and an upper bound share: the others are checked
///     or       the keys of all its terms: each must have one; the list costs what its worst term does
///     negated, ordered, turned, constant: none
struct KeyChooser {
    let hash: KeyHash

    /// The number of windows up to which each window of a literal is a candidate; of a longer one those near its ends,
    /// and a sample of the rest.
    private static let mostWindows = 64
    private static let windowsFromEnd = 16
    /// Of this number of windows in a row at least one is in the sample.
    private static let sampledAmong = 4
    /// The number of keys that most codes with a choice do not exceed.
    private static let usualKeys = 8

    // MARK: - All candidates

    /// Every key that the code could be found by. The same code gives the same keys in the same order.
    func candidates(of code: UnsafePointer<UInt8>) -> KeyCandidates {
        if let key = onlyKey(code) { return .one(key) }
        var keys: [AccessKey] = []
        keys.reserveCapacity(Self.usualKeys)
        forEachCandidate(code) { keys.append($0) }
        return .several(keys)
    }

    private func forEachCandidate(_ code: UnsafePointer<UInt8>, _ body: (AccessKey) -> Void) {
        let head = code[0]
        guard head & CanonicalCode.negated == 0 else { return }
        switch CanonicalCode.kind(head) {
        case .and:
            CanonicalCode.forEachTerm(code) { forEachCandidate($0, body) }
            if let key = rangeKey(code) { body(key) }
        case .or: CanonicalCode.forEachTerm(code) { forEachCandidate($0, body) }
        default: forEachLeafKey(code, body)
        }
    }

    /// The key of a code that has one candidate and no choice, as most have; nil for others.
    private func onlyKey(_ code: UnsafePointer<UInt8>) -> AccessKey? {
        let place: AccessKey.Place
        switch (code[0] & CanonicalCode.negated, CanonicalCode.kind(code[0])) {
        case (0, .equal): place = .whole
        case (0, .beginsWith): place = .start
        case (0, .endsWith): place = .end
        default: return nil
        }
        let isFolded = CanonicalCode.form(code[0]).isCaseFolded
        return hash.key(place, code + 3, CanonicalCode.short(code + 1), isFolded: isFolded)
    }

    private func forEachLeafKey(_ code: UnsafePointer<UInt8>, _ body: (AccessKey) -> Void) {
        if let key = onlyKey(code) { return body(key) }
        let isFolded = CanonicalCode.form(code[0]).isCaseFolded
        let (text, length) = (code + 3, CanonicalCode.short(code + 1))
        switch CanonicalCode.kind(code[0]) {
        case .contains: forEachWindow(text, length, isFolded, body)
        case .like: forEachPatternKey(text, length, isFolded, body)
        default: break
        }
    }

    /// The start that every text between two bounds has: the common start of both bounds. The order goes by the first
    /// byte that differs, so a text that does not share their common start comes before both or after both.
    ///
    /// Of several bounds the first of each side is looked at. A negated bound is the other side's, because no code is
    /// asked about the absent subject.
    private func rangeKey(_ list: UnsafePointer<UInt8>) -> AccessKey? {
        var (lower, upper): (UnsafePointer<UInt8>?, UnsafePointer<UInt8>?)
        CanonicalCode.forEachTerm(list) { term in
            let isNegated = term[0] & CanonicalCode.negated != 0
            switch CanonicalCode.kind(term[0]) {
            case .less, .lessOrEqual: if isNegated { lower = lower ?? term } else { upper = upper ?? term }
            case .greater, .greaterOrEqual: if isNegated { upper = upper ?? term } else { lower = lower ?? term }
            default: break
            }
        }
        guard let lower, let upper, CanonicalCode.form(lower[0]) == CanonicalCode.form(upper[0]) else { return nil }
        let most = min(CanonicalCode.short(lower + 1), CanonicalCode.short(upper + 1))
        let shared = (0..<most).first { lower[3 + $0] != upper[3 + $0] } ?? most
        guard shared > 0 else { return nil }
        return hash.key(.start, lower + 3, shared, isFolded: CanonicalCode.form(lower[0]).isCaseFolded)
    }

    private func forEachWindow(
        _ text: UnsafePointer<UInt8>, _ length: Int, _ isFolded: Bool, _ body: (AccessKey) -> Void
    ) {
        guard let size = AccessKey.windowSizes.first(where: { $0 <= length }) else { return }
        let windows = length - size + 1
        let show = { offset in body(hash.windowKey(text + offset, size: size, isFolded: isFolded)) }
        guard windows > Self.mostWindows else { return (0..<windows).forEach(show) }
        let inner = Self.windowsFromEnd..<windows - Self.windowsFromEnd
        (0..<inner.lowerBound).forEach(show)
        // The order differs from that of tags; otherwise the tables of tags would be full where tags are low.
        let order = { hash.windowKey(text + $0, size: size, isFolded: isFolded).tag &* 0x9E37_79B1 }
        forEachSampled(of: inner, order, show)
        (inner.upperBound..<windows).forEach(show)
    }

    /// Shows the windows that come first of some four in a row, by a number (winnowing, Schleimer, Wilkerson and Aiken
    /// 2003): two of five in the mean. Of equal ones that follow each other the first is shown.
    ///
    /// Any five bytes in a row lie in all of four windows of eight, so they lie in one of the sample: the bytes that
    /// tell two literals apart are part of a candidate at any place. Equal parts of literals have equal samples.
    private func forEachSampled(of offsets: Range<Int>, _ order: (Int) -> UInt32, _ show: (Int) -> Void) {
        var (least, place, shown): (UInt32, Int, UInt32?) = (.max, -1, nil)
        for first in offsets.lowerBound...offsets.upperBound - Self.sampledAmong {
            let last = first + Self.sampledAmong - 1
            for offset in (place < first ? first : last)...last {
                let number = order(offset)
                if place < first || number < least { (least, place) = (number, offset) }
            }
            if least != shown { show(place) }
            shown = least
        }
    }

    private func forEachPatternKey(
        _ pieces: UnsafePointer<UInt8>, _ length: Int, _ isFolded: Bool, _ body: (AccessKey) -> Void
    ) {
        var piece = 0
        while piece < length {
            guard pieces[piece] == CanonicalCode.Piece.literal.rawValue else {
                piece += 1
                continue
            }
            let (text, size) = (pieces + piece + 3, CanonicalCode.short(pieces + piece + 1))
            if size > 0 {
                if piece == 0 {
                    body(hash.key(.start, text, size, isFolded: isFolded))
                } else if piece + 3 + size == length {
                    body(hash.key(.end, text, size, isFolded: isFolded))
                } else {
                    forEachWindow(text, size, isFolded, body)
                }
            }
            piece += 3 + size
        }
    }

    // MARK: - The choice

    /// The cheapest of all keys of a leaf.
    func cheapest(of keys: [AccessKey], _ sketch: borrowing KeySketch) -> AccessKey {
        var best = 0
        var least = Int.max
        for index in keys.indices {
            let cost = Cost(keys[index], sharing: sketch.count(keys[index].tag)).sum
            if cost < least { (best, least) = (index, cost) }
        }
        return keys[best]
    }

    /// Appends the chosen keys; returns their cost, or nil, with nothing appended, if the code has none.
    func choose(
        _ code: UnsafePointer<UInt8>, _ sketch: borrowing KeySketch, into keys: inout [AccessKey]
    ) -> Cost? {
        let head = code[0]
        guard head & CanonicalCode.negated == 0 else { return nil }
        switch CanonicalCode.kind(head) {
        case .and: return chooseTerm(of: code, sketch, into: &keys)
        case .or: return chooseTerms(of: code, sketch, into: &keys)
        default:
            var best: (key: AccessKey, cost: Cost)?
            forEachLeafKey(code) { key in
                let cost = Cost(key, sharing: sketch.count(key.tag))
                if cost.sum < best?.cost.sum ?? .max { best = (key, cost) }
            }
            guard let best else { return nil }
            keys.append(best.key)
            return best.cost
        }
    }

    /// The cheapest term's keys, or the start of a range.
    private func chooseTerm(
        of list: UnsafePointer<UInt8>, _ sketch: borrowing KeySketch, into keys: inout [AccessKey]
    ) -> Cost? {
        let start = keys.count
        var best: Cost?
        var term = list + CanonicalCode.listHeader
        let end = term + CanonicalCode.long(list + 3)
        while term < end {
            let mark = keys.count
            if let cost = choose(term, sketch, into: &keys) {
                if cost.sum < best?.sum ?? .max {
                    keys.removeSubrange(start..<mark)
                    best = cost
                } else {
                    keys.removeSubrange(mark...)
                }
            }
            term += CanonicalCode.size(term)
        }
        if let key = rangeKey(list) {
            let cost = Cost(key, sharing: sketch.count(key.tag))
            if cost.sum < best?.sum ?? .max {
                keys.replaceSubrange(start..., with: CollectionOfOne(key))
                best = cost
            }
        }
        return best
    }

    /// The keys of every term.
    private func chooseTerms(
        of list: UnsafePointer<UInt8>, _ sketch: borrowing KeySketch, into keys: inout [AccessKey]
    ) -> Cost? {
        let start = keys.count
        var worst = Cost()
        var term = list + CanonicalCode.listHeader
        let end = term + CanonicalCode.long(list + 3)
        while term < end {
            guard let cost = choose(term, sketch, into: &keys) else {
                keys.removeSubrange(start...)
                return nil
            }
            worst.include(cost)
            term += CanonicalCode.size(term)
        }
        return worst
    }

    /// The cost of filing a predicate under keys.
    struct Cost {
        /// The number of other predicates under one of the keys.
        private var sharing = 0
        /// The chance that a subject has one of the keys.
        private var chance = 0
        /// The same chance for those keys of a list's terms that a subject hardly ever has by chance.
        private var rare = 0

        init() {}

        init(_ key: AccessKey, sharing: Int) {
            self.sharing = sharing
            chance =
                switch (key.place, key.length) {
                case (.whole, _): 0
                case (.start, 4...), (.end, 4...): 1
                case (.window, 6...): 3
                case (.window, 4...): Self.mostOfRare
                case (_, 3): 24
                case (_, 2): 64
                default: 256
                }
        }

        /// The chance of a window of four bytes, which one subject of 4 KiB in a million has if its bytes are random.
        private static let mostOfRare = 6

        /// Many rare keys are counted as one: otherwise fifty sharers seemed better than four hundred texts of one's
        /// own.
        var sum: Int { sharing * 8 + chance + (rare + 15) / 16 }

        /// Adds the keys of another term, any of which a subject may have. A subject has few of them at a time, so the
        /// sharers that it meets are those of the most shared key, and not the sum: four hundred texts of a predicate's
        /// own are no worse than one. The chances do add up.
        mutating func include(_ other: Cost) {
            sharing = max(sharing, other.sharing)
            let isRare = other.chance <= Self.mostOfRare
            rare += other.rare + (isRare ? other.chance : 0)
            chance += isRare ? 0 : other.chance
        }
    }
}

extension CanonicalCode {
    /// Shows the terms of a list.
    static func forEachTerm(_ list: UnsafePointer<UInt8>, _ body: (UnsafePointer<UInt8>) -> Void) {
        var term = list + listHeader
        let end = term + long(list + 3)
        while term < end {
            body(term)
            term += size(term)
        }
    }
}
