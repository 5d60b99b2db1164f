package import Router
package import RouterPlugin

/// The specification of a resource: its body without secrets and without live state, as sets hold it.
package enum ResourceSpec {
    /// The specification of a resource as it is kept.
    package static func of(_ value: ResourceValue) -> JSONValue {
        switch value {
        case .application(let application): specification(ApplicationBody.write(application), of: .application)
        case .session(let session): specification(SessionBody.write(session), of: .session)
        case .source(let source): specification(SourceBody.write(source), of: .source)
        }
    }

    private static func specification(_ body: [UInt8], of kind: ResourceRef.Kind) -> JSONValue {
        specification((try? JSONValue(parsing: body, limits: .configuration)) ?? .null, of: kind)
    }

    /// The specification in an answer of the API.
    package static func specification(_ body: JSONValue, of kind: ResourceRef.Kind) -> JSONValue {
        guard case .object(var object) = body else { return body }
        for name in liveFields(of: kind) { object[name] = nil }
        return withoutSecretsAndNulls(.object(object))
    }

    private static func liveFields(of kind: ResourceRef.Kind) -> [String] {
        switch kind {
        case .application: ["id", "activationState", "currentSession", "onboardingSession"]
        case .session:
            [
                "id", "application", "activationState", "applicationScreen", "leaseExpiresAt", "lastActivatedAt",
                "disabled", "epoch", "stateRestorationActivity",
            ]
        case .source: ["id", "url", "secrets", "secret"]
        }
    }

    /// A daemon keeps the keys of endpoints when it applies the specification again; a null says the same as a field left out.
    private static func withoutSecretsAndNulls(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            var rest = JSONObject()
            for member in object.members where member.value != .null && !["signingKeys", "secret"].contains(member.key)
            {
                rest[member.key] = withoutSecretsAndNulls(member.value)
            }
            return .object(rest)
        case .array(let elements): return .array(elements.map(withoutSecretsAndNulls))
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
