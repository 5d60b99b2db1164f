package import PredicateEngine
package import RouterPlugin

/// A request to the engine, from outside or from itself.
package enum Command: Sendable {
    case accept(AcceptRequest)
    /// The notifications of one request, all of them or none; or one request for a broadcast.
    case acceptAll([AcceptRequest])
    case putSource(SourceDraft)
    /// Resources that belong together, all of them or none.
    case applySet(ResourceSetDraft)
    case deleteSource(SourceID)
    /// Rules take the place of those in use, all of them at once.
    case putRules(RuleSetDraft)
    /// Creates an API key, or replaces its rights; `by` limits the request to the keys of one application.
    case putKey(APIKeyDraft, by: ApplicationID?)
    case deleteKey(APIKeyID, by: ApplicationID?)
    /// A request's command, whose changes get a line in the log of changes.
    indirect case logged(Command, ChangeNote)
    /// A new secret of a source; those that it has are good for a while longer.
    case rotateSourceSecret(SourceID, secret: String, overlapSeconds: Int, once: RepeatableRequest?)
    case putApplication(ApplicationDraft)
    case deleteApplication(ApplicationID)
    /// A batch with a key of the client's: the same key for another batch is refused.
    case beginBatch(DedupeKey, fingerprint: [UInt8])
    /// Made once under its key, if it has one.
    case putSession(SessionKey, SessionDraft, once: DedupeKey? = nil)
    case patchSession(SessionKey, SessionPatch)
    case deleteSession(SessionKey, dismissal: Dismissal = .standard)
    /// The session's scene goes, and the session stays.
    case disconnectSession(SessionKey)
    /// Shows a scene.
    case activate(ActivationRequest)
    /// Lets a scene bring its content up to date.
    case refreshSession(SessionKey)
    /// Something happens at a gate.
    case gate(GateRequest)
    /// Something happens to the passcode of an application on a device.
    case passcode(PasscodeRequest)
    /// Exchanges the secret of an endpoint; once, if the request has a key.
    case rotateSecret(EndpointPlace, SecretRotation, once: RepeatableRequest? = nil)
    /// Calls a notification back.
    case cancel(NotificationID)
    /// Sends the settled notifications that a filter shows again.
    case replay(ReplayDraft)
    case cancelReplay(ReplayID)
    /// Tries the deliveries now that wait in the session's lane for their next attempt.
    case resume(SessionKey)
    /// A receiver that connects out is connected, under a number that grows with each connection; by a long poll, or by a
    /// stream.
    case attachConsumer(SessionKey, epoch: Int64, isPoll: Bool = false)
    /// That connection has ended, and all older ones of the session.
    case detachConsumer(SessionKey, epoch: Int64)
    /// A receiver acknowledges a delivery that has no attempt under way.
    case acknowledge(Acknowledgement)
    /// An attempt has come to its end.
    case attemptFinished(FinishedAttempt)
    /// Work that the engine has set itself.
    case followUp(FollowUp)
}

/// Work that the engine does by itself, in a transaction of its own.
package enum FollowUp: Hashable, Sendable {
    /// Settle a delivery whose time has run out, or that was called back.
    case end(NotificationSequence)
    /// Decide a held notification again.
    case release(NotificationSequence)
    /// Drain the lane of a session that is gone: its waiting deliveries move to other sessions.
    case drain(SessionKey)
    /// The session has not been heard of in time.
    case lapseLease(SessionKey)
    /// The session has not been connected to its stream in time.
    case lapsePresence(SessionKey)
    /// Decide deliveries of unreachable sessions again, a bounded number at a time.
    case redecide(RedecisionStep)
    /// Decide the notifications that wait for an open gate again.
    case releaseGated(GateKey)
    /// End notifications for the person from before a gate's reset, a bounded number at a time.
    case forgetHeld(GateKey)
    /// An application has been left for long enough.
    case lock(GateKey)
    /// Forget passcodes of an application that has none any more, a bounded number at a time.
    case forgetPasscodes(ApplicationID)
    /// Finish the discard of a session: its scene has taken its last event, or its grace period is over.
    case finishDiscard(SessionKey)
    /// Forget the oldest records whose time is over, a bounded number at a time.
    case forget
    /// Send the next notifications of a replay.
    case replay(ReplayID)
    /// Make the next step of the deletion of an application.
    case proceedDeletion(ApplicationID)
}

