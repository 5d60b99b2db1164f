import ServiceLifecycle

/// Tells the supervisor that the engine works, as often as the watchdog wants it, and when the daemon begins to stop.
///
/// Each time the engine's queue is asked first: a daemon whose engine is stuck stays silent, and is started again.
struct SupervisorService: Service {
    let supervisor: Supervisor?
    let recovered: Recovered<EngineHost>

    func run() async throws {
        guard let supervisor else {
            try? await gracefulShutdown()
            return
        }
        await withGracefulShutdownHandler {
            if let watchdog = supervisor.watchdog {
                await cancelWhenGracefulShutdown { await watch(supervisor, every: watchdog / 2) }
            }
            try? await gracefulShutdown()
        } onGracefulShutdown: {
            supervisor.tell(.stopping)
        }
    }

    private func watch(_ supervisor: Supervisor, every interval: Duration) async {
        guard let host = await recovered.wait() else { return }
        while (try? await Task.sleep(for: interval)) != nil {
            await host.look()
            supervisor.tell(.watchdog)
        }
    }
}
