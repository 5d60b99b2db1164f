import HTTPTypes
import Router
import RouterPlugin

/// Notifications, gates, and the operation of the daemon.
extension Operation {
    private static let notificationPath = "/v1/notifications/{notification}"

    /// Of a notification, or of those of a broadcast.
    private static let acceptance = JSONSchema.anyOf([
        .named("Acceptance"), .object(["notifications": .list(of: .named("Acceptance"))]),
    ])

    static let notifications: [Operation] = [
        Operation(
            .post, "\(applicationPath)/notifications", .scope(.ingest), "postNotification",
            "Takes a push payload, decides on its session, and delivers it; or to each session that can have it.",
            bounds: .payload,
            query: [.device, Parameter("broadcast", .flag)], headers: .push, body: .json(.document),
            .accepted(acceptance), .ok(acceptance)
        ) { $0.postNotification },
        Operation(
            .post, "\(applicationPath)/events", .device(.ingest), "postEvent",
            "Takes a user activity, a URL or a shortcut item.", bounds: .payload, query: [.device], headers: .push,
            body: .json(.named("SceneEvent")), .accepted(.named("Acceptance")), .ok(.named("Acceptance"))
        ) { $0.postEvent },
        Operation(
            .post, "\(applicationPath)/notifications:batch", .scope(.ingest), "postNotificationBatch",
            "Takes many push payloads, one a line; each line is answered by a line.", bounds: .lines, query: [.device],
            headers: .repeatableInTrace, body: .other("application/x-ndjson"), .other("application/x-ndjson")
        ) { $0.postNotificationBatch },
        Operation(
            .post, "\(applicationPath)/explain", .scope(.ingest), "explain",
            "Shows the decision that a payload would get, and every session considered for it.", bounds: .decision(),
            query: [
                .device, Parameter("limit", .whole(1...Int64(RouterLimits.explainedCandidates))),
                Parameter("priority", .oneOf(["1", "5", "10"])), Parameter("at", .time), Parameter("parts", .flag),
                Parameter("broadcast", .flag),
            ],
            headers: .push, body: .json(.document), .ok(.named("Explanation"))
        ) { $0.explain },
        Operation(
            .post, "\(applicationPath)/sessions/{session}/trial", .scope(.ingest), "tryConditions",
            "Shows the decisions under other conditions of a session; nothing changes.", bounds: .decision(),
            query: [
                Parameter("limit", .whole(1...Int64(RouterLimits.explainedCandidates))),
                Parameter("last", .whole(1...Int64(DaemonLimits.rulesComparedMaximum))), Parameter("parts", .flag),
                Parameter("broadcast", .flag),
            ],
            body: .json(.named("ConditionsQuestion")), .ok(.named("ConditionsTrial"))
        ) { $0.tryConditions },
        Operation(
            .get, "/v1/notifications", .scope(.ingest), "listNotifications", "Lists notifications, newest first.",
            bounds: .page,
            query: .page(
                .application, Parameter("state", .oneOf(NotificationState.allCases.map(\.rawValue))),
                Parameter("session", .named("SessionId")), Parameter("contentId"), Parameter("type"),
                Parameter("since", .time), Parameter("until", .time)),
            .ok(.page("notifications", of: "Notification"))
        ) { $0.listNotifications },
        Operation(
            .get, notificationPath, .scope(.ingest), "getNotification",
            "Shows a notification with its payload, decision and attempts.", bounds: .facts, .ok(.named("Notification"))
        ) { $0.getNotification },
        Operation(
            .get, "\(notificationPath)/explain", .scope(.ingest), "explainNotification",
            "Shows the decision that a notification would get now, and every session considered for it.",
            bounds: .decision(),
            query: [
                Parameter("limit", .whole(1...Int64(RouterLimits.explainedCandidates))), Parameter("parts", .flag),
            ],
            .ok(.named("Explanation"))
        ) { $0.explainNotification },
        Operation(
            .post, "\(notificationPath)/cancel", .scope(.ingest), "cancelNotification",
            "Ends a notification that is not settled.", bounds: .facts,
            .ok(.object(["id": .text, "state": .oneOf(["cancelled", "inFlight"])]))
        ) { $0.cancelNotification },
        Operation(
            .post, "\(notificationPath)/replay", .scope(.ingest), "replayNotification",
            "Sends a settled notification again, as a new one.", bounds: .facts, headers: .repeatableInTrace,
            .accepted(.named("Acceptance")),
            .ok(.named("Acceptance"))
        ) { $0.replayNotification },
    ]

