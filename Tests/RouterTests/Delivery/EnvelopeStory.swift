import Router
import RouterPlugin

/// Every kind of webhook that an application and its sessions can be sent, as one story.
struct EnvelopeStory {
    private static let a = SessionKey.gallery("A")
    private static let hostile = "\"},\"x\":{\"\\\u{1}\n\u{1F}é\u{202E}😀</script>"

    private var application: Application
    private var bench: Workbench
    /// The bodies in the order in which they were sent.
    private(set) var bodies: [[UInt8]] = []

    init() throws {
        var application = Application.gallery(
            multipleScenes: true,
            configurations: [
                .standard,
                SceneConfiguration(
                    name: Self.hostile, role: SceneRole.windowApplication,
                    endpoint: Endpoint(url: "https://other.example/", secret: "whsec_ZA=="), activityTypes: ["open"]),
            ],
            schedule: [5, 300], delegate: Endpoint(url: "https://delegate.example/", secret: "whsec_ZA=="),
            lifeCycleEvents: true)
        application.manifest.userActivityTypes = ["open", "other", "edit"]
        application.gates.onboarding = OnboardingSettings()
        self.application = application
        bench = try Workbench(
            application,
            [
                Scene("A", can: "SELF != 'new'", .foregroundActive, device: "phone"),
                Scene("B", can: "SELF != 'new'", .background, device: "phone"),
                Scene(SessionID(unchecked: Self.hostile), can: "SELF == 'hostile'", .background),
            ])
    }

    /// The whole story, once.
    static func told() throws -> [[UInt8]] {
        var story = try EnvelopeStory()
        try story.gates()
        try story.steps()
        try story.notifications()
        try story.questions()
        try story.discards()
        return story.bodies
    }

    private mutating func deliver() throws {
        while case let attempts = try bench.start(), !attempts.isEmpty {
            for attempt in attempts {
                bodies.append(try bench.body(of: attempt))
                try bench.finish(attempt, .status(200))
            }
        }
    }

    private mutating func gates() throws {
        let gate = try bench.run(.gate(.open(Self.a))).standing
        try deliver()
        let report = ProgressReport(
            operationID: "store", step: Self.hostile, currentStepNumber: 1, totalNumberOfSteps: 7,
            parameters: ["1", Self.hostile], defaultMessage: "")
        try bench.run(.gate(.report(.progress(report), by: Self.a, term: gate?.term ?? 0)))
        try deliver()
        try bench.run(.gate(.report(.succeed(storing: "person"), by: Self.a, term: gate?.term ?? 0)))
        let other = SessionKey.gallery(SessionID(unchecked: Self.hostile))
        let second = try bench.run(.gate(.open(other))).standing
        try bench.run(.gate(.report(.succeed(storing: nil), by: other, term: second?.term ?? 0)))
        try deliver()
        application.gates.onboarding = nil
        try bench.run(.putApplication(.of(application)))
    }

    private mutating func steps() throws {
        try bench.patch(Self.a) {
            $0.userInfo = ["page": 15, "text": .string(Self.hostile)]
            $0.stateRestorationActivity = ["activityType": "edit", "userInfo": ["page": 3]]
        }
        try bench.run(.refreshSession(.gallery("B")))
        for state in [ActivationState.background, .unattached, .foregroundActive] {
            try bench.patch(Self.a) { $0.activationState = state }
            try deliver()
        }
        try bench.patch(Self.a) { $0.activationState = .background }
        try deliver()
        try bench.patch(Self.a) { $0.activationState = .unattached }
        try deliver()
    }

    private mutating func notifications() throws {
        let payloads: [(NotificationKind, String)] = [
            (.notification, "  { \"aps\" :\t{\"alert\": \"é\"}, \"n\": [1.0e5, 1.00] }\t "),
            (.userActivity, #"{ "activityType":"other","targetContentIdentifier" : "x"}"#),
            (.url, #"{"url" : "app://x"}"#), (.shortcutItem, #"{"type" : "new\u0020one"}"#),
        ]
        for device in ["phone", nil] as [DeviceID?] {
            for (kind, payload) in payloads {
                for content in ["x", "hostile", nil] as [ContentID?] {
                    var request = AcceptRequest.of(content, device: device, payload: payload)
                    request.notification.kind = kind
                    try bench.run(.accept(request))
                    if kind == .url, content == nil { try bench.patch(Self.a) { $0.activationState = .unattached } }
                    try deliver()
                }
            }
        }
    }

    private mutating func questions() throws {
        for kind in NotificationKind.allCases {
            var request = AcceptRequest.of("new", payload: #"{"activityType":"other", "url":"app://x"}"#)
            request.notification.kind = kind
            try bench.run(.accept(request))
            try deliver()
            for session in bench.engine.tenants[.gallery]?.sessions.values.sorted(by: { $0.key < $1.key }) ?? []
            where session.key.session.text.hasPrefix("ses_") {
                try bench.run(.deleteSession(session.key))
            }
            try deliver()
        }
        let activity = try UserActivity(["activityType": "open", "userInfo": ["text": .string(Self.hostile)]])
        try bench.run(
            .activate(
                ActivationRequest(
                    application: .gallery, userActivity: activity,
                    options: ActivationOptions(requestingSession: "A", preferredPresentationStyle: .prominent))))
        try deliver()
    }

    private mutating func discards() throws {
        try bench.patch(Self.a) { $0.activationState = .foregroundActive }
        try bench.run(.deleteSession(Self.a, dismissal: .decline))
        try deliver()
        for session in bench.engine.tenants[.gallery]?.sessions.values.sorted(by: { $0.key < $1.key }) ?? [] {
            try bench.run(.deleteSession(session.key))
        }
        try deliver()
    }
}

extension Reply {
    /// The gate after a request to it.
    fileprivate var standing: OnboardingGate? { if case .gate(let gate) = self { gate } else { nil } }
}
