// swift-format-ignore-file
// Made from Console/index.html by Scripts/embed.py.

extension ConsoleFile {
    static let index = ConsoleFile(
        name: "index.html", contentType: "text/html; charset=utf-8",
        text: ##"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>routerd</title>
        <link rel="icon" href="data:,">
        <link rel="stylesheet" href="style.css">
        <script type="module" src="app.js"></script>
        </head>
        <body>
        <a class="skip" href="#main">Skip to content</a>
        <header>
        <strong>routerd</strong>
        <nav id="nav" aria-label="Pages"></nav>
        <label class="scope">Application <select id="application"></select></label>
        <button id="key" type="button">Key</button>
        </header>
        <main id="main" tabindex="-1"></main>
        <dialog id="ask" aria-labelledby="ask-title">
        <form method="dialog">
        <h2 id="ask-title">API key</h2>
        <p>The key stays in this tab, and goes nowhere but to this daemon.</p>
        <label>Key <input id="ask-key" type="password" autocomplete="off" placeholder="rk_…"></label>
        <p class="row"><button value="use">Use</button><button value="cancel">Cancel</button></p>
        </form>
        </dialog>
        <div id="toast" role="status" aria-live="polite"></div>
        <noscript>The console needs JavaScript.</noscript>
        </body>
        </html>

        """##)
}
