import GRDB
import Router
import RouterPlugin

/// The rows of `passcode_lock`.
enum PasscodeRows {
    /// In the order in which they are written and read.
    fileprivate static let columns = """
        application, device, hash, chosen_at, device_key, tries, trial, is_on_trial, not_before, challenge,
        challenge_expires_at, challenge_term, proven_term, left_at
        """

    /// In order of their keys.
    static func all(_ db: Database, _ keys: KeyColumn) throws -> [PasscodeLock] {
        var locks: [PasscodeLock] = []
        let select = """
            SELECT \(CheckedTable.passcodeLock.isSound), \(columns) FROM passcode_lock ORDER BY application, device
            """
        try PreparedStatement(db, select).forEach { row in
            try row.expectSound()
            let application = ApplicationID(unchecked: row.text())
            let key = GateKey(application: application, deviceText: row.text())
            let hash = try keys.hash(row.optionalBytes(), of: key)
            let (chosenAt, deviceKey) = (row.optionalTime(), row.optionalBytes().map { DeviceKey($0) })
            let (tries, trial, isOnTrial) = (row.int(), row.int64(), row.bool())
            let notBefore = row.optionalTime()
            let (text, end, term) = (row.optionalText(), row.optionalTime(), row.optionalInt64())
            var challenge: DeviceChallenge?
            if let text, let end, let term { challenge = DeviceChallenge(text: text, expiresAt: end, term: term) }
            locks.append(
                PasscodeLock(
                    key, hash: hash, chosenAt: chosenAt, deviceKey: deviceKey, tries: tries, trial: trial,
                    isOnTrial: isOnTrial, notBefore: notBefore, challenge: challenge,
                    provenTerm: row.optionalInt64(), leftAt: row.optionalTime()))
        }
        return locks
    }
}

extension ChangeWriter {
    private static let putLock = CheckedTable.passcodeLock.insert(PasscodeRows.columns, orReplace: true)

    func put(_ lock: PasscodeLock) throws {
        let hash = try keys.encode(lock.hash, of: lock.key)
        try PreparedStatement(db, Self.putLock).run {
            $0.bind(lock.key.application.text)
            $0.bind(lock.key.device?.text ?? "")
            $0.bind(hash)
            $0.bind(lock.chosenAt?.milliseconds)
            $0.bind(lock.deviceKey?.bytes)
            $0.bind(lock.tries)
            $0.bind(lock.trial)
            $0.bind(lock.isOnTrial)
            $0.bind(lock.notBefore?.milliseconds)
            $0.bind(lock.challenge?.text)
            $0.bind(lock.challenge?.expiresAt.milliseconds)
            $0.bind(lock.challenge?.term)
            $0.bind(lock.provenTerm)
            $0.bind(lock.leftAt?.milliseconds)
        }
    }
}

extension GateKey {
    /// An empty text stands for no device, for no device can be named so.
    init(application: ApplicationID, deviceText: String) {
        self.init(application: application, device: deviceText.isEmpty ? nil : DeviceID(unchecked: deviceText))
    }
}
