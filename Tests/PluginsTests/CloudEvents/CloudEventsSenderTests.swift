import Plugins
import RouterPlugin
import Testing

/// cloudevents/spec `http-webhook.md`: authorization (3) and abuse protection (4).
struct CloudEventsSenderTests {
    // MARK: Tokens

    private func fault(
        _ headers: [(name: String, value: String)], query: [(name: String, value: String)] = []
    ) -> SourceError? {
        let request = SourceRequest(query: query, headers: headers, body: [], receivedAt: noon)
        do {
            try CloudEventsSource().verify(request, with: [SourceSecret("old"), SourceSecret("mF_9.B5f-4.1JqM")])
            return nil
        } catch {
            return error
        }
    }

    @Test func theTokenIsInTheHeaderOrInTheQuery() {
        #expect(fault([("authorization", "Bearer mF_9.B5f-4.1JqM")]) == nil)
        #expect(fault([], query: [("p", "q"), ("access_token", "mF_9.B5f-4.1JqM")]) == nil)
        #expect(fault([], query: [("access_token", "old")]) == nil)
    }

    @Test func otherTokensAreRefused() {
        #expect(fault([])?.code == "signature-missing")
        #expect(fault([("authorization", "Bearer x")])?.code == "credentials-invalid")
        #expect(fault([], query: [("access_token", "x")])?.code == "credentials-invalid")
        #expect(fault([], query: [("access_token", "")])?.code == "credentials-invalid")
        #expect(fault([], query: [("Access_Token", "old")])?.code == "signature-missing")
        let both = fault([("authorization", "Bearer old")], query: [("access_token", "old")])
        #expect(both?.code == "credentials-invalid")
        #expect(fault([], query: [("access_token", "old"), ("access_token", "old")])?.code == "credentials-invalid")
        for error in [fault([]), both] { #expect(error?.kind == .unauthenticated) }
    }

    // MARK: Handshake

    private func ask(
        _ headers: [(name: String, value: String)], method: String = "OPTIONS", options: JSONValue = [:]
    ) throws -> SourceResponse? {
        let request = SourceRequest(method: method, headers: headers, body: [], receivedAt: noon)
        return try CloudEventsSource(options: options).handshake(request)
    }

    private let origin = (name: "webhook-request-origin", value: "eventemitter.example.com")

    @Test func anOriginIsGivenConsent() throws {
        let rate = (name: "webhook-request-rate", value: "120")
        let answer = try ask([origin, rate])
        #expect(
            answer
                == SourceResponse(
                    status: 200,
                    headers: [
                        .init("allow", "POST, OPTIONS"), .init("webhook-allowed-origin", "eventemitter.example.com"),
                        .init("webhook-allowed-rate", "*"),
                    ]))
        let limited = try ask([origin, rate], options: ["allowedRate": 100])
        #expect(limited?.headers.contains(.init("webhook-allowed-rate", "100")) == true)
    }

    @Test func onlyConfiguredOriginsAreGivenConsent() throws {
        let options: JSONValue = ["allowedOrigins": ["EventEmitter.example.com", "b.example.com"]]
        #expect(try ask([origin], options: options)?.status == 200)
        #expect(try ask([(name: origin.name, value: "B.Example.com")], options: options)?.status == 200)
        let refused = try ask([(name: origin.name, value: "c.example.com")], options: options)
        #expect(refused == SourceResponse(status: 403, headers: [.init("allow", "POST, OPTIONS")]))
    }

    @Test(arguments: ["", "*", "a b", "a\r\nx: y", "é.example.com", String(repeating: "a", count: 261)])
    func originsThatNameNoSenderAreRefused(value: String) throws {
        let answer = try ask([(name: origin.name, value: value)])
        #expect(answer == SourceResponse(status: 400, headers: [.init("allow", "POST, OPTIONS")]))
    }

    @Test func aRequestWithoutOneOriginIsRefused() throws {
        #expect(try ask([])?.status == 400)
        #expect(try ask([origin, origin])?.status == 400)
    }

    @Test func eventsAreNoHandshake() throws {
        #expect(try ask([origin], method: "POST") == nil)
        #expect(CloudEventsSource().methods == ["POST", "OPTIONS"])
        // Other sources have none.
        let request = SourceRequest(method: "OPTIONS", headers: [origin], body: [], receivedAt: noon)
        #expect(PushPayloadSource().handshake(request) == nil)
        #expect(try CloudEventsSource().decode(request).response?.status == 200)
    }

    // MARK: Options

    @Test(
        arguments: [
            (#"{"contentIdAttribute": "Route"}"#, "/contentIdAttribute"),
            (#"{"contentIdAttribute": "data"}"#, "/contentIdAttribute"),
            (#"{"contentIdAttribute": 1}"#, "/contentIdAttribute"), (#"{"allowedOrigins": "*"}"#, "/allowedOrigins"),
            (#"{"allowedOrigins": []}"#, "/allowedOrigins"),
            (#"{"allowedOrigins": ["*", "a b"]}"#, "/allowedOrigins/1"),
            (#"{"allowedRate": 0}"#, "/allowedRate"), (#"{"allowedRate": "x"}"#, "/allowedRate"),
            (#"{"allowedRate": 1.5}"#, "/allowedRate"), (#"{"rate": 1}"#, "/rate"), ("[]", ""),
        ])
    func badOptionsAreRefused(options: String, pointer: String) throws {
        let options = try parsed(options)
        let error = #expect(throws: PluginConfigurationError.self) { try CloudEventsSource.kind.make(options) }
        #expect(error?.pointer == pointer)
    }

    @Test func theKindIsBuiltIn() throws {
        #expect(BuiltInPlugins.sourceKinds.contains { $0.id == CloudEventsSource.id })
        #expect(CloudEventsSource.kind.secrets == .optional)
        let options =
            #"{"contentIdAttribute": "route", "allowedOrigins": ["a.example.com:443", "*"], "allowedRate": "*"}"#
        #expect(try CloudEventsSource.kind.make(parsed(options)).id == CloudEventsSource.id)
    }
}
