import Plugins
import Testing

struct ForeignMarksTests {
    private func sender(_ names: [String], contentType: String? = "application/json") -> [String]? {
        let headers = names.map { (name: $0, value: "x") }
        return ForeignMarks.sender(of: headers, contentType: contentType).map { [$0.kind, $0.mark] }
    }

    @Test(arguments: [
        ("x-github-event", "github", "X-GitHub-Event"),
        ("x-hub-signature", "github", "X-Hub-Signature"),
        ("x-hub-signature-256", "github", "X-Hub-Signature"),
        ("x-gitlab-event", "gitlab", "X-Gitlab-*"),
        ("x-gitlab-token", "gitlab", "X-Gitlab-*"),
        ("stripe-signature", "stripe", "Stripe-Signature"),
        ("x-slack-signature", "slack", "X-Slack-Signature"),
        ("x-shopify-hmac-sha256", "shopify", "X-Shopify-Hmac-Sha256"),
        ("shopify-hmac-sha256", "shopify", "Shopify-Hmac-Sha256"), ("shopify-topic", "shopify", "Shopify-Topic"),
        ("x-grafana-alerting-signature", "grafana", "X-Grafana-Alerting-Signature"),
        ("ce-id", "cloudevents", "ce-*"),
        ("ce-specversion", "cloudevents", "ce-*"),
        ("webhook-signature", "standard-webhooks", "webhook-signature"),
        ("svix-signature", "standard-webhooks", "svix-signature"),
    ])
    func recognisesTheHeader(name: String, kind: String, mark: String) {
        #expect(sender(["host", name, "accept"]) == [kind, mark])
    }

    @Test(arguments: [
        "application/cloudevents+json", "Application/CloudEvents+JSON; charset=utf-8",
        "application/cloudevents-batch+json",
    ])
    func recognisesCloudEventsByMediaType(type: String) {
        let found = ["cloudevents", "Content-Type: application/cloudevents"]
        #expect(sender(["host"], contentType: type) == found)
        #expect(sender(["webhook-signature"], contentType: type) == found)
        #expect(sender(["x-github-event"], contentType: type) == ["github", "X-GitHub-Event"])
    }

    @Test func theUpperRowWins() {
        #expect(sender(["webhook-signature", "x-gitlab-event"])?.first == "gitlab")
        #expect(sender(["ce-id", "svix-signature", "x-hub-signature-256", "x-github-event"])?.last == "X-GitHub-Event")
        #expect(sender(["x-github-event", "x-gitlab-event", "ce-id", "webhook-signature"])?.first == "github")
        #expect(sender(["webhook-signature", "ce-id"])?.first == "cloudevents")
    }

    @Test(arguments: [
        ["apns-id", "apns-topic", "idempotency-key", "authorization", "user-agent"],
        ["x-github", "x-gitlab", "stripe-signatures", "ce", "cee-id", "webhook-id", "x-ce-id", "signature", ""],
        [],
    ])
    func leavesOtherRequestsAlone(names: [String]) {
        for type in [nil, "", "application/json", "application/cloudevent", "text/plain"] {
            #expect(sender(names, contentType: type) == nil)
        }
    }
}
