/// A growing row of plain values at one place in memory, read without bounds checks and without counting references.
///
/// Grows by a sixteenth when it is large, so that little of it is ever unused.
@frozen package struct Slab<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline package private(set) var base: UnsafeMutablePointer<Element>
    @usableFromInline package private(set) var count = 0
    package private(set) var capacity: Int

    package init(capacity: Int = 0) {
        self.capacity = max(capacity, 1)
        base = Self.allocate(self.capacity)
    }

    deinit { UnsafeMutableRawPointer(base).deallocate() }

    /// Memory that begins where a line of the cache does: an element whose size divides a line's lies in one.
    private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Element> {
        UnsafeMutableRawPointer.allocate(byteCount: capacity * MemoryLayout<Element>.stride, alignment: 64)
            .bindMemory(to: Element.self, capacity: capacity)
    }

    /// The bytes that it takes, unused ones included.
    package var byteCount: Int { capacity * MemoryLayout<Element>.stride }

    /// For this module: in another one it would be a call. There, `base` is at hand.
    subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) nonmutating set { base[index] = newValue }
    }

    package mutating func append(_ element: Element) {
        if count == capacity { reserve(count + 1) }
        (base + count).initialize(to: element)
        count += 1
    }

    /// Reserves room for this many further elements, uninitialised, and returns where they begin.
    package mutating func extend(by length: Int) -> Int {
        if count + length > capacity { reserve(count + length) }
        count += length
        return count - length
    }

    package mutating func removeLast() { count -= 1 }

    /// Reserves room for at least this many elements in all.
    package mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        let larger = max(wanted, capacity < 1 << 16 ? capacity * 2 : capacity + capacity / 16, 8)
        let fresh = Self.allocate(larger)
        fresh.moveInitialize(from: base, count: count)
        UnsafeMutableRawPointer(base).deallocate()
        (base, capacity) = (fresh, larger)
    }

    /// The same elements at another place.
    package func copy() -> Slab {
        var copy = Slab(capacity: count)
        copy.base.initialize(from: base, count: count)
        copy.count = count
        return copy
    }
}
