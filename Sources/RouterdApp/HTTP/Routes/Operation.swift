package import HTTPTypes
import Hummingbird
package import Router

/// An operation of the HTTP API: a method and a path with everything that is known of them.
///
/// The router, `/openapi.json` and the table in docs/API.md are made of ``Operation/all``, so none of them can name a
/// route that another lacks.
package struct Operation: Sendable {
    /// The rights that a caller needs.
    package enum Access: Hashable, Sendable {
        /// No key.
        case open
        /// A key of the scope.
        case scope(APIScope)
        /// A key of the scope `sessions`, or the token of the session that the request is about.
        case session
        /// A key of the scope, or the token of a session on the device that the request is about.
        case device(APIScope)
        /// The proof that the kind of source wants: a signature, a password, or a key of the scope `ingest`.
        case sender
    }

    /// A parameter of the query, or a field of the header.
    package struct Parameter: Sendable {
        package let name: String
        package let schema: JSONSchema
        package let isRepeatable: Bool

        package init(_ name: String, _ schema: JSONSchema = .text, isRepeatable: Bool = false) {
            self.name = name
            self.schema = schema
            self.isRepeatable = isRepeatable
        }
    }

    /// A body that the operation reads.
    package struct Body: Sendable {
        package let contentType: String
        package let schema: JSONSchema
        package let isRequired: Bool

        package static func json(_ schema: JSONSchema) -> Body {
            Body(contentType: "application/json", schema: schema, isRequired: true)
        }

        /// A body whose members may all be left out, and which may be left out itself.
        package static func optional(_ schema: JSONSchema) -> Body {
            Body(contentType: "application/json", schema: schema, isRequired: false)
        }

        /// A document in YAML, or in JSON, which is YAML too.
        package static let yaml = Body(contentType: "application/yaml", schema: .document, isRequired: true)

        package static func other(_ contentType: String) -> Body {
            Body(contentType: contentType, schema: .text, isRequired: true)
        }
    }

    /// An answer of success.
    package struct Answer: Sendable {
        package let status: Int
        package let contentType: String
        /// Nil for an answer without a body.
        package let schema: JSONSchema?

        package static func ok(_ schema: JSONSchema) -> Answer { json(200, schema) }
        package static func created(_ schema: JSONSchema) -> Answer { json(201, schema) }
        package static func accepted(_ schema: JSONSchema) -> Answer { json(202, schema) }
        package static let noContent = Answer(status: 204, contentType: "", schema: nil)
        /// An answer that is its header.
        package static let empty = Answer(status: 200, contentType: "", schema: nil)
        /// An answer in the form of a sender's protocol.
        package static let ofSender = Answer(status: 200, contentType: "*/*", schema: .anything)

        package static func json(_ status: Int, _ schema: JSONSchema) -> Answer {
            Answer(status: status, contentType: "application/json", schema: schema)
        }

        package static func other(_ contentType: String, status: Int = 200) -> Answer {
            Answer(status: status, contentType: contentType, schema: .text)
        }
    }

    package let method: HTTPRequest.Method
    /// The path with its parameters in braces.
    package let path: String
    package let access: Access
    /// The name of the operation for clients, in camel case.
    package let name: String
    /// One sentence.
    package let summary: String
    package let parameters: [Parameter]
    /// Fields of the request's header that have a meaning for the operation; none is required.
    package let headers: [Parameter]
    package let body: Body?
    package let answers: [Answer]
    package let bounds: Bounds
    /// Whether the operation changes nothing: a key of the scope `read` may call it.
    package let isRead: Bool
    let handler: @Sendable (API) -> API.Handler

    /// - Parameters:
    ///   - bounds: Without a default: an operation without bounds does not compile.
    ///   - isRead: By default whether the method is GET.
    init(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access, _ name: String, _ summary: String,
        bounds: Bounds, query: [Parameter] = [], headers: [Parameter] = [], body: Body? = nil, isRead: Bool? = nil,
        _ answers: Answer..., handler: @escaping @Sendable (API) -> API.Handler
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.name = name
        self.summary = summary
        self.bounds = bounds
        parameters = query
        self.headers = headers
        self.body = body
        self.answers = answers
        self.isRead = isRead ?? (method == .get)
        self.handler = handler
    }

    /// The operations of the API, in the order of docs/API.md.
    package static let all: [Operation] =
        applications + sessions + deliveries + activations + gates + notifications + replays + sources + operating

    /// The resource of the path, by which documents group operations.
    package var group: String {
        let segments = path.split(separator: "/")
        guard segments.first == "v1", segments.count > 1 else { return "operating" }
        let noun = segments.count > 3 && segments[1] == "applications" ? segments[3] : segments[1]
        return String(noun.prefix { $0 != ":" })
    }

    /// The names of the parameters of the path.
    package var pathParameters: [String] {
        path.split(separator: "{").dropFirst().map { String($0.prefix { $0 != "}" }) }
    }
}

extension Operation.Access {
    /// The scope of the keys that have the rights; nil if no key is needed.
    package var scope: APIScope? {
        switch self {
        case .open, .sender: nil
        case .scope(let scope), .device(let scope): scope
        case .session: .sessions
        }
    }

    /// Whether tokens of sessions are taken.
    var takesTokens: Bool {
        switch self {
        case .session, .device: true
        case .open, .scope, .sender: false
        }
    }
}

extension [Operation.Parameter] {
    /// The parameters of a page of a list, after parameters of the list itself.
    static func page(_ parameters: Operation.Parameter...) -> [Operation.Parameter] {
        parameters + [
            Operation.Parameter("cursor"),
            Operation.Parameter("limit", .whole(1...Int64(DaemonLimits.pageMaximum))),
        ]
    }
}
