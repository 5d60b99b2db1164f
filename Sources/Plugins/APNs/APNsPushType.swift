/// The values of `apns-push-type`.
package enum APNsPushType: String, CaseIterable, Sendable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls

    /// The end of the topic, behind the bundle id; nil for types whose topic is the bundle id itself.
    package var topicSuffix: String? {
        switch self {
        case .alert, .background, .mdm: nil
        case .location: ".location-query"
        case .voip: ".voip"
        case .complication: ".complication"
        case .fileprovider: ".pushkit.fileprovider"
        case .liveactivity: ".push-type.liveactivity"
        case .pushtotalk: ".voip-ptt"
        case .widgets: ".push-type.widgets"
        case .controls: ".push-type.controls"
        }
    }

    /// Greatest payload in bytes.
    package var payloadBytes: Int { self == .voip ? APNsLimits.voipPayloadBytes : APNsLimits.payloadBytes }

    /// The type of a push without the header: its topic's suffix tells it, and without one it is an alert.
    static func implied(by topic: String) -> APNsPushType {
        allCases.first { type in type.topicSuffix.map { topic.hasByteSuffix($0) } ?? false } ?? .alert
    }
}

extension String {
    /// Whether the text ends with these bytes and has others before them.
    func hasByteSuffix(_ suffix: String) -> Bool {
        utf8.count > suffix.utf8.count && utf8.suffix(suffix.utf8.count).elementsEqual(suffix.utf8)
    }
}
