/// A set of resources: an application with a session and a source.
enum TestSet {
    static let gallery = """
        kind: Application
        id: com.example.gallery
        spec:
          displayName: Gallery
          delivery: {timeoutSeconds: 20, retrySchedule: [1, 5]}
        ---
        kind: Session
        application: com.example.gallery
        id: win-1
        spec:
          activationState: background
          activationConditions:
            canActivateForTargetContentIdentifierPredicate: "SELF BEGINSWITH 'photo/'"
          endpoint: {url: "http://127.0.0.1:9/hook"}
        ---
        kind: Source
        application: com.example.gallery
        id: hooks
        spec:
          kind: github
          secrets: [s3cret]
          contentId: {issues: "github://{repository.full_name}/issues/{issue.number}", "*": "github://{repository.full_name}"}

        """
}