    static let replays: [Operation] = [
        Operation(
            .post, "/v1/replays", .scope(.ingest), "postReplay",
            "Sends every settled notification again that a filter shows, at a rate.", bounds: .changeOfFacts,
            headers: .repeatable, body: .json(.named("ReplayDraft")), .accepted(.named("Replay")),
            .ok(.named("ReplayTrial"))
        ) { $0.postReplay },
        Operation(
            .get, "/v1/replays", .scope(.ingest), "listReplays", "Lists the replays.", bounds: .page, query: .page(),
            .ok(.page("replays", of: "Replay"))
        ) { $0.listReplays },
        Operation(
            .get, "/v1/replays/{replay}", .scope(.ingest), "getReplay", "Shows a replay.", bounds: .shown,
            .ok(.named("Replay"))
        ) { $0.getReplay },
        Operation(
            .post, "/v1/replays/{replay}/cancel", .scope(.ingest), "cancelReplay", "Ends a replay.", bounds: .shown,
            .ok(.named("Replay"))
        ) { $0.cancelReplay },
    ]

    static let gates: [Operation] = {
        let gate = "\(applicationPath)/gate"
        let passcode = "\(gate)/passcode"
        let report = JSONSchema.request([:], required: ["session": .named("SessionId"), "term": .count])
        return [
            Operation(
                .get, "\(applicationPath)/gates", .scope(.sessions), "listGates", "Lists the gates with any event.",
                bounds: .page,
                query: .page(), .ok(.page("gates", of: "Gate"))
            ) { $0.listGates },
            Operation(
                .get, gate, .session, "getGate", "Shows the gate of a device.", bounds: .shown,
                query: [.device, Parameter("language")], headers: .languages, .ok(.named("Gate"))
            ) { $0.getGate },
            Operation(
                .post, "\(gate)/open", .session, "openGate", "Begins at a gate, or shows a session the demo.",
                bounds: .change,
                body: .json(.request(["demo": .flag], required: ["session": .named("SessionId")])),
                .ok(.named("Gate"))
            ) { $0.openGate },
            Operation(
                .post, "\(gate)/progress", .session, "reportProgress", "Reports a step of onboarding.", bounds: .change,
                body: .json(.named("ProgressReport")), .ok(.named("Gate"))
            ) { $0.reportProgress },
            Operation(
                .post, "\(gate)/succeed", .session, "succeedAtGate", "Opens a gate.", bounds: .change,
                body: .json(
                    .request(
                        ["onboardingId": .text.ofLength(1...Int64(RouterLimits.gateTextBytes))],
                        required: ["session": .named("SessionId"), "term": .count])),
                .ok(.named("Gate"))
            ) { $0.succeedAtGate },
            Operation(
                .post, "\(gate)/fail", .session, "failAtGate", "Reports that a gate was not opened.", bounds: .change,
                body: .json(
                    .request(
                        ["reason": .text, "message": .text],
                        required: ["session": .named("SessionId"), "term": .count])), .ok(.named("Gate"))
            ) { $0.failAtGate },
            Operation(
                .post, "\(gate)/reset", .session, "resetGate",
                "Resets a gate for the responsible session, or for an operator by its device.", bounds: .change,
                body: .json(.anyOf([report, .object(["device": .named("DeviceId").orNull])])), .ok(.named("Gate"))
            ) { $0.resetGate },
            Operation(
                .put, "\(gate)/configuration", .device(.sessions), "configureGate", "Configures a device.",
                bounds: .change,
                body: .json(
                    .request(
                        [:], required: ["device": .named("DeviceId").orNull, "configuration": .document.orNull])),
                .ok(.named("Gate"))
            ) { $0.configureGate },
            Operation(
                .post, "\(gate)/lock", .session, "lockGate",
                "Locks an application for a session, or for an operator by its device.", bounds: .change,
                body: .json(
                    .anyOf([
                        .request([:], required: ["session": .named("SessionId")]),
                        .object(["device": .named("DeviceId").orNull]),
                    ])), .ok(.named("Gate"))
            ) { $0.lockGate },
            Operation(
                .post, "\(applicationPath)/gates/lock", .scope(.admin), "lockGates",
                "Locks an application on all devices.", bounds: .walk(), .ok(.object(["locked": .count]))
            ) { $0.lockGates },
            Operation(
                .get, passcode, .session, "getPasscode", "Shows the facts about a passcode.", bounds: .shown,
                query: [.device, Parameter("language")], headers: .languages, .ok(.named("PasscodeStatus"))
            ) { $0.getPasscode },
            Operation(
                .post, "\(passcode)/check", .session, "checkPasscode",
                "Checks a candidate against the policy, and keeps nothing.", bounds: .change,
                headers: .languages, body: .json(.request([:], required: ["passcode": .text])),
                .ok(.named("PasscodeCheck"))
            ) { $0.checkPasscode },
            Operation(
                .post, "\(passcode)/create", .session, "createPasscode", "Chooses the passcode.", bounds: .passcode,
                headers: .languages,
                body: .json(
                    .passcode(
                        ["passcode": .text, "confirmation": .text], optional: ["deviceKey": .text])),
                .created(.named("Gate"))
            ) { $0.createPasscode },
            Operation(
                .post, "\(passcode)/input", .session, "inputPasscode", "Tries a passcode.", bounds: .passcode,
                headers: .languages, body: .json(.passcode(["passcode": .text])), .ok(.named("Gate"))
            ) { $0.inputPasscode },
            Operation(
                .post, "\(passcode)/change", .session, "changePasscode", "Changes the passcode.", bounds: .passcode,
                headers: .languages,
                body: .json(.passcode(["passcode": .text, "newPasscode": .text, "confirmation": .text])),
                .ok(.named("Gate"))
            ) { $0.changePasscode },
            Operation(
                .post, "\(passcode)/challenge", .session, "challengeDevice",
                "Asks for a challenge that the device signs, or that a token names.", bounds: .change,
                body: .json(.passcode([:], optional: ["proof": .flag])),
                .created(.object(["challenge": .text, "expiresAt": .time]))
            ) { $0.challengeDevice },
            Operation(
                .post, "\(passcode)/answer", .session, "answerChallenge", "Answers a challenge.", bounds: .change,
                headers: .languages,
                body: .json(
                    .passcode(
                        ["challenge": .text],
                        optional: [
                            "signature": .text,
                            "assertion": .request(
                                ["userHandle": .text.orNull],
                                required: [
                                    "clientDataJSON": .text, "authenticatorData": .text, "signature": .text,
                                ]),
                        ])), .ok(.named("Gate"))
            ) { $0.answerChallenge },
            Operation(
                .post, "\(passcode)/proof", .session, "proveByToken", "Unlocks by a token of an issuer.",
                bounds: .change,
                headers: .languages, body: .json(.passcode(["token": .text])), .ok(.named("Gate"))
            ) { $0.proveByToken },
            Operation(
                .put, "\(passcode)/key", .session, "putDeviceKey", "Exchanges the key of the device, or removes it.",
                bounds: .passcode,
                headers: .languages, body: .json(.passcode(["passcode": .text, "deviceKey": .text.orNull])),
                .ok(.named("Gate"))
            ) { $0.putDeviceKey },
        ]
    }()

