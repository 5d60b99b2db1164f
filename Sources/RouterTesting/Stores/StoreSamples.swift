import PredicateEngine
import Router
import RouterPlugin

/// Records for the suite, plain ones and hostile ones.
enum StoreSamples {
    static let gallery = ApplicationID(unchecked: "com.example.Gallery")
    static let clinic = ApplicationID(unchecked: "com.example.Clinic")
    static let source = PluginID(unchecked: "routerd.source.apns")
    static let otherSource = PluginID(unchecked: "routerd.source.github")

    /// Texts that a careless store changes, truncates or confuses: the second and third are equal to Swift, and so are
    /// the fourth and fifth.
    static let hostileTexts = [
        "plain", "caf\u{E9}", "cafe\u{301}", "\u{1112}\u{1161}\u{11AB}", "\u{D55C}",
        "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{1F3F3}\u{FE0F}", "a'b\"c`d\\e", "line\nline\r\n\ttab",
        "'; DROP TABLE notification; --", "[\"a\",\"b\"]", "%_*?", "\u{202E}rtl\u{200B}\u{FEFF}", "NULL", "0", " ",
        "\u{1}\u{1F}\u{7F}\u{80}", "\u{10FFFF}", "PLAIN", "plain ", String(repeating: "é/", count: 1365),
    ]

