import HTTPTypes
import RouterPlugin

@testable import DaemonTesting

/// Keys of endpoints, and rotation requests, that must be refused.
extension BadCall {
    private static let gallery = TestDaemon.gallery
    private static let session = "\(gallery)/sessions/win-1"
    private static let otherSecret = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

    private static let eleven = Array(repeating: #"{"secret":"\#(otherSecret)"}"#, count: 11).joined(separator: ",")

    /// The member of an endpoint, and its fault.
    static let signingKeys: [BadCall] = [
        (#""signingKeys":{}"#, 400, "wrong-type", ""), (#""signingKeys":[]"#, 422, "secret-gap", ""),
        (#""signingKeys":[1]"#, 400, "not-an-object", "/0"),
        (#""signingKeys":[{}]"#, 422, "missing-field", "/0/secret"),
        (#""signingKeys":[{"secret":"whsk_AAAA"}]"#, 422, "secret-length", "/0/secret"),
        (#""signingKeys":[{"secret":"\#(otherSecret)","x":1}]"#, 400, "unknown-field", "/0/x"),
        (window(#""notAfter":"tomorrow""#), 422, "invalid-field", "/0/notAfter"),
        (window(#""notAfter":1"#), 400, "wrong-type", "/0/notAfter"),
        (window(#""notAfter":"2020-01-01T00:00:00Z""#), 422, "secret-gap", ""),
        (window(#""notAfter":"2999-01-01T00:00:00Z""#), 422, "secret-gap", ""),
        (window(#""notBefore":"2999-01-01T00:00:00Z""#), 422, "secret-gap", ""),
        (
            window(#""notBefore":"2999-01-01T00:00:00Z","notAfter":"2999-01-01T00:00:00Z""#), 422, "invalid-field",
            "/0/notAfter"
        ),
        (#""signingKeys":[\#(eleven)]"#, 422, "invalid-field", ""),
        (#""secret":"\#(otherSecret)","signingKeys":[{"secret":"\#(otherSecret)"}]"#, 422, "invalid-field", ""),
    ].flatMap { (member: String, status: Int, code: String, place: String) in
        [
            BadCall(
                "session with \(member.prefix(80))", .put, session,
                #"{"endpoint":{"url":"http://127.0.0.1:9/",\#(member)}}"#, status, code,
                at: "/endpoint/signingKeys\(place)"),
            BadCall(
                "patch with \(member.prefix(80))", .patch, session, #"{"endpoint":{\#(member)}}"#, status, code,
                at: "/endpoint/signingKeys\(place)"),
            BadCall(
                "configuration with \(member.prefix(80))", .put, gallery,
                #"{"manifest":{"sceneConfigurations":[{"name":"a","#
                    + #""endpoint":{"url":"http://127.0.0.1:9/",\#(member)}}]}}"#,
                status, code, at: "/manifest/sceneConfigurations/0/endpoint/signingKeys\(place)"),
        ]
    }

    private static func window(_ fields: String) -> String {
        #""signingKeys":[{"secret":"\#(otherSecret)",\#(fields)}]"#
    }

    static let rotations: [BadCall] =
        [
            ("[]", 400, "not-an-object", nil), ("{", 400, "json-unexpected-end", nil),
            (#"{"overlap":1}"#, 400, "unknown-field", "/overlap"),
            (#"{"overlapSeconds":-1}"#, 422, "invalid-field", "/overlapSeconds"),
            (#"{"overlapSeconds":604801}"#, 422, "invalid-field", "/overlapSeconds"),
            (#"{"version":"v2"}"#, 422, "invalid-field", "/version"),
            (#"{"version":"v1","secret":"\#(otherSecret)"}"#, 422, "invalid-field", "/version"),
            (#"{"secret":"whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="}"#, 422, "secret-prefix", "/secret"),
            (#"{"replaces":["v2"]}"#, 422, "invalid-field", "/replaces"),
            (#"{"replaces":"v1"}"#, 400, "wrong-type", "/replaces"),
        ].map { (body: String, status: Int, code: String, pointer: String?) in
            BadCall("rotation \(body)", .post, "\(session)/endpoint/rotate-secret", body, status, code, at: pointer)
        }
        + [
            ("\(gallery)/delegate/rotate-secret", "unknown-endpoint"),
            ("\(gallery)/sceneConfigurations/Nothing/endpoint/rotate-secret", "unknown-endpoint"),
            ("\(gallery)/sessions/nobody/endpoint/rotate-secret", "unknown-session"),
            ("/v1/applications/nobody/delegate/rotate-secret", "unknown-application"),
            ("\(gallery)/endpoint/rotate-secret", "not-found"),
        ].map { (path: String, code: String) in BadCall("rotation at \(path)", .post, path, "{}", 404, code) }
}
