public import RouterPlugin

/// Refuses passcodes of a list, such as the most common ones, however they are capitalised.
///
/// Fields: `passcodes`, the list, and `applications` (all if missing).
///
///     {"id": "routerd.passcode.forbidden", "passcodes": ["12345678", "password", "qwertyui"]}
public struct ForbiddenPasscodes: PasscodeValidator {
    /// The validator's name.
    public static let id = PluginID(unchecked: "routerd.passcode.forbidden")
    /// Most passcodes that a list has.
    public static let maximumPasscodes = 100_000

    /// The validator as a configuration can ask for it.
    public static let kind = PasscodeValidatorKind(
        id: id, summary: "Refuses passcodes that are in a list.", fields: fields
    ) { (configuration) throws(PluginConfigurationError) in try ForbiddenPasscodes(configuration: configuration) }

    private static let fields = [
        PluginField(
            "passcodes", .strings, .required, summary: "The refused passcodes, in any capitalisation; at most 100,000."),
        PluginField("applications", .strings, summary: "The applications that the list applies to; all, if left out."),
    ]

    /// The validator's name.
    public var id: PluginID { Self.id }
    /// In lower case. Swift's texts are equal if they are canonically equivalent, as a person takes them to be.
    private let passcodes: Set<String>
    /// Only passcodes of these applications are looked at; nil means all applications.
    public let applications: Set<ApplicationID>?

    /// A validator with that list.
    public init(_ passcodes: [String], applications: Set<ApplicationID>? = nil) {
        self.passcodes = Set(passcodes.map { $0.lowercased() })
        self.applications = applications
    }

    /// A validator as the configuration has it.
    ///
    /// - Throws: `unknown-field`, `missing-field`, `wrong-type` or `invalid-value` with the pointer to the field.
    public init(configuration: JSONValue) throws(PluginConfigurationError) {
        let configuration = try PluginConfiguration(configuration, declared: Self.fields)
        let list = try configuration.required("passcodes", configuration.strings("passcodes"))
        guard list.count <= Self.maximumPasscodes else {
            throw configuration.invalid("passcodes", because: "has more than \(Self.maximumPasscodes) elements")
        }
        self.init(list, applications: try configuration.applications("applications"))
    }

    /// Objects to the passcodes of the list.
    public func objection(to passcode: Passcode, for application: ApplicationID) -> PasscodeObjection? {
        guard applications?.contains(application) ?? true, passcodes.contains(passcode.revealed().lowercased()) else {
            return nil
        }
        return PasscodeObjection(code: "forbidden", message: "The passcode is one that many people choose.")
    }
}
