/// Values that are shown without being copied. To hand out an element, an array retains its objects, and that would be
/// counted as a part of every operation.
final class Lasting<Value> {
    private final class Holder {
        let value: Value

        init(_ value: Value) { self.value = value }
    }

    /// Each is owned here, from `init` to `deinit`.
    private let places: UnsafeMutableBufferPointer<Unmanaged<Holder>>

    init(_ values: [Value]) {
        places = .allocate(capacity: values.count)
        _ = places.initialize(from: values.map { Unmanaged.passRetained(Holder($0)) })
    }

    deinit {
        for place in places { place.release() }
        places.deallocate()
    }

    var count: Int { places.count }

    subscript(number: Int) -> Value {
        @inline(__always) get { places[number]._withUnsafeGuaranteedRef { $0.value } }
    }

    /// Shows every value.
    @inline(__always)
    func forEach(_ body: (Value) -> Void) {
        for place in places { place._withUnsafeGuaranteedRef { body($0.value) } }
    }
}
