import Router
import RouterPlugin

/// Receivers that connect out: their connections, and their answers to deliveries.
extension World {
    /// Whether an event of receivers with this chance occurs, in per mille.
    private mutating func chance(_ perMille: Int) -> Bool { Int.random(in: 0..<1000, using: &crowd) < perMille }

    private mutating func moment(within milliseconds: ClosedRange<Int64>) -> Timestamp {
        now.advanced(byMilliseconds: Int64.random(in: milliseconds, using: &crowd))
    }

    /// A stream in the place of a URL, for a share of the endpoints.
    mutating func perhapsStream(_ draft: EndpointDraft) -> EndpointDraft {
        guard options.streamed > 0, chance(options.streamed) else { return draft }
        return EndpointDraft(url: Endpoint.streamURL, keys: nil, freshSecret: draft.freshSecret)
    }

    /// The registered sessions that are reached by a stream.
    private var streams: [SessionKey] {
        let registrations = witness.ledger.registrations
        return registrations.sessions.values.filter { registrations.endpoint(of: $0)?.isStream == true }
            .map(\.key).sorted()
    }

    // MARK: - Connections

    /// Receivers connect, take over from one another, and leave.
    mutating func moveReceivers() {
        guard options.streamed > 0 else { return }
        for key in streams where chance(options.stream) {
            guard let connection = hub.connections[key] else {
                connect(key, isPoll: chance(250))
                continue
            }
            switch Int.random(in: 0..<5, using: &crowd) {
            case 0, 1: connect(key, isPoll: chance(connection.isPoll ? 700 : 100))
            case 2: disconnect(key)
            case 3: replace(key, connection)
            default: break
            }
        }
        // A receiver may ask for the stream of a session that has a URL, or is not there.
        if chance(50), let application = witness.ledger.registrations.applications.keys.min() {
            let name = SessionID(unchecked: "s\(Int.random(in: 0...options.sessionsPerApplication, using: &crowd))")
            connect(SessionKey(application: application, session: name), isPoll: false)
        }
    }

    /// Without faults each receiver stays connected while deliveries wait for it.
    mutating func gatherReceivers(for awaited: Set<SessionKey>) {
        guard options.streamed > 0 else { return }
        for key in hub.connections.keys.sorted() where !awaited.contains(key) { disconnect(key) }
        for key in streams where awaited.contains(key) && hub.connections[key] == nil { connect(key, isPoll: false) }
    }

    /// Sometimes ends a connection between two steps of the process.
    mutating func maybeLoseConnection() {
        guard options.streamed > 0, faults, !hub.isStopping, chance(options.drop),
            let key = hub.connections.keys.sorted().randomElement(using: &crowd)
        else { return }
        disconnect(key)
    }

    /// The place of deliveries while a receiver is away, as its session has it.
    mutating func drawPlace() -> WhileAway? {
        options.streamed > 0 ? [nil, nil, nil, .next, .wait].randomElement(using: &crowd) ?? nil : nil
    }

    private mutating func connect(_ key: SessionKey, isPoll: Bool) {
        let lives: [Int64?] = isPoll ? [0, 1000, 30_000] : [500, 5000, 20_000, 600_000, 3_600_000, nil]
        let life = faults || isPoll ? lives.randomElement(using: &crowd) ?? nil : nil
        let isStuck = faults && chance(60)
        let isTakeover = hub.connections[key] != nil
        let attached = hub.attach(
            key, isPoll: isPoll, isStuck: isStuck, endsAt: life.map { now.advanced(byMilliseconds: $0) }, at: now,
            keepsOld: sabotage == .keepsSuperseded)
        guard let attached else { return }
        statistics.streams.connections += 1
        if isTakeover { statistics.streams.takeovers += 1 }
        end(attached.losses)
        witness.resumed.insert(key)
        witness.streams.connected.insert(key)
        let command = Command.attachConsumer(key, epoch: attached.epoch, isPoll: isPoll)
        ask(command, "\(isPoll ? "poll" : "connect to") \(key) as \(attached.epoch)")
    }

    private mutating func disconnect(_ key: SessionKey) {
        guard let connection = hub.connections[key], let losses = hub.detach(key, epoch: connection.epoch) else {
            return
        }
        log.add("\(stamp) \(connection.epoch) of \(key) ends")
        statistics.streams.ends += 1
        // The engine hears of the end first, so that it does not try again at once.
        tellEnd(of: key, connection.epoch)
        end(losses)
        guard faults, chance(600) else { return }
        acts.append(
            ReceiverAct(session: key, kind: .connect(isPoll: connection.isPoll), at: moment(within: 0...20_000)))
    }

