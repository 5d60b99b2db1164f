/// An open-addressed hash table from 32-bit tags to 32-bit values. A tag may stand in it several times; a look-up
/// checks the key behind each value, because a tag proves nothing.
///
///     slot    tag (32) │ value (32)          empty: all ones
///     home    tag × capacity ÷ 2³²           so any capacity will do, and slots lie roughly in the order of tags
///
/// Collisions go to the next free slot; removal moves later ones back, so there are no tombstones.
package struct HashTable: ~Copyable {
    @usableFromInline private(set) var slots: UnsafeMutablePointer<UInt64>
    @usableFromInline package private(set) var capacity: Int
    package private(set) var count = 0
    /// The greatest fill level, in sixteenths.
    private let fullness: Int

    @inlinable static var empty: UInt64 { .max }

    package init(fullness: Int, capacity: Int = 8) {
        self.fullness = fullness
        self.capacity = capacity
        slots = .allocate(capacity: capacity)
        slots.initialize(repeating: Self.empty, count: capacity)
    }

    deinit { slots.deallocate() }

    package var byteCount: Int { capacity * 8 }

    @inlinable @inline(__always)
    func home(_ tag: UInt32) -> Int { Int((UInt64(tag) &* UInt64(capacity)) >> 32) }

    @inlinable @inline(__always)
    func next(_ slot: Int) -> Int { slot &+ 1 == capacity ? 0 : slot &+ 1 }

    /// A view for lookups, valid until the next change.
    struct View {
        fileprivate let slots: UnsafePointer<UInt64>
        fileprivate let capacity: Int

        /// The first value under the tag.
        @inline(__always)
        func find(_ tag: UInt32) -> UInt32? {
            var slot = Int((UInt64(tag) &* UInt64(capacity)) >> 32)
            while true {
                let entry = slots[slot]
                if UInt32(truncatingIfNeeded: entry >> 32) == tag, entry != HashTable.empty {
                    return UInt32(truncatingIfNeeded: entry)
                }
                if entry == HashTable.empty { return nil }
                slot = slot &+ 1 == capacity ? 0 : slot &+ 1
            }
        }
    }

    @inline(__always)
    var view: View { View(slots: UnsafePointer(slots), capacity: capacity) }

    /// The first value under the tag that the closure accepts.
    @inlinable @inline(__always)
    package func find(_ tag: UInt32, where isWanted: (UInt32) -> Bool) -> UInt32? {
        slot(of: tag, where: isWanted).map { UInt32(truncatingIfNeeded: slots[$0]) }
    }

    /// The entry in the home slot of the tag, for loading its cache line.
    @inlinable @inline(__always)
    package func entry(at tag: UInt32) -> UInt64 { slots[home(tag)] }

    @inlinable @inline(__always)
    func slot(of tag: UInt32, where isWanted: (UInt32) -> Bool) -> Int? {
        var slot = home(tag)
        while true {
            let entry = slots[slot]
            if entry == Self.empty { return nil }
            if UInt32(truncatingIfNeeded: entry >> 32) == tag, isWanted(UInt32(truncatingIfNeeded: entry)) {
                return slot
            }
            slot = next(slot)
        }
    }

    /// Adds a value under the tag; returns whether the table was rebuilt for it.
    @discardableResult
    package mutating func insert(_ tag: UInt32, _ value: UInt32) -> Bool {
        let isCrowded = (count + 1) * 16 > capacity * fullness
        if isCrowded { resize(to: capacity < 1 << 16 ? capacity * 2 : capacity + capacity / 4) }
        place(UInt64(tag) << 32 | UInt64(value))
        count += 1
        return isCrowded
    }

    /// Replaces the tag's one value.
    package mutating func replace(_ tag: UInt32, _ old: UInt32, with value: UInt32) {
        guard let slot = slot(of: tag, where: { $0 == old }) else { return }
        slots[slot] = UInt64(tag) << 32 | UInt64(value)
    }

    /// Removes a value from under the tag.
    package mutating func remove(_ tag: UInt32, _ value: UInt32) {
        guard var hole = slot(of: tag, where: { $0 == value }) else { return }
        count -= 1
        var candidate = next(hole)
        while slots[candidate] != Self.empty {
            let home = home(UInt32(truncatingIfNeeded: slots[candidate] >> 32))
            // The entry may move back unless its home lies, going round, between the hole and itself.
            let distance = candidate >= home ? candidate - home : candidate + capacity - home
            let gap = candidate >= hole ? candidate - hole : candidate + capacity - hole
            if distance >= gap {
                slots[hole] = slots[candidate]
                hole = candidate
            }
            candidate = next(candidate)
        }
        slots[hole] = Self.empty
    }

    /// Reserves room for this number of values.
    package mutating func reserve(_ wanted: Int) {
        let needed = wanted * 16 / fullness + 1
        if needed > capacity { resize(to: needed) }
    }

    /// Reserves room for `factor` times the present number of values.
    mutating func reserve(times factor: Double) { reserve(Int(Double(count) * factor)) }

    /// Shrinks a table that is far larger than its values and a few others need.
    mutating func fit() {
        let needed = (count + count / 50) * 16 / fullness + 1
        if needed + needed / 4 < capacity { resize(to: needed) }
    }

    package func forEachTag(_ body: (UInt32) -> Void) {
        for slot in 0..<capacity where slots[slot] != Self.empty { body(UInt32(truncatingIfNeeded: slots[slot] >> 32)) }
    }

    package func copy() -> HashTable {
        let copy = HashTable(fullness: fullness, capacity: capacity, count: count)
        copy.slots.update(from: slots, count: capacity)
        return copy
    }

    private init(fullness: Int, capacity: Int, count: Int) {
        self.init(fullness: fullness, capacity: capacity)
        self.count = count
    }

    @inline(__always)
    private func place(_ entry: UInt64) {
        var slot = home(UInt32(truncatingIfNeeded: entry >> 32))
        while slots[slot] != Self.empty { slot = next(slot) }
        slots[slot] = entry
    }

    private mutating func resize(to larger: Int) {
        let (old, oldCapacity) = (slots, capacity)
        capacity = larger
        slots = .allocate(capacity: larger)
        slots.initialize(repeating: Self.empty, count: larger)
        for slot in 0..<oldCapacity where old[slot] != Self.empty { place(old[slot]) }
        old.deallocate()
    }
}
