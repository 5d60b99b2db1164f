import PredicateEngine
import Router
import RouterPlugin

/// The bytes of every text in a value and the names of its cases. They distinguish values that `==` takes for equal:
/// above all, strings in two normal forms.
enum ByteFingerprint {
    static func of(_ value: Any) -> [UInt8] {
        var bytes: [UInt8] = []
        add(value, to: &bytes)
        return bytes
    }

    private static func add(_ value: Any, to bytes: inout [UInt8]) {
        switch value {
        case let text as String: add(text.utf8, to: &bytes)
        case let array as [UInt8]: add(array, to: &bytes)
        case let json as JSONValue: add(json.serialized(), to: &bytes)
        case let predicate as Predicate: add(predicate.description.utf8, to: &bytes)
        case let statuses as StatusTable: add(statuses.description.utf8, to: &bytes)
        case let endpoint as Endpoint:
            add(endpoint.url.utf8, to: &bytes)
            // Mirrors of endpoints and keys leave out their secrets.
            for key in endpoint.keys.all {
                add(key.secret.utf8, to: &bytes)
                add("\(key.notBefore?.milliseconds ?? .min) \(key.notAfter?.milliseconds ?? .max)".utf8, to: &bytes)
            }
        case let hash as PasscodeHash:
            // The mirror of a hash leaves out all that would help to guess the passcode.
            add(String(describing: hash).utf8, to: &bytes)
            for part in [hash.salt, hash.digest] { add(part, to: &bytes) }
        default:
            let mirror = Mirror(reflecting: value)
            if mirror.children.isEmpty { return add(String(describing: value).utf8, to: &bytes) }
            for child in mirror.children {
                if let label = child.label { add(label.utf8, to: &bytes) }
                add(child.value, to: &bytes)
            }
        }
    }

    /// The end is marked, so that two texts cannot be confused with one.
    private static func add(_ part: some Collection<UInt8>, to bytes: inout [UInt8]) {
        bytes += part
        bytes.append(0xFF)
    }
}