/// An endpoint as a client gives it.
package struct EndpointDraft: Hashable, Sendable {
    package var url: String
    /// The keys, if the client has chosen any.
    package var keys: SigningKeys?
    /// The keys as the client has read them, if it puts those back: the endpoint must still have them.
    package var shownKeys: [SigningKey.Shown]?
    /// Taken if the client has chosen none and none is known for this URL.
    package var freshSecret: String
    package var format: DeliveryFormatChoice

    package init(url: String, keys: SigningKeys?, freshSecret: String, format: DeliveryFormatChoice = .standard) {
        self.url = url
        self.keys = keys
        self.freshSecret = freshSecret
        self.format = format
    }

    /// Whether the endpoint has the secret that was made for this very draft.
    package func isIssued(in endpoint: Endpoint?) -> Bool { endpoint?.keys.contains(freshSecret) ?? false }

    /// Whether the endpoint has the keys that the client has read. Keys whose time has ended since do not count.
    func hasCurrentKeys(of existing: Endpoint?, at now: Timestamp) -> Bool {
        guard let shownKeys else { return true }
        guard let existing, existing.url.isSame(as: url) else { return false }
        let kept = existing.keys.all.filter { !$0.hasEnded(at: now) }.map(\.shown)
        return kept == shownKeys.filter { shown in shown.notAfter.map { now < $0 } ?? true }
    }

    /// A replacement that leaves the keys out keeps those it has, as reads do not show them. Its format is the
    /// replacement's: reads show formats.
    package func resolved(replacing existing: Endpoint?, at now: Timestamp) -> Endpoint {
        if let keys { return Endpoint(url: url, keys: keys, format: format) }
        guard var existing, existing.url.isSame(as: url) else {
            return Endpoint(url: url, keys: SigningKeys(freshSecret), format: format)
        }
        existing.keys.forgetEnded(at: now)
        existing.format = format
        return existing
    }
}

/// A change of an endpoint, part by part as RFC 7396 has it: nil leaves a part as it is.
package struct EndpointPatch: Hashable, Sendable {
    package var url: String?
    package var keys: SessionPatch.Change<SigningKeys>?
    /// Taken if the keys are taken away, or if there were none.
    package var freshSecret: String
    /// Removed, it is the standard format again.
    package var format: SessionPatch.Change<DeliveryFormatChoice>?

    package init(
        url: String?, keys: SessionPatch.Change<SigningKeys>?, freshSecret: String,
        format: SessionPatch.Change<DeliveryFormatChoice>? = nil
    ) {
        self.url = url
        self.keys = keys
        self.freshSecret = freshSecret
        self.format = format
    }

    /// The endpoint afterwards; nil if neither says where it is.
    package func applied(to existing: Endpoint?) -> Endpoint? {
        guard let url = url ?? existing?.url else { return nil }
        // A stream has keys that no client has seen.
        let known = existing?.isStream == true ? nil : existing
        let keys =
            switch keys {
            case .set(let keys): keys
            case .remove: SigningKeys(freshSecret)
            case nil: known?.keys ?? SigningKeys(freshSecret)
            }
        let format =
            switch format {
            case .set(let format): format
            case .remove: DeliveryFormatChoice.standard
            case nil: existing?.format ?? .standard
            }
        return Endpoint(url: url, keys: keys, format: format)
    }
}

