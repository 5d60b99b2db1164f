import Router
import RouterPlugin

/// Notifications, sources, and the operation of the daemon.
extension ResourceSchemas {
    /// The changes that rules make to a notification.
    private static let changes = JSONSchema.object(
        [:], optional: ["priority": .whole(1...10), "expireSeconds": .count, "headers": .document])

    private static let broadcast = JSONSchema.object(
        ["id": .text],
        optional: [
            "notifications": .list(
                of: .object(["id": .text, "session": .text.orNull, "state": .notificationState]))
        ])

    static let notifications: [(String, JSONSchema)] = [
        (
            "Decision",
            .object(
                [
                    "tier": .text, "session": .text.orNull, "reason": .text, "registryVersion": .count,
                    "rulesVersion": .count,
                ],
                optional: [
                    "rerouteOf": .text,
                    "vetoes": .list(of: .object(["session": .text.orNull, "rule": .text, "reason": .text])),
                    "configuration": .text, "heldUntil": .time.orNull, "dropped": .flag,
                ])
        ),
        (
            "Rules",
            .object([
                "version": .count, "origin": .oneOf(KeptRules.Origin.allCases.map(\.rawValue)),
                "rules": .list(of: .document),
            ])
        ),
        (
            "RuleQuestion",
            .request(
                ["at": .time, "rules": .list(of: .document), "notification": question],
                required: ["application": .text])
        ),
        (
            "RuleComparison",
            .object(["compared": .count, "withoutRemoteAnswers": .count, "differences": differences])
        ),
        (
            "ConditionsQuestion",
            .request(
                ["at": .time, "notification": question],
                required: ["activationConditions": .named("ActivationConditions")])
        ),
        (
            "ConditionsTrial",
            .object([
                "explanation": .named("Explanation"), "compared": .count, "withoutRemoteAnswers": .count,
                "differences": differences,
            ])
        ),
        (
            "RuleOutcome",
            .object(
                [
                    "outcome": .oneOf(["session", "newSession", "held", "dropped", "undeliverable"]),
                    "session": .text.orNull, "reason": .text,
                ], optional: ["heldUntil": .time, "changes": changes])
        ),
        (
            "Acceptance",
            .object(
                ["id": .text, "state": .notificationState, "decision": .named("Decision")],
                optional: ["duplicate": .flag, "warnings": .list(of: .text)])
        ),
        (
            "SceneEvent",
            .anyOf([
                .object(["userActivity": .userActivity]),
                .object(
                    ["url": .text],
                    optional: [
                        "options": JSONSchema.request(["sourceApplication": .text, "openInPlace": .flag]).orNull
                    ]),
                .object([
                    "shortcutItem": .request(
                        [
                            "localizedTitle": .text, "localizedSubtitle": .text, "targetContentIdentifier": .text,
                            "userInfo": .document,
                        ], required: ["type": .text])
                ]),
            ])
        ),
        (
            "Explanation",
            .object(
                [
                    "targetContentIdentifier": .text.orNull, "decision": .named("Decision"), "sessionsInScope": .count,
                    "candidates": .list(
                        of: .object(
                            [
                                "session": .text, "tier": .text.orNull, "reason": .text, "can": .flag.orNull,
                                "prefers": .flag.orNull, "activationState": .activationState, "preferenceLevel": .whole,
                                "lastActivatedAt": .time.orNull, "reachable": .flag,
                                "verdicts": .list(
                                    of: .object(
                                        ["rule": .text, "verdict": .text],
                                        optional: [
                                            "reason": .text, "session": .text, "until": .time.orNull,
                                            "ignoredBecause": .text, "noAnswer": .text,
                                        ])),
                            ],
                            optional: [
                                "hint": .text, "unreachableBecause": unreachableBecause, "canParts": parts,
                                "prefersParts": parts,
                            ])),
                ],
                optional: [
                    "changes": changes, "gate": .object(["device": .text.orNull, "state": .text]),
                    "notAsked": .object(["rules": .list(of: .text), "reason": .text]),
                    "receivers": .list(
                        of: .object(
                            ["session": .text, "tier": .text, "state": .notificationState, "reason": .text],
                            optional: ["heldUntil": .time])),
                ])
        ),
        (
            "Attempt",
            .object(
                [
                    "number": .count, "startedAt": .time, "session": .text.orNull, "status": .count.orNull,
                    "retryAfterSeconds": .count.orNull,
                    "durations": .object([
                        "nameLookupMicroseconds": .count.orNull, "connectMicroseconds": .count.orNull,
                        "tlsHandshakeMicroseconds": .count.orNull, "firstByteMicroseconds": .count.orNull,
                        "totalMicroseconds": .count.orNull,
                    ]), "remoteAddress": .text.orNull, "httpVersion": .text.orNull, "connectionReused": .flag,
                    "responseExcerpt": .text,
                ],
                optional: [
                    "error": .object(["kind": .text, "curlCode": .whole.orNull, "message": .text]),
                    "answerFault": .text,
                ])
        ),
        (
            "Notification",
            .object(
                [
                    "id": .text, "webhookId": .text, "type": .text, "application": .named("ApplicationId"),
                    "source": .text, "device": .text.orNull, "targetContentIdentifier": .text.orNull,
                    "priority": .whole(1...10), "expiresAt": .text.orNull, "collapseId": .text.orNull,
                    "traceparent": .text.orNull, "tracestate": .text.orNull, "replayOf": .text.orNull,
                    "receivedAt": .time,
                    "state": .notificationState, "reason": .text.orNull, "settledAt": .time.orNull,
                    "nextAttemptAt": .time.orNull,
                ],
                optional: [
                    "session": .text.orNull, "epoch": .count.orNull, "sequence": .count.orNull,
                    "heldBy": .oneOf(NotificationStanding.Holder.allCases.map(\.rawValue)).orNull,
                    "heldUntil": .time.orNull,
                    "decision": .named("Decision"), "attempts": .list(of: .named("Attempt")), "payload": .anything,
                    "payloadContentType": .text, "payloadBase64": .text, "headers": .document, "broadcast": broadcast,
                ])
        ),
        ("ReplayFilter", filter),
        (
            "ReplayDraft",
            .request([
                "application": .named("ApplicationId"), "state": .notificationState, "session": .named("SessionId"),
                "contentId": .text, "since": .time, "until": .time, "dryRun": .flag,
                "perSecond": .whole(1...Int64(RouterLimits.replaysPerSecond)),
            ])
        ),
        (
            "Replay",
            .object([
                "id": .text, "state": .oneOf(["running", "completed", "cancelled"]), "dryRun": .flag,
                "filter": .named("ReplayFilter"), "perSecond": .count, "matched": .count, "replayed": .count,
                "skipped": .count, "createdAt": .time, "endedAt": .time.orNull,
            ])
        ),
        (
            "ReplayTrial",
            .object(["dryRun": .flag, "filter": .named("ReplayFilter"), "perSecond": .count, "matched": .count])
        ),
    ]