    /// A connection ends, and the engine hears of the next one first.
    private mutating func replace(_ key: SessionKey, _ connection: SimulatedHub.Connection) {
        let losses = hub.detach(key, epoch: connection.epoch) ?? []
        statistics.streams.ends += 1
        connect(key, isPoll: false)
        tellEnd(of: key, connection.epoch)
        end(losses)
    }

    /// Tells the engine of the end of a connection.
    private mutating func tellEnd(of key: SessionKey, _ epoch: Int64) {
        if hub.connections[key] == nil { witness.streams.left(key, at: now) } else { witness.streams.ended(key) }
        leaving.insert(key)
        driver.submit(.detachConsumer(key, epoch: epoch))
    }

    /// Ends connections that the engine names.
    mutating func cut(_ cuts: [ConnectionCut]) {
        for cut in cuts {
            guard let losses = hub.cut(cut) else { continue }
            log.add("\(stamp) \(cut.epoch) of \(cut.session) is cut")
            statistics.streams.cuts += 1
            witness.streams.left(cut.session, at: now, isCut: true)
            end(losses)
        }
    }

    /// Ends all connections before a graceful stop.
    mutating func stopStreams() {
        let losses = hub.stop()
        witness.streams.stopped(at: now)
        end(losses)
    }

    /// The process has died: receivers lose their connections, and repeat words that were not answered.
    mutating func loseStreams() {
        for key in hub.connections.keys.sorted() where chance(600) {
            acts.append(ReceiverAct(session: key, kind: .connect(isPoll: false), at: moment(within: 0...20_000)))
        }
        for (_, word) in words.sorted(by: { $0.key < $1.key }) where chance(700) {
            let act = word.act
            acts.append(ReceiverAct(session: act.session, kind: act.kind, at: moment(within: 0...20_000)))
        }
        (hub, words, leaving, counted) = (SimulatedHub(), [:], [], [:])
    }

    /// Ends attempts without an answer.
    private mutating func end(_ losses: [SimulatedHub.Loss]) {
        for loss in losses {
            switch loss.kind {
            case .noConsumer: statistics.streams.unwritten += 1
            case .timedOut: statistics.streams.timeouts += 1
            default: statistics.streams.losses += 1
            }
            finish(loss.pending, .failure(TransferFailure(kind: loss.kind, message: "simulated")))
        }
    }

    /// Offers an outcome for which no client waits.
    private mutating func finish(_ pending: SimulatedHub.Pending, _ outcome: TransferResult.Outcome) {
        let finished = finished(pending, outcome, answer: nil)
        log.add("\(stamp) ended \(finished.sequence)/\(finished.number): \(describe(outcome))")
        witness.ended(pending.sequence)
        driver.submit(.attemptFinished(finished))
    }

    private func finished(
        _ pending: SimulatedHub.Pending, _ outcome: TransferResult.Outcome, answer: ReceiverAnswer?
    ) -> FinishedAttempt {
        let attempt = pending.attempt
        var metrics = TransferMetrics()
        metrics.total = (now.milliseconds - pending.startedAt.milliseconds) * 1000
        return FinishedAttempt(
            sequence: pending.sequence, number: attempt.number, session: attempt.receiver.session,
            url: attempt.endpoint.address(of: attempt.receiver.session), startedAt: pending.startedAt,
            result: TransferResult(outcome: outcome, metrics: metrics), connects: attempt.connects, answer: answer)
    }

    // MARK: - Messages

    /// Hands an attempt to the connection of its session.
    mutating func sendOverStream(_ attempt: AttemptStart) {
        let key = attempt.receiver
        let sequence = attempt.notification.sequence
        witness.require(
            hub.connections[key] != nil || leaving.contains(key) || hub.isStopping,
            "stream: \(sequence) is sent to \(key), which has no connection")
        witness.numbered(sequence, in: key, as: number(of: sequence, in: key))
        log.add("\(stamp) send \(sequence)/\(attempt.number) over the stream of \(key)")
        if hub.start(attempt, at: now, delay: Int64.random(in: 0...150, using: &crowd)) { return }
        let pending = SimulatedHub.Pending(attempt: attempt, epoch: 0, isPoll: false, startedAt: now)
        end([SimulatedHub.Loss(pending: pending, kind: hub.isStopping ? .shuttingDown : .noConsumer)])
    }

    /// The number that a message shows.
    private mutating func number(of sequence: NotificationSequence, in key: SessionKey) -> Int64? {
        guard sabotage == .countsNumbersInMemory else { return (try? disk.number(of: sequence, in: key)) ?? nil }
        if let known = counted[key]?[sequence] { return known }
        let next = Int64(counted[key]?.count ?? 0) + 1
        counted[key, default: [:]][sequence] = next
        return next
    }

