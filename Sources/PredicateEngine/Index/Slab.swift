import Glibc

/// A growing row of plain values at one place in memory, read without bounds checks and without counting references.
///
/// Grows by a sixteenth when it is large, so that little of it is ever unused: memory of many pages is moved by changing
/// their addresses, not by copying it.
@frozen package struct Slab<Element: BitwiseCopyable>: ~Copyable {
    @usableFromInline package private(set) var base: UnsafeMutablePointer<Element>
    @usableFromInline package private(set) var count = 0
    package private(set) var capacity: Int

    /// What was allocated; the elements begin with the first line of the cache in it.
    private var memory: UnsafeMutableRawPointer

    package init(capacity: Int = 0) {
        self.capacity = max(capacity, 1)
        memory = Self.resize(nil, to: self.capacity)
        base = Self.firstLine(memory).bindMemory(to: Element.self, capacity: self.capacity)
    }

    deinit { free(memory) }

    private static func resize(_ old: UnsafeMutableRawPointer?, to capacity: Int) -> UnsafeMutableRawPointer {
        guard let memory = realloc(old, capacity * MemoryLayout<Element>.stride + 63) else {
            fatalError("no memory for \(capacity) elements of \(MemoryLayout<Element>.stride) bytes")
        }
        return memory
    }

    private static func firstLine(_ memory: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
        memory + (-Int(bitPattern: memory) & 63)
    }

    /// The bytes that it takes, unused ones included.
    package var byteCount: Int { capacity * MemoryLayout<Element>.stride }

    @inlinable package subscript(index: Int) -> Element {
        @inline(__always) get { base[index] }
        @inline(__always) nonmutating set { base[index] = newValue }
    }

    package mutating func append(_ element: Element) {
        if count == capacity { reserve(count + 1) }
        (base + count).initialize(to: element)
        count += 1
    }

    /// Makes room for so many more elements, uninitialised, and returns where they begin.
    package mutating func extend(by length: Int) -> Int {
        if count + length > capacity { reserve(count + length) }
        count += length
        return count - length
    }

    package mutating func removeLast() { count -= 1 }

    /// Makes room for at least so many elements in all.
    package mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        capacity = max(wanted, capacity < 1 << 16 ? capacity * 2 : capacity + capacity / 16, 8)
        let offset = UnsafeMutableRawPointer(base) - memory
        memory = Self.resize(memory, to: capacity)
        let start = Self.firstLine(memory)
        if start - memory != offset {
            start.copyMemory(from: memory + offset, byteCount: count * MemoryLayout<Element>.stride)
        }
        base = start.bindMemory(to: Element.self, capacity: capacity)
    }

    /// The same elements at another place.
    package func copy() -> Slab {
        var copy = Slab(capacity: count)
        copy.base.initialize(from: base, count: count)
        copy.count = count
        return copy
    }
}
