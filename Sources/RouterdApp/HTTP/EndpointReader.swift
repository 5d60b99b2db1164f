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

    package static func endpoint(_ reader: ObjectReader) throws(Problem) -> EndpointDraft {
        var reader = reader
        guard let url = try reader.string("url") else { throw reader.missing("url") }
        do {
            _ = try CurlURL(parsing: url)
        } catch {
            throw Problem(
                .unprocessableContent, error.code.rawValue, "\(error.message.capitalizedFirst).",
                pointer: reader.pointer(to: "url"))
        }
        let secret = try reader.string("secret")
        if let secret {
            do {
                _ = try WebhookSecret(secret)
            } catch {
                throw Problem(
                    .unprocessableContent, error.code, error.description, pointer: reader.pointer(to: "secret"))
            }
        }
        try reader.finish()
        var generator = SystemRandomNumberGenerator()
        return EndpointDraft(
            url: url, secret: secret, freshSecret: WebhookSecret.generate(using: &generator).revealed())
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