/// An application as a client gives it; the endpoints of its configurations stand beside them.
package struct ApplicationDraft: Sendable {
    package var application: Application
    package var delegate: EndpointDraft?
    /// By the name of the configuration.
    package var endpoints: [String: EndpointDraft]

    package init(application: Application, delegate: EndpointDraft?, endpoints: [String: EndpointDraft]) {
        self.application = application
        self.delegate = delegate
        self.endpoints = endpoints
    }
}

/// A session as a client gives it.
package struct SessionDraft: Sendable {
    package var role: String
    /// Nil takes the first configuration of the role.
    package var configuration: String?
    package var device: DeviceID?
    package var activationState: ActivationState
    package var conditions: ActivationConditions
    package var endpoint: EndpointDraft?
    package var stateRestorationActivity: JSONValue?
    /// Nil for an empty object; at a closed gate, where answers leave it out, for that of the session.
    package var userInfo: JSONValue?
    package var leaseSeconds: Int?
    package var observers: [PluginID] = []
    package var whileAway: WhileAway?
    package var condition: PutCondition?
    /// Whether the session is made if it is not there.
    package var mayMake = true

    package init(
        role: String = SceneRole.windowApplication, configuration: String? = nil, device: DeviceID? = nil,
        activationState: ActivationState = .unattached, conditions: ActivationConditions = ActivationConditions(),
        endpoint: EndpointDraft? = nil, stateRestorationActivity: JSONValue? = nil,
        userInfo: JSONValue? = nil, leaseSeconds: Int? = nil
    ) {
        self.role = role
        self.configuration = configuration
        self.device = device
        self.activationState = activationState
        self.conditions = conditions
        self.endpoint = endpoint
        self.stateRestorationActivity = stateRestorationActivity
        self.userInfo = userInfo
        self.leaseSeconds = leaseSeconds
    }
}

/// The state in which a session has to be for a put (RFC 9110, section 13).
package enum PutCondition: Hashable, Sendable {
    /// It is not there (`If-None-Match: *`).
    case absent
    /// It is there (`If-Match: *`).
    case present
    /// It is there in one of these versions (`If-Match: "…"`).
    case versions(Set<String>)
}

/// A change of a session: nil leaves a field as it is.
package struct SessionPatch: Sendable {
    /// A field that can be taken away.
    package enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
        case remove
        case set(Value)

        package var value: Value? { if case .set(let value) = self { value } else { nil } }
    }

    package var role: String?
    package var configuration: String?
    package var device: Change<DeviceID>?
    package var activationState: ActivationState?
    package var canActivate: Change<Predicate>?
    package var prefersToActivate: Change<Predicate>?
    package var preferenceLevel: Change<Int>?
    package var endpoint: Change<EndpointPatch>?
    /// An RFC 7396 merge patch of the activity.
    package var stateRestorationActivity: JSONValue?
    /// An RFC 7396 merge patch of the dictionary.
    package var userInfo: JSONValue?
    package var leaseSeconds: Change<Int>?
    package var observers: Change<[PluginID]>?
    package var whileAway: Change<WhileAway>?
    /// Whether a set of resources specifies it, which describes the session beside its demo.
    package var isSpecification = false

    package init() {}
}

/// An attempt that has come to its end.
package struct FinishedAttempt: Sendable {
    package var sequence: NotificationSequence
    package var number: Int
    package var session: SessionID
    /// Where it was sent.
    package var url: String
    package var startedAt: Timestamp
    package var result: TransferResult
    /// Under which number it has told the session to connect, if it has.
    package var connects: EventNumber?
    /// The content of the receiver's answer.
    package var answer: ReceiverAnswer?

    package init(
        sequence: NotificationSequence, number: Int, session: SessionID, url: String, startedAt: Timestamp,
        result: TransferResult, connects: EventNumber? = nil, answer: ReceiverAnswer? = nil
    ) {
        self.sequence = sequence
        self.number = number
        self.session = session
        self.url = url
        self.startedAt = startedAt
        self.result = result
        self.connects = connects
        self.answer = answer
    }
}

