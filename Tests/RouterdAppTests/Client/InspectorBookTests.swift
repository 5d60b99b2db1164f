import Plugins
import Router
import RouterPlugin
import Testing

@testable import RouterdApp

/// The webhooks that the inspector of a receiver keeps, and the answers that it plans.
@Suite("Inspector's book")
struct InspectorBookTests {
    private func webhook(_ id: String, verifiedBy: [Int]? = nil, bytes: Int = 2) -> ReceiverApp.Received {
        ReceiverApp.Received(
            receivedAt: Timestamp(milliseconds: 0), path: "/", target: "/?a=1",
            headers: [
                ("host", "localhost"), ("content-type", "application/json"), ("webhook-id", id),
                ("webhook-timestamp", "1"), ("webhook-signature", "v1,x"),
            ],
            webhookID: id, attempt: "1", type: "", verifiedBy: verifiedBy,
            body: [UInt8](repeating: 0x61, count: bytes))
    }

    @Test func aPlanEndsAfterItsWebhooks() {
        var book = InspectorBook(usual: WebhookAnswer(status: 204))
        let late = WebhookAnswer(status: 429, delayMilliseconds: 5, retryAfterSeconds: 30)
        book.answer(by: InspectorBook.Plan(answer: late, times: 2))
        #expect((0..<3).map { book.take(webhook("\($0)")).answer } == [late, late, WebhookAnswer(status: 204)])
        book.answer(by: InspectorBook.Plan(answer: late))
        #expect((0..<3).map { book.take(webhook("\($0)")).answer } == [late, late, late])
    }

    @Test func anUnsignedWebhookTakesNoPlannedAnswer() {
        var book = InspectorBook(usual: WebhookAnswer(status: 204))
        book.answer(by: InspectorBook.Plan(answer: WebhookAnswer(status: 500), times: 1))
        #expect(book.take(webhook("a", verifiedBy: [])).answer.status == 401)
        #expect(book.take(webhook("b", verifiedBy: [0])).answer.status == 500)
        #expect(book.take(webhook("c", verifiedBy: [0])).answer.status == 204)
    }

    @Test func changesAreToldOnce() {
        var book = InspectorBook(usual: WebhookAnswer(status: 204))
        let first = book.take(webhook("a")).number
        _ = book.take(webhook("b"))
        #expect(book.changed(since: 0).map(\.number) == [1, 2])
        let seen = book.change
        #expect(book.changed(since: seen).isEmpty)
        book.answered(first, at: Timestamp(milliseconds: 7))
        #expect(book.changed(since: seen).map(\.number) == [first])
        #expect(book.entry(first)?.answeredAt == Timestamp(milliseconds: 7) && book.entry(2)?.answeredAt == nil)
    }

    @Test func theOldestAreForgotten() {
        var book = InspectorBook(usual: WebhookAnswer(status: 204), mostWebhooks: 3, mostBytes: 10)
        for number in 1...5 { _ = book.take(webhook("\(number)")) }
        #expect(book.changed(since: 0).map(\.number) == [3, 4, 5] && book.oldest == 3)
        _ = book.take(webhook("6", bytes: 7))
        #expect(book.changed(since: 0).map(\.number) == [5, 6])
        #expect(book.entry(4) == nil && book.entry(6)?.received.webhookID == "6" && book.entry(7) == nil)
        book.answered(1, at: Timestamp(milliseconds: 1))
        book.forget()
        #expect(book.changed(since: 0).isEmpty && book.oldest == 7 && book.count == 6)
        #expect(book.take(webhook("7")).number == 7)
    }

    /// Receivers refuse old times, so a secret signs anew; a public key cannot.
    @Test func anotherAttemptHasASignatureOfItsOwn() throws {
        let secret = try WebhookVerificationKey("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
        let now = Timestamp(milliseconds: 1_700_000_000_500)
        let fields = webhook("msg_1").fields(signedBy: [secret], at: now).map { ($0.name, $0.value) }
        #expect(!fields.contains { $0.0 == "host" } && fields.contains { $0 == ("content-type", "application/json") })
        let verified = try StandardWebhooksVerifier.verify(
            headers: fields.map { (name: $0.0, value: $0.1) }, body: [0x61, 0x61], keys: [secret], now: now)
        #expect(verified.id == "msg_1" && verified.timestampSeconds == 1_700_000_000)
        let unsigned = webhook("msg_1").fields(signedBy: [], at: now)
        #expect(unsigned.contains { $0.name == "webhook-signature" && $0.value == "v1,x" })
    }
}
