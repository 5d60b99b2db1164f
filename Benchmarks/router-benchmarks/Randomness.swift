/// Numbers that look random and are the same in every run (SplitMix64).
struct Randomness {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// A number from 0 up to, not including, the bound.
    mutating func draw(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((word ^ (word >> 31)) % UInt64(bound))
    }

    /// Whether an event with this probability in a hundred happens.
    mutating func happens(_ percent: Int) -> Bool { draw(100) < percent }

    /// One of several.
    mutating func pick<Value>(_ values: [Value]) -> Value { values[draw(values.count)] }
}
