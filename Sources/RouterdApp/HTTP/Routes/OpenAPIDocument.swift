import HTTPTypes
import Router
import RouterPlugin

/// The API as an OpenAPI 3.1 document, made of ``Operation/all``.
package enum OpenAPIDocument {
    /// The document as `GET /openapi.json` serves it.
    package static let bytes: [UInt8] = JSONWriter.object { body in
        body.field("openapi", "3.1.0")
        body.object("info") { info in
            info.field("title", "routerd")
            info.field("version", RouterdVersion.current)
            info.field("description", "Brings each notification to the scene session that can, or prefers to, show it.")
            info.object("license") {
                $0.field("name", "MIT")
                $0.field("identifier", "MIT")
            }
        }
        body.array("servers") { list in list.object { $0.field("url", "/") } }
        body.object("paths") { items in
            for path in paths(of: Operation.all) {
                items.object(path) { item in
                    for operation in Operation.all where operation.path == path {
                        item.object(operation.method.rawValue.lowercased()) { write(operation, to: &$0) }
                    }
                }
            }
        }
        body.object("components") { components in
            components.object("schemas") { schemas in
                for (name, schema) in ResourceSchemas.all { schemas.field(name, JSONValue.object(schema.json)) }
            }
            components.object("securitySchemes") { schemes in
                schemes.object("key") {
                    $0.field("type", "http")
                    $0.field("scheme", "bearer")
                    $0.field("description", "A key of the configuration, such as rk_….")
                }
                schemes.object("token") {
                    $0.field("type", "http")
                    $0.field("scheme", "bearer")
                    $0.field("description", "The token of a session, such as rs_….")
                }
            }
        }
    }

    private static func paths(of operations: [Operation]) -> [String] {
        var paths: [String] = []
        for operation in operations where !paths.contains(operation.path) { paths.append(operation.path) }
        return paths
    }

    private static func write(_ operation: Operation, to item: inout JSONObjectWriter) {
        item.field("operationId", operation.name)
        item.field("summary", operation.summary)
        item.array("tags") { $0.element(operation.group) }
        item.array("security") { list in
            guard let scope = operation.access.scope else { return }
            // Without configured keys the daemon needs none.
            list.object { $0.array("key") { _ in } }
            if operation.access != .scope(scope) { list.object { $0.array("token") { _ in } } }
            list.object { _ in }
        }
        if let scope = operation.access.scope { item.field("x-scope", scope.rawValue) }
        item.object("x-bounds") { bounds in
            bounds.field("bodyBytes", operation.bounds.body)
            bounds.field("answerBytes", operation.bounds.answer)
            bounds.field("share", operation.bounds.share.rawValue)
        }
        item.array("parameters") { list in
            for name in operation.pathParameters {
                list.object { write(name, in: "path", schema(ofPath: name), isRequired: true, to: &$0) }
            }
            for parameter in operation.parameters {
                let schema = parameter.isRepeatable ? JSONSchema.list(of: parameter.schema) : parameter.schema
                list.object { write(parameter.name, in: "query", schema, isRequired: false, to: &$0) }
            }
            for field in operation.headers {
                list.object { write(field.name, in: "header", field.schema, isRequired: false, to: &$0) }
            }
        }
        if let body = operation.body {
            item.object("requestBody") { request in
                request.field("required", body.isRequired)
                request.object("content") { write(body.contentType, body.schema, to: &$0) }
            }
        }
        item.object("responses") { responses in
            for status in Set(operation.answers.map(\.status)).sorted() {
                responses.object(String(status)) { response in
                    response.field("description", status == 204 ? "Done." : "Success.")
                    let answers = operation.answers.filter { $0.status == status && $0.schema != nil }
                    guard !answers.isEmpty else { return }
                    response.object("content") { content in
                        for answer in answers { write(answer.contentType, answer.schema ?? .anything, to: &content) }
                    }
                }
            }
            for range in ["4XX", "5XX"] {
                responses.object(range) { response in
                    response.field("description", "A problem (RFC 9457).")
                    response.object("content") { write("application/problem+json", .named("Problem"), to: &$0) }
                }
            }
        }
    }

    private static func write(_ contentType: String, _ schema: JSONSchema, to content: inout JSONObjectWriter) {
        content.object(contentType) { $0.field("schema", JSONValue.object(schema.json)) }
    }

    private static func write(
        _ name: String, in place: String, _ schema: JSONSchema, isRequired: Bool, to object: inout JSONObjectWriter
    ) {
        object.field("name", name)
        object.field("in", place)
        object.field("required", isRequired)
        object.field("schema", JSONValue.object(schema.json))
    }

    private static func schema(ofPath name: String) -> JSONSchema {
        switch name {
        case "application": .named("ApplicationId")
        case "session": .named("SessionId")
        default: .text.ofLength(1...64)
        }
    }

    /// The operations as a table in Markdown; docs/API.md holds it between two marks.
    package static let table: String = {
        var lines = ["| method and path | scope | |", "|---|---|---|"]
        for operation in Operation.all {
            let scope =
                switch operation.access {
                case .open: "–"
                case .scope(let scope): "`\(scope.rawValue)`"
                case .session: "`\(APIScope.sessions.rawValue)`, or a token"
                case .device(let scope): "`\(scope.rawValue)`, or a token of the device"
                case .sender: "the sender's proof"
                }
            lines.append("| `\(operation.method.rawValue) \(operation.path)` | \(scope) | \(operation.summary) |")
        }
        return lines.joined(separator: "\n")
    }()
}
