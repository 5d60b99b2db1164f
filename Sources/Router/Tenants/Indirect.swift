/// A value behind one reference: a copy of its owner costs one retain, however many references the value has itself.
///
/// It is a value all the same. A copy shares it until one of the two changes.
struct Indirect<Value: Sendable>: Sendable {
    /// Exactly one element.
    private var storage: [Value]

    init(_ value: Value) { storage = [value] }

    var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }
}
