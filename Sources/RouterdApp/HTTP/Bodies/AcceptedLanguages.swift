import HTTPTypes
import Hummingbird

/// The languages that a client accepts (RFC 9110, section 12.5.4).
package enum AcceptedLanguages {
    /// The language tags of a header, the preferred one first; those without a weight that can be read, and `*`, are left out.
    package static func tags(in header: String) -> [String] {
        var ranges: [(tag: String, weight: Double)] = []
        for part in header.split(separator: ",").prefix(DaemonLimits.acceptedLanguages) {
            let fields = part.filter { !$0.isWhitespace }.split(separator: ";")
            guard let tag = fields.first, tag != "*", tag.utf8.count <= DaemonLimits.languageTagBytes else { continue }
            let quality = fields.dropFirst().first { $0.hasPrefix("q=") || $0.hasPrefix("Q=") }
            let weight = quality.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
            if weight > 0 { ranges.append((String(tag), weight)) }
        }
        // Equal weights keep their order.
        return ranges.enumerated().sorted { left, right in
            left.element.weight == right.element.weight
                ? left.offset < right.offset : left.element.weight > right.element.weight
        }.map(\.element.tag)
    }
}

extension Request {
    /// The languages in which the client wants texts, the best one first: that of its query, or those of `Accept-Language`.
    func languages(_ named: String? = nil) -> [String] {
        // Some systems write locales with a low line.
        if let named { return [String(named.map { $0 == "_" ? "-" : $0 })] }
        return headers[.acceptLanguage].map(AcceptedLanguages.tags) ?? []
    }
}
