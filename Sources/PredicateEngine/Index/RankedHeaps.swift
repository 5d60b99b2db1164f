/// Heaps of 32-bit items with four branches, in blocks of one memory, each with its best item on top.
///
///     position      0                       the children of p are 4p+1 … 4p+4,
///              ┌──┬─┴┬──┐                   none of which comes before p
///              1  2  3  4
///
/// The order is the caller's, and so is the record of each item's position: `moved` reports every item whose position
/// has changed. Every change costs the depth of the list: ten steps for a million items.
package struct RankedHeaps: ~Copyable {
    struct List: BitwiseCopyable {
        var offset: UInt32
        var count: UInt32
        /// The block has 2^scale places.
        var scale: UInt32
    }

    package typealias IsBefore = (UInt32, UInt32) -> Bool
    package typealias Moved = (_ item: UInt32, _ position: UInt32) -> Void

    private var items = Slab<UInt32>()
    private var lists = Slab<List>()
    private var freeLists: [UInt32] = []
    /// Blocks that lists have outgrown, or the rest of one, by scale.
    private var freeBlocks = [[UInt32]](repeating: [], count: 32)

    package init() {}

    package var byteCount: Int {
        let free = freeBlocks.reduce(freeLists.capacity) { $0 + $1.capacity }
        return items.byteCount + lists.byteCount + free * MemoryLayout<UInt32>.stride
    }

    // MARK: - Reading

    /// A view of the lists, until the next change.
    package struct View {
        fileprivate let items: UnsafePointer<UInt32>
        fileprivate let lists: UnsafePointer<List>

        @inline(__always)
        package func count(_ list: UInt32) -> Int { Int(lists[Int(list)].count) }

        @inline(__always)
        package func items(of list: UInt32) -> UnsafePointer<UInt32> { items + Int(lists[Int(list)].offset) }
    }

    @inline(__always)
    package var view: View { View(items: UnsafePointer(items.base), lists: UnsafePointer(lists.base)) }

    package func count(_ list: UInt32) -> Int { view.count(list) }

    /// The items of a list, best first, until the next change.
    package func items(of list: UInt32) -> UnsafePointer<UInt32> { view.items(of: list) }

    /// The positions below one.
    @inline(__always)
    package static func children(of position: Int, count: Int) -> Range<Int> {
        let first = 4 &* position &+ 1
        return first < count ? first..<min(first &+ 4, count) : count..<count
    }

    // MARK: - Changing

    package mutating func make() -> UInt32 {
        let list = List(offset: takeBlock(1), count: 0, scale: 1)
        if let free = freeLists.popLast() {
            lists[Int(free)] = list
            return free
        }
        lists.append(list)
        return UInt32(lists.count - 1)
    }

    package mutating func destroy(_ list: UInt32) {
        freeBlocks[Int(lists[Int(list)].scale)].append(lists[Int(list)].offset)
        freeLists.append(list)
    }

    package mutating func insert(_ item: UInt32, into list: UInt32, _ isBefore: IsBefore, _ moved: Moved) {
        var record = lists[Int(list)]
        if record.count == 1 << record.scale {
            if Int(record.offset + record.count) == items.count {
                _ = items.extend(by: Int(record.count))
            } else {
                let block = takeBlock(record.scale + 1)
                (items.base + Int(block)).update(from: items.base + Int(record.offset), count: Int(record.count))
                freeBlocks[Int(record.scale)].append(record.offset)
                record.offset = block
            }
            record.scale += 1
        }
        record.count += 1
        lists[Int(list)] = record
        rise(item, from: Int(record.count) - 1, in: items.base + Int(record.offset), isBefore, moved)
    }

    package mutating func remove(at position: UInt32, from list: UInt32, _ isBefore: IsBefore, _ moved: Moved) {
        lists.base[Int(list)].count -= 1
        let record = lists[Int(list)]
        let last = items[Int(record.offset + record.count)]
        guard position < record.count else { return }
        items[Int(record.offset + position)] = last
        settle(at: position, in: list, isBefore, moved)
    }

    /// Restores the order after the rank of the item at a position has changed.
    package mutating func settle(at position: UInt32, in list: UInt32, _ isBefore: IsBefore, _ moved: Moved) {
        let record = lists[Int(list)]
        let base = items.base + Int(record.offset)
        let (item, position) = (base[Int(position)], Int(position))
        if position > 0, isBefore(item, base[(position - 1) / 4]) {
            rise(item, from: position, in: base, isBefore, moved)
        } else {
            sink(item, from: position, in: base, Int(record.count), isBefore, moved)
        }
    }

    private func rise(
        _ item: UInt32, from start: Int, in base: UnsafeMutablePointer<UInt32>, _ isBefore: IsBefore, _ moved: Moved
    ) {
        var position = start
        while position > 0 {
            let parent = (position - 1) / 4
            guard isBefore(item, base[parent]) else { break }
            base[position] = base[parent]
            moved(base[position], UInt32(position))
            position = parent
        }
        base[position] = item
        moved(item, UInt32(position))
    }

    private func sink(
        _ item: UInt32, from start: Int, in base: UnsafeMutablePointer<UInt32>, _ count: Int, _ isBefore: IsBefore,
        _ moved: Moved
    ) {
        var position = start
        while true {
            let children = Self.children(of: position, count: count)
            guard var best = children.first else { break }
            for child in children.dropFirst() where isBefore(base[child], base[best]) { best = child }
            guard isBefore(base[best], item) else { break }
            base[position] = base[best]
            moved(base[position], UInt32(position))
            position = best
        }
        base[position] = item
        moved(item, UInt32(position))
    }

    /// A free block, or half of one, or new memory.
    private mutating func takeBlock(_ scale: UInt32) -> UInt32 {
        guard let larger = (Int(scale)..<freeBlocks.count).first(where: { !freeBlocks[$0].isEmpty }) else {
            return UInt32(items.extend(by: 1 << Int(scale)))
        }
        let block = freeBlocks[larger].removeLast()
        for half in Int(scale)..<larger { freeBlocks[half].append(block + 1 << UInt32(half)) }
        return block
    }

    package func copy() -> RankedHeaps {
        RankedHeaps(items: items.copy(), lists: lists.copy(), freeLists: freeLists, freeBlocks: freeBlocks)
    }

    private init(
        items: consuming Slab<UInt32>, lists: consuming Slab<List>, freeLists: [UInt32], freeBlocks: [[UInt32]]
    ) {
        self.items = items
        self.lists = lists
        self.freeLists = freeLists
        self.freeBlocks = freeBlocks
    }
}
