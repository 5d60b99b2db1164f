import Router
import RouterPlugin

/// The keys of an endpoint, or the hash of a passcode, in one column.
///
///     plain    [ " …                                  a JSON array of secret, notBefore, notAfter, secret, …
///                                                     or of logRounds, blockSize, parallelism, salt, digest
///     sealed   1 │ key id, 8 bytes │ what the sealing made of the same array
///
/// Sealed bytes belong to their row: copied into another one, they cannot be opened.
struct KeyColumn: Sendable {
    /// Nil keeps secrets as they are.
    let sealing: SecretSealing?

    /// The row and the column that keys stand in.
    enum Place {
        case session(SessionKey)
        case delegate(ApplicationID)
        case configuration(ApplicationID, String)
        case passcode(GateKey)
        case source(SourceID)

        /// No two places have the same bytes.
        fileprivate var context: [UInt8] {
            switch self {
            case .session(let key): Array(TextList.encode(["session", key.application.text, key.session.text]).utf8)
            case .delegate(let id): Array(TextList.encode(["delegate", id.text]).utf8)
            case .configuration(let id, let name): Array(TextList.encode(["configuration", id.text, name]).utf8)
            case .passcode(let key):
                Array(TextList.encode(["passcode", key.application.text, key.device?.text ?? ""]).utf8)
            case .source(let id): Array(TextList.encode(["source", id.text]).utf8)
            }
        }
    }

    private static let sealedMark: UInt8 = 1
    private static let headerLength = 9

    /// The first bytes of every value that is sealed under the key.
    static func header(_ id: SecretKeyID) -> [UInt8] {
        [sealedMark] + (0..<8).map { UInt8(truncatingIfNeeded: id.value >> (56 - 8 * $0)) }
    }

    /// The bytes to keep; nil for no endpoint.
    func encode(_ endpoint: Endpoint?, of place: Place) throws -> [UInt8]? {
        guard let endpoint else { return nil }
        return try encode(endpoint.keys.all, of: place)
    }

    /// The bytes to keep of a source's secrets.
    func encode(_ secrets: [SigningKey], of source: SourceID) throws -> [UInt8] {
        try encode(secrets, of: .source(source))
    }

    private func encode(_ keys: [SigningKey], of place: Place) throws -> [UInt8] {
        let texts = keys.flatMap { [$0.secret, text($0.notBefore), text($0.notAfter)] }
        return try close(Array(TextList.encode(texts).utf8), of: place)
    }

    /// The endpoint of a URL, and of the bytes and the format that were kept beside it; nil if there is none.
    func endpoint(
        _ url: String?, _ keys: [UInt8]?, _ format: DeliveryFormatChoice, of place: Place
    ) throws -> Endpoint? {
        guard let url, let keys else { return nil }
        guard let checked = SigningKeys(checked: try self.keys(keys, of: place)) else { throw Self.damaged }
        return Endpoint(url: url, keys: checked, format: format)
    }

    /// The secrets of a source that were kept.
    func secrets(_ bytes: [UInt8], of source: SourceID) throws -> [SigningKey] {
        try keys(bytes, of: .source(source))
    }

    private func keys(_ bytes: [UInt8], of place: Place) throws -> [SigningKey] {
        let texts = try TextList.decode(String(decoding: try open(bytes, of: place), as: UTF8.self))
        guard texts.count.isMultiple(of: 3) else { throw Self.damaged }
        return try stride(from: 0, to: texts.count, by: 3).map { index in
            SigningKey(texts[index], notBefore: try time(texts[index + 1]), notAfter: try time(texts[index + 2]))
        }
    }

    /// The bytes to keep of a passcode; nil for none.
    func encode(_ hash: PasscodeHash?, of key: GateKey) throws -> [UInt8]? {
        guard let hash else { return nil }
        let cost = [hash.cost.logRounds, hash.cost.blockSize, hash.cost.parallelism].map { String($0) }
        let texts = cost + [hash.salt, hash.digest].map(Hexadecimal.encode)
        return try close(Array(TextList.encode(texts).utf8), of: .passcode(key))
    }

    /// The hash that was kept; nil if there is none.
    func hash(_ bytes: [UInt8]?, of key: GateKey) throws -> PasscodeHash? {
        guard let bytes else { return nil }
        let texts = try TextList.decode(String(decoding: try open(bytes, of: .passcode(key)), as: UTF8.self))
        let numbers = texts.prefix(3).compactMap { Int($0) }
        guard texts.count == 5, numbers.count == 3, let salt = Hexadecimal.decode(texts[3]),
            let digest = Hexadecimal.decode(texts[4]),
            let hash = PasscodeHash(
                cost: .init(logRounds: numbers[0], blockSize: numbers[1], parallelism: numbers[2]), salt: salt,
                digest: digest)
        else { throw StoreError(.corrupt, "the hash of a passcode cannot be read") }
        return hash
    }

    /// The same bytes as they would be kept now.
    func renewed(_ keys: [UInt8], of place: Place) throws -> [UInt8] {
        try close(try open(keys, of: place), of: place)
    }

    /// Whether the bytes are not sealed.
    static func isPlain(_ keys: [UInt8]) -> Bool { keys.first != sealedMark }

    private func close(_ plain: [UInt8], of place: Place) throws -> [UInt8] {
        guard let sealing else { return plain }
        return Self.header(sealing.keyID) + (try sealing.seal(plain, place.context))
    }

    private func open(_ keys: [UInt8], of place: Place) throws -> [UInt8] {
        guard !Self.isPlain(keys) else { return keys }
        guard keys.count > Self.headerLength else { throw Self.damaged }
        let id = SecretKeyID(keys[1..<Self.headerLength].reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        let sealed = Array(keys[Self.headerLength...])
        guard let opened = try sealing?.open(sealed, id, place.context) else {
            throw StoreError(
                .secretsKey, "the database has secrets that are sealed under the key \(id), which is not there")
        }
        return opened
    }

    private func text(_ time: Timestamp?) -> String { time.map { String($0.milliseconds) } ?? "" }

    private func time(_ text: String) throws -> Timestamp? {
        if text.isEmpty { return nil }
        guard let milliseconds = Int64(text) else { throw Self.damaged }
        return Timestamp(milliseconds: milliseconds)
    }

    private static var damaged: StoreError { StoreError(.corrupt, "the keys of an endpoint cannot be read") }
}
