import HTTPTypes
import Router
import RouterPlugin

/// Receivers that connect out.
extension Operation {
    private static let deliveriesPath = "\(applicationPath)/sessions/{session}/deliveries"

    static let deliveries: [Operation] = [
        Operation(
            .get, deliveriesPath, .session, "streamDeliveries",
            "Streams the deliveries of a session as server-sent events or over a WebSocket, or answers with those that arrive within a time, or with a range of numbers.",
            bounds: .stream,
            query: [
                Parameter("waitSeconds", .whole(0...DaemonLimits.pollSeconds)), Parameter("after", .count),
                Parameter("limit", .whole(1...Int64(DaemonLimits.pageMaximum))),
            ],
            isRead: false, .ok(.named("Deliveries")), .other("text/event-stream"), .noContent
        ) { $0.streamDeliveries },
        Operation(
            .post, "\(deliveriesPath)/{delivery}/ack", .session, "acknowledgeDelivery",
            "Says that a delivery has arrived; the body may be the answer of a webhook.", bounds: .outcome,
            body: .optional(.document),
            .noContent
        ) { $0.acknowledge },
        Operation(
            .post, "\(deliveriesPath)/{delivery}/nack", .session, "refuseDelivery",
            "Says that a delivery cannot be taken now.", bounds: .outcome,
            body: .optional(
                .request(["reason": .text, "retryAfterSeconds": .whole(0...Int64(RouterLimits.retryAfterSeconds))])),
            .noContent
        ) { $0.refuseDelivery },
        Operation(
            .post, "\(deliveriesPath):ack", .session, "acknowledgeDeliveries",
            "Says that several deliveries have arrived.", bounds: .ids,
            body: .json(.request([:], required: ["ids": .list(of: .text)])), .noContent
        ) { $0.acknowledgeAll },
    ]
}