    /// The time of the next event at a connection or a receiver.
    var nextAtStreams: Timestamp? { ([hub.nextEvent] + acts.map { .some($0.at) }).compactMap(\.self).min() }

    /// Makes the steps of connections and receivers that are due.
    mutating func stepStreams() {
        for key in hub.connections.keys.sorted() {
            if let connection = hub.connections[key], !connection.isStuck, let time = connection.writesAt, time <= now {
                write(key, connection)
            }
        }
        let due = acts.filter { $0.at <= now }
        acts.removeAll { [now] in $0.at <= now }
        for act in due { perform(act) }
        end(hub.takeOverdue(at: now))
        for key in hub.connections.keys.sorted() {
            if let end = hub.connections[key]?.endsAt, end <= now { disconnect(key) }
        }
    }

    private mutating func write(_ key: SessionKey, _ connection: SimulatedHub.Connection) {
        let messages = hub.write(key)
        for message in messages {
            log.add("\(stamp) \(key) reads \(message.sequence)/\(message.attempt.number)")
            statistics.arrivals += 1
            statistics.streams.messages += 1
            witness.wrote(message.attempt)
            drawAnswers(to: message)
        }
        if connection.isPoll, !messages.isEmpty { disconnect(key) }
    }

    // MARK: - Answers

    /// Draws the acts of a receiver that has read a message.
    private mutating func drawAnswers(to message: SimulatedHub.Pending) {
        let own = delivery(message, isOwn: true)
        let limit = Int64(message.attempt.timeoutSeconds) * 1000
        let soon = moment(within: 0...200)
        guard faults else { return plan(.take(own), by: message, at: soon) }
        let late = moment(within: limit...(limit + (chance(300) ? 3_600_000 : 20_000)))
        switch Int.random(in: 0..<20, using: &crowd) {
        case 0..<8: plan(.take(own), by: message, at: soon)
        case 8..<11: plan(.take(own), by: message, at: late)
        case 11, 12:
            plan(.take(own), by: message, at: soon)
            let again = moment(within: 0...60_000)
            plan(.take(own), by: message, at: again)
        case 13, 14:
            let seconds = [nil, 0, 1, 30, 600].randomElement(using: &crowd) ?? nil
            plan(.refuse(own, seconds: seconds), by: message, at: soon)
        case 15:
            let seconds = [nil, 0, 1, 30, 600].randomElement(using: &crowd) ?? nil
            plan(.refuse(own, seconds: seconds), by: message, at: late)
        case 16, 17:
            speakForAnother(of: message, at: soon)
            if chance(500) { plan(.take(own), by: message, at: late) }
        case 18:
            let unknown = NotificationID(unchecked: "ntf_unknown\(message.sequence)")
            let other = ReceiverAct.Delivery(id: unknown, sequence: message.sequence, life: life, isOwn: false)
            plan(.take(other), by: message, at: soon)
        default: break
        }
    }

    private mutating func plan(_ kind: ReceiverAct.Kind, by message: SimulatedHub.Pending, at time: Timestamp) {
        acts.append(ReceiverAct(session: message.attempt.receiver, kind: kind, at: time))
    }

    private func delivery(_ message: SimulatedHub.Pending, isOwn: Bool) -> ReceiverAct.Delivery {
        ReceiverAct.Delivery(
            id: message.attempt.notification.id, sequence: message.sequence, life: life, isOwn: isOwn)
    }

    /// The receiver of another session, of any application, speaks of a message that it was not sent.
    private mutating func speakForAnother(of message: SimulatedHub.Pending, at time: Timestamp) {
        let others = witness.ledger.registrations.sessions.keys.filter { $0 != message.attempt.receiver }.sorted()
        guard let other = others.randomElement(using: &crowd) else { return }
        let delivery = delivery(message, isOwn: false)
        acts.append(
            ReceiverAct(session: other, kind: chance(800) ? .take(delivery) : .refuse(delivery, seconds: 1), at: time))
    }

    private mutating func perform(_ act: ReceiverAct) {
        switch act.kind {
        case .connect(let isPoll): if hub.connections[act.session] == nil { connect(act.session, isPoll: isPoll) }
        case .take(let delivery): say(act, delivery, ReceivedResponse(status: 204))
        case .refuse(let delivery, let seconds):
            say(act, delivery, ReceivedResponse(status: 503, retryAfterSeconds: seconds))
        }
    }

