import CCurl
import Router
import TestSupport
import Testing

@testable import DeliveryCurl

/// The loop, driven round by round on the test's own thread.
@Suite(.longest)
struct LoopTests {
    @Test func aFailureOfTheEngineFailsRunningTransfersAndNoLaterOnes() throws {
        let server = try HostileServer { connection in
            while let request = connection.readRequest() {
                if request.text == "hang" { connection.waitForEnd() } else { connection.respond("200 OK") }
            }
        }
        defer { server.stop() }
        let tally = Tally()
        let mailbox = try Mailbox()
        let loop = try CurlLoop(configuration: CurlConfiguration(egress: .grantingLoopback, slots: 2), mailbox: mailbox)
        func post(_ id: UInt64, _ text: String) {
            let request = WebhookRequest(to: server.url(), body: Array(text.utf8))
            // A turn ends by waiting for something to happen; the cancelled number keeps the last one from it.
            let transfer = Transfer(id: id, request: request) { result in
                tally.note(result)
                mailbox.cancel(0)
            }
            #expect(mailbox.post(transfer))
        }
        loop.begin()
        for id in 1...3 { post(UInt64(id), "hang") }
        #expect(loop.turn())
        loop.engine("curl_multi_socket_action", CURLM_INTERNAL_ERROR)
        #expect(tally.failures == [.other: 2])
        #expect(tally.results.first?.failure?.message.contains("curl_multi_socket_action") == true)
        mailbox.cancel(3)
        post(4, "answer")
        while tally.count < 4 { #expect(loop.turn()) }
        #expect(tally.failures == [.other: 3])
        #expect(tally.statuses == [200: 1])
        mailbox.requestStop(by: 0)
        #expect(!loop.turn())
        loop.tearDown()
        #expect(!mailbox.post(Transfer(id: 5, request: WebhookRequest(to: server.url())) { tally.note($0) }))
        #expect(tally.count == 4)
    }

    @Test func aSlotForgetsTheTextOfItsLastURL() throws {
        let server = try HostileServer { connection in
            while connection.readRequest() != nil { connection.respond("200 OK") }
        }
        defer { server.stop() }
        let slot = try EasySlot(number: 0, configuration: CurlConfiguration(egress: .grantingLoopback))
        for path in ["/one", "/two"] {
            try slot.prepare(WebhookRequest(to: server.url(path)))
            slot.handOver()
            #expect(curl_easy_perform(slot.handle) == CURLE_OK)
            var text: UnsafePointer<CChar>?
            #expect(ccurl_getinfo_string(slot.handle, CURLINFO_EFFECTIVE_URL, &text) == CURLE_OK)
            #expect(text.map { String(cString: $0) } == server.url(path))
        }
    }

    @Test func theBellRingsOnlyForASleepingLoop() throws {
        let mailbox = try Mailbox()
        func isRinging() -> Bool {
            var count: eventfd_t = 0
            return eventfd_read(mailbox.bell, &count) == 0
        }
        #expect(!isRinging())
        mailbox.cancel(1)
        #expect(!isRinging())
        #expect(!mailbox.fallAsleep(knowing: nil))
        #expect(mailbox.take().cancelled == [1])
        #expect(mailbox.fallAsleep(knowing: nil))
        mailbox.cancel(2)
        #expect(isRinging())
        mailbox.cancel(3)
        #expect(!isRinging())
        #expect(mailbox.take().cancelled == [2, 3])
        mailbox.requestStop(by: 50)
        mailbox.requestStop(by: 70)
        #expect(!mailbox.fallAsleep(knowing: nil))
        #expect(mailbox.take().stopDeadline == 50)
        #expect(mailbox.take().stopDeadline == 50)
        #expect(mailbox.fallAsleep(knowing: 50))
        #expect(mailbox.end().arrivals.isEmpty)
    }
}
