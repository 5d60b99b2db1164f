/// A count-min sketch of the predicates that could be found by each key, never too low: the measure of how selective a
/// key is.
///
/// A row of counters that keys share by the lower bits of their tags. The row doubles as predicates come, each half
/// starting as a copy of the whole, so no count becomes too small. A counter that is full stays full.
struct KeySketch: ~Copyable {
    private static let greatest = 1 << 19
    /// The number of counters for each predicate, which may have dozens of keys to choose from: with fewer, chance
    /// would choose.
    private static let countersEach = 16
    private var counters: Slab<UInt16>
    /// The number of keys of predicates that are lists. Each of a list's keys may be needed, however many there are.
    private var listed = 0

    init() {
        counters = Slab(capacity: 256)
        let start = counters.extend(by: 256)
        (counters.base + start).initialize(repeating: 0, count: 256)
    }

    var byteCount: Int { counters.byteCount }

    func count(_ tag: UInt32) -> Int { Int(counters[Int(tag) & (counters.count - 1)]) }

    mutating func add(_ tag: UInt32) {
        let place = counters.base + (Int(tag) & (counters.count - 1))
        if place.pointee < .max { place.pointee += 1 }
    }

    mutating func remove(_ tag: UInt32) {
        let place = counters.base + (Int(tag) & (counters.count - 1))
        if place.pointee < .max, place.pointee > 0 { place.pointee -= 1 }
    }

    /// Makes room for the keys of one more list, which are added then.
    mutating func expect(listed keys: Int, _ predicates: Int) {
        listed += keys
        fit(predicates)
    }

    /// The keys of a list are gone.
    mutating func forget(listed keys: Int) { listed -= keys }

    /// Grows with the number of predicates, and with that of the keys of lists.
    private mutating func fit(_ predicates: Int) {
        let wanted = max(predicates * Self.countersEach, listed)
        while counters.count < wanted, counters.count < Self.greatest {
            let half = counters.count
            let start = counters.extend(by: half)
            (counters.base + start).initialize(from: counters.base, count: half)
        }
    }

    private init(copying other: borrowing KeySketch) {
        counters = other.counters.copy()
        listed = other.listed
    }

    func copy() -> KeySketch { KeySketch(copying: self) }
}
