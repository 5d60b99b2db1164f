import HTTPTypes
import NIOSSL
import Plugins
import RouterPlugin

extension ConfigurationLoader {
    /// The settings of the APNs listeners.
    ///
    /// - Parameter isDevelopment: Whether there are no API keys.
    mutating func apns(isDevelopment: Bool) -> APNsSettings {
        var settings = APNsSettings()
        read("apns.listen") { settings.listen = try ListenAddress($0) }
        read("apns.cleartextListen") { settings.cleartextListen = try ListenAddress($0) }
        read("apns.devices") { settings.devices = try Self.choice($0) }
        read("apns.unknownDevices") { settings.unknownDevices = try Self.choice($0) }
        read("apns.streams") { settings.streams = try Self.integer($0, 1...DaemonLimits.apnsStreamsMaximum) }
        read("apns.connections") {
            settings.connections = try Self.integer($0, 1...DaemonLimits.apnsConnectionsMaximum)
        }
        read("apns.requestsPerSecondPerDevice") {
            settings.requestsPerSecondPerDevice = try Self.integer($0, 1...DaemonLimits.requestsPerSecondMaximum)
        }
        for (place, value) in elements("apns/providers") {
            let (key, problems) = ProviderKeyEntry.read(value, at: "/apns/providers/\(place)")
            if let key { settings.keys.append(key) }
            for problem in problems { report(problem) }
        }
        settings.topics = topics()
        readTLS(&settings)
        checkAccess(settings, isDevelopment: isDevelopment)
        return settings
    }

    private mutating func topics() -> APNsTopics {
        guard let value = value(at: "apns/topics"), value != .null else { return APNsTopics() }
        guard let object = value.asObject else {
            refuse("apns.topics", "This must be an object: topics and the applications that they stand for.")
            return APNsTopics()
        }
        var table: [(topic: String, application: ApplicationID)] = []
        for member in object.members {
            guard let text = member.value.asString, let application = try? ApplicationID(text) else {
                report(
                    Problem(
                        .unprocessableContent, "invalid-field", "The value must be the id of an application.",
                        pointer: "/apns/topics/\(member.key)"))
                continue
            }
            table.append((member.key, application))
        }
        return APNsTopics(table)
    }

    private mutating func readTLS(_ settings: inout APNsSettings) {
        var (certificatePath, keyPath): (String?, String?)
        var (chain, key, authorities): ([NIOSSLCertificate]?, NIOSSLPrivateKey?, [NIOSSLCertificate]?)
        read("apns.certificateFile") {
            certificatePath = $0
            chain = try PEMFile.certificates($0)
        }
        read("apns.privateKeyFile") {
            keyPath = $0
            key = try PEMFile.privateKey($0)
        }
        read("apns.clientCertificateAuthorityFile") {
            settings.takesClientCertificates = true
            authorities = try PEMFile.certificates($0)
        }
        if settings.listen != nil {
            for (name, path) in [("apns.certificateFile", certificatePath), ("apns.privateKeyFile", keyPath)]
            where path == nil {
                refuse(name, "The setting is missing: apns.listen serves TLS, which needs it.")
            }
        }
        guard let certificatePath, let keyPath, let chain, let key else { return }
        if (try? PEMFile.matches(certificate: certificatePath, key: keyPath)) == false {
            return refuse("apns.privateKeyFile", "The key is not that of the certificate in apns.certificateFile.")
        }
        do {
            settings.tls = try APNsTLS.context(chain: chain, key: key, clientAuthorities: authorities)
        } catch {
            refuse("apns.certificateFile", "The certificate and the key cannot be used together: \(error).")
        }
    }

    /// Listeners that take every token are for development.
    private mutating func checkAccess(_ settings: APNsSettings, isDevelopment: Bool) {
        for (name, address) in [("listen", settings.listen), ("cleartextListen", settings.cleartextListen)] {
            guard let address else { continue }
            if isDevelopment, !address.isLoopback {
                refuse(
                    "apns.\(name)",
                    "Without API keys the daemon serves loopback only: configure apiKeys, or listen on 127.0.0.1.")
            }
            let takesTokens = !settings.keys.isEmpty
            if !isDevelopment, !takesTokens, name != "listen" || !settings.takesClientCertificates {
                refuse(
                    "apns.\(name)",
                    "With API keys, senders of pushes have to prove themselves: configure apns.providers.")
            }
        }
    }
}
