package import HTTPTypes
package import Hummingbird
import NIOCore
package import PredicateEngine
package import Router
package import RouterPlugin

/// An error in the form of RFC 9457, with the stable `code` that clients rely on.
package struct Problem: Error, HTTPResponseError, Sendable {
    package var status: HTTPResponse.Status
    /// Stable, in kebab-case.
    package var code: String
    /// One or two sentences for people.
    package var detail: String
    /// The field at fault, as an RFC 6901 pointer into the body.
    package var pointer: String?
    /// The byte of the body at fault.
    package var offset: Int?
    package var predicate: PredicateFault?
    /// A rendering of the fault's place in a text of the body, such as a template.
    package var caret: String?
    /// The permitted activation states, if the requested one is not permitted.
    package var legalStates: [ActivationState]?
    /// The current term of a gate, if a report named another one.
    package var currentTerm: Int64?
    /// Seconds after which a retry is worthwhile.
    package var retryAfter: Int?
    /// How many tries of a passcode are left; -1 if there is no limit.
    package var triesRemaining: Int?
    /// The rule that the passcode does not meet.
    package var rule: String?
    /// The faults of a document that was refused, each with its place.
    package var faults: [ConfigurationFault]?
    /// The methods of the path, if it does not have the requested one.
    package var allow: String?

    /// The details of a predicate that was refused.
    package struct PredicateFault: Hashable, Sendable {
        /// `can` or `prefers`.
        package var side: String
        package var offset: Int
        package var length: Int
        /// The text and a line that points into it.
        package var caret: String
    }

    package init(
        _ status: HTTPResponse.Status, _ code: String, _ detail: String, pointer: String? = nil, offset: Int? = nil,
        retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.detail = detail
        self.pointer = pointer
        self.offset = offset
        self.retryAfter = retryAfter
    }

    /// The problem as a JSON document.
    package var body: [UInt8] {
        JSONWriter.object { problem in
            problem.field("type", "urn:routerd:problem:\(code)")
            problem.field("title", status.reasonPhrase)
            problem.field("status", status.code)
            problem.field("detail", detail)
            problem.field("code", code)
            if let pointer { problem.field("pointer", pointer) }
            if let offset { problem.field("offset", offset) }
            if let caret { problem.field("caret", caret) }
            if let faults { problem.array("faults") { list in for fault in faults { list.object(fault.write) } } }
            if let triesRemaining { problem.field("triesRemaining", triesRemaining) }
            if let rule { problem.field("rule", rule) }
            if let legalStates {
                problem.array("legal") { array in
                    for state in legalStates { array.element(state.name) }
                }
            }
            if let currentTerm { problem.field("currentTerm", currentTerm) }
            if let predicate {
                problem.field("side", predicate.side)
                problem.object("span") {
                    $0.field("offset", predicate.offset)
                    $0.field("length", predicate.length)
                }
                problem.field("caret", predicate.caret)
            }
        }
    }

    /// The headers of the answer, except those about its length.
    var headers: HTTPFields {
        var headers = HTTPFields()
        headers[.contentType] = "application/problem+json"
        if let retryAfter { headers[.retryAfter] = String(retryAfter) }
        if let allow { headers[.allow] = allow }
        if status == .unauthorized { headers[.wwwAuthenticate] = "Bearer" }
        if status == .upgradeRequired { (headers[.upgrade], headers[.secWebSocketVersion]) = ("websocket", "13") }
        return headers
    }

    var response: Response {
        Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body + [UInt8(ascii: "\n")])))
    }

    package func response(from request: Request, context: some RequestContext) throws -> Response { response }
}

extension Problem {
    package init(_ error: JSONError) {
        self.init(
            .badRequest, error.code, error.message, pointer: error.pointer, offset: error.offset)
        if error.code == "json-too-long" { status = .contentTooLarge }
    }

