import PredicateEngine
package import Router
package import RouterPlugin

/// Scene sessions on the wire.
package enum SessionBody {
    private static let longestLease: Int64 = 30 * 24 * 60 * 60

    /// Reads a whole session, or the answer to a read, which may be put back.
    package static func read(
        _ body: JSONValue, of key: SessionKey, within scope: EndpointScope
    ) throws(Problem) -> SessionDraft {
        var reader = try ObjectReader(body)
        if let named = try reader.identifier("id", of: IdentifierKinds.Session.self), named != key.session {
            throw reader.invalid("id", "must be that of the path, \(key.session)")
        }
        if let named = try reader.string("application"), named != key.application.text {
            throw reader.invalid("application", "must be that of the path, \(key.application)")
        }
        let draft = try read(&reader, within: scope)
        try reader.finish()
        return draft
    }

    /// Reads a session that carries its own id, as in a batch: one object with `id`.
    package static func readWithID(
        _ body: JSONValue, within scope: EndpointScope
    ) throws(Problem) -> (SessionID, SessionDraft) {
        var reader = try ObjectReader(body)
        guard let id = try reader.identifier("id", of: IdentifierKinds.Session.self) else { throw reader.missing("id") }
        let draft = try read(&reader, within: scope)
        try reader.finish()
        return (id, draft)
    }

    private static func read(
        _ reader: inout ObjectReader, within scope: EndpointScope
    ) throws(Problem) -> SessionDraft {
        var draft = SessionDraft()
        draft.role = try reader.string("role") ?? draft.role
        draft.configuration = try reader.string("configuration")
        draft.device = try reader.identifier("device", of: IdentifierKinds.Device.self)
        draft.activationState = try activationState(&reader) ?? draft.activationState
        if let conditions = try reader.object("activationConditions") {
            draft.conditions = try ConditionsBody.read(conditions)
        }
        draft.endpoint = try reader.sessionEndpoint("endpoint", within: scope)
        draft.stateRestorationActivity = reader.value("stateRestorationActivity")
        draft.userInfo = reader.value("userInfo")
        draft.leaseSeconds = try reader.integer("leaseSeconds", in: 1...longestLease)
        draft.observers = try scope.observers(&reader) ?? []
        draft.whileAway = try whileAway(&reader)
        try check(draft.userInfo ?? .object(JSONObject()), "userInfo", reader)
        try check(draft.stateRestorationActivity ?? .object(JSONObject()), "stateRestorationActivity", reader)
        // Reads show the present state by these.
        for name in [
            "applicationScreen", "leaseExpiresAt", "lastActivatedAt", "disabled", "epoch", "reachable",
            "unreachableBecause",
        ] {
            _ = reader.presence(name)
        }
        return draft
    }

    /// Reads an RFC 7396 merge patch.
    package static func readPatch(_ body: JSONValue, within scope: EndpointScope) throws(Problem) -> SessionPatch {
        var reader = try ObjectReader(body)
        var patch = SessionPatch()
        // A member set to null falls back to the value of a session that never had it.
        if case .null = reader.presence("role") { patch.role = SceneRole.windowApplication }
        if let role = try reader.string("role") { patch.role = role }
        if case .null = reader.presence("configuration") { patch.configuration = "" }
        if let configuration = try reader.string("configuration") { patch.configuration = configuration }
        try readScene(&reader, into: &patch)
        if case .null = reader.presence("device") { patch.device = .remove }
        if let device = try reader.identifier("device", of: IdentifierKinds.Device.self) { patch.device = .set(device) }
        if case .null = reader.presence("endpoint") { patch.endpoint = .remove }
        if let endpoint = try reader.endpointPatch("endpoint", within: scope) { patch.endpoint = .set(endpoint) }
        if case .null = reader.presence("leaseSeconds") { patch.leaseSeconds = .remove }
        if let lease = try reader.integer("leaseSeconds", in: 1...longestLease) { patch.leaseSeconds = .set(lease) }
        if case .null = reader.presence("observers") { patch.observers = .remove }
        if let observers = try scope.observers(&reader) { patch.observers = .set(observers) }
        if case .null = reader.presence("whileAway") { patch.whileAway = .remove }
        if let place = try whileAway(&reader) { patch.whileAway = .set(place) }
        try reader.finish()
        return patch
    }

    /// Reads a receiver's answer about its session: it may change less than a patch may.
    package static func readAnswer(_ session: JSONValue, beside body: JSONValue) throws(Problem) -> SessionPatch {
        var whole = try ObjectReader(body)
        _ = whole.presence("session")
        try whole.finish()
        var reader = try ObjectReader(session, at: "/session")
        var patch = SessionPatch()
        try readScene(&reader, into: &patch)
        try reader.finish()
        return patch
    }

    /// The members that a scene itself may change.
    private static func readScene(_ reader: inout ObjectReader, into patch: inout SessionPatch) throws(Problem) {
        if case .null = reader.presence("activationState") { patch.activationState = .unattached }
        if let state = try activationState(&reader) { patch.activationState = state }
        switch reader.presence("activationConditions") {
        case .absent: break
        case .null: (patch.canActivate, patch.prefersToActivate, patch.preferenceLevel) = (.remove, .remove, .remove)
        case .value:
            if let conditions = try reader.object("activationConditions") {
                try ConditionsBody.readPatch(conditions, into: &patch)
            }
        }
        patch.stateRestorationActivity = try objectOrNull("stateRestorationActivity", &reader)
        patch.userInfo = try objectOrNull("userInfo", &reader)
    }

    private static func activationState(_ reader: inout ObjectReader) throws(Problem) -> ActivationState? {
        guard let name = try reader.string("activationState") else { return nil }
        guard let state = ActivationState(name: name) else {
            let names = ActivationState.allCases.map(\.name).joined(separator: ", ")
            throw reader.invalid("activationState", "must be one of \(names)")
        }
        return state
    }

    private static func whileAway(_ reader: inout ObjectReader) throws(Problem) -> WhileAway? {
        guard let name = try reader.string("whileAway") else { return nil }
        guard let place = WhileAway(rawValue: name) else { throw reader.invalid("whileAway", "must be next or wait") }
        return place
    }

    private static func objectOrNull(_ key: String, _ reader: inout ObjectReader) throws(Problem) -> JSONValue? {
        switch reader.presence(key) {
        case .absent: return nil
        case .null: return .null
        case .value(let value):
            guard value.asObject != nil else { throw reader.invalid(key, "must be an object") }
            return value
        }
    }

    private static func check(_ value: JSONValue, _ key: String, _ reader: ObjectReader) throws(Problem) {
        guard value.asObject != nil else { throw reader.invalid(key, "must be an object") }
        guard value.serialized().count <= RouterLimits.userInfoBytes else {
            throw Problem(Refusal.tooMuchUserInfo(limit: RouterLimits.userInfoBytes))
        }
    }

    /// Writes a session with its screen; the secret only if it was generated for this very answer. An answer at a closed gate
    /// leaves out the data of the person.
    ///
    /// - Parameter isOthers: Whether the caller speaks for another session of the device, and is not shown the endpoint.
    package static func write(
        _ shown: ShownSession, issuing freshSecret: String? = nil, isOthers: Bool = false
    ) -> [UInt8] {
        JSONWriter.object { body in
            let session = shown.session
            write(session, isCovered: shown.isCovered, to: &body) { body in
                guard let endpoint = session.endpoint, !isOthers else { return }
                body.object("endpoint") { EndpointBody.write(endpoint, issuing: freshSecret, to: &$0) }
            }
            if let screen = shown.screen { body.field("applicationScreen", screen.rawValue) }
            if let unreachable = shown.unreachable { write(unreachable, to: &body) }
        }
    }

    /// Writes the reachability of a receiver.
    static func write(_ unreachable: Unreachable?, to body: inout JSONObjectWriter) {
        body.field("reachable", unreachable == nil)
        if let unreachable { body.field("unreachableBecause", unreachable.rawValue) }
    }

    private static func write(
        _ session: SceneSession, isCovered: Bool, to body: inout JSONObjectWriter,
        endpoint: (inout JSONObjectWriter) -> Void
    ) {
        body.field("id", session.key.session)
        body.field("application", session.key.application)
        body.field("role", session.role)
        body.field("configuration", session.configuration.isEmpty ? nil : session.configuration)
        body.field("device", session.device)
        body.field("activationState", session.activationState.name)
        body.object("activationConditions") { ConditionsBody.write(session.conditions, to: &$0) }
        endpoint(&body)
        if !isCovered {
            body.field("stateRestorationActivity", session.stateRestorationActivity)
            body.field("userInfo", session.userInfo)
        }
        body.field("leaseSeconds", session.leaseSeconds)
        body.field("leaseExpiresAt", session.leaseExpiresAt)
        body.field("lastActivatedAt", session.lastActivatedAt)
        body.field("disabled", session.disabled?.reason.name)
        body.field("epoch", session.connection.epoch)
        if let place = session.whileAway { body.field("whileAway", place.rawValue) }
        if !session.observers.isEmpty {
            body.array("observers") { list in for observer in session.observers { list.element(observer) } }
        }
    }
}

