import Router
import RouterPlugin

extension ModelRows {
    /// The number of a notification among the deliveries of the session.
    func number(of sequence: NotificationSequence, in session: SessionKey) -> Int64? {
        numberings[session]?.deliveries.lastIndex(of: sequence).map { Int64($0) + 1 }
    }

    func deliveries(of session: SessionKey, after number: Int64, limit: Int, bytes: Int) -> NumberedDeliveries {
        guard let all = numberings[session]?.deliveries else {
            return NumberedDeliveries(through: number)
        }
        var range = NumberedDeliveries(last: Int64(all.count))
        range.through = number + min(Int64(limit), max(0, range.last - number))
        var room = bytes
        for (place, sequence) in all.enumerated() where place >= number && place < range.through {
            guard let sequence, var notification = notifications[sequence]?.stored else { continue }
            notification.attempts = []
            let isLatest = all.lastIndex(of: sequence) == place
            range.items.append(
                NumberedDeliveries.Item(
                    number: Int64(place) + 1, notification: notification,
                    isHere: isLatest && notification.decision.session == session.session))
            room -= notification.payload?.weight ?? 0
            if room < 0 {
                range.through = Int64(place) + 1
                break
            }
        }
        return range
    }
}