    package init(_ error: InvalidIdentifier, pointer: String? = nil) {
        self.init(.badRequest, error.code, error.description, pointer: pointer)
    }

    package init(_ error: SourceError) {
        let status: HTTPResponse.Status =
            switch error.kind {
            case .malformed: .badRequest
            case .unauthenticated: .unauthorized
            case .unprocessable: .unprocessableContent
            }
        self.init(status, error.code, error.message, offset: error.offset)
        if error.code == "json-too-long" { self.status = .contentTooLarge }
    }

    package init(_ error: PredicateError, in text: String, side: String, pointer: String) {
        self.init(.unprocessableContent, error.code.rawValue, error.message, pointer: pointer)
        predicate = PredicateFault(
            side: side, offset: error.span.offset, length: error.span.length, caret: error.caret(in: text))
    }

    static func unknownDelivery(_ id: String) -> Problem {
        Problem(.notFound, "unknown-delivery", "The session has no delivery \(id), or was not sent it yet.")
    }

    static func applicationDeleting(_ id: ApplicationID) -> Problem {
        Problem(
            .conflict, "application-deleting",
            "The application \(id) is being deleted; its name is free when that is complete.")
    }

    /// A refusal of a session at its gate.
    private static func atGate(_ refusal: Refusal) -> Problem {
        switch refusal {
        case .gateOff(let id): .gateOff(id)
        case .notAtGate(let key): .notAtGate(key.session)
        case .notInForeground(let key): .notInForeground(key.session)
        default: .unexpectedReply
        }
    }

    /// A refusal about a receiver that connects out.
    private static func ofStream(_ refusal: Refusal) -> Problem {
        switch refusal {
        case .unknownDelivery(let id): .unknownDelivery(id)
        case .notAStream(let key):
            Problem(.conflict, "not-a-stream", "The session \(key.session) is reached at a URL, not by a stream.")
        case .notAWebhook(let key):
            Problem(.conflict, "not-a-webhook", "The session \(key.session) is reached by a stream, not at a URL.")
        default: .overloaded
        }
    }

    package init(_ refusal: Refusal) {
        switch refusal {
        case .unknownApplication(let id):
            self.init(.notFound, "unknown-application", "There is no application \(id).")
        case .applicationDeleting(let id): self = .applicationDeleting(id)
        case .unknownSession(let key):
            self.init(.notFound, "unknown-session", "The application \(key.application) has no session \(key.session).")
        case .unknownNotification(let id):
            self.init(.notFound, "unknown-notification", "There is no notification \(id).")
        case .unknownReplay(let id):
            self.init(.notFound, "unknown-replay", "There is no replay \(id).")
        case .overloaded, .unknownDelivery, .notAStream, .notAWebhook: self = .ofStream(refusal)
        case .source(let refusal): self.init(refusal)
        case .key(let refusal): self.init(refusal)
        case .resource(_, let refusal): self.init(refusal)
        case .applicationNotEmpty(let id, let others): self = .applicationNotEmpty(id, others)
        case .tooManySessions, .tooManySessionBytes, .predicateTooCostly, .predicatesTooCostly:
            self = .ofRegistration(refusal)
        case .tooManyReplays(let limit): self = .tooManyReplays(limit)
        case .settled(let id, let state):
            self.init(
                .conflict, "notification-settled",
                "The notification \(id) is \(state.rawValue); nothing can be called back.")
        case .illegalTransition(let from, let to): self = .illegalTransition(from: from, to: to)
        case .unknownConfiguration, .configurationInUse, .demoConfiguration, .demoInUse:
            self = .ofConfiguration(refusal)
        case .endpointMissing:
            self.init(
                .unprocessableContent, "endpoint-missing",
                "Neither the session nor its scene configuration has an endpoint.", pointer: "/endpoint")
        case .endpointURLMissing:
            self.init(
                .unprocessableContent, "missing-field",
                "There is no endpoint yet, and the patch does not say where it is.", pointer: "/endpoint/url")
        case .endpointNotHere:
            self.init(
                .notFound, "unknown-endpoint",
                "There is no endpoint here; a session without one is reached at that of its scene configuration.")
        case .signingKeys(let error): self.init(error)
        case .signingKeysChanged(let place): self = .signingKeysChanged(place)
        case .gateOff, .notAtGate, .notInForeground: self = .atGate(refusal)
        case .gate(let refusal): self.init(refusal)
        case .passcode(let refusal): self.init(refusal)
        case .contentIDMissing(let id):
            self.init(
                .unprocessableContent, "content-id-missing",
                "The application \(id) takes notifications with a content id only: set notification-content-id.")
        case .idempotencyConflict:
            self.init(
                .conflict, "idempotency-conflict",
                "This apns-id or Idempotency-Key came before, with another body, or for another device or request.")
        case .scene(let refusal): self.init(refusal)
        case .broadcast(let refusal): self.init(refusal)
        case .tooMuchUserInfo, .personalData, .restorationActivity, .preconditionFailed: self = .ofStoredData(refusal)
        // Only the APNs listeners have requirements of devices.
        case .unknownDevice, .retiredDevice: self = .unexpectedReply
        case .storeUnavailable(let error):
            self.init(
                .serviceUnavailable, error.code.rawValue, "The store cannot take this now; nothing was changed.",
                retryAfter: 1)
        }
    }