    static let operating: [Operation] = [
        Operation(
            .post, "/v1/apply", .scope(.admin), "apply", "Applies a set of resources, all of it or nothing.",
            bounds: .set,
            query: [Parameter("dryRun", .flag), Parameter("prune", .flag), Parameter("set")],
            body: .yaml, .ok(.named("Applied"))
        ) { $0.applySet },
        Operation(
            .get, "/v1/status", .scope(.admin), "getStatus", "Shows the figures of the daemon.", bounds: .facts,
            .ok(.named("Status"))
        ) { $0.status },
        Operation(
            .get, "/metrics", .scope(.metrics), "getMetrics", "Shows metrics in the text format of Prometheus.",
            bounds: .facts,
            .other("text/plain")
        ) { $0.metrics },
        Operation(
            .get, "/v1/plugins", .scope(.admin), "listPlugins", "Lists the plugins in use, with their faults.",
            bounds: .settings,
            .ok(.object(["plugins": .list(of: .named("Plugin"))]))
        ) { $0.listPlugins },
        Operation(
            .get, "/v1/plugin-manifests", .scope(.admin), "listPluginManifests",
            "Lists the manifests of the program's plugins, with a JSON Schema of the fields of each.",
            bounds: .settings,
            .ok(.object(["manifests": .list(of: .named("PluginManifest"))]))
        ) { $0.listManifests },
        Operation(
            .post, "/v1/plugins/{plugin}/enable", .scope(.admin), "enablePlugin",
            "Takes a plugin into use again after a quarantine.", bounds: .shown, .ok(.named("Plugin"))
        ) { $0.enablePlugin },
        Operation(
            .get, "/v1/keys", .scope(.admin), "listKeys",
            "Lists the keys by their names, with their rights.", bounds: .shown,
            .ok(.object(["keys": .list(of: .named("Key"))]))
        ) { $0.listKeys },
        Operation(
            .put, "/v1/keys/{key}", .scope(.admin), "putKey", "Makes a key, or replaces its rights.",
            bounds: .change, body: .json(.named("KeyDraft")), .ok(.named("Key")), .created(.named("Key"))
        ) { $0.putKey },
        Operation(
            .delete, "/v1/keys/{key}", .scope(.admin), "deleteKey", "Revokes a key, and closes its streams.",
            bounds: .shown,
            .noContent
        ) { $0.deleteKey },
        Operation(
            .get, "/v1/changes", .scope(.admin), "listChanges",
            "Lists the changes of resources by requests, newest first.", bounds: .page,
            query: .page(.application, Parameter("after", .count)), .ok(.page("changes", of: "Change"))
        ) { $0.listChanges },
        Operation(
            .get, "/v1/rules", .scope(.admin), "getRules", "Shows the rules in use and their version.",
            bounds: .settings,
            .ok(.named("Rules"))
        ) { $0.getRules },
        Operation(
            .put, "/v1/rules", .scope(.admin), "putRules",
            "Replaces all rules by the rules of a file, or none of them.", bounds: .rules, body: .yaml,
            .ok(.named("Rules"))
        ) { $0.putRules },
        Operation(
            .delete, "/v1/rules", .scope(.admin), "deleteRules", "Uses the rules of the configuration again.",
            bounds: .settings,
            .ok(.named("Rules"))
        ) { $0.deleteRules },
        Operation(
            .post, "/v1/rules/evaluate", .scope(.admin), "evaluateRules",
            "Shows the decision about a notification under given rules, or under those in use; nothing changes.",
            bounds: .decision(body: DaemonLimits.rulesBytes),
            query: [
                Parameter("limit", .whole(1...Int64(RouterLimits.explainedCandidates))), Parameter("broadcast", .flag),
            ],
            body: .json(.named("RuleQuestion")), .ok(.named("Explanation"))
        ) { $0.evaluateRules },
        Operation(
            .post, "/v1/rules/diff", .scope(.admin), "compareRules",
            "Lists which of the last notifications would go elsewhere under a file of rules; nothing changes.",
            bounds: .decision(body: DaemonLimits.rulesBytes),
            query: [.application, Parameter("last", .whole(1...Int64(DaemonLimits.rulesComparedMaximum)))],
            body: .yaml, .ok(.named("RuleComparison"))
        ) { $0.compareRules },
        Operation(
            .post, "/v1/clock/confirm", .scope(.admin), "confirmClock", "Confirms that the wall clock is right.",
            bounds: .shown,
            .ok(.object(["clock": .object(["trusted": .flag])]))
        ) { $0.confirmClock },
        Operation(
            .get, "/v1/stream", .scope(.sessions), "stream", "Streams events as they happen.", bounds: .stream,
            query: ["application", "session", "type"].map { Parameter($0, isRepeatable: true) }, headers: .resuming,
            .other("text/event-stream")
        ) { $0.stream },
        Operation(
            .get, "/v1/lanes", .scope(.sessions), "listLanes", "Lists the lanes, and the resource that each waits for.",
            bounds: .page,
            query: .page(.application), .ok(.page("lanes", of: "Lane"))
        ) { $0.listLanes },
        Operation(
            .post, "/v1/lanes/{session}/resume", .scope(.sessions), "resumeLane",
            "Tries the deliveries of a session at once.", bounds: .shown, query: [.application], .ok(.named("Lane"))
        ) { $0.resumeLane },
        Operation(
            .get, "/healthz", .open, "getHealth", "Says that the process is up.", bounds: .fixed, .ok(.word("ok"))
        ) { _ in
            { _, _, _ in API.alive }
        },
        Operation(
            .get, "/readyz", .open, "getReadiness", "Says whether the store can be written.", bounds: .fixed,
            .ok(.word("ready"))
        ) { api in { _, _, _ in try api.readiness() } },
        Operation(
            .get, "/openapi.json", .open, "getOpenAPI", "Shows this API as an OpenAPI 3.1 document.", bounds: .fixed,
            .ok(.document)
        ) { _ in { _, _, _ in .json(.ok, OpenAPIDocument.bytes) } },
        Operation(.get, "/console", .open, "getConsole", "Shows the console.", bounds: .fixed, .other("text/html")) {
            _ in
            API.console
        },
        Operation(
            .get, "/console/{file}", .open, "getConsoleFile", "Shows a file of the console.", bounds: .fixed,
            .other("*/*")
        ) {
            _ in
            API.console
        },
    ]
}

extension JSONSchema {
    /// A page of a list.
    static func page(_ name: String, of element: String) -> JSONSchema {
        .object([name: .list(of: .named(element)), "cursor": .text.orNull])
    }

    fileprivate static func word(_ status: String) -> JSONSchema { .object(["status": .oneOf([status])]) }

    /// A request of a session about the passcode of its gate.
    fileprivate static func passcode(
        _ required: KeyValuePairs<String, JSONSchema>, optional: KeyValuePairs<String, JSONSchema> = [:]
    ) -> JSONSchema {
        var members: [Member] = [
            Member("session", .named("SessionId"), isRequired: true), Member("term", .count, isRequired: true),
        ]
        members += required.map { Member($0.key, $0.value, isRequired: true) }
        members += optional.map { Member($0.key, $0.value.orNull, isRequired: false) }
        return .object(members)
    }
}
