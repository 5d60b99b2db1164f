import RouterPlugin

@testable import Plugins

/// Noon in seconds, the time of arrival of every request of these tests.
let noonSeconds: Int64 = noon.milliseconds / 1000

/// The HMAC of a text or of bytes; the vectors of `HMACSourceTests` show that it is that of others.
func code(_ content: [UInt8], _ secret: String, _ algorithm: HMACVerifier.Algorithm = .sha256) -> [UInt8] {
    algorithm.code(over: [content], key: Array(secret.utf8))
}

func hexadecimalCode(_ content: [UInt8], _ secret: String, _ algorithm: HMACVerifier.Algorithm = .sha256) -> String {
    code(content, secret, algorithm).map { byte in
        let digits = String(byte, radix: 16)
        return digits.count == 1 ? "0" + digits : digits
    }.joined()
}

func hexadecimalCode(_ content: String, _ secret: String, _ algorithm: HMACVerifier.Algorithm = .sha256) -> String {
    hexadecimalCode(Array(content.utf8), secret, algorithm)
}

extension PayloadSource {
    /// The code of the refusal by `verify`; nil if the request is verified.
    func refusal(of request: SourceRequest, _ secrets: String...) -> String? {
        do {
            try verify(request, with: secrets.map { SourceSecret($0) })
            return nil
        } catch {
            return error.code
        }
    }

    /// The code of the refusal by `decode`; nil if the request is decoded.
    func decodingRefusal(of request: SourceRequest) -> String? {
        do {
            _ = try decode(request)
            return nil
        } catch {
            return error.code
        }
    }
}

extension SourceRequest {
    /// The same request at another time.
    func received(afterMilliseconds delta: Int64) -> SourceRequest {
        SourceRequest(headers: headers, body: body, receivedAt: receivedAt.advanced(byMilliseconds: delta))
    }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