    private static func illegalTransition(from: ActivationState, to: ActivationState) -> Problem {
        let legal = from.successors.map(\.name).joined(separator: ", ")
        var problem = Problem(
            .conflict, "illegal-transition",
            "A session does not go from \(from.name) to \(to.name); from there it goes to: \(legal).",
            pointer: "/activationState")
        problem.legalStates = from.successors
        return problem
    }

    private init(_ refusal: SourceRefusal) {
        switch refusal {
        case .unknown(let id): self.init(.notFound, "unknown-source", "There is no source \(id).")
        case .taken(let id):
            self.init(.conflict, "source-taken", "The name \(id) is taken by another application's source.")
        case .tooMany(let limit):
            self.init(.conflict, "too-many-sources", "An application may have \(limit) sources.")
        case .secrets(let limit):
            self.init(
                .unprocessableContent, "secret-limit", "A source may have \(limit) secrets at a time.",
                pointer: "/secrets")
        }
    }

    private init(_ refusal: KeyRefusal) {
        switch refusal {
        case .unknown(let id): self.init(.notFound, "unknown-key", "There is no key \(id) created by a request.")
        case .taken(let id): self = .keyTaken(id)
        case .digestTaken: self = .digestTaken
        case .tooMany(let limit):
            self.init(
                .conflict, "too-many-keys",
                "Requests may create \(limit) keys for each application, and as many without one.")
        }
    }

    static func keyTaken(_ id: APIKeyID) -> Problem {
        Problem(.conflict, "key-taken", "The name \(id) is taken by a key that the caller may not change.")
    }

    static func keyOfConfiguration(_ id: APIKeyID) -> Problem {
        Problem(
            .conflict, "key-of-configuration",
            "The key \(id) is in the configuration: change it there, and send the daemon SIGHUP.")
    }

    static let digestTaken = Problem(
        .conflict, "digest-taken", "Another key has this SHA-256.", pointer: "/sha256")

    private init(_ refusal: SceneRefusal) {
        switch refusal {
        case .unlistedActivityType:
            self.init(
                .unprocessableContent, "unlisted-activity-type",
                "The manifest's userActivityTypes do not name the type of this activity.",
                pointer: "/userActivity/activityType")
        case .multipleScenesNotSupported:
            self.init(
                .conflict, "multiple-scenes-not-supported",
                "There is a session of this role, and the router makes a second one only where the manifest has "
                    + "supportsMultipleScenes: true; with false a client registers none either.")
        case .requestDenied(let reason): self.init(.forbidden, "request-denied", reason)
        }
    }

