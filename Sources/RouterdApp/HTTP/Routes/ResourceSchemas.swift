import Router
import RouterPlugin

/// The schemas that operations refer to by name.
package enum ResourceSchemas {
    /// In the order of the document.
    package static let all: [(name: String, schema: JSONSchema)] =
        identifiers + endpoints + applications + sessions + notifications + gates + sources + operating

    private static let identifiers: [(String, JSONSchema)] = [
        ("ApplicationId", .text.ofLength(1...255).described("Letters, digits, '.', '-' and '_'.")),
        ("SessionId", .text.ofLength(1...255)), ("DeviceId", .text.ofLength(1...255)),
    ]

    private static let endpoints: [(String, JSONSchema)] = [
        (
            "EndpointDraft",
            .anyOf([
                .request(
                    [
                        "secret": .text, "format": .anyOf([.text, .document]),
                        "signingKeys": .list(
                            of: .anyOf([
                                .request(["notBefore": .time, "notAfter": .time], required: ["secret": .text]),
                                .request(
                                    ["publicKey": .text, "notBefore": .time, "notAfter": .time],
                                    required: ["version": .oneOf(["v1", "v1a"])]),
                            ])),
                    ], required: ["url": .text]),
                .request([:], required: ["stream": .flag]),
            ])
        ),
        (
            "Endpoint",
            .anyOf([
                .object(
                    [
                        "url": .text,
                        "signingKeys": .list(
                            of: .object(
                                ["version": .oneOf(["v1", "v1a"])],
                                optional: ["publicKey": .text, "notBefore": .time, "notAfter": .time])),
                    ], optional: ["secret": .text, "format": .document]),
                .object(["stream": .flag]),
            ])
        ),
        (
            "SecretRotation",
            .request([
                "secret": .text, "version": .oneOf(["v1", "v1a"]), "replaces": .list(of: .oneOf(["v1", "v1a"])),
                "overlapSeconds": .whole(0...Int64(RouterLimits.secretOverlapSeconds)),
            ])
        ),
    ]

    private static let applications: [(String, JSONSchema)] = {
        let configuration: (JSONSchema) -> JSONSchema = { endpoint in
            .request(
                ["role": .text, "activityTypes": .list(of: .text), "endpoint": endpoint], required: ["name": .text])
        }
        let manifest: (JSONSchema) -> JSONSchema = { endpoint in
            .request([
                "supportsMultipleScenes": .flag, "userActivityTypes": .list(of: .text),
                "sceneConfigurations": .list(of: configuration(endpoint)),
            ])
        }
        let delivery = JSONSchema.request([
            "timeoutSeconds": .whole(1...300), "maxInFlightPerSession": .whole(1...64),
            "retrySchedule": .list(of: .whole(0...604_800)), "statuses": .map(of: .text),
            "reroute": .request(["onExhausted": .flag, "onTimeout": .flag]),
            "weight": .whole(1...Int64(RouterLimits.weight)),
            "headOfLine": .request(
                ["afterAttempts": .whole(2...Int64(RouterLimits.retrySteps))],
                required: ["policy": .oneOf(["block", "park", "skip"])]),
            "lifeCycleEvents": .flag,
        ])
        let routing = JSONSchema.request(["prefersRequiresCan": .flag, "requireContentId": .flag, "broadcasts": .flag])
        return [
            (
                "ApplicationDraft",
                .request([
                    "displayName": .text, "manifest": manifest(.named("EndpointDraft")), "routing": routing,
                    "delivery": delivery, "delegate": .named("EndpointDraft"), "observers": .list(of: .text),
                    "gates": .request(["onboarding": .document, "passcode": .named("PasscodePolicy")]),
                    "id": .named("ApplicationId"), "activationState": .activationState, "currentSession": .text,
                    "onboardingSession": .text,
                ])
            ),
            (
                "Application",
                .object(
                    [
                        "id": .named("ApplicationId"), "displayName": .text, "manifest": manifest(.named("Endpoint")),
                        "routing": routing, "delivery": delivery,
                    ],
                    optional: [
                        "activationState": .activationState, "currentSession": .text.orNull,
                        "onboardingSession": .text.orNull, "delegate": .named("Endpoint"),
                        "observers": .list(of: .text), "deleting": .flag,
                        "gates": .object([:], optional: ["onboarding": .document, "passcode": .document]),
                    ])
            ),
            (
                "SessionApplication",
                .object([
                    "id": .named("ApplicationId"), "activationState": .activationState,
                    "currentSession": .text.orNull, "onboardingSession": .text.orNull,
                ])
            ),
        ]
    }()

    private static let whileAway = JSONSchema.oneOf(WhileAway.allCases.map(\.rawValue))
    static let unreachableBecause = JSONSchema.oneOf(Unreachable.allCases.map(\.rawValue))

    private static let sessions: [(String, JSONSchema)] = {
        let predicate = JSONSchema.anyOf([
            .text, .request(["arguments": .list(of: .anything)], required: ["format": .text]),
        ])
        let can = "canActivateForTargetContentIdentifierPredicate"
        let prefers = "prefersToActivateForTargetContentIdentifierPredicate"
        return [
            (
                "ActivationConditions",
                .object(
                    [
                        ("allowing", .list(of: .text)), ("preferring", .list(of: .text)), (can, predicate),
                        (prefers, predicate), ("preferenceLevel", .whole(-1_000_000...1_000_000)),
                    ].map { JSONSchema.Member($0.0, $0.1.orNull, isRequired: false) })
            ),
            (
                "SessionDraft",
                .request([
                    "role": .text, "configuration": .text, "device": .named("DeviceId"),
                    "activationState": .activationState, "activationConditions": .named("ActivationConditions"),
                    "endpoint": .named("EndpointDraft"), "stateRestorationActivity": .userActivity,
                    "userInfo": .document, "leaseSeconds": .whole(1...2_592_000), "observers": .list(of: .text),
                    "whileAway": whileAway,
                    // As reads show them, for an answer that is put back.
                    "id": .named("SessionId"), "application": .named("ApplicationId"), "applicationScreen": .text,
                    "leaseExpiresAt": .time, "lastActivatedAt": .time, "disabled": .text, "epoch": .count,
                    "reachable": .flag, "unreachableBecause": unreachableBecause,
                ])
            ),
            (
                "SessionPatch",
                .request([
                    "role": .text, "configuration": .text, "device": .named("DeviceId"),
                    "activationState": .activationState, "activationConditions": .named("ActivationConditions"),
                    "endpoint": .document, "stateRestorationActivity": .document, "userInfo": .document,
                    "leaseSeconds": .whole(1...2_592_000), "observers": .list(of: .text), "whileAway": whileAway,
                ])
            ),
            (
                "Session",
                .object(
                    [
                        "id": .named("SessionId"), "application": .named("ApplicationId"), "role": .text,
                        "configuration": .text.orNull, "device": .text.orNull, "activationState": .activationState,
                        "activationConditions": .object([
                            "canActivateForTargetContentIdentifierPredicate": .text,
                            "prefersToActivateForTargetContentIdentifierPredicate": .text, "preferenceLevel": .whole,
                        ]),
                        "leaseSeconds": .count.orNull, "leaseExpiresAt": .time.orNull,
                        "lastActivatedAt": .time.orNull, "disabled": .text.orNull, "epoch": .count,
                    ],
                    optional: [
                        "endpoint": .named("Endpoint"), "observers": .list(of: .text), "whileAway": whileAway,
                        "reachable": .flag, "unreachableBecause": unreachableBecause,
                        "stateRestorationActivity": .document.orNull, "userInfo": .document,
                        "applicationScreen": .oneOf(ApplicationScreen.allCases.map(\.rawValue)),
                    ])
            ),
            (
                "Activation",
                activation(["session": .named("SessionId"), "role": .text, "device": .named("DeviceId"), "new": .flag])
            ),
            ("SessionActivation", activation([:])),
        ]
    }()

    private static func activation(_ members: KeyValuePairs<String, JSONSchema>) -> JSONSchema {
        let options = JSONSchema.request([
            "requestingSession": .named("SessionId"),
            "preferredPresentationStyle": .oneOf(PresentationStyle.allCases.map(\.rawValue)),
        ])
        return .object(
            members.map { JSONSchema.Member($0.key, $0.value.orNull, isRequired: false) } + [
                JSONSchema.Member("userActivity", JSONSchema.userActivity.orNull, isRequired: false),
                JSONSchema.Member("options", options.orNull, isRequired: false),
            ])
    }

    private static let gates: [(String, JSONSchema)] = {
        let progress: KeyValuePairs<String, JSONSchema> = [
            "operationId": .text, "step": .text, "currentStepNumber": .count, "totalNumberOfSteps": .count,
            "parameters": .list(of: .text), "defaultMessage": .text,
        ]
        let failure = JSONSchema.object(["status": .count.orNull, "reason": .text])
        let report = JSONSchema.object(progress, optional: ["time": .time, "failure": failure])
        let policy = JSONSchema.request([
            "minLength": .count, "hasDigit": .flag, "hasUpper": .flag, "hasLower": .flag, "hasSpecial": .flag,
            "isDigitsOnly": .flag, "minUniqueChars": .whole, "retryLimit": .whole, "allowsBiometrics": .flag,
            "noPasscodeRequired": .flag, "lockTimeoutSeconds": .whole, "expirationDays": .count,
            "issuers": .list(
                of: .request(
                    ["anySubject": .flag],
                    required: ["issuer": .text, "audience": .text, "jwks": .document])),
            "webAuthn": .request([:], required: ["rpId": .text, "origins": .list(of: .text)]),
        ])
        return [
            (
                "Gate",
                .object(
                    [
                        "device": .text.orNull,
                        "state": .oneOf([
                            "notOpened", "onboarding", "restoring", "opened", "locked", "resetting", "demo",
                        ]),
                        "responsible": .text.orNull, "term": .count, "onboardingId": .text.orNull, "held": .count,
                    ],
                    optional: [
                        "progress": report, "operations": .document,
                        "failure": .object([
                            "session": .text, "reason": .text.orNull, "message": .text.orNull,
                        ]),
                        "proof": .object(["issuer": .text, "subject": .text]), "inDemo": .count,
                        "demoSessions": .list(of: .text), "configuration": .document.orNull, "paused": .count,
                        "welcome": .object([
                            "displayName": .text, "configured": .flag, "demoConfiguration": .text.orNull,
                            "prompts": .document,
                        ]),
                    ])
            ),
            (
                "ProgressReport",
                .request(
                    [
                        "parameters": .list(of: .text), "defaultMessage": .text, "time": .time,
                        "failure": .request(["status": .whole(100...599), "reason": .text]),
                    ],
                    required: [
                        "session": .named("SessionId"), "term": .count, "operationId": .text, "step": .text,
                        "currentStepNumber": .count, "totalNumberOfSteps": .count,
                    ])
            ),
            ("PasscodePolicy", policy),
            (
                "PasscodeStatus",
                .object(
                    [
                        "device": .text.orNull, "isCreated": .flag, "mustBeChanged": .flag, "hasDeviceKey": .flag,
                        "triesRemaining": .whole, "policy": .document, "prompts": .document,
                    ],
                    optional: [
                        "chosenAt": .time, "notBefore": .time, "locksAt": .time,
                        "issuers": .list(of: .object(["issuer": .text, "audience": .text])),
                        "webAuthn": .object(["rpId": .text, "origins": .list(of: .text)]),
                    ])
            ),
            (
                "PasscodeCheck",
                .object(["meetsPolicy": .flag, "faults": .list(of: .object(["rule": .text, "message": .text]))])
            ),
        ]
    }()
}

extension JSONSchema {
    static let activationState = JSONSchema.oneOf(ActivationState.allCases.map(\.name))

    /// UIKit's `NSUserActivity`.
    static let userActivity = JSONSchema.request(
        ["targetContentIdentifier": .text, "webpageURL": .text, "title": .text, "userInfo": .document],
        required: ["activityType": .text])
}