    /// Brings the word of a receiver to the engine: as the outcome of the attempt under way, or as a command of its own.
    private mutating func say(
        _ act: ReceiverAct, _ delivery: ReceiverAct.Delivery, _ response: ReceivedResponse
    ) {
        let key = act.session
        let isTaken = response.status < 300
        let isKnown = witness.ledger.entries[delivery.sequence]?.accepted.id == delivery.id
        if delivery.isOwn, isTaken { witness.ledger.entries[delivery.sequence]?.takenBy.insert(key.session) }
        let pending = isKnown ? hub.take(delivery.sequence, of: key) : nil
        let answer = isTaken ? drawAnswer(to: nil) : nil
        let name = "\(key) \(isTaken ? "takes" : "refuses") \(isKnown ? "\(delivery.sequence)" : "\(delivery.id)")"
        let word = ReceiverWord(
            act: act, delivery: delivery, isTaken: isTaken, pending: pending,
            isRepetition: witness.ledger.entries[delivery.sequence]?.isSettled == true,
            isTheirs: delivery.isOwn && witness.isTheirs(delivery.sequence, of: key))
        if let pending {
            witness.ended(pending.sequence)
            ask(.attemptFinished(finished(pending, .response(response), answer: answer)), name)
        } else {
            let seconds = response.retryAfterSeconds
            if seconds != nil { witness.postponed.insert(delivery.sequence) }
            let late = Acknowledgement(
                session: key, notification: delivery.id,
                isTaken ? .taken(answer) : .refused(retryAfterSeconds: seconds))
            ask(.acknowledge(late), "\(name), and no attempt is under way")
        }
        words[lastTicket] = word
    }

    /// The engine has answered the word of a receiver.
    mutating func answered(_ word: ReceiverWord, _ reply: Reply) {
        let key = word.act.session
        switch reply {
        case .refused(.storeUnavailable), .refused(.overloaded):
            statistics.streams.unkept += 1
            if let pending = word.pending, sabotage != .losesRefusedWords { putBack(pending) }
            if chance(700) { acts.append(ReceiverAct(session: key, kind: word.act.kind, at: moment(within: 0...2000))) }
        case .refused(.unknownDelivery):
            statistics.streams.unknown += 1
            witness.refused(word)
        case .acknowledged, .none:
            witness.kept(word, at: now)
            count(word)
            guard word.isTaken, word.pending == nil else { return }
            // The delivery was settled without its attempt under way: its message is not written any more.
            if let further = hub.take(word.delivery.sequence, of: key) {
                finish(further, TransferResult.acknowledged.outcome)
            }
        default: witness.fail("acks: \(key) was answered \(reply)")
        }
    }

    private mutating func count(_ word: ReceiverWord) {
        if word.isRepetition { return statistics.streams.repeated += 1 }
        if !word.isTaken { return statistics.streams.refusals += word.pending == nil ? 0 : 1 }
        if word.pending != nil { return statistics.streams.taken += 1 }
        statistics.streams.late += 1
        if word.delivery.life != life { statistics.streams.afterCrash += 1 }
    }

    /// The outcome could not be committed: the attempt goes on, unless its time or its connection has ended meanwhile.
    private mutating func putBack(_ pending: SimulatedHub.Pending) {
        guard let kind = hub.putBack(pending, at: now) else { return witness.goesOn(pending.sequence) }
        end([SimulatedHub.Loss(pending: pending, kind: kind)])
    }

    /// The engine has answered a connection.
    mutating func answered(connecting key: SessionKey, _ epoch: Int64, _ reply: Reply) {
        switch reply {
        case .attached(moved: _):
            if hub.connections[key]?.epoch == epoch { witness.streams.attached.insert(key) }
        case .refused(.unknownSession), .refused(.notAStream), .refused(.unknownApplication),
            .refused(.applicationDeleting), .refused(.storeUnavailable), .refused(.overloaded):
            guard let losses = hub.detach(key, epoch: epoch) else { return }
            tellEnd(of: key, epoch)
            end(losses)
        default: witness.fail("stream: a connection to \(key) was answered \(reply)")
        }
    }

    // MARK: - Invariants

    /// Checks that the attempts of each session are at its connection.
    mutating func checkStreams(atRest: Bool) {
        for (key, pending) in hub.pending {
            let epoch = hub.connections[key]?.epoch
            witness.require(
                pending.allSatisfy { $0.isPoll && $0.isWritten || $0.epoch == epoch },
                "stream: two connections have deliveries of \(key)")
        }
        if atRest {
            let held = Set(hub.pending.values.flatMap { $0.map(\.sequence) })
            witness.checkStreams(driver.engine, underWay: held, at: now)
            witness.checkRanks(driver.engine, at: now)
        }
    }
}