    /// The data that a session keeps cannot be changed like this.
    private static func ofStoredData(_ refusal: Refusal) -> Problem {
        switch refusal {
        case .tooMuchUserInfo(let limit):
            Problem(
                .unprocessableContent, "user-info-too-large",
                "userInfo and stateRestorationActivity may have \(limit) bytes each.")
        case .restorationActivity(let code, let message):
            Problem(.unprocessableContent, code, message, pointer: "/stateRestorationActivity")
        case .personalData(.resetMeanwhile):
            Problem(
                .conflict, PersonalDataFault.resetMeanwhile.rawValue,
                "No person has passed the gate since its reset, or ever: the session keeps no userInfo and no activity yet."
            )
        case .personalData(.showsDemo):
            Problem(
                .conflict, PersonalDataFault.showsDemo.rawValue,
                "The session shows the demo, of which it keeps no userInfo, no activity and no conditions.")
        case .preconditionFailed(let key):
            Problem(
                .preconditionFailed, "precondition-failed",
                "The session \(key.session) is not in the state that If-Match or If-None-Match names.")
        default: .unexpectedReply
        }
    }

    private init(_ refusal: BroadcastRefusal) {
        switch refusal {
        case .off(let id):
            self.init(
                .conflict, "broadcasts-off",
                "The application \(id) takes no broadcasts: set routing.broadcasts to true.")
        case .tooManyReceivers(let limit):
            self.init(
                .conflict, "too-many-receivers",
                "More than \(limit) sessions could have it, the most for a broadcast of this size; nothing is sent.")
        case .collapses:
            self.init(
                .unprocessableContent, "collapse-id-in-broadcast",
                "A broadcast is many notifications, and has no apns-collapse-id, which names one.")
        }
    }

    private static func applicationNotEmpty(_ id: ApplicationID, _ others: ResourceSample) -> Problem {
        let named = others.first.map { "\($0.kind.rawValue) \($0.id)" }.joined(separator: ", ")
        let rest = others.count > others.first.count ? " and \(others.count - others.first.count) more" : ""
        return Problem(
            .conflict, "application-not-empty",
            "Pruning would delete the application \(id), and with it resources that the set does not hold: "
                + "\(named)\(rest). Delete these first, or put the application into the set again.")
    }

    private static func signingKeysChanged(_ place: EndpointPlace) -> Problem {
        let name =
            switch place {
            case .session: "session"
            case .delegate: "delegate"
            case .configuration(_, let name): "configuration '\(name)'"
            }
        return Problem(
            .conflict, "signing-keys-changed",
            "The endpoint of the \(name) does not have the signingKeys that stand here; leave them out, "
                + "or give each its secret.")
    }

    private static func gateOff(_ id: ApplicationID) -> Problem {
        Problem(.notFound, "gate-off", "The application \(id) has not switched its onboarding gate on.")
    }

    /// The scene configuration of a session, or of an application with sessions, cannot be that.
    private static func ofConfiguration(_ refusal: Refusal) -> Problem {
        switch refusal {
        case .unknownConfiguration(let name):
            Problem(
                .unprocessableContent, "unknown-configuration",
                "The manifest has no scene configuration '\(name)' for this role.", pointer: "/configuration")
        case .demoConfiguration(let name):
            Problem(
                .unprocessableContent, "demo-configuration",
                "The scene configuration '\(name)' is that of the demo: a session has it only while it shows the demo.",
                pointer: "/configuration")
        case .demoInUse(let name):
            Problem(
                .conflict, "configuration-in-use",
                "Sessions have the configuration '\(name)', which cannot become that of the demo.")
        case .configurationInUse(let name):
            Problem(
                .conflict, "configuration-in-use",
                "Sessions are reached at the endpoint of the configuration '\(name)', which would be gone.")
        default: .unexpectedReply
        }
    }

