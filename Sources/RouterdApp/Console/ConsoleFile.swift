import HTTPTypes
import Hummingbird
import NIOCore

/// A file of the console, part of the binary.
struct ConsoleFile: Sendable {
    let name: String
    let contentType: String
    let bytes: [UInt8]

    static let index = ConsoleFile(name: "index.html", contentType: "text/html", bytes: PackageResources.index_html)

    /// All files; the first one is the page itself.
    static let all = [
        index, style, base, script("app.js", PackageResources.app_js), script("route.js", PackageResources.route_js),
        script("ladder.js", PackageResources.ladder_js), script("trial.js", PackageResources.trial_js),
        script("predicate.js", PackageResources.predicate_js),
        script("notification.js", PackageResources.notification_js), script("lists.js", PackageResources.lists_js),
        script("overview.js", PackageResources.overview_js), script("plots.js", PackageResources.plots_js),
        script("traffic.js", PackageResources.traffic_js),
    ]

    /// The page of `routerd receive --ui`.
    static let inspectorPage = ConsoleFile(
        name: "inspector.html", contentType: "text/html", bytes: PackageResources.inspector_html)
    /// The files that the inspector's page asks for.
    static let inspector = [style, base, script("inspector.js", PackageResources.inspector_js)]

    private static let style = ConsoleFile(
        name: "style.css", contentType: "text/css", bytes: PackageResources.style_css)
    private static let base = script("base.js", PackageResources.base_js)

    private static func script(_ name: String, _ bytes: [UInt8]) -> ConsoleFile {
        ConsoleFile(name: name, contentType: "text/javascript", bytes: bytes)
    }

    /// Nothing but the console's own files may run, and only the daemon may be asked.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

    /// The file as an answer.
    var response: Response {
        var headers: HTTPFields = [
            .contentType: "\(contentType); charset=utf-8", .cacheControl: "no-cache", .xContentTypeOptions: "nosniff",
        ]
        headers[.contentSecurityPolicy] = Self.policy
        if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
        return Response(
            status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
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