    private static let question = JSONSchema.request([
        "contentId": .text, "device": .text, "priority": .whole(1...10),
        "kind": .oneOf(NotificationKind.allCases.map(\.rawValue)), "payload": .anything,
    ])
    private static let differences = JSONSchema.list(
        of: .object([
            "notification": .text, "application": .text, "receivedAt": .time, "contentId": .text.orNull,
            "current": .named("RuleOutcome"), "proposed": .named("RuleOutcome"),
        ]))
    private static let parts = JSONSchema.list(of: .object(["text": .text, "holds": .flag.orNull]))

    private static let filter = JSONSchema.object(
        [:],
        optional: [
            "application": .text, "state": .notificationState, "session": .text, "contentId": .text, "since": .time,
            "until": .time,
        ])

    static let sources: [(String, JSONSchema)] = {
        let template = JSONSchema.anyOf([.text, .map(of: .text)])
        let window = JSONSchema.request(["notBefore": .time, "notAfter": .time])
        return [
            (
                "SourceDraft",
                .request(
                    [
                        "options": .document, "contentId": template, "device": .text, "dedupeId": .text,
                        "filter": .text, "onMissing": .oneOf(["absent", "refuse"]), "priority": .priority,
                        "expiresInSeconds": .whole(0...31_536_000),
                        "secrets": .list(
                            of: .anyOf([
                                .text, .request(["notBefore": .time, "notAfter": .time], required: ["secret": .text]),
                            ])),
                    ], required: ["kind": .text, "application": .named("ApplicationId")])
            ),
            (
                "Source",
                .object(
                    [
                        "id": .text, "url": .text, "kind": .text, "application": .named("ApplicationId"),
                        "contentId": template.orNull, "device": .text.orNull, "dedupeId": .text.orNull,
                        "filter": .text.orNull, "onMissing": .text, "priority": .whole.orNull,
                        "expiresInSeconds": .count.orNull, "secrets": .list(of: window),
                    ], optional: ["options": .document, "secret": .text])
            ),
            (
                "SourceSample",
                .request([
                    "method": .text, "headers": .map(of: .text), "query": .map(of: .text), "body": .text,
                    "bodyBase64": .text,
                ])
            ),
            (
                "SourceTrial",
                .object([
                    "steps": .list(
                        of: .object([
                            "step": .text, "result": .oneOf(["ok", "refused", "skipped"]), "detail": .text,
                        ])),
                    "notifications": .list(
                        of: .object(
                            [
                                "contentId": .text.orNull, "device": .text.orNull, "type": .text.orNull,
                                "priority": .whole, "dedupeKeys": .list(of: .text),
                            ], optional: ["decision": .named("Decision")])),
                ])
            ),
        ]
    }()