/// A receiver's late or repeated word on a delivery.
package struct Acknowledgement: Sendable {
    package enum Meaning: Sendable {
        case taken(ReceiverAnswer?)
        /// Not now. The failure of its attempt is known, so that only the time counts, if there is one.
        case refused(retryAfterSeconds: Int?)
    }

    package var session: SessionKey
    package var notification: NotificationID
    package var meaning: Meaning

    package var isTaken: Bool { if case .taken = meaning { true } else { false } }

    package init(session: SessionKey, notification: NotificationID, _ meaning: Meaning = .taken(nil)) {
        self.session = session
        self.notification = notification
        self.meaning = meaning
    }
}

/// The engine's answer when a command has been committed.
package enum Reply: Sendable {
    case accepted(NewNotification)
    case duplicate(Receipt)
    /// One for each notification of the request or of the broadcast, in its order: each is accepted, or a duplicate.
    case acceptedAll([Reply])
    case source(SourceDefinition, created: Bool)
    case key(APIKey, created: Bool)
    case applied([AppliedResource], AppliedRules?)
    case rules(KeptRules)
    case application(Application, created: Bool)
    case session(SceneSession, created: Bool)
    /// The session was put before, under the same key.
    case sessionKept(created: Bool)
    /// The batch may go on: it is new, or the same as before.
    case batchBegun
    case deleted
    /// The application is gone; its name is taken until all that belongs to it is deleted.
    case deletionBegun(Application)
    /// The endpoint after its secret was exchanged, or as it is now if the request had come before.
    case endpoint(Endpoint)
    /// Called back: cancelled, or in flight and not to be tried again.
    case cancelled(NotificationState)
    case resumed
    /// The connection has the deliveries of its session from now on. `moved` names the last deliveries moved to other sessions
    /// since the connection before.
    case attached(moved: [NotificationID])
    /// The delivery has come to its end, now or before, or goes on where the receiver could not take it.
    case acknowledged
    /// The replay as it stands now.
    case replay(Replay)
    /// The gate as it stands now.
    case gate(OnboardingGate)
    /// The result, and the gate as it stands now.
    case passcode(PasscodeResult, OnboardingGate)
    /// Nothing was changed, but that a try of a passcode may have been used up.
    case refused(Refusal)
    /// The reply to commands for which no client waits.
    case none
}

