import DeliveryCurl
import HTTPTypes
import Plugins
package import Router
import RouterPlugin

extension ObjectReader {
    /// An endpoint: `{"url", "secret"?}`. The URL is read by the parser that will send to it.
    package mutating func endpoint(_ key: String) throws(Problem) -> EndpointDraft? {
        guard let reader = try object(key) else { return nil }
        return try Self.endpoint(reader)
    }

    /// A merge patch of an endpoint: what is left out stays.
    package mutating func endpointPatch(_ key: String) throws(Problem) -> EndpointPatch? {
        guard var reader = try object(key) else { return nil }
        if case .null = reader.presence("url") { throw reader.missing("url") }
        let url = try reader.endpointURL()
        let isRemoved = if case .null = reader.presence("secret") { true } else { false }
        let secret = try reader.endpointSecret()
        try reader.finish()
        return EndpointPatch(
            url: url, secret: isRemoved ? .remove : secret.map { .set($0) }, freshSecret: Self.freshSecret())
    }

    private static func endpoint(_ reader: ObjectReader) throws(Problem) -> EndpointDraft {
        var reader = reader
        guard let url = try reader.endpointURL() else { throw reader.missing("url") }
        let secret = try reader.endpointSecret()
        try reader.finish()
        return EndpointDraft(url: url, secret: secret, freshSecret: freshSecret())
    }

    private mutating func endpointURL() throws(Problem) -> String? {
        guard let url = try string("url") else { return nil }
        do {
            _ = try CurlURL(parsing: url)
            return url
        } catch {
            throw Problem(
                .unprocessableContent, error.code.rawValue, "\(error.message.capitalizedFirst).",
                pointer: pointer(to: "url"))
        }
    }

    private mutating func endpointSecret() throws(Problem) -> String? {
        guard let secret = try string("secret") else { return nil }
        do {
            _ = try WebhookSecret(secret)
            return secret
        } catch {
            throw Problem(.unprocessableContent, error.code, error.description, pointer: pointer(to: "secret"))
        }
    }

    private static func freshSecret() -> String {
        var generator = SystemRandomNumberGenerator()
        return WebhookSecret.generate(using: &generator).revealed()
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