    static let operating: [(String, JSONSchema)] = {
        var counts: [JSONSchema.Member] = []
        for name in ["accepted", "forgotten", "unaccounted"] + NotificationState.allCases.map(\.rawValue)
        where name != NotificationState.inFlight.rawValue {
            counts.append(JSONSchema.Member(name, .whole, isRequired: true))
        }
        let observer = JSONSchema.document
        let planning = JSONSchema.object([
            "count": .count, "nanosecondsP50": .count.orNull, "nanosecondsP99": .count.orNull,
            "nanosecondsP999": .count.orNull,
        ])
        return [
            (
                "Lane",
                .object([
                    "application": .named("ApplicationId"), "session": .text.orNull, "waiting": .count,
                    "inFlight": .count, "oldestReceivedAt": .time.orNull, "attempts": .count,
                    "nextAttemptAt": .time.orNull, "disabled": .text.orNull,
                    "waitsFor": .oneOf(["endpoint", "origin", "slowSlots", "share", "consumer"]).orNull,
                    "breaker": .object([
                        "state": .text, "since": .time.orNull, "reason": .text.orNull, "nextProbeAt": .time.orNull,
                        "gatedUntil": .time.orNull, "inFlightLimit": .count.orNull, "slow": .flag,
                    ]),
                ])
            ),
            (
                "Deliveries",
                .object(
                    [
                        "deliveries": .list(
                            of: .object(
                                [:],
                                optional: [
                                    "id": .text, "attempt": .count, "sequence": .count, "epoch": .count,
                                    "state": .text, "envelope": .document,
                                ]))
                    ], optional: ["last": .count, "next": .count])
            ),
            (
                "Status",
                .object(
                    [
                        "version": .text, "startedAt": .time, "clockAheadMilliseconds": .whole, "applications": .count,
                        "sessions": .count, "notifications": .object(counts), "inFlight": .count, "lanes": .count,
                        "events": .map(of: .count), "observers": .list(of: observer), "planning": planning,
                    ], optional: ["clock": .document])
            ),
            (
                "PluginManifest",
                .object([
                    "id": .text, "version": .text,
                    "kind": .oneOf(PluginManifest.Kind.allCases.map(\.rawValue)),
                    "status": .oneOf(PluginManifest.Status.allCases.map(\.rawValue)), "summary": .text,
                    "permissions": .object(["network": .text.orNull, "files": .text.orNull]),
                    "fields": .list(of: .document), "schema": .document,
                ])
            ),
            (
                "Plugin",
                .object(
                    ["id": .text, "kind": .text, "rung": .text, "state": .text],
                    optional: [
                        "version": .text.orNull, "workers": .list(of: .text), "calls": .count,
                        "faults": .map(of: .count),
                        "lastFault": .object(["fault": .text, "cause": .text.orNull, "at": .time]),
                        "quarantinedAt": .time.orNull, "cacheHits": .count.orNull, "latency": .document,
                    ])
            ),
            (
                "Key",
                .object(
                    [
                        "name": .text, "scopes": .list(of: .oneOf(APIScope.allCases.map(\.rawValue))),
                        "application": .text.orNull, "requestsPerSecond": .count.orNull, "isCaller": .flag,
                        "origin": .oneOf(KeptRules.Origin.allCases.map(\.rawValue)), "createdAt": .time.orNull,
                    ], optional: ["key": .text.described("A key that was made for the request, shown this once.")])
            ),
            (
                "Change",
                .object([
                    "number": .count, "at": .time, "key": .text.orNull, "operation": .text, "application": .text.orNull,
                    "resource": .text,
                ])
            ),
            (
                "KeyDraft",
                .request(
                    [
                        "application": .named("ApplicationId"),
                        "requestsPerSecond": .whole(1...Int64(DaemonLimits.requestsPerSecondMaximum)),
                        "sha256": .text.ofLength(64...64).described("The SHA-256 of the client's key, in hexadecimal."),
                    ], required: ["scopes": .list(of: .oneOf(APIScope.allCases.map(\.rawValue)))])
            ),
            (
                "Applied",
                .object(
                    [
                        "dryRun": .flag, "adopted": .count,
                        "changes": .list(
                            of: .object(
                                [
                                    "kind": .text, "id": .text,
                                    "action": .oneOf(["create", "update", "delete", "unchanged"]),
                                    "fields": .list(
                                        of: .object(["field": .text, "before": .anything, "after": .anything])),
                                ], optional: ["application": .text, "secret": .text])),
                    ], optional: ["rulesVersion": .count])
            ),
            (
                "Problem",
                .object(
                    ["type": .text, "title": .text, "status": .count, "detail": .text, "code": .text],
                    optional: [
                        "pointer": .text, "offset": .count, "caret": .text, "faults": .list(of: .document),
                        "triesRemaining": .whole, "rule": .text, "legal": .list(of: .activationState),
                        "currentTerm": .count, "side": .text, "span": .object(["offset": .count, "length": .count]),
                    ])
            ),
        ]
    }()
}

extension JSONSchema {
    static let notificationState = JSONSchema.oneOf(NotificationState.allCases.map(\.rawValue))
    fileprivate static let priority = JSONSchema.anyOf([.whole(1...1), .whole(5...5), .whole(10...10)])
}
