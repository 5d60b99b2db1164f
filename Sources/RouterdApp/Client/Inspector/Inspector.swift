import DeliveryCurl
import HTTPTypes
import Hummingbird
import NIOCore
package import Plugins
import Router
import RouterPlugin
import Synchronization

/// The page of a receiver: it shows each webhook, plans the answers to the next ones, and sends a webhook again.
///
/// Browsers of this machine alone may see it: the webhooks may hold anything.
package final class Inspector: Sendable {
    private let keys: [WebhookVerificationKey]
    private let book: Mutex<InspectorBook>
    private let transport: CurlTransport
    private let clock: SteadyClock

    /// - Parameters:
    ///   - keys: Secrets among them sign the webhooks that are sent again.
    ///   - usual: The answer when no other is planned.
    package init(keys: [WebhookVerificationKey], usual: WebhookAnswer, clock: SteadyClock = SteadyClock()) throws {
        self.keys = keys
        self.clock = clock
        book = Mutex(InspectorBook(usual: usual))
        transport = try CurlTransport(configuration: CurlConfiguration(egress: .unguarded, slots: 1))
    }

    /// Notes a webhook, waits for as long as planned, and returns the answer.
    func answer(_ received: ReceiverApp.Received) async throws -> WebhookAnswer {
        let (number, answer) = book.withLock { $0.take(received) }
        try await Task.sleep(for: .milliseconds(answer.delayMilliseconds))
        book.withLock { $0.answered(number, at: clock.wall) }
        return answer
    }

    /// The reserved path of the page and its requests. A POST to any other path is a webhook.
    package static let path = "/_inspector/"

    func add(to router: Hummingbird.Router<RouterdContext>) {
        router.get("/") { _, _ in Response(status: .temporaryRedirect, headers: [.location: Self.path]) }
        let pages = router.group(RouterPath(Self.path))
            .add(middleware: ProblemMiddleware()).add(middleware: InspectorGuard())
        pages.get { request, _ in
            guard request.uri.path.hasSuffix("/") else {
                return Response(status: .temporaryRedirect, headers: [.location: Self.path])
            }
            return ConsoleFile.inspectorPage.response
        }
        for file in ConsoleFile.inspector { pages.get("\(file.name)") { _, _ in file.response } }
        pages.get("webhooks") { request, _ in try self.list(request) }
        pages.delete("webhooks") { _, _ in
            self.book.withLock { $0.forget() }
            return Response(status: .noContent)
        }
        pages.get("webhooks/{number}") { _, context in
            let entry = try self.entry(context)
            return Response.json(.ok, JSONWriter.object { entry.writeWhole(to: &$0) })
        }
        pages.put("answer") { request, _ in try await self.plan(request) }
        pages.post("webhooks/{number}/replay") { request, context in try await self.replay(request, context) }
    }

    private func list(_ request: Request) throws -> Response {
        let since = request.uri.queryParameters["since"].flatMap { Int($0) } ?? 0
        let book = book.withLock { $0 }
        let body = JSONWriter.object { list in
            list.field("change", book.change)
            list.field("count", book.count)
            list.field("oldest", book.oldest)
            list.array("keys") { for key in keys { $0.element(key.version) } }
            list.object("plan") { plan in
                book.plan.answer.write(to: &plan)
                plan.field("times", book.plan.times)
            }
            list.array("webhooks") { webhooks in
                for entry in book.changed(since: since) { webhooks.object { entry.write(to: &$0) } }
            }
        }
        return .json(.ok, body)
    }

    private func entry(_ context: RouterdContext) throws -> InspectorBook.Entry {
        let number = context.parameters.get("number", as: Int.self) ?? 0
        guard let entry = book.withLock({ $0.entry(number) }) else { throw HTTPError(.notFound) }
        return entry
    }

    private func plan(_ request: Request) async throws -> Response {
        var reader = try ObjectReader(try await request.json())
        let statuses = WebhookAnswer.statuses
        let status = try reader.integer("status", in: Int64(statuses.lowerBound)...Int64(statuses.upperBound))
        guard let status else { throw reader.missing("status") }
        let answer = WebhookAnswer(
            status: status,
            delayMilliseconds: try reader.integer("delayMilliseconds", in: 0...DaemonLimits.inspectorDelay) ?? 0,
            retryAfterSeconds: try reader.integer("retryAfterSeconds", in: 0...Int64(Int32.max)),
            body: try reader.string("body") ?? "")
        let times = try reader.integer("times", in: 1...1_000_000)
        try reader.finish()
        book.withLock { $0.answer(by: InspectorBook.Plan(answer: answer, times: times)) }
        return try list(request)
    }

    private func replay(_ request: Request, _ context: RouterdContext) async throws -> Response {
        let received = try entry(context).received
        var reader = try ObjectReader(try await request.json())
        guard let url = try reader.string("url") else { throw reader.missing("url") }
        try reader.finish()
        guard url.hasPrefix("http://") || url.hasPrefix("https://") else {
            throw reader.invalid("url", "must begin with http:// or https://")
        }
        let result = await transport.send(
            WebhookRequest(
                url: url, headers: received.fields(signedBy: keys, at: clock.wall), body: received.body,
                timeoutMilliseconds: 30_000))
        let body = JSONWriter.object { answer in
            answer.field("milliseconds", Double(result.metrics.total) / 1000)
            switch result.outcome {
            case .response(let response):
                answer.field("status", response.status)
                answer.field("retryAfterSeconds", response.retryAfterSeconds)
                answer.field("body", String(decoding: response.body, as: UTF8.self))
            case .failure(let failure):
                answer.field("fault", failure.message)
            }
        }
        return .json(.ok, body)
    }
}

