/// The members of a JSON object, in the order in which they were written; keys are compared by their bytes.
///
///     members  [ (a, 1) (b, 2) (c, 3) … ]      order as written
///     places   { a: 0, b: 1, c: 2, … }         only once there are more than `narrow` members
///
/// Invariant: no key occurs twice, and `places` is either empty or holds the place of every member.
public struct JSONObject: Hashable, Sendable {
    /// A key and its value.
    public struct Member: Hashable, Sendable {
        /// The key without its escapes.
        public let key: String
        /// The value.
        public var value: JSONValue

        /// Whether key bytes and value are the same.
        public static func == (lhs: Self, rhs: Self) -> Bool {
            sameBytes(lhs.key, rhs.key) && lhs.value == rhs.value
        }

        /// Feeds what `==` looks at.
        public func hash(into hasher: inout Hasher) {
            hashBytes(of: key, into: &hasher)
            hasher.combine(value)
        }
    }

    /// The number of members up to which a linear search beats hashing.
    private static let narrow = 16

    /// The members in order.
    public private(set) var members: [Member] = []
    private var places: [ByteExactText: Int] = [:]

    /// An object without members.
    public init() {}

    /// The number of members.
    public var count: Int { members.count }

    /// Whether there is no member.
    public var isEmpty: Bool { members.isEmpty }

    /// The value of a key.
    ///
    /// Setting a new key appends it, setting a known one keeps its place, setting nil removes it. Removing costs work
    /// in proportion to the number of members, everything else does not.
    public subscript(key: String) -> JSONValue? {
        get { place(of: key).map { members[$0].value } }
        set {
            switch (place(of: key), newValue) {
            case (let place?, let value?): members[place].value = value
            case (nil, let value?): append(key, value)
            case (let place?, nil):
                members.remove(at: place)
                index()
            case (nil, nil): break
            }
        }
    }

    /// Appends a key that is known to be new.
    mutating func append(_ key: String, _ value: JSONValue) {
        members.append(Member(key: key, value: value))
        if members.count == Self.narrow + 1 {
            index()
        } else if members.count > Self.narrow {
            places[ByteExactText(key)] = members.count - 1
        }
    }

    private mutating func index() {
        places.removeAll()
        guard members.count > Self.narrow else { return }
        for (place, member) in members.enumerated() { places[ByteExactText(member.key)] = place }
    }

    private func place(of key: String) -> Int? {
        places.isEmpty ? members.firstIndex { sameBytes($0.key, key) } : places[ByteExactText(key)]
    }

    /// Whether both have the same keys with the same values; the order of members means nothing in JSON.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.count == rhs.count && lhs.members.allSatisfy { rhs[$0.key] == $0.value }
    }

    /// Feeds a sum over the members, which does not depend on their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        hasher.combine(members.reduce(0) { $0 &+ $1.hashValue })
    }
}
