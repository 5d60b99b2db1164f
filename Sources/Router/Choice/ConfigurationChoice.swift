import RouterPlugin

/// How a new session comes by its configuration.
package enum ConfigurationChoice: Hashable, Sendable, CustomStringConvertible {
    case named(String)
    /// Nothing that is known so far chooses one of several: the delegate is asked.
    case asked

    package var description: String {
        switch self {
        case .named(let name): "configuration '\(name)'"
        case .asked: "the delegate is asked for its configuration"
        }
    }
}

extension Tenant {
    /// How a new session of the role comes by its configuration: by the type of the activity that is brought to it, else
    /// the delegate is asked if there are several, else it is the first one.
    ///
    /// - Returns: nil if there is none at whose endpoint it could be reached.
    package func configuration(forNew role: String, activityType: String?) -> ConfigurationChoice? {
        let open = openConfigurations(of: role)
        guard let first = open.first else { return nil }
        if let activityType, let chosen = open.first(where: { $0.isChosen(by: activityType) }) {
            return .named(chosen.name)
        }
        let isAsked = application.delegate != nil && application.delivery.lifeCycleEvents
        return open.count > 1 && isAsked ? .asked : .named(first.name)
    }

    /// The configuration that the delegate has named for a new session, or the first one if it named none that there is.
    package func configuration(named name: String?, forNew role: String) -> String? {
        let open = openConfigurations(of: role)
        let named = open.first { name?.isSame(as: $0.name) == true }
        return (named ?? open.first)?.name
    }

    /// Those that a new session can be reached by: it does not get better where another one was told that there is
    /// nobody any more.
    private func openConfigurations(of role: String) -> [SceneConfiguration] {
        application.manifest.sceneConfigurations.filter { configuration in
            guard let endpoint = configuration.endpoint else { return false }
            return configuration.role == role && !isGone(endpoint)
        }
    }
}

extension SceneConfiguration {
    fileprivate func isChosen(by activityType: String) -> Bool {
        activityTypes.contains { $0.isSame(as: activityType) }
    }
}