extension ReceiverApp.Received {
    /// Fields that belong to the connection that the webhook came by.
    private static let ofConnection: Set = [
        "host", "connection", "content-length", "transfer-encoding", "expect", "keep-alive", "te", "upgrade", "trailer",
    ]

    /// The fields of the webhook when it is sent again. With a secret it is signed anew, because receivers refuse old times.
    func fields(signedBy keys: [WebhookVerificationKey], at now: Timestamp) -> [HeaderField] {
        var fields = headers.filter { !Self.ofConnection.contains($0.name) }.map { HeaderField($0.name, $0.value) }
        let secrets = keys.compactMap { if case .symmetric(let secret) = $0 { secret } else { nil } }
        let seconds = now.milliseconds / 1000
        guard !secrets.isEmpty, !webhookID.isEmpty,
            let signatures = try? StandardWebhooksSigner.signatures(
                id: webhookID, timestampSeconds: seconds, body: body, keys: secrets.map { .symmetric($0) })
        else { return fields }
        fields.removeAll { $0.name == "webhook-timestamp" || $0.name == "webhook-signature" }
        fields += [HeaderField("webhook-timestamp", "\(seconds)"), HeaderField("webhook-signature", signatures)]
        return fields
    }
}

extension InspectorBook.Entry {
    func write(to object: inout JSONObjectWriter) {
        object.field("number", number)
        object.field("receivedAt", received.receivedAt)
        object.field("target", received.target)
        object.field("webhookId", received.webhookID)
        object.field("attempt", received.attempt)
        object.field("type", received.type)
        object.field("signature", received.signature)
        object.field("signatureFault", received.fault?.description)
        object.array("verifiedBy") { keys in for place in received.verifiedBy ?? [] { keys.element(place + 1) } }
        object.field("bytes", received.body.count)
        object.object("answer") { answer.write(to: &$0) }
        object.field("answeredAt", answeredAt)
    }

    /// With headers and body.
    func writeWhole(to object: inout JSONObjectWriter) {
        write(to: &object)
        object.array("headers") { headers in
            for (name, value) in received.headers {
                headers.object {
                    $0.field("name", name)
                    $0.field("value", value)
                }
            }
        }
        if let text = String(validating: received.body, as: UTF8.self) {
            object.field("text", text)
        } else {
            object.field("base64", Base64.encode(received.body))
        }
    }
}

/// Lets only browsers and programs of this machine see the inspector, and no page of another site.
struct InspectorGuard: RouterMiddleware {
    func handle(
        _ request: Request, context: RouterdContext,
        next: @concurrent (Request, RouterdContext) async throws -> Response
    ) async throws -> Response {
        let address = context.channel.remoteAddress?.ipAddress
        guard let address, ListenAddress(host: address, port: 0).isLoopback,
            BrowserGuard.refusal(of: request.head) == nil
        else {
            throw Problem(
                .misdirectedRequest, "host-not-local",
                "The inspector is for this machine alone: open it as localhost.")
        }
        return try await next(request, context)
    }
}
