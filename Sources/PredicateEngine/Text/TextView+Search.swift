/// Searching for a text within another.
///
///     text      a a a a a b a a a …
///     literal   a a b                   compared where its first and its last byte are the text's
///
/// In an adversarial text nearly all of the literal matches at every offset. So the work of failed comparisons is
/// counted, and when it is more than the distance covered has paid for, the rest is searched in two ways from a middle
/// of the literal, which takes two looks a byte at most and no memory (Crochemore and Perrin 1991).
extension TextView {
    /// The number of bytes of failed comparisons that each offset pays for; this number, and as many as the literal
    /// has, are free.
    private static var paidByOffset: Int { 4 }
    private static var free: Int { 256 }

    /// Where the literal, not empty, occurs first at or after an offset, between places where the text may be cut.
    ///
    /// Adds to `work` the offsets that are looked at and the bytes that are compared: at most 16 for each byte of the
    /// text behind the offset, and 256.
    func find(_ literal: UnsafePointer<UInt8>, _ length: Int, from offset: Int, _ work: inout Int) -> Int? {
        guard length <= count &- offset else { return nil }
        let (first, last) = (literal[0], literal[length &- 1])
        var (start, compared) = (offset, 0)
        defer { work &+= start &- offset &+ compared &+ 1 }
        while start <= count &- length {
            if bytes[start] == first, bytes[start &+ length &- 1] == last, canCut(at: start),
                canCut(at: start &+ length)
            {
                let same = Self.sameBytes(bytes + start, literal, length)
                compared &+= same
                if same == length { return start }
                if compared > (start &- offset) &* Self.paidByOffset &+ length &+ Self.free {
                    return findInTwoWays(literal, length, from: start &+ 1, &work)
                }
            }
            start &+= 1
        }
        return nil
    }

    func contains(_ literal: UnsafePointer<UInt8>, _ length: Int, _ work: inout Int) -> Bool {
        find(literal, length, from: 0, &work) != nil
    }

    /// The same with the order of the text's suffixes, once there is one.
    @inline(__always)
    func find(
        _ literal: UnsafePointer<UInt8>, _ length: Int, from offset: Int, _ occurrences: UnsafePointer<Occurrences>?,
        _ work: inout Int
    ) -> Int? {
        guard let occurrences else { return find(literal, length, from: offset, &work) }
        return occurrences.pointee.next(literal, length, from: offset, &work)
    }

    /// The number of bytes that are the same at both places before the first that is not, up to a length.
    @inline(__always)
    static func sameBytes(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ length: Int) -> Int {
        var same = 0
        while same &+ 8 <= length, KeyHash.word(left + same) == KeyHash.word(right + same) { same &+= 8 }
        while same < length, left[same] == right[same] { same &+= 1 }
        return same
    }

    /// The same for any text and literal. The right part of the literal is compared from its beginning, then the left
    /// part from its end; where the right part fails, the next offset is behind the bytes that were compared.
    @inline(never)
    func findInTwoWays(
        _ literal: UnsafePointer<UInt8>, _ length: Int, from offset: Int, _ work: inout Int
    ) -> Int? {
        let middle = Middle(of: literal, length, &work)
        var (start, known) = (offset, 0)
        while start <= count &- length {
            var place = max(middle.place, known)
            while place < length, literal[place] == bytes[start &+ place] { place &+= 1 }
            work &+= place &- max(middle.place, known) &+ 1
            guard place == length else {
                start &+= place &- middle.place &+ 1
                known = 0
                continue
            }
            place = middle.place &- 1
            while place >= known, literal[place] == bytes[start &+ place] { place &-= 1 }
            work &+= middle.place &- place
            if place < known, canCut(at: start), canCut(at: start &+ length) { return start }
            start &+= middle.shift
            // Of a literal that repeats itself, the beginning is known to be there.
            known = middle.isPeriod ? length &- middle.shift : 0
        }
        return nil
    }

    /// A place where a literal is parted such that no shorter repetition than the literal's own goes across it, and how
    /// far the next occurrence is away at least.
    private struct Middle {
        let place: Int
        let shift: Int
        /// Whether the shift is the literal's period, so that what overlaps is known to be the same.
        let isPeriod: Bool

        init(of literal: UnsafePointer<UInt8>, _ length: Int, _ work: inout Int) {
            let ascending = Self.greatestSuffix(of: literal, length, isReversed: false, &work)
            let descending = Self.greatestSuffix(of: literal, length, isReversed: true, &work)
            let suffix = ascending.start >= descending.start ? ascending : descending
            place = suffix.start
            work &+= place
            isPeriod =
                suffix.period &+ place <= length && TextView.isSame(literal, literal + suffix.period, place)
            shift = isPeriod ? suffix.period : max(place, length &- place) &+ 1
        }

        /// The suffix that is greatest in the order of bytes or in the reverse order, and its period.
        private static func greatestSuffix(
            of literal: UnsafePointer<UInt8>, _ length: Int, isReversed: Bool, _ work: inout Int
        ) -> (start: Int, period: Int) {
            var (start, other, step, period) = (0, 1, 0, 1)
            while other &+ step < length {
                work &+= 1
                let (left, right) = (literal[start &+ step], literal[other &+ step])
                if left == right {
                    step &+= 1
                    if step == period { (other, step) = (other &+ period, 0) }
                } else if (right < left) != isReversed {
                    (other, step) = (other &+ step &+ 1, 0)
                    period = other &- start
                } else {
                    (start, other, step, period) = (other, other &+ 1, 0, 1)
                }
            }
            return (start, period)
        }
    }
}
