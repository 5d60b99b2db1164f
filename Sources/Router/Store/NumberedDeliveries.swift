/// A range of the deliveries of a session, by the numbers that they have there.
///
///     first connection ──▶ 1 2 3 … last       a number for each delivery in the lane, and for each that comes into it
///
/// The numbers of a session have no gap and belong to one delivery each. The store gives them in the transaction that
/// brings the delivery into the lane, because plans of one transaction do not see each other, and because a transaction
/// that fails must leave no gap.
package struct NumberedDeliveries: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var number: Int64
        package var notification: StoredNotification
        /// Whether the notification is still in the lane under this number, or has ended there. It may have gone to another
        /// session, or have come back under a later number.
        package var isHere: Bool

        package init(number: Int64, notification: StoredNotification, isHere: Bool) {
            self.number = number
            self.notification = notification
            self.isHere = isHere
        }
    }

    /// By number. A number that is left out up to `through` is that of a forgotten notification.
    package var items: [Item]
    /// The number up to which the range goes; that after which it begins if there is nothing behind it.
    package var through: Int64
    /// The greatest number that has been given; 0 if there is none.
    package var last: Int64

    package init(items: [Item] = [], through: Int64 = 0, last: Int64 = 0) {
        self.items = items
        self.through = through
        self.last = last
    }
}
