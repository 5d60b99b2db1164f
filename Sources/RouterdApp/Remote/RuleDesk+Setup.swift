import Foundation
import Glibc
package import Logging
package import Router
package import RouterPlugin

extension RuleDesk {
    /// The desk of a configuration's remote rules.
    ///
    /// - Throws: ``PluginFolderError``.
    package init(
        _ configuration: DaemonConfiguration, transport: any Transport, clock: SteadyClock = SteadyClock(),
        logger: Logger
    ) throws(PluginFolderError) {
        try self.init(
            configuration.rules, folder: configuration.pluginsFolder, hiding: [configuration.database],
            launcher: configuration.pluginLauncher, transport: transport, clock: clock, logger: logger)
    }

    /// The desk of the remote rules among these, and of those that take their place later.
    ///
    /// - Parameters:
    ///   - folder: The folder with the working folders of plugins.
    ///   - hidden: Paths that no plugin may read.
    /// - Throws: ``PluginFolderError``.
    package init(
        _ rules: [any RoutingRule], folder: String, hiding hidden: [String] = [], launcher: String = "/proc/self/exe",
        transport: any Transport, clock: SteadyClock = SteadyClock(), logger: Logger
    ) throws(PluginFolderError) {
        let make: Maker = { (rule: RemoteRule) throws(PluginFolderError) -> any RuleTransport in
            switch rule.transport {
            case .callOut(let settings):
                return CallOutRule(rule, settings, transport: transport, clock: clock, logger: logger)
            case .process(let settings):
                if let path = PluginFolder.closedPath(of: settings) {
                    logger.warning(
                        "a plugin's file is closed to the user that plugins run as",
                        metadata: ["path": "\(path)", "plugin": "\(rule.id)"])
                }
                let own = try PluginFolder.make(for: rule.id, in: folder)
                let reads = PluginFolder.reads(of: settings, hiding: hidden + hidden.map(PluginFolder.absolute) + [own])
                if reads.contains(where: { $0.hasPrefix(PluginFolder.listing) }) {
                    logger.notice(
                        """
                        the folder of a plugin has the database too: the plugin reads the other files that are there now, \
                        and later ones after a restart
                        """, metadata: ["plugin": "\(rule.id)"])
                }
                return ProcessRule(
                    rule, settings, launcher: launcher, folder: own, reads: reads, clock: clock, logger: logger)
            }
        }
        var members: [Member] = []
        for case let rule as RemoteRule in rules { members.append(Member(rule, try make(rule))) }
        self.init(members, make: make)
    }
}

extension DaemonConfiguration {
    /// The folder with the working folders of plugins.
    fileprivate var pluginsFolder: String {
        if let pluginFolder { return pluginFolder }
        guard let slash = database.lastIndex(of: "/") else { return "plugins" }
        return database[...slash] + "plugins"
    }
}

extension EngineHost {
    /// The answers of the remote rules about a notification that is explained.
    ///
    /// - Parameter trial: The application as it is in a trial; nil if there is none.
    package func answers(
        about view: NotificationView, isBroadcast: Bool = false, among trial: Tenant? = nil, at now: Timestamp
    ) async -> RuleAnswers? {
        guard !desk.members.isEmpty else { return nil }
        let found = await decide { engine, work in
            (trial ?? engine.tenants[view.application]).map {
                isBroadcast
                    ? RemoteQuestion(aboutAll: view, in: $0, &work)
                    : RemoteQuestion(about: view, in: $0, limit: DaemonLimits.candidatesAsked, &work)
            }
        }
        guard let question = found else { return nil }
        guard let trial else { return await desk.answers(to: question, at: now, knowing: strangers) }
        return await desk.answers(to: question, at: now) { names, _, answer in
            answer(trial.strangers(among: names))
        }
    }
}

/// The working folder of a plugin, the only place that it may write to.
package enum PluginFolder {
    /// The user that plugins of a daemon with the rights of root run as.
    private static let plainUser: uid_t = 65534

    /// Makes the folder; returns its absolute path.
    package static func make(for plugin: PluginID, in parent: String) throws(PluginFolderError) -> String {
        let name = String(plugin.text.map { $0 == "/" ? "_" : $0 })
        let path = "\(parent)/\(name)"
        for (folder, mode) in [(parent, mode_t(0o711)), (path, mode_t(0o700))] {
            guard mkdir(folder, mode) == 0 || errno == EEXIST else {
                throw PluginFolderError(path: folder, code: errno)
            }
        }
        // A link in its place is not followed.
        if geteuid() == 0, lchown(path, plainUser, plainUser) != 0 { throw PluginFolderError(path: path, code: errno) }
        guard let absolute = realpath(path, nil) else { throw PluginFolderError(path: path, code: errno) }
        defer { free(absolute) }
        return String(cString: absolute)
    }
}

extension PluginFolder {
    /// The first folder or file on the way to what the command names by absolute paths that is closed to other users than its
    /// owner; nil if there is none, or if plugins run as the user of the daemon.
    ///
    /// - Parameter permissions: The permissions of a path; nil if there is none.
    package static func closedPath(
        of settings: ProcessSettings, isPrivileged: Bool = geteuid() == 0, permissions: (String) -> Int? = permissions
    ) -> String? {
        guard isPrivileged else { return nil }
        for argument in settings.command where argument.hasPrefix("/") {
            let parts = URL(filePath: argument).resolvingSymlinksInPath().path.split(separator: "/")
            for count in 1...max(parts.count, 1) {
                let path = "/" + parts.prefix(count).joined(separator: "/")
                guard let found = permissions(path) else { break }
                // A folder is passed, and the file is read or run.
                if found & (count < parts.count ? 0o001 : 0o005) == 0 { return path }
            }
        }
        return nil
    }

    package static func permissions(_ path: String) -> Int? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.posixPermissions] as? NSNumber)?.intValue
    }

    package static func isFolder(_ path: String) -> Bool? {
        guard access(path, F_OK) == 0 else { return nil }
        return access("\(path)/.", F_OK) == 0
    }
}

/// A working folder of a plugin cannot be made.
package struct PluginFolderError: Error, CustomStringConvertible {
    let path: String
    let code: Int32

    package var description: String {
        "The folder \(path) of a plugin cannot be made: \(String(cString: strerror(code)))."
    }
}