/// Activation conditions on the wire.
package enum ConditionsBody {
    private static let can = "canActivateForTargetContentIdentifierPredicate"
    private static let prefers = "prefersToActivateForTargetContentIdentifierPredicate"
    private static let levels: ClosedRange<Int64> = -1_000_000...1_000_000

    package static func read(_ reader: ObjectReader) throws(Problem) -> ActivationConditions {
        var patch = SessionPatch()
        try readPatch(reader, into: &patch)
        return ActivationConditions(
            canActivate: patch.canActivate?.value ?? .alwaysTrue,
            prefersToActivate: patch.prefersToActivate?.value ?? .alwaysFalse,
            preferenceLevel: patch.preferenceLevel?.value ?? 0)
    }

    /// Reads UIKit's two predicates, or SwiftUI's two sets in their place.
    package static func readPatch(_ reader: ObjectReader, into patch: inout SessionPatch) throws(Problem) {
        var reader = reader
        patch.canActivate = try predicate(can, orSet: "allowing", side: "can", &reader)
        patch.prefersToActivate = try predicate(prefers, orSet: "preferring", side: "prefers", &reader)
        if case .null = reader.presence("preferenceLevel") { patch.preferenceLevel = .remove }
        if let level = try reader.integer("preferenceLevel", in: levels) { patch.preferenceLevel = .set(level) }
        try reader.finish()
    }

    private static func predicate(
        _ key: String, orSet setKey: String, side: String, _ reader: inout ObjectReader
    ) throws(Problem) -> SessionPatch.Change<Predicate>? {
        let set = try reader.strings(setKey, atMost: PredicateLimits.aggregateElements)
        let presence = reader.presence(key)
        if let set {
            guard case .absent = presence else { throw reader.invalid(setKey, "cannot stand beside \(key)") }
            do { return .set(try Predicate.matchingExternalEvents(set)) } catch {
                throw Problem(error, in: "", side: side, pointer: reader.pointer(to: setKey))
            }
        }
        switch presence {
        case .absent: return nil
        case .null: return .remove
        case .value(.string(let format)):
            return .set(try parse(format, [], side, reader.pointer(to: key)))
        case .value(let value):
            var object = try ObjectReader(value, at: reader.pointer(to: key))
            guard let format = try object.string("format") else { throw object.missing("format") }
            let values = try object.array("arguments", atMost: PredicateLimits.aggregateElements) ?? []
            try object.finish()
            var arguments: [PredicateArgument] = []
            for value in values { arguments.append(try argument(value, object)) }
            return .set(try parse(format, arguments, side, reader.pointer(to: key)))
        }
    }

    private static func parse(
        _ format: String, _ arguments: [PredicateArgument], _ side: String, _ pointer: String
    ) throws(Problem) -> Predicate {
        do { return try Predicate(format: format, arguments: arguments) } catch {
            throw Problem(error, in: format, side: side, pointer: pointer)
        }
    }

    private static func argument(_ value: JSONValue, _ reader: ObjectReader) throws(Problem) -> PredicateArgument {
        switch value {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .string(let text): return .string(text)
        case .number(let number):
            if let integer = number.asInt64 { return .integer(integer) }
            guard let double = number.asDouble, double.isFinite else {
                throw reader.invalid("arguments", "holds a number that is too large")
            }
            return .number(double)
        case .array(let elements):
            var list: [PredicateArgument] = []
            for element in elements { list.append(try argument(element, reader)) }
            return .list(list)
        case .object: throw reader.invalid("arguments", "must hold strings, numbers, booleans, nulls and lists of them")
        }
    }

    package static func write(_ conditions: ActivationConditions, to object: inout JSONObjectWriter) {
        object.field(can, conditions.canActivate.description)
        object.field(prefers, conditions.prefersToActivate.description)
        object.field("preferenceLevel", conditions.preferenceLevel)
    }
}
