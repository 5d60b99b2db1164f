package import RouterPlugin

/// An endpoint within one application: failures caused by one tenant's messages are not held against another tenant.
package struct EndpointKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let application: ApplicationID
    package let url: String
    /// The destination of its connections: scheme, host and port, as far as the URL names them.
    package let origin: Origin

    package init(application: ApplicationID, url: String) {
        self.application = application
        self.url = url
        origin = Origin(url: url)
    }

    package var description: String { "\(application) at \(url)" }

    /// URLs are compared by their bytes.
    package static func == (lhs: EndpointKey, rhs: EndpointKey) -> Bool {
        lhs.application == rhs.application && lhs.url.isSame(as: rhs.url)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(application)
        url.utf8Span.span.withUnsafeBufferPointer { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    package static func < (lhs: EndpointKey, rhs: EndpointKey) -> Bool {
        if lhs.application != rhs.application { return lhs.application < rhs.application }
        return lhs.url.utf8.lexicographicallyPrecedes(rhs.url.utf8)
    }
}

/// Scheme, host and port of a URL, of any application: connections belong to the machine.
package struct Origin: Hashable, Sendable {
    private static let impliedPorts = [("https:", ":443"), ("http:", ":80")].map { (Array($0.utf8), Array($1.utf8)) }

    private let bytes: [UInt8]

    /// For people; it holds no path and no query, which may contain secrets.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

    package init(url: String) {
        var slashes = 0
        var bytes: [UInt8] = []
        bytes.reserveCapacity(url.utf8.count)
        for byte in url.utf8 {
            if byte == UInt8(ascii: "/") { slashes += 1 }
            let isAuthorityOver = slashes == 2 && (byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#"))
            if slashes == 3 || isAuthorityOver { break }
            let isCapital = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            bytes.append(isCapital ? byte | 0x20 : byte)
        }
        for (scheme, port) in Self.impliedPorts where bytes.starts(with: scheme) {
            // A URL that names its scheme's default port has the same origin.
            if bytes.suffix(port.count).elementsEqual(port) { bytes.removeLast(port.count) }
        }
        self.bytes = bytes
    }
}
