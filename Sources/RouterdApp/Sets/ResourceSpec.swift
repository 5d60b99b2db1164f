package import Router
package import RouterPlugin

/// The specification of a resource: its body without secrets and without live state, as sets hold it.
package enum ResourceSpec {
    /// The specification of a resource as it is kept.
    package static func of(_ value: ResourceValue) -> JSONValue {
        switch value {
        case .application(let application):
            return specification(ApplicationBody.write(application), of: .application)
        case .session(var session):
            session.leaveDemo()
            return specification(SessionBody.write(ShownSession(session: session)), of: .session)
        case .source(let source): return specification(SourceBody.write(source), of: .source)
        }
    }

    private static func specification(_ body: [UInt8], of kind: ResourceRef.Kind) -> JSONValue {
        specification((try? JSONValue(parsing: body, limits: .configuration)) ?? .null, of: kind)
    }

    /// The specification in an answer of the API.
    package static func specification(_ body: JSONValue, of kind: ResourceRef.Kind) -> JSONValue {
        guard case .object(var object) = body else { return body }
        for name in liveFields(of: kind) { object[name] = nil }
        return withoutSecretsAndNulls(.object(object), at: "", endpoints: endpoints(of: kind, in: object))
    }

    /// The places of a specification that hold endpoints.
    private static func endpoints(of kind: ResourceRef.Kind, in object: JSONObject) -> Set<String> {
        switch kind {
        case .application:
            let configurations = object["manifest"]?["sceneConfigurations"]?.asArray ?? []
            return Set(["/delegate"] + configurations.indices.map { "/manifest/sceneConfigurations/\($0)/endpoint" })
        case .session: return ["/endpoint"]
        case .source: return []
        }
    }

    private static func liveFields(of kind: ResourceRef.Kind) -> [String] {
        switch kind {
        case .application: ["id", "activationState", "currentSession", "onboardingSession"]
        case .session:
            [
                "id", "application", "activationState", "applicationScreen", "leaseExpiresAt", "lastActivatedAt",
                "disabled", "epoch", "stateRestorationActivity", "reachable", "unreachableBecause",
            ]
        case .source: ["id", "url", "secrets", "secret"]
        }
    }

    /// The specification as sets hold it. It lacks the keys of endpoints, which a daemon keeps when it applies the
    /// specification again, and nulls, which say the same as fields left out. Values of clients and plugins stay as they are.
    private static func withoutSecretsAndNulls(
        _ value: JSONValue, at pointer: String, endpoints: Set<String>
    ) -> JSONValue {
        switch value {
        case .object(let object):
            let hidden = endpoints.contains(pointer) ? ["signingKeys", "secret"] : []
            var rest = JSONObject()
            for member in object.members where member.value != .null && !hidden.contains(member.key) {
                let place = "\(pointer)/\(escaped(member.key))"
                let isOpaque =
                    ["/userInfo", "/options"].contains(place)
                    || member.key == "format" && endpoints.contains(pointer)
                rest[member.key] =
                    isOpaque ? member.value : withoutSecretsAndNulls(member.value, at: place, endpoints: endpoints)
            }
            return .object(rest)
        case .array(let elements):
            return .array(
                elements.enumerated().map { place, element in
                    withoutSecretsAndNulls(element, at: "\(pointer)/\(place)", endpoints: endpoints)
                })
        default: return value
        }
    }

    /// A difference of one field.
    package struct Difference: Hashable, Sendable {
        /// RFC 6901.
        package var pointer: String
        package var before: JSONValue?
        package var after: JSONValue?
    }

    /// The difference of secrets, which are not shown.
    package static let secretDifference = Difference(pointer: "/secret", before: nil, after: nil)

    /// The fields in which two specifications differ, in the order of their places.
    package static func differences(
        _ before: JSONValue?, _ after: JSONValue?, at pointer: String = ""
    ) -> [Difference] {
        if before == after { return [] }
        guard case .object(let left)? = before, case .object(let right)? = after else {
            return [Difference(pointer: pointer, before: before, after: after)]
        }
        let names = left.members.map(\.key) + right.members.map(\.key).filter { left[$0] == nil }
        return names.flatMap { name in
            differences(left[name], right[name], at: "\(pointer)/\(escaped(name))")
        }
    }

    private static func escaped(_ name: String) -> String {
        name.split(separator: "~", omittingEmptySubsequences: false).joined(separator: "~0")
            .split(separator: "/", omittingEmptySubsequences: false).joined(separator: "~1")
    }
}
