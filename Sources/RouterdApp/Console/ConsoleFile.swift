import HTTPTypes
import Hummingbird
import NIOCore

/// A file of the console, part of the binary.
struct ConsoleFile: Sendable {
    let name: String
    let contentType: String
    let text: String

    /// All files; the first one is the page itself.
    static let all = [index, style, app, base, route, notification, lists]

    /// Nothing but the console's own files may run, and only the daemon may be asked.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// The file as an answer.
    var response: Response {
        var headers: HTTPFields = [
            .contentType: contentType, .cacheControl: "no-cache", .xContentTypeOptions: "nosniff",
        ]
        headers[.contentSecurityPolicy] = Self.policy
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

extension API {
    /// The page, and by its name a file that it asks for.
    @Sendable static func console(_ request: Request, _ context: RouterdContext, _: Caller) async throws -> Response {
        guard let name = context.parameters.get("file") else {
            guard request.uri.path.hasSuffix("/") else {
                return Response(status: .permanentRedirect, headers: [.location: "/console/"])
            }
            return ConsoleFile.index.response
        }
        guard let file = ConsoleFile.all.first(where: { $0.name == name }) else { throw HTTPError(.notFound) }
        return file.response
    }
}
