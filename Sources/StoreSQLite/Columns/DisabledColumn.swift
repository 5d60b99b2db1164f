import Router
import RouterPlugin

/// Why a session takes no part in routing, as a column: `gone`, `observer`, or `demo:` and the configuration that it returns to.
extension DisabledReason {
    private static let demoPrefix = "demo:"

    var column: String {
        switch self {
        case .gone, .observer: name
        case .demo(let configuration): Self.demoPrefix + configuration
        }
    }

    init?(column: String) {
        if let known = [Self.gone, .observer].first(where: { $0.name.isSame(as: column) }) {
            self = known
        } else if column.utf8.starts(with: Self.demoPrefix.utf8) {
            self = .demo(insteadOf: String(decoding: column.utf8.dropFirst(Self.demoPrefix.utf8.count), as: UTF8.self))
        } else {
            return nil
        }
    }
}
