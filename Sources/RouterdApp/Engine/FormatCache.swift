import Router
import RouterPlugin
import Synchronization

/// The formats of endpoints, each created when it is first needed.
final class FormatCache: Sendable {
    private let formats: DeliveryFormats
    private let made = Mutex<[DeliveryFormatChoice: any DeliveryFormat]>([:])

    init(_ formats: DeliveryFormats) { self.formats = formats }

    /// The chosen format; a choice that cannot be created is tried again the next time.
    func format(_ choice: DeliveryFormatChoice) throws(DeliveryFormatError) -> any DeliveryFormat {
        if let known = made.withLock({ $0[choice] }) { return known }
        let format = try formats.format(choice)
        made.withLock { made in
            // Creating a format again costs little; a template for each of a million sessions would cost memory.
            if made.count >= DaemonLimits.formatsKept { made.removeAll() }
            made[choice] = format
        }
        return format
    }
}
