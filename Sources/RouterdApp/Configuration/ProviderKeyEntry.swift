import Plugins
import RouterPlugin

/// A key of a provider in the file: an entry of `apns.providers`.
enum ProviderKeyEntry {
    /// Reads a key, or reports all of its faults.
    static func read(_ value: JSONValue, at pointer: String) -> (key: ProviderKey?, faults: [Problem]) {
        var faults = FaultList()
        guard var reader = faults.gather({ () throws(Problem) in try ObjectReader(value, at: pointer) }) else {
            return (nil, faults.problems)
        }
        let teamID = faults.gather { () throws(Problem) in try text("teamID", &reader) }
        let keyID = faults.gather { () throws(Problem) in try text("keyID", &reader) }
        let path = faults.gather { () throws(Problem) in try text("publicKeyFile", &reader) }
        let topics = faults.gather { () throws(Problem) in
            try reader.strings("topics", atMost: DaemonLimits.providerTopics)
        }
        faults.gather { () throws(Problem) in try reader.finish() }
        guard faults.problems.isEmpty, let teamID, let keyID, let path, let topics else {
            return (nil, faults.problems)
        }
        let key = faults.gather { () throws(Problem) in
            let pem: String
            do throws(ConfigurationLoader.Unusable) { pem = try PEMFile.text(path) } catch {
                throw reader.invalid("publicKeyFile", error.reason)
            }
            let authority = topics.map { APNsAuthority.topics($0) } ?? .everyTopic
            guard let key = ProviderKey(teamID: teamID, keyID: keyID, publicKeyPEM: pem, authority: authority) else {
                throw reader.invalid(
                    "publicKeyFile",
                    "names a file without a public key on P-256 in PEM form; openssl ec -pubout makes it")
            }
            return key
        }
        return (key, faults.problems)
    }

    private static func text(_ name: String, _ reader: inout ObjectReader) throws(Problem) -> String {
        guard let text = try reader.string(name), !text.isEmpty else { throw reader.missing(name) }
        return text
    }
}
