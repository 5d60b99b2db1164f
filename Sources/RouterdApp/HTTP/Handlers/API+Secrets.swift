import HTTPTypes
import Hummingbird
import Router
import RouterPlugin

/// Rotating the secrets of endpoints.
extension API {
    @Sendable func rotateSessionSecret(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        try await rotate(at: .session(try context.sessionKey()), request, context, caller)
    }

    @Sendable func rotateDelegateSecret(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        try await rotate(at: .delegate(try context.application()), request, context, caller)
    }

    @Sendable func rotateConfigurationSecret(
        _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        guard let name = context.parameters.get("configuration")?.percentDecoded else {
            throw Problem(.badRequest, "invalid-parameter", "The path does not name it in percent-encoded UTF-8.")
        }
        return try await rotate(at: .configuration(try context.application(), name), request, context, caller)
    }

    private func rotate(
        at place: EndpointPlace, _ request: Request, _ context: RouterdContext, _ caller: Caller
    ) async throws -> Response {
        _ = try request.query()
        let body = try await request.bytes(in: context)
        // All members are optional, and so is the body.
        var reader = try ObjectReader(body.isEmpty ? .object(JSONObject()) : try Request.parse(body))
        let rotation = try reader.secretRotation()
        try reader.finish()
        let once = try request.repeatable(in: place.application, of: "routerd.secrets", body: body)
        let reply = try await submit(caller.noting(.rotateSecret(place, rotation, once: once)))
        guard case .endpoint(let endpoint) = reply else { throw Problem.unexpectedReply }
        return .json(.ok, EndpointBody.write(endpoint, after: rotation))
    }
}
