import Synchronization

/// A registry that any number of threads ask while others change it, and that no question ever waits for.
///
///     readers ──▶ the side that is shown            a change ──▶ the other side, which nobody reads
///                                                   then that one is shown, and
///                                                   when the last reader has left the old one ──▶ the same to it
///
/// There are two of everything, so it takes twice the memory, and a change costs twice and waits for the decisions that are
/// being made. The scheme is Left-Right (Ramalhete and Correia, 2013).
///
/// Safety: what pointers lead to cannot be proven Sendable, and a lock that could prove it would make readers wait. A side
/// is changed by one writer at a time, and only after every reader that could look at it has left; the counts are
/// atomic. `make race` has readers and writers at it under the thread sanitizer.
package final class SharedRegistry: @unchecked Sendable {
    private let sides: UnsafeMutablePointer<IndexedRegistry>
    private let writer = Mutex(())
    private let pause: @Sendable () -> Void
    /// Which side is shown.
    private let shown = Atomic(0)
    /// In which of the two counts readers who arrive are counted. There are two so that a writer sees readers leave
    /// however many arrive.
    private let counted = Atomic(0)
    private let counts: UnsafeMutableRawPointer

    /// Each count has lines of the cache to itself.
    private static var distance: Int { 128 }

    /// Takes a registry that nobody else has; else its first change copies it.
    ///
    /// - Parameter pause: What a writer does, at times, while it waits for a reader: give the processor away, in case that
    ///   it has been taken from the reader.
    package init(_ registry: consuming IndexedRegistry, pause: @escaping @Sendable () -> Void) {
        self.pause = pause
        sides = .allocate(capacity: 2)
        (sides + 1).initialize(to: registry.separateCopy())
        sides.initialize(to: registry)
        counts = .allocate(byteCount: 2 * Self.distance, alignment: Self.distance)
        for number in 0..<2 { count(number).initialize(to: Atomic(0)) }
    }

    deinit {
        sides.deinitialize(count: 2)
        sides.deallocate()
        counts.deallocate()
    }

    private func count(_ number: Int) -> UnsafeMutablePointer<Atomic<Int>> {
        (counts + number * Self.distance).assumingMemoryBound(to: Atomic<Int>.self)
    }

    /// Asks the registry.
    package func read<Answer>(_ body: (borrowing IndexedRegistry) -> Answer) -> Answer {
        let number = counted.load(ordering: .sequentiallyConsistent)
        count(number).pointee.add(1, ordering: .sequentiallyConsistent)
        defer { count(number).pointee.subtract(1, ordering: .sequentiallyConsistent) }
        return body(sides[shown.load(ordering: .sequentiallyConsistent)])
    }

    /// Changes the registry. The change is made twice, once to each side, and has to do the same to both.
    package func change(_ body: (inout IndexedRegistry) -> Void) {
        writer.withLock { _ in
            let old = shown.load(ordering: .relaxed)
            body(&sides[1 - old])
            shown.store(1 - old, ordering: .sequentiallyConsistent)
            // Readers of the old side may be counted in either. First those from before the last change leave, then, when
            // newcomers are counted elsewhere, those from before this one.
            let number = counted.load(ordering: .relaxed)
            awaitNobody(in: 1 - number)
            counted.store(1 - number, ordering: .sequentiallyConsistent)
            awaitNobody(in: number)
            body(&sides[old])
        }
    }

    /// Waits for decisions that are being made: less than a microsecond each.
    private func awaitNobody(in number: Int) {
        var turns = 0
        while count(number).pointee.load(ordering: .sequentiallyConsistent) != 0 {
            turns += 1
            if turns % 1024 == 0 { pause() }
        }
    }
}
