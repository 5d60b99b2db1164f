import RouterPlugin

/// Messages for the suite of formats, ordinary ones and hostile ones.
enum DeliveryMessages {
    /// Notifications of every kind to sessions in every state, and events of every shape.
    static let ordinary: [DeliveryMessage] = notifications + events

    /// Messages with texts that try to break out of their place in any format, and payloads of every size.
    static func hostile(seed: UInt64) -> [DeliveryMessage] {
        var generator = SeededGenerator(seed: seed)
        let canary = HostileRequests.canary
        var payloads = [
            "null", "[]", "{}", "\"\(canary)\"", "  {\"a\":[1.0e5,-0]}\r\n", #"{"aps":{"alert":null}}"#,
            #"{"aps":{"alert":["\#(canary)"]}}"#, #"{"aps":[],"alert":{}}"#,
            #"{"aps":{"alert":{"title":7,"body":{}}}}"#,
        ]
        payloads += texts.map { text in alert(title: text, body: text + canary) }
        payloads.append(alert(title: long("t"), body: long("\"\n")))
        payloads.append(#"{"list":[\#(repeatElement("{}", count: 60_000).joined(separator: ","))]}"#)
        payloads.append(String(repeating: "[", count: 60) + String(repeating: "]", count: 60))
        var messages = payloads.map { notification(payload: Array($0.utf8)) }
        for text in texts {
            messages.append(notification(text: text, state: .unattached, payload: Array("{}".utf8)))
            messages.append(event("scene.didDisconnect", text: text, details: ["dismissal": .string(text)]))
        }
        for contentType in ["text/plain; charset=utf-8", "application/octet-stream", "application/xml"] {
            let bytes = generator.bytes(count: Int.random(in: 0...300, using: &generator))
            messages.append(notification(payload: bytes, contentType: contentType))
        }
        return messages
    }

    private static let texts = [
        "\"},\"x\":{\"", "\\", "\\\"", "{{x}}", "{{{payload}}}", "{{#a}}", "a\r\nx-injected: 1",
        "\u{0}\u{1}\u{1F}\u{7F}",
        "é\u{301}\u{202E}😀", "</script>", "%0d%0a", "<!channel> & <@U1>", "@everyone", "a\u{2028}b", "null", "true",
        "\"quoted\"", "=cmd", "\u{FEFF}",
    ]

    private static func long(_ text: String) -> String { String(repeating: text, count: 60_000 / text.utf8.count) }

    private static func alert(title: String, body: String) -> String {
        let object: JSONValue = ["aps": ["alert": ["title": .string(title), "body": .string(body)]]]
        return String(decoding: object.serialized(), as: UTF8.self)
    }

    private static let notifications: [DeliveryMessage] = {
        let payloads: [(NotificationKind, String)] = [
            (.notification, #"{"aps":{"alert":"Hello"}}"#),
            (.notification, #"{"aps":{"alert":{"title":"Hello","subtitle":"there","body":"you"}},"n":1.0}"#),
            (.notification, #"{"event":"created"}"#), (.userActivity, #"{"activityType":"edit"}"#),
            (.url, #"{"url":"app://doc/1"}"#), (.shortcutItem, #"{"type":"new"}"#),
        ]
        return ActivationState.allCases.flatMap { state in
            payloads.map { kind, payload in notification(kind: kind, state: state, payload: Array(payload.utf8)) }
        }
    }()

    private static let events: [DeliveryMessage] = [
        event("scene.didEnterBackground", details: [:]), event("scene.refresh", details: [:]),
        event("scene.didDisconnect", details: ["dismissal": "standard"]),
        event("scene.showApplicationScreen", details: ["gate": ["device": nil, "state": "opened", "term": 2]]),
        event(
            "application.didDiscardSceneSessions", isOfSession: false,
            details: ["sessions": [["id": "win-7", "role": "windowApplication", "userInfo": [:]]]]),
    ]

    private static func session(_ text: String?, _ state: ActivationState) -> SessionView {
        var session = SessionView(
            id: SessionID(unchecked: text ?? "win-7"), role: text ?? "windowApplication",
            configuration: text ?? "Default", activationState: state)
        if state == .unattached { session.userInfo = ["text": .string(text ?? "kept")] }
        return session
    }

    static func notification(
        text: String? = nil, kind: NotificationKind = .notification, state: ActivationState = .foregroundActive,
        payload: [UInt8], contentType: String = "application/json"
    ) -> DeliveryMessage {
        let identifier = text ?? "doc/42"
        let options: JSONValue = ["notification": ["targetContentIdentifier": .string(identifier)]]
        return DeliveryMessage(
            id: "dlv_01", attempt: 1,
            type: state == .unattached ? "scene.willConnect" : "scene.notification",
            timestamp: Timestamp(milliseconds: 1_767_323_045_678),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            session: session(text, state), step: state == .unattached ? SessionStep(epoch: 2, sequence: 1) : nil,
            connection: state == .unattached
                ? ConnectionView(options: options.asObject ?? JSONObject(), userActivity: ["activityType": "edit"])
                : nil,
            content: .notification(
                DeliveredNotification(
                    kind: kind, targetContentIdentifier: ContentID(unchecked: identifier), tier: .prefers,
                    rerouteOf: text.map { SessionID(unchecked: $0) }, payload: payload, payloadContentType: contentType)
            ))
    }

    private static func event(
        _ type: String, text: String? = nil, isOfSession: Bool = true, details: JSONValue
    ) -> DeliveryMessage {
        DeliveryMessage(
            id: "dlv_02", attempt: 3, type: type, timestamp: Timestamp(milliseconds: 1_767_323_045_678),
            application: ApplicationID(unchecked: "com.example.Gallery"),
            session: isOfSession ? session(text, .background) : nil,
            step: isOfSession ? SessionStep(epoch: 1, sequence: 4) : nil,
            content: .event(details.asObject ?? JSONObject()))
    }
}
