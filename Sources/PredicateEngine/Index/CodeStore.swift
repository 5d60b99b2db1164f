/// The codes of all predicates in one memory, one behind the other. The place of a code that was removed is used again
/// for one of the same size.
struct CodeStore: ~Copyable {
    /// Eight bytes behind the last code may be read, so that words can be loaded from anywhere in it.
    private static let margin = 8

    private var bytes = Slab<UInt8>(capacity: margin)
    private var free: [Int: [UInt32]] = [:]

    init() {}

    var byteCount: Int { bytes.byteCount }

    @inline(__always)
    func place(_ offset: UInt32) -> UnsafePointer<UInt8> { UnsafePointer(bytes.base + Int(offset)) }

    mutating func insert(_ code: [UInt8]) -> UInt32 {
        let offset: UInt32
        if let reused = free[code.count]?.popLast() {
            offset = reused
        } else {
            bytes.reserve(bytes.count + code.count + Self.margin)
            offset = UInt32(bytes.extend(by: code.count))
            (bytes.base + bytes.count).initialize(repeating: 0, count: Self.margin)
        }
        code.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { (bytes.base + Int(offset)).update(from: start, count: source.count) }
        }
        return offset
    }

    mutating func remove(_ offset: UInt32) {
        free[CanonicalCode.size(place(offset)), default: []].append(offset)
    }

    private init(bytes: consuming Slab<UInt8>, free: [Int: [UInt32]]) {
        self.bytes = bytes
        self.bytes.reserve(self.bytes.count + Self.margin)
        self.free = free
    }

    func copy() -> CodeStore { CodeStore(bytes: bytes.copy(), free: free) }
}
