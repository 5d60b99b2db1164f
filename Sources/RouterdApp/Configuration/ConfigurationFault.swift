import RouterPlugin

/// A fault of a configuration, with its place.
package struct ConfigurationFault: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file; nil if the value came from the command line or the environment.
    package var file: String?
    /// Line and column count from 1.
    package var line: Int?
    package var column: Int?
    /// RFC 6901 pointer of the value at fault.
    package var pointer: String
    package var message: String

    package init(
        file: String? = nil, line: Int? = nil, column: Int? = nil, pointer: String = "", message: String
    ) {
        self.file = file
        self.line = line
        self.column = column
        self.pointer = pointer
        self.message = message
    }

    /// `FILE:LINE:COLUMN: /pointer: message`, the form that editors parse.
    package var description: String {
        let place = [file, line.map(String.init), column.map(String.init)].compactMap(\.self).joined(separator: ":")
        return [place, pointer, message].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}

extension ConfigurationFault {
    /// Writes the fault for scripts.
    func write(to object: inout JSONObjectWriter) {
        object.field("file", file)
        object.field("line", line)
        object.field("column", column)
        object.field("pointer", pointer)
        object.field("message", message)
    }
}

/// All faults of a configuration.
package struct ConfigurationFaults: Error, Sendable, CustomStringConvertible {
    package var faults: [ConfigurationFault]

    package init(_ faults: [ConfigurationFault]) { self.faults = faults }

    package var description: String { faults.map(\.description).joined(separator: "\n") }
}

extension ConfigurationFaults {
    /// The faults for scripts.
    package var json: [UInt8] {
        JSONWriter.object { object in
            object.field("valid", false)
            object.array("faults") { list in
                for fault in faults { list.object(fault.write) }
            }
        }
    }
}
