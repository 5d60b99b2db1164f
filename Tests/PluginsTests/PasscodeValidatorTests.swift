import Plugins
import RouterPlugin
import RouterTesting
import Synchronization
import Testing

struct ForbiddenPasscodesTests {
    private func validator(_ configuration: String) throws -> ForbiddenPasscodes {
        try ForbiddenPasscodes(configuration: parsed(configuration))
    }

    private func objection(
        _ validator: ForbiddenPasscodes, _ text: String, _ application: String = "com.example.A"
    ) throws -> PasscodeObjection? {
        validator.objection(to: try Passcode(text), for: ApplicationID(unchecked: application))
    }

    @Test func aListedPasscodeIsRefused() throws {
        let validator = try validator(
            #"{"id":"routerd.passcode.forbidden","passcodes":["Password","12345678","étéétéét"]}"#)
        for text in ["password", "PASSWORD", "12345678", "e\u{301}te\u{301}e\u{301}te\u{301}e\u{301}t"] {
            #expect(try objection(validator, text)?.code == "forbidden")
        }
        for text in ["passwor", "password1", "123456789", "eteeteet"] { #expect(try objection(validator, text) == nil) }
    }

    @Test func itMayBeNarrowed() throws {
        let validator = try validator(#"{"passcodes":["password"],"applications":["com.example.A"]}"#)
        #expect(try objection(validator, "password") != nil)
        #expect(try objection(validator, "password", "com.example.B") == nil)
    }

    @Test(arguments: [
        ("{}", "missing-field", "/passcodes"), (#"{"passcodes":"a"}"#, "wrong-type", "/passcodes"),
        (#"{"passcodes":["a",1]}"#, "wrong-type", "/passcodes/1"),
        (#"{"passcodes":[],"applications":[""]}"#, "invalid-value", "/applications/0"),
        (#"{"passcode":["a"]}"#, "unknown-field", "/passcode"),
    ])
    func faultsAreNamed(configuration: String, code: String, pointer: String) {
        let error = #expect(throws: PluginConfigurationError.self) { try validator(configuration) }
        #expect(error?.code == code)
        #expect(error?.pointer == pointer)
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func itConforms(seed: UInt64) throws {
        let validator = ForbiddenPasscodes(["12345678", "Password", "many people choose"])
        #expect(PasscodeValidatorSuite.violations(of: validator, refusing: ["PassWord"], seed: seed) == [])
        // A word of the message is a passcode too; it must be found.
        let found = PasscodeValidatorSuite.violations(of: validator, refusing: ["many people choose"], seed: seed)
        #expect(found == ["objection: the passcode is quoted"])
    }

    @Test func itIsAmongTheKinds() throws {
        let catalog = try PasscodeValidatorCatalog(BuiltInPlugins.passcodeValidatorKinds)
        let validators = try catalog.validators(
            configuredBy: parsed(#"[{"id":"routerd.passcode.forbidden","passcodes":["password"]}]"#))
        let registry = try PluginRegistry(sourceKinds: [], rules: [], passcodeValidators: validators)
        #expect(registry.passcodeValidators.map(\.id) == catalog.kinds.map(\.id))
        #expect(catalog.kinds.allSatisfy { $0.summary.hasSuffix(".") })
        let unknown = #expect(throws: PluginConfigurationError.self) {
            try catalog.validators(configuredBy: parsed(#"[{"id":"x.y"}]"#))
        }
        let known = "There is no such passcode validator; the passcode validators are: routerd.passcode.forbidden."
        #expect(unknown?.message == known)
        let twice = try validator(#"{"passcodes":[]}"#)
        #expect(throws: PluginRegistryError.self) {
            try PluginRegistry(sourceKinds: [], rules: [], passcodeValidators: [twice, twice])
        }
    }
}

/// A suite that finds nothing proves nothing.
struct PasscodeValidatorSuiteTests {
    private struct Validator: PasscodeValidator {
        var id = PluginID(unchecked: "com.example.validator")
        let answer: @Sendable (Passcode) -> PasscodeObjection?

        func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection? { answer(passcode) }
    }

    private func violations(
        id: String = "com.example.validator", refusing: [String] = ["hunter22"],
        answer: @escaping @Sendable (Passcode) -> PasscodeObjection?
    ) -> [String] {
        PasscodeValidatorSuite.violations(
            of: Validator(id: PluginID(unchecked: id), answer: answer), refusing: refusing, seed: 7)
    }

    private func objecting(_ code: String, _ message: String) -> [String] {
        violations { _ in PasscodeObjection(code: code, message: message) }
    }

    @Test func soundValidatorsConform() {
        #expect(objecting("no", "No.") == [])
        #expect(
            violations {
                $0.revealed().count == 8 ? PasscodeObjection(code: "eight", message: "Eight is too usual.") : nil
            } == [])
    }

    @Test func badAnswersAreFound() {
        #expect(objecting("No Way", "No.") == ["objection: the code is not in kebab-case"])
        #expect(objecting("no", "") == ["objection: the message is empty"])
        #expect(objecting("no", "a\nb") == ["objection: the message has control characters"])
        #expect(
            objecting("no", String(repeating: "n", count: 201)) == ["objection: the message is longer than 200 bytes"])
        #expect(objecting("no", "Not HUNTER22.") == ["objection: the passcode is quoted"])
        #expect(objecting("hunter22", "No.") == ["objection: the passcode is quoted"])
        #expect(!violations { PasscodeObjection(code: "no", message: $0.revealed()) }.isEmpty)
        #expect(!violations(id: "validator") { _ in PasscodeObjection(code: "no", message: "No.") }.isEmpty)
    }

    @Test func examplesAreHeldAgainstIt() {
        #expect(violations { _ in nil } == ["examples: number 0 is not refused"])
        #expect(violations(refusing: []) { _ in nil } == ["examples: there must be at least one that is refused"])
        #expect(violations(refusing: [""]) { _ in nil } == ["examples: number 0 is no passcode"])
    }

    private final class Memory: Sendable { let calls = Mutex(0) }

    @Test func memoryIsFound() {
        let memory = Memory()
        let counting = violations { _ in
            memory.calls.withLock {
                $0 += 1; return $0 % 100 == 0
            } ? nil : PasscodeObjection(code: "no", message: "No.")
        }
        #expect(counting.contains { $0.hasPrefix("determinism: ") })
    }
}
