import Hummingbird
import RouterPlugin

/// The keys of the configuration, with their rights.
extension API {
    /// Names and rights; a digest is no secret, and of no use either.
    @Sendable func listKeys(_ request: Request, _ context: RouterdContext, _ caller: Caller) async throws -> Response {
        _ = try request.query()
        try caller.expectAllApplications("the list of keys")
        return .json(
            .ok,
            JSONWriter.object { body in
                body.array("keys") { list in
                    for key in authenticator.keys {
                        list.object { object in
                            object.field("name", key.name)
                            object.array("scopes") { scopes in
                                for scope in APIScope.allCases where key.scopes.contains(scope) {
                                    scopes.element(scope.rawValue)
                                }
                            }
                            object.field("application", key.application)
                            object.field("requestsPerSecond", key.requestsPerSecond)
                            object.field("isCaller", key == caller.key)
                        }
                    }
                }
            })
    }
}