    /// An application may not register so much.
    private static func ofRegistration(_ refusal: Refusal) -> Problem {
        switch refusal {
        case .tooManySessions(let limit):
            Problem(.conflict, "too-many-sessions", "An application may have \(limit) sessions.")
        case .tooManySessionBytes(let limit):
            Problem(
                .conflict, "too-many-session-bytes",
                "The sessions, gates and sources of an application may have \(limit) bytes. "
                    + "Delete or shorten some: sessions, sources, configurations of devices (null), reports of progress."
            )
        case .predicateTooCostly(let steps, let limit): .tooCostly(steps, limit, of: "One predicate of a session")
        case .predicatesTooCostly(let steps, let limit):
            .tooCostly(steps, limit, of: "The predicates of an application's sessions")
        default: .unexpectedReply
        }
    }

    private static func tooCostly(_ steps: Int, _ limit: Int, of predicates: String) -> Problem {
        let rule = "\(predicates) may take \(limit) steps of a decision about the longest content id"
        return Problem(.conflict, "predicates-too-costly", "\(rule); these could take \(steps).")
    }

    private static func tooManyReplays(_ limit: Int) -> Problem {
        Problem(
            .tooManyRequests, "too-many-replays", "\(limit) replays are under way; end one, or wait for its end.",
            retryAfter: 60)
    }

    private static func notInForeground(_ session: SessionID) -> Problem {
        Problem(
            .conflict, "not-in-foreground",
            "The session \(session) is in the background; only a session in the foreground unlocks an application.",
            pointer: "/session")
    }

    private static func notAtGate(_ session: SessionID) -> Problem {
        Problem(
            .conflict, "not-at-gate",
            "The session \(session) is not connected, or takes no part: it has no say at its gate.",
            pointer: "/session")
    }

    private init(_ refusal: OnboardingGate.Refusal) {
        switch refusal {
        case .staleTerm(let current):
            self.init(
                .conflict, "stale-term", "Another term has begun since; it is \(current) now.", pointer: "/term")
            currentTerm = current
        case .notResponsible(let session):
            let other = session.map { "the session \($0) is" } ?? "no session is"
            self.init(
                .conflict, "not-responsible", "The session is not responsible; \(other).", pointer: "/session")
        case .wrongState(let state):
            self.init(.conflict, "wrong-gate-state", "The gate is \(state.rawValue), where this means nothing.")
        case .notConfigured:
            self.init(
                .conflict, "not-configured", "The application needs a configuration of this device, and has none.")
        case .noDemo:
            self.init(
                .conflict, "no-demo", "The application offers no demo: its gate has no demoConfiguration.",
                pointer: "/demo")
        case .otherPerson:
            self.init(
                .conflict, "other-person",
                "Another person was onboarded here before; a reset is for the next one.", pointer: "/onboardingId")
        }
    }

    /// The path has these methods only.
    static func notAllowed(_ allow: String) -> Problem {
        var problem = Problem(.methodNotAllowed, "method-not-allowed", "The path does not take this method.")
        problem.allow = allow
        return problem
    }

    /// A refusal of a sender that asks before it sends, for which its source has no more than a status.
    static func refusedHandshake(_ answer: SourceResponse) -> Problem? {
        guard answer.body.isEmpty else { return nil }
        var problem: Problem
        switch answer.status {
        case 400:
            problem = Problem(.badRequest, "invalid-handshake", "A sender that asks before it sends names one origin.")
        case 403: problem = Problem(.forbidden, "origin-not-allowed", "The source takes no events from this origin.")
        default: return nil
        }
        problem.allow = answer.headers.first { $0.name == "allow" }?.value
        return problem
    }

    /// An unexpected fault of the daemon itself.
    static let internalError = Problem(
        .internalServerError, "internal-error", "The request could not be answered; the daemon's log says why.")

    package static let overloaded = Problem(
        .serviceUnavailable, "overloaded", "Too many commands are waiting; try again.", retryAfter: 1)
}
