import HTTPTypes
import RouterPlugin

@testable import DaemonTesting

/// Fields that must be refused, each with the pointer to the fault.
extension BadCall {
    private static let gallery = TestDaemon.gallery
    private static let session = "\(gallery)/sessions/win-1"
    private static let good = #""endpoint":{"url":"http://127.0.0.1:9/hook"}"#

    private static func application(
        _ body: String, _ status: Int, _ code: String, _ pointer: String
    ) -> BadCall {
        BadCall("application \(body.prefix(100))", .put, gallery, body, status, code, at: pointer)
    }

    private static func session(_ fields: String, _ status: Int, _ code: String, _ pointer: String) -> BadCall {
        BadCall("session \(fields.prefix(100))", .put, session, "{\(good),\(fields)}", status, code, at: pointer)
    }

    private static func patch(_ body: String, _ status: Int, _ code: String, _ pointer: String) -> BadCall {
        BadCall("patch \(body.prefix(100))", .patch, session, body, status, code, at: pointer)
    }

    static let applications: [BadCall] = [
        application(#"{"colour":1}"#, 400, "unknown-field", "/colour"),
        application(#"{"a/b~c":1}"#, 400, "unknown-field", "/a~1b~0c"),
        application(#"{"manifest":{"scenes":[]}}"#, 400, "unknown-field", "/manifest/scenes"),
        application(
            #"{"manifest":{"sceneConfigurations":[{"name":"a"},{"name":"b","x":1}]}}"#, 400, "unknown-field",
            "/manifest/sceneConfigurations/1/x"),
        application(#"{"delivery":{"retries":1}}"#, 400, "unknown-field", "/delivery/retries"),
        application(#"{"routing":{"prefersRequiresCan":true,"x":1}}"#, 400, "unknown-field", "/routing/x"),
        application(#"{"delegate":{"url":"http://a/","x":1}}"#, 400, "unknown-field", "/delegate/x"),
        application(#"{"displayName":1}"#, 400, "wrong-type", "/displayName"),
        application(#"{"manifest":[]}"#, 400, "not-an-object", "/manifest"),
        application(
            #"{"manifest":{"supportsMultipleScenes":"yes"}}"#, 400, "wrong-type", "/manifest/supportsMultipleScenes"),
        application(#"{"manifest":{"userActivityTypes":"a"}}"#, 400, "wrong-type", "/manifest/userActivityTypes"),
        application(#"{"manifest":{"userActivityTypes":[1]}}"#, 400, "wrong-type", "/manifest/userActivityTypes"),
        application(
            #"{"manifest":{"sceneConfigurations":[1]}}"#, 400, "not-an-object", "/manifest/sceneConfigurations/0"),
        application(
            #"{"manifest":{"sceneConfigurations":[{}]}}"#, 422, "missing-field",
            "/manifest/sceneConfigurations/0/name"),
        application(
            #"{"manifest":{"sceneConfigurations":[{"name":"a"},{"name":"a"}]}}"#, 422, "invalid-field",
            "/manifest/sceneConfigurations/1/name"),
        application(
            #"{"manifest":{"sceneConfigurations":[{"name":"a","endpoint":{"url":"http://127.0.0.1:9/{tab}"}}]}}"#, 422,
            "unknown-placeholder", "/manifest/sceneConfigurations/0/endpoint/url"),
        application(
            #"{"manifest":{"sceneConfigurations":[{"name":"a","endpoint":{"url":"http://{session}.example/"}}]}}"#, 422,
            "misplaced-placeholder", "/manifest/sceneConfigurations/0/endpoint/url"),
        application(#"{"delivery":{"timeoutSeconds":0}}"#, 422, "invalid-field", "/delivery/timeoutSeconds"),
        application(#"{"delivery":{"timeoutSeconds":1.5}}"#, 400, "wrong-type", "/delivery/timeoutSeconds"),
        application(#"{"delivery":{"timeoutSeconds":1e400}}"#, 400, "wrong-type", "/delivery/timeoutSeconds"),
        application(
            #"{"delivery":{"timeoutSeconds":9223372036854775808}}"#, 400, "wrong-type", "/delivery/timeoutSeconds"),
        application(
            #"{"delivery":{"maxInFlightPerSession":65}}"#, 422, "invalid-field", "/delivery/maxInFlightPerSession"),
        application(#"{"delivery":{"retrySchedule":[5,-1]}}"#, 422, "invalid-field", "/delivery/retrySchedule"),
        application(#"{"delivery":{"retrySchedule":["5"]}}"#, 422, "invalid-field", "/delivery/retrySchedule"),
        application(
            #"{"delivery":{"retrySchedule":[\#(Array(repeating: "1", count: 65).joined(separator: ","))]}}"#, 422,
            "invalid-field", "/delivery/retrySchedule"),
        application(#"{"delivery":{"statuses":["404"]}}"#, 400, "not-an-object", "/delivery/statuses"),
        application(#"{"delivery":{"statuses":{"600":"retry"}}}"#, 422, "invalid-field", "/delivery/statuses"),
        application(#"{"delivery":{"statuses":{"2xx":"retry"}}}"#, 422, "invalid-field", "/delivery/statuses"),
        application(#"{"delivery":{"statuses":{"404":"ignore"}}}"#, 422, "invalid-field", "/delivery/statuses/404"),
        application(#"{"delivery":{"statuses":{"404":1}}}"#, 422, "invalid-field", "/delivery/statuses/404"),
        application(#"{"delivery":{"statuses":{"3xx":"deliver"}}}"#, 422, "invalid-field", "/delivery/statuses/3xx"),
        application(#"{"delivery":{"reroute":{"always":true}}}"#, 400, "unknown-field", "/delivery/reroute/always"),
        application(#"{"delivery":{"reroute":{"onTimeout":1}}}"#, 400, "wrong-type", "/delivery/reroute/onTimeout"),
        application(#"{"delivery":{"weight":0}}"#, 422, "invalid-field", "/delivery/weight"),
        application(#"{"delivery":{"weight":101}}"#, 422, "invalid-field", "/delivery/weight"),
        application(#"{"delivery":{"headOfLine":"park"}}"#, 400, "not-an-object", "/delivery/headOfLine"),
        application(#"{"delivery":{"headOfLine":{}}}"#, 422, "missing-field", "/delivery/headOfLine/policy"),
        application(
            #"{"delivery":{"headOfLine":{"policy":"drop"}}}"#, 422, "invalid-field", "/delivery/headOfLine/policy"),
        application(
            #"{"delivery":{"headOfLine":{"policy":"skip"}}}"#, 422, "missing-field",
            "/delivery/headOfLine/afterAttempts"),
        application(
            #"{"delivery":{"headOfLine":{"policy":"skip","afterAttempts":1}}}"#, 422, "invalid-field",
            "/delivery/headOfLine/afterAttempts"),
        application(
            #"{"delivery":{"headOfLine":{"policy":"park","afterAttempts":2}}}"#, 400, "unknown-field",
            "/delivery/headOfLine/afterAttempts"),
        application(#"{"gates":{"door":{}}}"#, 400, "unknown-field", "/gates/door"),
        application(#"{"gates":{"onboarding":true}}"#, 400, "not-an-object", "/gates/onboarding"),
        application(#"{"gates":{"onboarding":{"configured":1}}}"#, 400, "wrong-type", "/gates/onboarding/configured"),
        application(
            #"{"gates":{"onboarding":{"demoConfiguration":"Demo"}}}"#, 422, "invalid-field",
            "/gates/onboarding/demoConfiguration"),
        application(#"{"gates":{"onboarding":{"prompts":[]}}}"#, 400, "not-an-object", "/gates/onboarding/prompts"),
        application(
            #"{"gates":{"onboarding":{"prompts":{"de_AT":{}}}}}"#, 422, "invalid-field", "/gates/onboarding/prompts"),
        application(
            #"{"gates":{"onboarding":{"prompts":{"de":{},"DE":{}}}}}"#, 422, "invalid-field",
            "/gates/onboarding/prompts"),
        application(
            #"{"gates":{"onboarding":{"prompts":{"de":{"farewell":"x"}}}}}"#, 400, "unknown-field",
            "/gates/onboarding/prompts/de/farewell"),
        application(
            #"{"gates":{"onboarding":{"prompts":{"de":{"title":"\#(String(repeating: "x", count: 1025))"}}}}}"#, 422,
            "invalid-field", "/gates/onboarding/prompts/de/title"),
        application(#"{"gates":{"passcode":[]}}"#, 400, "not-an-object", "/gates/passcode"),
        application(
            #"{"gates":{"passcode":{"allowsTouchID":true}}}"#, 400, "unknown-field", "/gates/passcode/allowsTouchID"),
        application(#"{"gates":{"passcode":{"minLength":0}}}"#, 422, "invalid-field", "/gates/passcode/minLength"),
        application(#"{"gates":{"passcode":{"retryLimit":0}}}"#, 422, "invalid-field", "/gates/passcode/retryLimit"),
        application(#"{"gates":{"passcode":{"hasDigit":1}}}"#, 400, "wrong-type", "/gates/passcode/hasDigit"),
        application(
            #"{"gates":{"passcode":{"lockTimeoutSeconds":-2}}}"#, 422, "invalid-field",
            "/gates/passcode/lockTimeoutSeconds"),
        application(#"{"delegate":{}}"#, 422, "missing-field", "/delegate/url"),
        application(#"{"delegate":{"url":1}}"#, 400, "wrong-type", "/delegate/url"),
    ]

    static let sessions: [BadCall] = [
        session(#""colour":1"#, 400, "unknown-field", "/colour"),
        session(#""id":"other""#, 422, "invalid-field", "/id"),
        session(#""application":"other""#, 422, "invalid-field", "/application"),
        session(#""stateRestorationActivity":{"foo":1}"#, 422, "missing-field", "/stateRestorationActivity"),
        session(#""activationConditions":{"can":"TRUEPREDICATE"}"#, 400, "unknown-field", "/activationConditions/can"),
        session(#""role":1"#, 400, "wrong-type", "/role"),
        session(#""configuration":"Nothing""#, 422, "unknown-configuration", "/configuration"),
        session(#""device":7"#, 400, "wrong-type", "/device"),
        session(#""device":"""#, 400, "invalid-device-id", "/device"),
        session(#""device":"a\u0000""#, 400, "invalid-device-id", "/device"),
        session(#""activationState":"asleep""#, 422, "invalid-field", "/activationState"),
        session(#""activationState":1"#, 400, "wrong-type", "/activationState"),
        session(#""activationConditions":"TRUEPREDICATE""#, 400, "not-an-object", "/activationConditions"),
        session(
            #""activationConditions":{"preferenceLevel":"high"}"#, 400, "wrong-type",
            "/activationConditions/preferenceLevel"),
        session(
            #""activationConditions":{"preferenceLevel":1000001}"#, 422, "invalid-field",
            "/activationConditions/preferenceLevel"),
        session(#""activationConditions":{"allowing":"*"}"#, 400, "wrong-type", "/activationConditions/allowing"),
        session(
            #""activationConditions":{"allowing":[],"canActivateForTargetContentIdentifierPredicate":"FALSEPREDICATE"}"#,
            422, "invalid-field", "/activationConditions/allowing"),
        session(#""userInfo":[]"#, 422, "invalid-field", "/userInfo"),
        session(#""stateRestorationActivity":"a""#, 422, "invalid-field", "/stateRestorationActivity"),
        session(#""leaseSeconds":0"#, 422, "invalid-field", "/leaseSeconds"),
        session(#""leaseSeconds":2592001"#, 422, "invalid-field", "/leaseSeconds"),
        session(#""leaseSeconds":"60""#, 400, "wrong-type", "/leaseSeconds"),
        session(#""leaseSeconds":0.5"#, 400, "wrong-type", "/leaseSeconds"),
        patch(#"{"colour":null}"#, 400, "unknown-field", "/colour"),
        patch(#"{"id":"other"}"#, 400, "unknown-field", "/id"),
        patch(#"{"userInfo":1}"#, 422, "invalid-field", "/userInfo"),
        patch(#"{"activationState":"asleep"}"#, 422, "invalid-field", "/activationState"),
        patch(#"{"configuration":"Nothing"}"#, 422, "unknown-configuration", "/configuration"),
        patch(#"{"leaseSeconds":-1}"#, 422, "invalid-field", "/leaseSeconds"),
        patch(#"{"endpoint":null}"#, 422, "endpoint-missing", "/endpoint"),
        patch(#"{"device":"changed","leaseSeconds":-1}"#, 422, "invalid-field", "/leaseSeconds"),
    ]

    static let endpoints: [BadCall] = [
        ("http://user:pass@a.example/", "endpoint-url-credentials"),
        ("http://user@a.example/", "endpoint-url-credentials"),
        ("ftp://a.example/", "endpoint-url-scheme"), ("file:///etc/passwd", "endpoint-url-scheme"),
        (#"http://a.example/\r\nX: y"#, "endpoint-url-control-characters"),
        ("http://a.example/a b", "endpoint-url-control-characters"),
        ("http://a.example/#part", "endpoint-url-fragment"),
        ("http://a.example/\(String(repeating: "a", count: 8192))", "endpoint-url-too-long"),
        ("/hook", "endpoint-url-malformed"), ("", "endpoint-url-malformed"), ("http://", "endpoint-url-no-host"),
        ("http:a.example", "endpoint-url-malformed"), ("http://a.example:99999/", "endpoint-url-malformed"),
        ("http://bücher.example/", "endpoint-url-malformed"),
        ("http://b%C3%BCcher.example/", "endpoint-url-malformed"), ("http://a%00b.example/", "endpoint-url-malformed"),
    ].flatMap { (url: String, code: String) in
        [
            BadCall(
                "session at \(url.prefix(60))", .put, session, #"{"endpoint":{"url":"\#(url)"}}"#, 422, code,
                at: "/endpoint/url"),
            BadCall(
                "patch to \(url.prefix(60))", .patch, session, #"{"endpoint":{"url":"\#(url)"}}"#, 422, code,
                at: "/endpoint/url"),
            BadCall(
                "configuration at \(url.prefix(60))", .put, gallery,
                #"{"manifest":{"sceneConfigurations":[{"name":"a","endpoint":{"url":"\#(url)"}}]}}"#, 422, code,
                at: "/manifest/sceneConfigurations/0/endpoint/url"),
        ]
    }

    static let secrets: [BadCall] = [
        ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "secret-prefix"), ("whsec_*", "secret-not-base64"),
        ("whsec_AAAA", "secret-length"), ("", "secret-prefix"),
    ].flatMap { (secret: String, code: String) in
        [
            BadCall(
                "session with \(secret)", .put, session,
                #"{"endpoint":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#, 422, code,
                at: "/endpoint/secret"),
            BadCall(
                "delegate with \(secret)", .put, gallery,
                #"{"delegate":{"url":"http://127.0.0.1:9/","secret":"\#(secret)"}}"#, 422, code,
                at: "/delegate/secret"),
        ]
    }
}
