/// A value that differs from the usual one in few of its owners: one word in each of them, and memory of its own in those
/// few.
struct RareValue<Value: Hashable & Sendable>: Hashable, Sendable {
    private final class Box: Sendable {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    private var box: Box?

    /// - Parameter usual: The value that takes no memory.
    init(_ value: Value, unless usual: Value) { box = value == usual ? nil : Box(value) }

    /// Nil for the usual value.
    var value: Value? { box?.value }

    /// - Parameter usual: The value of an owner without another one.
    subscript(usual: @autoclosure () -> Value) -> Value {
        get { box?.value ?? usual() }
        set { self = RareValue(newValue, unless: usual()) }
    }

    static func == (left: Self, right: Self) -> Bool { left.box === right.box || left.value == right.value }

    func hash(into hasher: inout Hasher) { hasher.combine(value) }
}
