import RouterPlugin
import Yams

/// The documents of a YAML text as Yams composes them, up to the first fault of the syntax. JSON is YAML, too.
///
/// Aliases are refused before anything is composed with them: a few levels of aliases expand to more values than memory
/// holds, and a mapping compares whole keys, expanded aliases included.
struct YAMLDocuments {
    private(set) var nodes: [Node] = []
    /// The fault that ended composing, in the document after the last one of `nodes`.
    private(set) var fault: ConfigurationFault?

    /// - Parameter isAlone: Whether a second document is a fault.
    init(_ text: String, path: String, isAlone: Bool = false) {
        if MaskedAliases.areNeeded(for: text) {
            guard let masked = MaskedAliases(text) else {
                fault = ConfigurationFault(file: path, message: Self.aliasRefusal)
                return
            }
            let error = compose(masked.text, isAlone)
            fault = error.map { masked.unmasked(Self.fault(of: $0, path: path)) }
            if fault != nil { return }
            nodes = []
        }
        fault = compose(text, isAlone).map { Self.fault(of: $0, path: path) }
    }

    private mutating func compose(_ text: String, _ isAlone: Bool) -> (any Error)? {
        let error = isAlone ? composeOne(text) : composeAll(text)
        if case .reader(_, let offset?, _, _) = error as? YamlError {
            // Yams reads ahead: it finds a character that is not YAML before it composes the documents in front of the
            // character, and would compose the last of these with the character.
            nodes = []
            if composeAll(String(text.prefix(offset))) == nil, !nodes.isEmpty { nodes.removeLast() }
        }
        return error
    }

    private mutating func composeOne(_ text: String) -> (any Error)? {
        do {
            if let node = try Yams.compose(yaml: text) { nodes.append(node) }
            return nil
        } catch { return error }
    }

    private mutating func composeAll(_ text: String) -> (any Error)? {
        do {
            var documents = try Yams.compose_all(yaml: text)
            while let node = documents.next() {
                guard nodes.count < DaemonLimits.documents else { return TooManyDocuments() }
                nodes.append(node)
            }
            // The sequence stores an error and ends.
            return documents.error
        } catch { return error }
    }

    private struct TooManyDocuments: Error {}

    static let aliasRefusal = "Aliases are not taken here; write the value out."

    private static func fault(of error: any Error, path: String) -> ConfigurationFault {
        func fault(_ mark: Mark, _ message: String) -> ConfigurationFault {
            ConfigurationFault(file: path, line: mark.line, column: mark.column, message: message)
        }
        if error is TooManyDocuments {
            return ConfigurationFault(file: path, message: "A text may have \(DaemonLimits.documents) documents.")
        }
        switch error as? YamlError {
        // The only composer fault without a context is an alias of an unknown name.
        case .composer(nil, _, let mark, _): return fault(mark, aliasRefusal)
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return fault(mark, "\(problem).")
        case .duplicatedKeysInMapping(let keys, let context):
            return fault(context.mark, "These keys stand here twice: \(keys.joined(separator: ", ")).")
        case .reader(let problem, let offset, _, let text):
            guard let offset else { return ConfigurationFault(file: path, message: "\(problem).") }
            let before = YAMLLines(String(text.prefix(offset)))
            return ConfigurationFault(
                file: path, line: before.count, column: before.scalars(of: before.count).count + 1,
                message: "\(problem).")
        default: return ConfigurationFault(file: path, message: "This is not YAML.")
        }
    }
}

/// A copy of the text in which every alias has a name that no anchor has, so that composing ends at the first alias.
///
/// Two characters with which no anchor of the text begins follow each asterisk. Asterisks that are no aliases change
/// the contents of scalars, but different keys stay different.
private struct MaskedAliases {
    let text: String
    private static let digits = Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_".utf8)
    private static let maskLength = 2

    /// Whether a text may have an alias that one of its anchors resolves.
    static func areNeeded(for text: String) -> Bool {
        text.utf8.contains(UInt8(ascii: "&")) && text.utf8.contains(UInt8(ascii: "*"))
    }

    /// Nil if anchors begin with all 4096 pairs of characters.
    init?(_ text: String) {
        var taken: Set<[UInt8]> = []
        var last: (UInt8, UInt8) = (0, 0)
        for byte in text.utf8 {
            if last.0 == UInt8(ascii: "&") { taken.insert([last.1, byte]) }
            last = (last.1, byte)
        }
        let pairs = Self.digits.lazy.flatMap { first in Self.digits.lazy.map { [first, $0] } }
        guard let mask = pairs.first(where: { !taken.contains($0) }) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            bytes.append(byte)
            if byte == UInt8(ascii: "*") { bytes += mask }
        }
        self.text = String(decoding: bytes, as: UTF8.self)
    }

    /// The same fault at its place in the text without masks.
    func unmasked(_ fault: ConfigurationFault) -> ConfigurationFault {
        guard let line = fault.line, let column = fault.column else { return fault }
        var fault = fault
        let asterisks = YAMLLines(text).scalars(of: line).prefix(column - 1).count { $0 == "*" }
        fault.column = column - asterisks * Self.maskLength
        return fault
    }
}