    /// Payloads that a text column would damage.
    static let hostilePayloads: [[UInt8]] = [
        [], [0], Array("{}".utf8), [0xFF, 0xFE, 0, 0xC3, 0x28, 0, 0], Array("a\u{0}b".utf8), Array(0...255),
        Array("{\"é\": \"e\u{301}\"}".utf8),
        (0..<RouterLimits.payloadBytes).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) },
    ]

    private static let userInfo =
        #"{"b":"caf\u00e9","a":"cafe\u0301","big":12345678901234567890,"small":-0.0,"none":null,"nul":"\u0000\n"}"#

    static func application(_ id: ApplicationID = gallery) -> Application {
        Application(id: id, displayName: "Gallery")
    }

    static func session(_ id: String, created: Int64, in application: ApplicationID = gallery) -> SceneSession {
        SceneSession(
            key: SessionKey(application: application, session: SessionID(unchecked: id)), role: "windowApplication",
            configuration: "main", creationSequence: created)
    }

    static func notification(_ sequence: Int64, in application: ApplicationID = gallery) -> NewNotification {
        NewNotification(
            NotificationHeader(
                sequence: NotificationSequence(sequence), id: NotificationID(unchecked: "ntf_\(sequence)"),
                application: application, receivedAt: Timestamp(milliseconds: 1_700_000_000_000 + sequence)),
            source: source, payload: .json(Array("{\"n\":\(sequence)}".utf8)),
            decision: Decision(tier: .can, session: SessionID(unchecked: "s1"), reason: "TRUEPREDICATE"),
            placement: .lane)
    }

    /// An event of every kind, with hostile texts among its facts.
    static func events(from sequence: Int64) -> [NewNotification] {
        SceneEventKind.allCases.enumerated().map { place, kind in
            let text = hostileTexts[place % hostileTexts.count]
            var event = notification(sequence + Int64(place))
            let number = EventNumber(epoch: .max - Int64(place), sequence: Int64(place))
            let subject = kind == .configurationForConnecting ? SessionID(unchecked: "caf\u{E9}") : nil
            event.event = SceneEvent(kind, kind.enters.map { _ in number }, about: subject)
            event.payload = .facts(facts(of: kind, text))
            return event
        }
    }

    static func facts(of kind: SceneEventKind, _ text: String) -> EventFacts {
        let session = SessionView(
            id: SessionID(unchecked: text), role: text, configuration: text, activationState: .foregroundInactive)
        switch kind {
        case .willConnect: return .connection(session, ConnectionOptions())
        case .configurationForConnecting:
            let content = SceneContent(kind: .notification, contentID: ContentID(unchecked: text), payload: [])
            return .connection(session, ConnectionOptions(activating: ActivationOptions(), bringing: content))
        case .didDisconnect: return .disconnection(session, .decline)
        case .willEnterForeground, .didBecomeActive, .willResignActive, .stateRestorationActivity, .didEnterBackground,
            .refresh:
            return .session(session)
        case .onboardingSceneDidChange, .passcodeSceneDidChange:
            return .gate(OnboardingGate(GateKey(application: gallery, device: nil)), nil)
        case .hideApplicationScreen, .showApplicationScreen, .showProgressScreen:
            return .gate(gate(gallery, text, term: .max, isTold: true), session)
        case .didDiscardSceneSessions:
            let userInfo = (try? JSONDocument(parsing: Array(userInfo.utf8))) ?? .emptyObject
            return .discarded([
                DiscardedSession(
                    id: SessionID(unchecked: text), role: text, configuration: text, device: DeviceID(unchecked: text),
                    userInfo: userInfo),
                DiscardedSession(id: SessionID(unchecked: "s2"), role: "", configuration: "", device: nil),
            ])
        }
    }

    static func attempt(_ sequence: Int64, _ number: Int) -> AttemptRecord {
        AttemptRecord(
            sequence: NotificationSequence(sequence), number: number, session: SessionID(unchecked: "s1"),
            startedAt: Timestamp(milliseconds: 1_700_000_001_000), status: 503, failure: nil, retryAfterSeconds: 7,
            metrics: TransferMetrics(), responseExcerpt: Array("busy".utf8))
    }

    /// A session with every field set, each text a hostile one.
    static func fullSession(_ text: String, created: Int64) throws -> SceneSession {
        SceneSession(
            key: SessionKey(application: gallery, session: SessionID(unchecked: text)), role: text, configuration: text,
            device: DeviceID(unchecked: text), activationState: .foregroundInactive,
            conditions: ActivationConditions(
                canActivate: try predicate("SELF BEGINSWITH", text), prefersToActivate: try predicate("SELF ==", text),
                preferenceLevel: -3),
            endpoint: try endpoint(text),
            stateRestorationActivity: try JSONDocument(parsing: Array(#"{"é":"é","deep":[[{}]]}"#.utf8)),
            userInfo: try JSONDocument(parsing: Array(userInfo.utf8)),
            leaseSeconds: 90, leaseExpiresAt: Timestamp(milliseconds: 1_700_000_090_000),
            lastActivatedAt: Timestamp(milliseconds: -1), creationSequence: created,
            disabled: Disabled(.gone, since: Timestamp(milliseconds: 1_700_000_000_002)),
            connection: SceneConnection(epoch: .max, lastEvent: 7, isTold: true),
            discardedAt: Timestamp(milliseconds: 1_700_000_000_001),
            observers: [PluginID(unchecked: "b.b"), PluginID(unchecked: "a")], whileAway: .next)
    }

    /// A gate with every field set, each text a hostile one.
    ///
    /// - Parameter isTold: Whether it is one that sessions are told of, without the fields that only the router knows.
    static func gate(
        _ application: ApplicationID, _ text: String, term: Int64, isTold: Bool = false
    ) -> OnboardingGate {
        let report = ProgressReport(
            operationID: text, step: "", currentStepNumber: 1, totalNumberOfSteps: .max, parameters: [text, "", text],
            defaultMessage: text, time: text, failure: RequestFailure(status: nil, reason: text))
        return OnboardingGate(
            GateKey(application: application, device: DeviceID(unchecked: text)), state: .restoring,
            responsible: SessionID(unchecked: text), term: term, onboardingID: text, progress: report,
            forgottenThrough: isTold ? nil : NotificationSequence(.max),
            configuration: isTold ? nil : JSONDocument(.object(JSONObject())),
            operations: [
                report, ProgressReport(operationID: "", step: text, currentStepNumber: 1, totalNumberOfSteps: 1),
            ],
            failure: GateFailure(session: SessionID(unchecked: text), reason: text),
            proof: UnlockProof(issuer: text, subject: text))
    }

    /// Keys of both kinds, with windows that are open at either end, at both, and at none.
    private static func endpoint(_ text: String) throws -> Endpoint {
        let keys = [
            SigningKey("whsec_\(text)", notAfter: .distantFuture),
            SigningKey("whsk_\(text)", notBefore: Timestamp(milliseconds: .min)),
            SigningKey("", notBefore: Timestamp(milliseconds: -1), notAfter: Timestamp(milliseconds: 1)),
            SigningKey("\(text)\(text)"),
        ]
        return Endpoint(
            url: "https://example.com/\(text)", keys: try SigningKeys(keys, at: Timestamp(milliseconds: 0)),
            format: format(text))
    }

    /// A format with options of every kind.
    private static func format(_ text: String) -> DeliveryFormatChoice {
        let options: JSONValue = ["template": .string(text), "list": [1, nil, true], "object": ["\"": .string(text)]]
        return DeliveryFormatChoice(PluginID(unchecked: "a.format"), options: options.asObject ?? JSONObject())
    }

    /// The constant is quoted as the predicate language requires, and cut to the permitted length.
    private static func predicate(_ comparison: String, _ text: String) throws -> Predicate {
        let quoted = text.unicodeScalars.prefix(200).map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case "\n": "\\n"
            case "\r": "\\r"
            case "\t": "\\t"
            default: String(scalar)
            }
        }
        return try Predicate(format: "\(comparison) \"\(quoted.joined())\"")
    }

    /// An application with every field set, each text a hostile one.
    static func fullApplication(_ id: ApplicationID, _ text: String) -> Application {
        let endpoint = Endpoint(
            url: "https://example.com/\(text)", keys: SigningKeys("whsec_\(text)"), format: format(text))
        var statuses = StatusTable()
        for (pattern, action) in [("5xx", "wait"), ("404", "moveOn"), ("300", "deadLetter")] {
            try? statuses.add(pattern, action)
        }
        var manifest = SceneManifest(
            supportsMultipleScenes: true, userActivityTypes: [text, "", text + text],
            sceneConfigurations: [
                SceneConfiguration(name: text, role: text, endpoint: endpoint, activityTypes: [text]),
                SceneConfiguration(name: "", role: ""),
            ])
        manifest.allowsOneSceneOnly = true
        return Application(
            id: id, displayName: text, manifest: manifest,
            delegate: endpoint,
            routing: RoutingSettings(prefersRequiresCan: true, requiresContentID: true, broadcasts: true),
            delivery: DeliverySettings(
                timeoutSeconds: 1, maxInFlightPerSession: 64, retrySchedule: [0, 5, 86_400], statuses: statuses,
                reroute: RerouteSettings(onExhausted: true, onTimeout: true), weight: 7,
                headOfLine: .skip(afterAttempts: 3), lifeCycleEvents: false),
            gates: GateSettings(
                onboarding: OnboardingSettings(
                    isConfigured: false, demoConfiguration: text, closesWithLastScene: true, coversInBackground: true,
                    keepsHeldOnReset: true,
                    prompts: PromptTexts([
                        PromptTexts.Entry(language: "de-at", prompt: .title, text: text),
                        PromptTexts.Entry(language: "de", prompt: .switchWindow, text: ""),
                    ])),
                passcode: PasscodePolicy(
                    minLength: 1, hasDigit: true, hasUpper: true, hasLower: true, hasSpecial: true, isDigitsOnly: true,
                    minUniqueChars: 2, retryLimit: 3, allowsBiometrics: false, noPasscodeRequired: true,
                    lockTimeoutSeconds: -1, expirationDays: 4),
                issuers: issuers(text), relyingParty: RelyingParty(id: text, origins: [text, ""])),
            observers: [PluginID(unchecked: "z.z"), PluginID(unchecked: "a.a")])
    }

    /// Issuers with a key of each kind; the names of keys are not empty.
    private static func issuers(_ text: String) -> [ProofIssuer] {
        let rsa = ProofKey.Material.rsa(modulus: Array(repeating: 255, count: 256), exponent: [1, 0, 1])
        let p256 = ProofKey.Material.p256(x: Array(0..<32), y: Array(repeating: 0, count: 32))
        return [
            ProofIssuer(
                name: text, audience: text, keys: [ProofKey(id: "rsa", rsa), ProofKey(id: "\(text.prefix(9))p", p256)],
                takesAnySubject: true),
            ProofIssuer(name: "", audience: "", keys: []),
        ]
    }

    /// A lock with every field set, each text a hostile one; one with nothing set but the device.
    static func passcodeLocks(_ application: ApplicationID, _ text: String) -> [PasscodeLock] {
        let cost = PasscodeHash.Cost(logRounds: 15, blockSize: 8, parallelism: 3)
        let full = PasscodeLock(
            GateKey(application: application, device: nil),
            hash: PasscodeHash(cost: cost, salt: [0, 255, 16], digest: Array(0...255)),
            chosenAt: Timestamp(milliseconds: -1), deviceKey: DeviceKey([4, 0, 255]), tries: 7, trial: .max,
            isOnTrial: true, notBefore: .distantFuture,
            challenge: DeviceChallenge(text: text, expiresAt: Timestamp(milliseconds: 0), term: .max), provenTerm: 0,
            leftAt: Timestamp(milliseconds: 1))
        return [full, PasscodeLock(GateKey(application: application, device: DeviceID(unchecked: text)))]
    }

    /// A notification with every field set, each text a hostile one.
    static func fullNotification(_ sequence: Int64, _ text: String, payload: [UInt8]) -> NewNotification {
        var notification = notification(sequence)
        notification.kind = NotificationKind.allCases[Int(sequence) % NotificationKind.allCases.count]
        notification.device = DeviceID(unchecked: text)
        notification.contentID = ContentID(unchecked: text)
        notification.priority = .low
        notification.expiration = .at(Timestamp(milliseconds: .max))
        notification.collapseID = text
        notification.trace = TraceContext(unchecked: text)
        notification.replayOf = NotificationID(unchecked: text)
        notification.broadcast = NotificationID(unchecked: text)
        notification.dedupeKeys = [text, text + "2"]
        notification.payload = .received(
            payload, contentType: sequence % 2 == 0 ? "application/json" : text,
            headers: sequence % 3 == 0 ? [RenderedRequest.Header("x-team", "blue: 1")] : [])
        notification.decision = Decision(
            tier: .prefers, session: SessionID(unchecked: text), reason: text,
            vetoes: [
                Veto(session: SessionID(unchecked: text), rule: source, reason: text),
                Veto(session: SessionID(unchecked: "s2"), rule: otherSource, reason: ""),
            ],
            rerouteOf: SessionID(unchecked: text), registryVersion: .max, rulesVersion: .max)
        notification.placement = .held(until: .distantFuture)
        return notification
    }

    /// A replay from the beginning.
    static func replay(
        _ filter: NotificationFilter, through: Int64, id: String = "rpl_1", isRepeatable: Bool = true,
        askedAt: Timestamp = Timestamp(milliseconds: 3)
    ) -> Replay {
        Replay(
            id: ReplayID(unchecked: id), filter: filter, perSecond: 7, matched: 4,
            through: NotificationSequence(through), createdAt: askedAt,
            request: isRepeatable ? RepeatedReplay(key: "cafe\u{301}", fingerprint: [0, 255]) : nil,
            position: NotificationSequence(0), resumesAt: Timestamp(milliseconds: 4))
    }
}
