import HTTPTypes
import Hummingbird
import NIOCore

/// Lets pages of named origins read answers (CORS, WHATWG Fetch 3.2). An origin is compared byte by byte; there is no
/// wildcard, and no credentials of the browser's own are allowed: a page sends a token.
struct CrossOriginMiddleware: RouterMiddleware {
    let origins: Set<String>

    func handle(
        _ request: Request, context: RouterdContext,
        next: @concurrent (Request, RouterdContext) async throws -> Response
    ) async throws -> Response {
        guard !origins.isEmpty else { return try await next(request, context) }
        let origin = request.headers[.origin].flatMap { origins.contains($0) ? $0 : nil }
        if let origin, request.method == .options, request.headers[.accessControlRequestMethod] != nil {
            var headers = Self.headers(origin)
            headers[.accessControlAllowMethods] = "GET, PUT, POST, PATCH, DELETE"
            headers[.accessControlAllowHeaders] =
                "authorization, content-type, last-event-id, idempotency-key, if-match, if-none-match"
            headers[.accessControlMaxAge] = "600"
            return Response(status: .noContent, headers: headers)
        }
        var response = try await next(request, context)
        // A cache must not give the answer for one origin to another one.
        response.headers.append(HTTPField(name: .vary, value: "Origin"))
        if let origin {
            response.headers[.accessControlAllowOrigin] = origin
            response.headers[.accessControlExposeHeaders] = "etag"
        }
        return response
    }

    private static func headers(_ origin: String) -> HTTPFields {
        [.accessControlAllowOrigin: origin, .vary: "Origin"]
    }
}