/// Why a command was refused. Nothing was changed.
package enum Refusal: Error, Hashable, Sendable {
    case unknownApplication(ApplicationID)
    /// The deletion of the application has begun, and is not complete.
    case applicationDeleting(ApplicationID)
    case unknownSession(SessionKey)
    case unknownNotification(NotificationID)
    case unknownReplay(ReplayID)
    /// The session has no such delivery, or has not been sent it yet.
    case unknownDelivery(String)
    /// The session is reached at a URL.
    case notAStream(SessionKey)
    /// The session is reached by a stream, and has no URL.
    case notAWebhook(SessionKey)
    case source(SourceRefusal)
    case key(KeyRefusal)
    /// A resource of a set, by its place, and the reason.
    indirect case resource(Int, Refusal)
    /// Pruning would delete an application with sessions and sources in it that the set does not hold.
    case applicationNotEmpty(ApplicationID, ResourceSample)
    /// The application has as many sessions as it may have.
    case tooManySessions(limit: Int)
    /// The registrations of the application would take more bytes than they may.
    case tooManySessionBytes(limit: Int)
    /// A decision could take this many steps for one predicate of the session, or for all predicates of the application.
    case predicateTooCostly(steps: Int, limit: Int)
    case predicatesTooCostly(steps: Int, limit: Int)
    /// So many are under way already.
    case tooManyReplays(limit: Int)
    /// It has come to its end otherwise.
    case settled(NotificationID, NotificationState)
    /// A session does not go from the one state to the other without another one between.
    case illegalTransition(from: ActivationState, to: ActivationState)
    /// The manifest has no configuration of that name, or not for that role.
    case unknownConfiguration(String)
    /// The configuration is that of the demo, which a session has only while it shows the demo.
    case demoConfiguration(String)
    /// Sessions have the configuration that would be that of the demo, and do not show it.
    case demoInUse(String)
    /// Sessions are reached at the endpoint of this configuration, which the new manifest takes away.
    case configurationInUse(String)
    /// Neither the session nor its configuration says where it is reached.
    case endpointMissing
    /// A patch changes an endpoint that is not there, and does not say where it is.
    case endpointURLMissing
    /// There is no endpoint at this place; a session may be reached at that of its configuration.
    case endpointNotHere
    /// The keys would not be those of an endpoint.
    case signingKeys(SigningKeysError)
    /// The endpoint has other keys than the client has read.
    case signingKeysChanged(EndpointPlace)
    /// The application takes notifications with a content id only.
    case contentIDMissing(ApplicationID)
    /// The same key came with another body, or for another device, before; or two keys came with two notifications.
    case idempotencyConflict
    case scene(SceneRefusal)
    case broadcast(BroadcastRefusal)
    /// The application has not switched the gate on.
    case gateOff(ApplicationID)
    /// The session is not connected, or takes no part, and has no say at its gate.
    case notAtGate(SessionKey)
    /// The session is in the background, and unlocks nothing from there.
    case notInForeground(SessionKey)
    /// The gate does not take this now, or not from this session.
    case gate(OnboardingGate.Refusal)
    case passcode(PasscodeLock.Refusal)
    /// The userInfo or the restoration activity would grow beyond the limit.
    case tooMuchUserInfo(limit: Int)
    /// The restoration activity is no user activity, or of a type that the manifest does not name; the code in kebab-case.
    case restorationActivity(code: String, message: String)
    /// The data of a person cannot be changed now.
    case personalData(PersonalDataFault)
    /// The session is not in the state that the client expects.
    case preconditionFailed(SessionKey)
    case storeUnavailable(StoreError)
    /// As many commands wait as may wait.
    case overloaded
    /// No session of the application is on the device. `isElsewhere` tells whether a session of another application is, as
    /// long as there are no more than `RouterLimits.applicationsAsked`.
    case unknownDevice(isElsewhere: Bool)
    /// All sessions of the device are disabled; since when, as far as it is known.
    case retiredDevice(since: Timestamp?)
}

/// The reason why a session takes no data of a person now.
package enum PersonalDataFault: String, Hashable, Sendable {
    /// The gate was reset, or is in use for the first time, and has not been passed since: the data may be that of the person
    /// who has gone.
    case resetMeanwhile = "reset-meanwhile"
    /// The session shows the demo, and the data would be that of the demo.
    case showsDemo = "shows-demo"
}

/// The refusal of a change of a source.
package enum SourceRefusal: Hashable, Sendable {
    case unknown(SourceID)
    /// The name is taken by another application's source.
    case taken(SourceID)
    /// The application has as many sources as it may have.
    case tooMany(limit: Int)
    /// The source would have more secrets than it may have.
    case secrets(limit: Int)
}

/// The refusal of a broadcast.
package enum BroadcastRefusal: Hashable, Sendable {
    /// The application does not allow broadcasts.
    case off(ApplicationID)
    /// More sessions than that could have it.
    case tooManyReceivers(limit: Int)
    /// It has a collapse id, which names one notification.
    case collapses
}

/// Why a scene was not shown, in the words of `UISceneError`.
package enum SceneRefusal: Hashable, Sendable {
    /// The manifest does not name it.
    case unlistedActivityType(String)
    /// There is a session of that role, and the application has one at a time.
    case multipleScenesNotSupported
    /// It cannot be activated or refreshed; why, in a sentence.
    case requestDenied(String)
}
